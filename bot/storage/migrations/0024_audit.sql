-- What was done in each workspace: by whom, when, where, at what cost and with which decision; no text. Rows are only
-- added, and each has a hash over itself and the hash before it.
CREATE TABLE audit (
    team_id text NOT NULL,
    number bigint NOT NULL,
    at timestamptz NOT NULL,
    -- An HMAC of the person's id with a key of their own; empty for the app itself.
    who text NOT NULL,
    what text NOT NULL,
    channel_id text NOT NULL,
    cost_microusd bigint,
    decision text NOT NULL,
    -- The id of what it is about, such as a question or a digest.
    subject text NOT NULL,
    -- Of a change of an admin; `json` keeps the text as it was hashed.
    before json,
    after json,
    hash text NOT NULL,
    PRIMARY KEY (team_id, number)
);

-- A second line: the chain is the proof.
CREATE FUNCTION audit_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'rows of the table audit are only added';
END $$;
CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse();

-- How many rows a workspace has, and the hash of the last one, signed.
CREATE TABLE audit_heads (
    team_id text PRIMARY KEY,
    count bigint NOT NULL,
    hash text NOT NULL,
    -- Which key has signed it.
    key_id text NOT NULL,
    signature text NOT NULL,
    at timestamptz NOT NULL DEFAULT now()
);

-- What makes `who` of a person's id. Without the row, no one can tell whose it was.
CREATE TABLE audit_people (
    team_id text NOT NULL,
    user_id text NOT NULL,
    key bytea NOT NULL,
    who text NOT NULL,
    PRIMARY KEY (team_id, user_id)
);
CREATE INDEX audit_people_who ON audit_people (team_id, who);

-- The key that signs the heads, if the settings have none.
CREATE TABLE audit_keys (
    id text PRIMARY KEY,
    key bytea NOT NULL,
    at timestamptz NOT NULL DEFAULT now()
);

-- What is to be chained: written with what it records, in one transaction, and chained a second later.
CREATE TABLE audit_outbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT now(),
    team_id text NOT NULL,
    user_id text NOT NULL,
    -- Set for a person whose key is destroyed meanwhile.
    who text,
    what text NOT NULL,
    channel_id text NOT NULL,
    cost_microusd bigint,
    decision text NOT NULL,
    subject text NOT NULL,
    before json,
    after json
);

-- When something was last not recorded, in seconds since 1970. A sequence keeps it also if the transaction is rolled
-- back.
CREATE SEQUENCE audit_failed_at;
CREATE FUNCTION audit_failed() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM setval('audit_failed_at', extract(epoch FROM clock_timestamp())::bigint);
EXCEPTION WHEN OTHERS THEN
    NULL;
END $$;

-- Record a change. What fails here is noted, and the change goes on.
CREATE FUNCTION audit_change(
    of_team text, of_person text, done text, in_channel text, decided text, about text, was json, becomes json
) RETURNS void LANGUAGE plpgsql SET lock_timeout = '500ms' AS $$
BEGIN
    INSERT INTO audit_outbox (team_id, user_id, what, channel_id, decision, subject, before, after)
    VALUES (of_team, of_person, done, in_channel, decided, about, was, becomes);
EXCEPTION WHEN OTHERS THEN
    PERFORM audit_failed();
END $$;

-- Record a question when it ends, whichever way that is. What fails here is noted, and the question ends anyway.
CREATE FUNCTION audit_question() RETURNS trigger LANGUAGE plpgsql SET lock_timeout = '500ms' AS $$
BEGIN
    INSERT INTO audit_outbox (team_id, user_id, what, channel_id, cost_microusd, decision, subject)
    VALUES (NEW.team_id, NEW.user_id, 'question.' || NEW.command, NEW.channel_id,
        round(NEW.cost_usd * 1000000)::bigint, NEW.state || coalesce(': ' || NEW.error, ''), NEW.id::text);
    RETURN NULL;
EXCEPTION WHEN OTHERS THEN
    PERFORM audit_failed();
    RETURN NULL;
END $$;
CREATE TRIGGER audit_question AFTER UPDATE ON questions FOR EACH ROW
    WHEN (OLD.state IN ('received', 'working', 'delivering') AND NEW.state NOT IN ('received', 'working', 'delivering'))
    EXECUTE FUNCTION audit_question();
