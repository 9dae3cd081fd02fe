-- What people think of answers: one row a person and answer, deleted with the question. `agreed` is its asker's consent
-- that admins read the question.
CREATE TABLE feedback (
    question_id uuid NOT NULL REFERENCES questions (id) ON DELETE CASCADE,
    user_id text NOT NULL,
    up boolean NOT NULL,
    reasons text[] NOT NULL DEFAULT '{}',
    comment text NOT NULL DEFAULT '' CHECK (length(comment) <= 500),
    agreed boolean NOT NULL DEFAULT false,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (question_id, user_id)
);

CREATE INDEX feedback_at ON feedback (at);
