-- One row a question: what was asked, where the answer goes, and how far it has come.
CREATE TABLE questions (
    id uuid PRIMARY KEY,
    -- What makes two deliveries of one question the same one: team:command:trigger_id, or question:action:attempt.
    delivery_key text NOT NULL UNIQUE,
    surface text NOT NULL CHECK (surface IN ('slash', 'click')),
    command text NOT NULL,
    text text NOT NULL,
    team_id text NOT NULL,
    channel_id text NOT NULL,
    user_id text NOT NULL,
    response_url text,
    -- Slack takes five posts on one response_url, for thirty minutes.
    response_uses integer NOT NULL DEFAULT 0,
    message_ts text,
    thread_ts text,

    state text NOT NULL DEFAULT 'received'
        CHECK (state IN ('received', 'working', 'delivering', 'answered', 'failed', 'expired')),
    -- Raised by every claim; a worker whose attempt is no longer the row's posts nothing.
    attempt integer NOT NULL DEFAULT 0,
    -- How often the question went back to the queue because its worker died or was shut down.
    returns integer NOT NULL DEFAULT 0,

    -- The rendered messages, kept before the first one is posted, so that a crash in between pays for no second answer.
    messages jsonb,
    outcome text CHECK (outcome IN ('answered', 'failed')),
    -- The message that is being posted, or was last: those before it are out.
    part integer NOT NULL DEFAULT 0,
    -- A background run at the provider, to resume instead of paying again.
    run_id text,

    provider text,
    model text,
    effort text,
    cost_usd double precision,
    seconds double precision,
    error text,

    received_at timestamptz NOT NULL DEFAULT now(),
    claimed_at timestamptz,
    settled_at timestamptz
);

-- The sweep looks for questions that nobody works on.
CREATE INDEX questions_open ON questions (received_at) WHERE state IN ('received', 'working', 'delivering');
