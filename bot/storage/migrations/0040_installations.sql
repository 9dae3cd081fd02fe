-- One row a workspace, or an organization, that installed the app by OAuth. The tokens are encrypted for this row.
CREATE TABLE installations (
    -- As in `workspaces`.
    id text PRIMARY KEY,
    team_id text NOT NULL,
    enterprise_id text,
    is_enterprise_install boolean NOT NULL,
    bot_user_id text,
    app_id text,
    bot_token text NOT NULL,
    -- With token rotation: what the next token is fetched with, and when this one ends.
    refresh_token text,
    expires_at timestamptz,
    -- Slack's name for why the last refresh failed; NULL after one that succeeded.
    refresh_error text,
    installed_at timestamptz NOT NULL DEFAULT now()
);

-- Which workspaces belong to an organization that installed the app for all of them: requests say so, questions do not.
CREATE TABLE organization_teams (
    team_id text PRIMARY KEY,
    enterprise_id text NOT NULL
);

-- An installation that was begun in a browser and not ended yet; of its state only a hash.
CREATE TABLE oauth_states (
    state_hash bytea PRIMARY KEY,
    expires_at timestamptz NOT NULL
);
