-- The last ordinary answers of a service, for each model or effort as asked for. `shown` is what one shows of the
-- service: model, tokens, cost, number of sources, and the names and types of the response's fields; no text.
CREATE TABLE provider_answers (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    provider text NOT NULL, preset text NOT NULL, at timestamptz NOT NULL, shown jsonb NOT NULL
);
CREATE INDEX provider_answers_last ON provider_answers (provider, preset, at DESC, id DESC);

-- Lasting changes that these answers showed, and the time of the first answer with each.
CREATE TABLE provider_changes (
    provider text, preset text, kind text, at timestamptz, before text NOT NULL, after text NOT NULL,
    found_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (provider, preset, kind, at)
);
