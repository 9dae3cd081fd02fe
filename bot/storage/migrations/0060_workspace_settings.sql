-- What admins have set for a whole workspace; what its channels set can only narrow that.
CREATE TABLE workspace_settings (
    team_id text PRIMARY KEY,
    settings jsonb NOT NULL,
    at timestamptz NOT NULL DEFAULT now()
);
