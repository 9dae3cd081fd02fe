-- Keys for search services that a workspace brought along, instead of the app's own; encrypted for the workspace and service.
CREATE TABLE provider_keys (
    -- As in `installations`.
    id text NOT NULL,
    provider text NOT NULL,
    secret text NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (id, provider)
);
