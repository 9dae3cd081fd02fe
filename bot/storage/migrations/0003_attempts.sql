-- What each provider did, one row an attempt: no text, no person. Kept for thirty days.
CREATE TABLE attempts (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL,
    provider text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('search', 'answer')),
    seconds double precision NOT NULL,
    -- NULL: it answered.
    error_class text,
    cost_usd double precision
);

CREATE INDEX attempts_at ON attempts (at);
