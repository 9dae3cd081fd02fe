-- A conversation is named by its first question, and remembers of each answer what the next question can refer to.
ALTER TABLE questions ADD COLUMN conversation uuid;
ALTER TABLE questions ADD COLUMN remembered text;

CREATE INDEX questions_of_conversation ON questions (conversation, received_at) WHERE remembered IS NOT NULL;
-- The last direct message of a person, which the next one may continue.
CREATE INDEX questions_direct ON questions (team_id, channel_id, received_at) WHERE surface = 'im';

-- A question whose message was edited or deleted while it was open.
ALTER TABLE questions DROP CONSTRAINT questions_state_check;
ALTER TABLE questions ADD CONSTRAINT questions_state_check
    CHECK (state IN ('received', 'working', 'delivering', 'answered', 'failed', 'expired', 'stopped', 'withdrawn'));
