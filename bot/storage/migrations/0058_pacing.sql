-- Which queue holds a question's job: that of its lane, or 'default' for what asks no service.
ALTER TABLE questions ADD COLUMN queue text NOT NULL DEFAULT 'default';
-- The same question again while the first one waits.
CREATE INDEX questions_in_lanes ON questions (team_id, user_id) WHERE state = 'received' AND queue <> 'default';

-- A lane: the calls of one kind to one service with one key, and how many it takes; NULL is no limit that is known.
-- After a refusal nothing leaves until `stopped_until`, then one call; it is NULL again once the service took that one.
CREATE TABLE provider_limits (
    lane text PRIMARY KEY,
    per_second integer CHECK (per_second > 0),
    per_minute integer CHECK (per_minute > 0),
    source text NOT NULL CHECK (source IN ('tier', 'reply', 'set')),
    stands_in boolean NOT NULL DEFAULT false,
    stopped_until timestamptz
);

-- Each call's turn: when it may leave, and when it left. One that is never used ages as the others do.
CREATE TABLE provider_turns (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    lane text NOT NULL,
    at timestamptz NOT NULL,
    left_at timestamptz
);
CREATE INDEX provider_turns_planned ON provider_turns (lane, at);
CREATE INDEX provider_turns_left ON provider_turns (lane, left_at) WHERE left_at IS NOT NULL;

-- From when on a lane has a free turn, or, with `leaving`, the service takes the next call. The spans are a little
-- longer than the service's, since some calls are longer on their way than others.
CREATE FUNCTION lane_free_v1(l provider_limits, moment timestamptz, leaving boolean) RETURNS timestamptz
LANGUAGE sql STABLE AS $$
    SELECT greatest(moment, l.stopped_until, max(turn.at + span))
    FROM (VALUES (l.per_second, interval '1.05 seconds'), (l.per_minute, interval '60.5 seconds')) AS limits (calls, span)
    CROSS JOIN LATERAL (
        (SELECT p.at FROM provider_turns p
        WHERE NOT leaving AND p.lane = l.lane AND calls IS NOT NULL
        ORDER BY p.at DESC OFFSET calls - 1 LIMIT 1)
        UNION ALL
        (SELECT p.left_at FROM provider_turns p
        WHERE leaving AND p.lane = l.lane AND calls IS NOT NULL AND p.left_at IS NOT NULL
        ORDER BY p.left_at DESC OFFSET calls - 1 LIMIT 1)
        UNION ALL
        (SELECT max(p.left_at) + interval '10 seconds' - span FROM provider_turns p
        WHERE leaving AND p.lane = l.lane AND p.left_at >= l.stopped_until)) AS turn
$$;

-- Take a turn, or use the one that was taken; return the seconds until the call may leave, 0 if it leaves now. No turn
-- is taken that is more than `most` seconds away.
CREATE FUNCTION provider_turn_v1(of_lane text, turn uuid, most double precision, now_is timestamptz DEFAULT NULL)
RETURNS double precision LANGUAGE plpgsql AS $$
DECLARE
    l provider_limits;
    moment timestamptz;
    planned timestamptz;
BEGIN
    SELECT * INTO l FROM provider_limits WHERE lane = of_lane FOR UPDATE;
    moment := coalesce(now_is, clock_timestamp());
    SELECT at INTO planned FROM provider_turns WHERE id = turn;
    IF planned IS NULL THEN
        planned := lane_free_v1(l, moment, false);
        IF planned > moment + most * interval '1 second' THEN
            RETURN extract(epoch FROM planned - moment);
        END IF;
        INSERT INTO provider_turns (id, lane, at) VALUES (turn, of_lane, planned);
    END IF;
    IF planned <= moment THEN
        planned := lane_free_v1(l, moment, true);
        UPDATE provider_turns SET left_at = moment WHERE id = turn AND planned <= moment;
    END IF;
    RETURN greatest(0, extract(epoch FROM planned - moment));
END
$$;

-- Note what a service said to the call of a turn: it took it (and names its limit), or refuses calls for some seconds.
CREATE FUNCTION provider_replied_v1(of_lane text, turn uuid, minute integer, second integer) RETURNS void
LANGUAGE sql AS $$
    UPDATE provider_limits SET per_minute = minute, per_second = second, source = 'reply'
    WHERE lane = of_lane AND source <> 'set' AND per_minute IS DISTINCT FROM minute AND minute IS NOT NULL;
    UPDATE provider_limits SET stopped_until = NULL
    WHERE lane = of_lane AND stopped_until <= (SELECT left_at FROM provider_turns WHERE id = turn)
$$;
CREATE FUNCTION provider_refused_v1(of_lane text, turn uuid, seconds double precision, now_is timestamptz DEFAULT NULL)
RETURNS void LANGUAGE sql AS $$
    UPDATE provider_limits l
    SET stopped_until = greatest(
        CASE WHEN p.left_at < stopped_until THEN stopped_until ELSE p.moment + interval '1 second' END,
        p.moment + seconds * interval '1 second')
    FROM (SELECT coalesce(now_is, clock_timestamp()) AS moment, (SELECT left_at FROM provider_turns WHERE id = turn) AS left_at) p
    WHERE lane = of_lane
$$;

