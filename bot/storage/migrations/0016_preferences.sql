-- What people and channels have set. Values are checked when they are written and when they are read.
CREATE TABLE person_settings (
    team_id text NOT NULL,
    user_id text NOT NULL,
    settings jsonb NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (team_id, user_id)
);

CREATE TABLE channel_settings (
    team_id text NOT NULL,
    channel_id text NOT NULL,
    settings jsonb NOT NULL,
    -- Who changed them last.
    user_id text NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (team_id, channel_id)
);

-- Whether the answer to a command was for everyone in the channel; NULL before there is one.
ALTER TABLE questions ADD COLUMN public boolean;
