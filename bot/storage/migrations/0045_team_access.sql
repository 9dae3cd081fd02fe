-- Whether an organization has taken a workspace off the app that it installed for all of them, and when Slack said so.
ALTER TABLE organization_teams
    ADD COLUMN revoked boolean NOT NULL DEFAULT false,
    ADD COLUMN changed_at timestamptz;