-- The seconds until the question with this place in a lane's queue has its turn, about.
CREATE FUNCTION lane_wait_v1(of_lane text, place bigint) RETURNS double precision LANGUAGE sql STABLE AS $$
    SELECT greatest(
        extract(epoch FROM lane_free_v1(l, now(), false) - now()),
        extract(epoch FROM (
            SELECT p.at FROM provider_turns p
            WHERE p.lane = l.lane AND p.at > now() - interval '60.5 seconds' AND place <= per_minute
            ORDER BY p.at DESC OFFSET greatest(0, per_minute - place) LIMIT 1) - now()) + 60.5,
        (place - 1) / coalesce(per_minute, place) * 60.5 + (place - 1) % coalesce(per_minute, place) * 1.05 / per_second)
    FROM provider_limits l WHERE lane = of_lane
$$;

-- Take the next jobs, with a turn for each that asks a service; the last row says in how many seconds one more has one.
CREATE FUNCTION take_jobs_v1(worker bigint, most integer, now_is timestamptz DEFAULT NULL)
RETURNS TABLE (number integer, job procrastinate_jobs, turn uuid, wait double precision) LANGUAGE plpgsql AS $$
DECLARE
    free text[] := ARRAY['default', 'overflow'];
    moment timestamptz;
    l provider_limits;
    next timestamptz;
    soonest timestamptz;
    checked text;
BEGIN
    number := 0;
    LOOP
        FOR l IN
            SELECT * FROM provider_limits p
            WHERE CASE WHEN number = 0 THEN EXISTS (
                SELECT FROM procrastinate_jobs j WHERE j.queue_name = p.lane AND j.status = 'todo')
                ELSE p.lane = checked END
            ORDER BY p.lane FOR UPDATE
        LOOP
            moment := coalesce(now_is, clock_timestamp());
            next := lane_free_v1(l, moment, false);
            IF l.stopped_until IS NOT NULL THEN -- one call probes
                next := greatest(next, (
                    SELECT max(p.at) + interval '10 seconds' FROM provider_turns p
                    WHERE p.lane = l.lane AND p.at >= l.stopped_until AND p.at <= moment));
            END IF;
            IF next > moment THEN
                free := array_remove(free, l.lane);
                soonest := least(soonest, next);
            ELSIF number = 0 THEN
                free := free || l.lane;
            END IF;
        END LOOP;
        EXIT WHEN number = most;
        SELECT * INTO job FROM procrastinate_fetch_job_v2(free, worker);
        EXIT WHEN job.id IS NULL;
        turn := NULL;
        checked := job.queue_name;
        number := number + 1;
        IF checked NOT IN ('default', 'overflow') AND EXISTS (
            SELECT FROM questions q
            WHERE q.id = (job.args ->> 'question_id')::uuid AND q.state IN ('received', 'working')
                AND q.messages IS NULL AND q.run_id IS NULL)
        THEN
            INSERT INTO provider_turns (lane, at) VALUES (checked, moment) RETURNING id INTO turn;
        END IF;
        RETURN NEXT;
    END LOOP;
    job := NULL;
    turn := NULL;
    wait := extract(epoch FROM soonest - moment);
    RETURN NEXT;
END
$$;

-- Which questions go before which: people's before digests, and before both what takes many calls.
CREATE FUNCTION queue_class_v1(surface text, command text) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN surface = 'digest' THEN -2000000 WHEN command IN ('deepdive', 'check') THEN -1000000 ELSE 0 END
$$;

-- The priority of the next question of a person who has none in this queue, among those of its class: that of the first
-- one there, and one less for each twenty of the same workspace that wait.
CREATE FUNCTION queue_head_v2(team text, queue text, surface text, command text) RETURNS integer LANGUAGE sql STABLE AS $$
    SELECT coalesce((
        SELECT j.priority FROM procrastinate_jobs j
        WHERE j.status = 'todo' AND j.queue_name = queue AND j.priority BETWEEN class - 500000 AND class + 499999
        ORDER BY j.priority DESC LIMIT 1) - (
        SELECT count(*) FROM (
            SELECT FROM questions q WHERE q.team_id = team AND q.state = 'received' AND NOT q.waiting LIMIT 1000) AS theirs
    ) / 20, class)::integer
    FROM (SELECT queue_class_v1(surface, command) AS class) AS own
$$;

-- How many questions a thread had in the last minute, up to a number.
CREATE FUNCTION thread_asked_v1(team text, channel text, thread text, most integer) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT count(*) FROM (
        SELECT FROM questions
        WHERE team_id = team AND channel_id = channel AND thread_ts = thread
            AND received_at > now() - interval '1 minute'
        LIMIT most) AS asked
$$;

-- The same question of the same person, if it waits for its turn.
CREATE FUNCTION twin_v1(team text, who text, place text, surface_is text, command_is text, asked text) RETURNS uuid
LANGUAGE sql STABLE AS $$
    SELECT q.id FROM questions q
    WHERE q.team_id = team AND q.user_id = who AND q.state = 'received' AND q.queue <> 'default'
        AND q.channel_id = place AND q.surface = surface_is AND q.command = command_is AND q.text = asked
        AND q.received_at < now() - interval '1 second'
    LIMIT 1
$$;
