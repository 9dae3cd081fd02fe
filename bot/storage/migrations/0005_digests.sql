-- One row a digest: news on a schedule, in a channel or a direct message.
CREATE TABLE digests (
    -- The id of the question that asked for it, so that asking is one digest however often it is worked on.
    id uuid PRIMARY KEY,
    team_id text NOT NULL,
    user_id text NOT NULL,
    -- How its owner calls it.
    number integer NOT NULL,
    channel_id text NOT NULL,
    category text NOT NULL,
    topic text NOT NULL,
    -- Days of the week from 0, Monday, and the time there by the clock of the zone.
    days smallint[] NOT NULL CHECK (cardinality(days) > 0),
    at time NOT NULL,
    zone text NOT NULL,
    -- The days on which it says that nothing is new.
    silence smallint[] NOT NULL,
    state text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'paused', 'stopped')),
    next_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (team_id, user_id, number),
    CHECK ((state = 'active') = (next_at IS NOT NULL))
);

-- The tick looks for what is due.
CREATE INDEX digests_due ON digests (next_at) WHERE state = 'active';
CREATE INDEX digests_channel ON digests (team_id, channel_id);

-- One row a run: the slot keeps it from being run twice, the question holds its cost and what became of it.
CREATE TABLE digest_runs (
    digest_id uuid NOT NULL REFERENCES digests ON DELETE CASCADE,
    slot timestamptz NOT NULL,
    question_id uuid NOT NULL,
    -- Whether it has found out what is new since the run before.
    looked boolean NOT NULL DEFAULT false,
    PRIMARY KEY (digest_id, slot)
);

-- What was posted, so that it is not posted again; a run deletes what is older than thirty days. A question that failed
-- posted nothing.
CREATE TABLE digest_seen (
    digest_id uuid NOT NULL REFERENCES digests ON DELETE CASCADE,
    question_id uuid NOT NULL,
    fingerprint text NOT NULL,
    at timestamptz NOT NULL,
    -- Grows from row to row, so that who has read the table need only read what was added.
    place bigint GENERATED ALWAYS AS IDENTITY
);

CREATE INDEX digest_seen_at ON digest_seen (digest_id, at);

-- A digest that comes due asks a question of its own.
ALTER TABLE questions DROP CONSTRAINT questions_surface_check;
ALTER TABLE questions ADD CONSTRAINT questions_surface_check
    CHECK (surface IN ('slash', 'click', 'mention', 'im', 'digest'));
