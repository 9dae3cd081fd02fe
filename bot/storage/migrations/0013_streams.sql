-- An answer that is written while it is read: the `ts` of its messages in order, how many characters of its text Slack
-- has confirmed, and whether one of its messages may still be open.
ALTER TABLE questions ADD COLUMN streams text[] NOT NULL DEFAULT '{}';
ALTER TABLE questions ADD COLUMN shown integer NOT NULL DEFAULT 0;
ALTER TABLE questions ADD COLUMN streaming boolean NOT NULL DEFAULT false;

-- When the calls of a workspace that Slack limits together were made; a stop that a start has reserved is in the future.
CREATE TABLE slack_calls (
    team_id text PRIMARY KEY,
    starts timestamptz[] NOT NULL DEFAULT '{}',
    appends timestamptz[] NOT NULL DEFAULT '{}',
    stops timestamptz[] NOT NULL DEFAULT '{}',
    edits timestamptz[] NOT NULL DEFAULT '{}',
    no_streams_until timestamptz
);
