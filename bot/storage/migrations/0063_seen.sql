-- When a lane last was full for a minute, when its admins were told of ten such minutes, and how many calls of other
-- programs the service counted in a minute, when it last did.
ALTER TABLE provider_limits
    ADD COLUMN full_at timestamptz,
    ADD COLUMN told_at timestamptz,
    ADD COLUMN others integer,
    ADD COLUMN others_at timestamptz;

-- The seconds until the question with this place in a lane's queue has its turn, as people are told: also while one
-- call probes; none if another service answers who would wait longer than `most`.
CREATE FUNCTION shown_wait_v1(of_lane text, place bigint, most double precision) RETURNS double precision
LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN l.stands_in AND own.wait > most THEN 0 ELSE own.wait END
    FROM provider_limits l CROSS JOIN LATERAL (
        SELECT greatest(lane_wait_v1(of_lane, place), (
            SELECT extract(epoch FROM max(p.at) - now()) + 10 FROM provider_turns p
            WHERE p.lane = of_lane AND p.at >= l.stopped_until AND p.at <= now())) AS wait) AS own
    WHERE l.lane = of_lane
$$;

-- How the next question of this priority waits: the questions that go before it, of the first 1,000, those of how many
-- other people they are, and the seconds.
CREATE FUNCTION waits_v1(of_queue text, least_priority integer, team text, who text, most double precision)
RETURNS TABLE (ahead bigint, people bigint, seconds double precision) LANGUAGE sql STABLE AS $$
    SELECT *, shown_wait_v1(of_queue, counted.ahead + 1, most) FROM (
        SELECT count(*) AS ahead, count(DISTINCT (q.team_id, q.user_id))
            FILTER (WHERE (q.team_id, q.user_id) <> (team, who)) AS people
        FROM (
            SELECT (j.args ->> 'question_id')::uuid AS id FROM procrastinate_jobs j
            WHERE j.status = 'todo' AND j.queue_name = of_queue AND j.priority >= least_priority
            LIMIT 1000) AS before_it
        LEFT JOIN questions q USING (id)) AS counted
$$;
