-- Which answers were shared, each at most once in a channel. A row is written before anything is posted, and stays
-- 'posting' if the process ends meanwhile; it is 'unconfirmed' if Slack's reply was lost. Only an answer that Slack
-- certainly did not take can be shared again: its row is deleted.
CREATE TABLE shares (
    question_id uuid NOT NULL REFERENCES questions (id) ON DELETE CASCADE,
    channel_id text NOT NULL,
    state text NOT NULL DEFAULT 'posting' CHECK (state IN ('posting', 'posted', 'unconfirmed')),
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (question_id, channel_id)
);
