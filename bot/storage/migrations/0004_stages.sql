-- A person can stop a question that works for minutes.
ALTER TABLE questions DROP CONSTRAINT questions_state_check;
ALTER TABLE questions ADD CONSTRAINT questions_state_check
    CHECK (state IN ('received', 'working', 'delivering', 'answered', 'failed', 'expired', 'stopped'));

-- What a question that is answered in stages has come to so far: a finished stage is not paid for again.
CREATE TABLE stages (
    question_id uuid NOT NULL REFERENCES questions (id) ON DELETE CASCADE,
    stage text NOT NULL,
    -- A background run at the provider, to resume instead of paying again.
    run_id text,
    -- When the stage was begun whose run it is: a restart begins neither its time nor its seconds anew.
    begun_at timestamptz,
    -- NULL: not finished.
    result jsonb,
    seconds double precision,
    cost_usd double precision,
    PRIMARY KEY (question_id, stage)
);
