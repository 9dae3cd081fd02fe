-- What each person chose last in the modal for questions: the command and its options, never the question.
CREATE TABLE last_choices (
    team_id text NOT NULL,
    user_id text NOT NULL,
    command text NOT NULL,
    options jsonb NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (team_id, user_id)
);
