-- How fast people may ask: a bucket of tokens a person and a channel, by the moment at which it will be full again.
CREATE TABLE rate_limits (
    team_id text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('user', 'channel')),
    subject text NOT NULL,
    full_at timestamptz NOT NULL,
    PRIMARY KEY (team_id, kind, subject)
);

-- Take a token of a person and one of a channel, both or none; return the seconds until there are both, 0 if they were
-- taken. A bucket has as many tokens as it gets in a minute; 0 is no limit. A direct message has no channel's bucket.
CREATE FUNCTION rate_take_v1(team text, who text, place text, per_user integer, per_channel integer)
RETURNS double precision LANGUAGE plpgsql AS $$
DECLARE
    bucket record;
    full_again timestamptz;
    waits double precision := 0;
BEGIN
    FOR bucket IN
        SELECT * FROM (VALUES ('channel', place, per_channel), ('user', who, per_user)) AS b(kind, subject, tokens)
        WHERE b.tokens > 0 AND b.subject <> '' AND NOT (b.kind = 'channel' AND b.subject LIKE 'D%')
    LOOP
        INSERT INTO rate_limits (team_id, kind, subject, full_at)
        VALUES (team, bucket.kind, bucket.subject, clock_timestamp())
        ON CONFLICT DO NOTHING;
        SELECT r.full_at INTO full_again FROM rate_limits r
        WHERE r.team_id = team AND r.kind = bucket.kind AND r.subject = bucket.subject
        FOR UPDATE;
        waits := greatest(waits, extract(epoch FROM full_again - clock_timestamp())
            - 60.0 * (bucket.tokens - 1) / bucket.tokens);
    END LOOP;
    IF waits <= 0 THEN
        UPDATE rate_limits r
        SET full_at = greatest(r.full_at, clock_timestamp())
            + interval '1 minute' / CASE r.kind WHEN 'user' THEN per_user ELSE per_channel END
        WHERE r.team_id = team AND (per_user > 0 AND r.kind = 'user' AND r.subject = who
            OR per_channel > 0 AND r.kind = 'channel' AND r.subject = place);
    END IF;
    RETURN waits;
END
$$;

-- The priority of the next question of a person who has none in the queue: that of the first one there, and one less for
-- each twenty of the same workspace that wait, so that a workspace with many people lets others in between.
CREATE FUNCTION queue_head_v1(team text) RETURNS integer LANGUAGE plpgsql STABLE AS $$
DECLARE
    first integer := (SELECT max(j.priority) FROM procrastinate_jobs j WHERE j.status = 'todo');
BEGIN
    IF first IS NULL THEN
        RETURN 0;
    END IF;
    RETURN first - (
        SELECT count(*) FROM (
            SELECT FROM questions q WHERE q.team_id = team AND q.state = 'received' AND NOT q.waiting LIMIT 1000) AS theirs
    ) / 20;
END
$$;
