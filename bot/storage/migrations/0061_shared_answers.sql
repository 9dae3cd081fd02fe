-- The answers to questions that the app itself offers, for an hour. `key` is a hash of what is asked with every setting
-- that counts. While there is no answer, `question_id` and `claim` say which question gets it.
CREATE TABLE shared_answers (
    team_id text, key text, question_id uuid, claim integer, answer jsonb, at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (team_id, key)
);
