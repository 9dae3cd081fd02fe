-- One row a workspace, or an organization where the app is installed for all of it: who the app is there by auth.test,
-- and whether it is still let in. Every process reads it.
CREATE TABLE workspaces (
    -- The organization's id for an app that is installed in all of it, otherwise the workspace's.
    id text PRIMARY KEY,
    team_id text NOT NULL,
    enterprise_id text,
    is_enterprise_install boolean NOT NULL DEFAULT false,
    bot_user_id text,
    -- As the first verified request said; another app of the same workspace has another bot user.
    app_id text,
    -- Of the bot token only a hash, to know a new one.
    token_hash text,
    state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'revoked', 'uninstalled')),
    closed_token_hash text,
    closed_at timestamptz,
    opened_at timestamptz
);

-- What Slack's events said of people from elsewhere, so that a worker knows it as well.
CREATE TABLE user_teams (
    user_id text PRIMARY KEY,
    user_team text NOT NULL,
    at timestamptz NOT NULL DEFAULT now()
);

-- Who asked for which report as a file, so that a double click sends one.
CREATE TABLE file_requests (
    question_id uuid NOT NULL REFERENCES questions (id) ON DELETE CASCADE,
    user_id text NOT NULL,
    asked_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (question_id, user_id)
);

-- When a digest was due that is paused because the token was revoked: it is due then once the app is let in again.
ALTER TABLE digests ADD COLUMN held_next_at timestamptz;
