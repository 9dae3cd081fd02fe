"""Every query on the questions table, named and described."""

from __future__ import annotations

LOCK_PERSON = """
    SELECT set_config('lock_timeout', '1000', true),
        pg_advisory_xact_lock(hashtextextended(%(team_id)s || ':' || %(user_id)s, 6))
"""
"""Let one transaction at a time count and add a person's questions; wait a second at most for another one."""

LOCK_THREAD = """
    SELECT pg_advisory_xact_lock(hashtextextended(%(team_id)s || ':' || %(channel_id)s || ':' || %(thread_ts)s, 7))
"""
"""Let one transaction at a time count and add a thread's questions."""

SHARE = """
    SELECT
        EXISTS (SELECT 1 FROM questions WHERE delivery_key = %(delivery_key)s)
            OR EXISTS (SELECT 1 FROM refused_deliveries WHERE delivery_key = %(delivery_key)s) AS known,
        (SELECT count(*) FROM (
            SELECT 1 FROM questions
            WHERE team_id = %(team_id)s AND user_id = %(user_id)s AND state IN ('received', 'working', 'delivering')
                AND surface <> 'digest' AND id IS DISTINCT FROM %(again)s
            LIMIT %(open_per_person)s) AS mine) AS open,
        (SELECT count(*) FROM (
            SELECT 1 FROM questions
            WHERE team_id = %(team_id)s AND user_id = %(user_id)s AND state IN ('received', 'working', 'delivering')
                AND NOT waiting AND id IS DISTINCT FROM %(again)s
            LIMIT %(queued_per_person)s) AS queued) AS queued,
        (SELECT count(*) FROM (
            SELECT 1 FROM questions
            WHERE team_id = %(team_id)s AND channel_id = %(channel_id)s AND thread_ts = %(thread_ts)s
                AND received_at > now() - interval '1 minute'
            LIMIT %(thread_per_minute)s) AS thread) AS in_thread,
        (SELECT max(priority) FROM procrastinate_jobs WHERE status = 'todo') AS head
"""
"""Count what decides whether a question is taken and when its turn comes; no count is higher than its limit."""

RECEIVE = """
    INSERT INTO questions
        (id, delivery_key, surface, command, text, team_id, channel_id, user_id, response_url, thread_ts, message_ts,
        waiting)
    VALUES (%(id)s, %(delivery_key)s, %(surface)s, %(command)s, %(text)s, %(team_id)s, %(channel_id)s, %(user_id)s,
        %(response_url)s, %(thread_ts)s, %(message_ts)s, %(waiting)s)
    ON CONFLICT (delivery_key) DO NOTHING
    RETURNING id
"""
"""Insert a question; returns no row if its delivery key is known already."""

REFUSE = """
    WITH old AS (DELETE FROM refused_deliveries WHERE at < now() - interval '1 hour')
    INSERT INTO refused_deliveries (delivery_key) VALUES (%(delivery_key)s) ON CONFLICT DO NOTHING
"""
"""Remember that a delivery was refused, so that its repetition is neither answered nor refused again."""

OPEN = """
    SELECT command, text, channel_id, extract(epoch FROM now() - received_at)::float8 AS age FROM questions
    WHERE team_id = %(team_id)s AND user_id = %(user_id)s AND state IN ('received', 'working', 'delivering')
        AND surface <> 'digest'
    ORDER BY received_at
    LIMIT %(most)s
"""
"""List a person's open questions, the oldest first."""

NOTICE = """
    WITH old AS (DELETE FROM thread_notices WHERE at < now() - interval '1 hour')
    INSERT INTO thread_notices (team_id, channel_id, thread_ts)
    VALUES (%(team_id)s, %(channel_id)s, %(thread_ts)s)
    ON CONFLICT (team_id, channel_id, thread_ts) DO UPDATE SET at = now()
    WHERE thread_notices.at <= now() - interval '1 minute'
    RETURNING at
"""
"""Note that a thread's limit is explained now; returns no row if that was done in the last minute."""

WITHDRAW = """
    UPDATE questions
    SET state = 'failed', attempt = attempt + 1, settled_at = now(), response_url = NULL
    WHERE id = %(again)s AND state IN ('received', 'working', 'delivering')
"""
"""Close a question that is asked again; a worker that still holds it posts nothing more."""

_ROW = "*, extract(epoch FROM clock_timestamp() - received_at)::float8 AS age"

CLAIM = f"""
    UPDATE questions
    SET state = CASE WHEN messages IS NULL THEN 'working' ELSE 'delivering' END,
        attempt = attempt + 1,
        returns = returns + CASE WHEN state = 'received' THEN 0 ELSE 1 END,
        claimed_by = %(claim)s,
        claimed_at = now()
    WHERE id = %(id)s AND attempt = %(attempt)s AND state IN ('received', 'working', 'delivering')
    RETURNING {_ROW}
"""
"""Take an open question from the attempt that it was read with; that attempt's worker posts nothing more."""

CLAIMED = f"""
    SELECT {_ROW} FROM questions
    WHERE id = %(id)s AND attempt = %(attempt)s + 1 AND claimed_by = %(claim)s
        AND state IN ('received', 'working', 'delivering')
"""
"""Read a question that this claim took in a transaction whose confirmation was lost."""

GET = f"SELECT {_ROW} FROM questions WHERE id = %(id)s"
"""Read one question."""

RECORD_RUN = "UPDATE questions SET run_id = %(run_id)s WHERE id = %(id)s AND attempt = %(attempt)s RETURNING id"
"""Keep the provider's id of a background run."""

RECORD_MESSAGE = """
    UPDATE questions SET message_ts = %(message_ts)s WHERE id = %(id)s AND attempt = %(attempt)s RETURNING id
"""
"""Keep which message says that the search is on, and will hold the answer."""

KEEP_MESSAGES = """
    UPDATE questions
    SET messages = %(messages)s, outcome = %(outcome)s, state = 'delivering', provider = %(provider)s,
        model = %(model)s, effort = %(effort)s, cost_usd = %(cost_usd)s, seconds = %(seconds)s, error = %(error)s
    WHERE id = %(id)s AND attempt = %(attempt)s
    RETURNING id
"""
"""Keep the rendered messages before the first of them leaves."""

BEGIN_PART = """
    UPDATE questions
    SET state = 'delivering', part = %(part)s, response_uses = %(uses)s, unconfirmed = %(unconfirmed)s
    WHERE id = %(id)s AND attempt = %(attempt)s AND state IN ('working', 'delivering')
    RETURNING id
"""
"""Record which message is about to be posted; returns no row if another attempt holds the question."""

_NEXT = """
    next AS (
        UPDATE questions SET waiting = false
        WHERE id = (
            SELECT q.id FROM questions q, closed c
            WHERE q.team_id = c.team_id AND q.user_id = c.user_id AND q.waiting AND q.state = 'received'
            ORDER BY q.received_at
            LIMIT 1
            FOR UPDATE OF q SKIP LOCKED)
        RETURNING id),
    jobless AS (
        SELECT id FROM next
        WHERE NOT EXISTS (
            SELECT 1 FROM procrastinate_jobs j
            WHERE j.status IN ('todo', 'doing') AND j.args ->> 'question_id' = next.id::text))
    SELECT closed.id, (SELECT id FROM jobless) AS next,
        (SELECT max(priority) FROM procrastinate_jobs WHERE status = 'todo') AS head
    FROM closed
"""
"""Give the place of a closed question to the same person's question that has waited longest.

An older version of the app may have given that one a job already.
"""

SETTLE = f"""
    WITH closed AS (
        UPDATE questions
        SET state = %(state)s, settled_at = now(), response_url = NULL
        WHERE id = %(id)s AND attempt = %(attempt)s AND state IN ('working', 'delivering', %(state)s)
        RETURNING id, team_id, user_id),
    {_NEXT}
"""
"""Close a question, also one that this very attempt has closed so already. Its response_url is deleted."""

STOP = f"""
    WITH closed AS (
        UPDATE questions
        SET state = 'stopped', attempt = attempt + 1, settled_at = now(), response_url = NULL
        WHERE id = %(id)s AND user_id = %(user_id)s AND state IN ('received', 'working', 'delivering')
            AND messages IS NULL
        RETURNING id, team_id, user_id),
    {_NEXT}
"""
"""Close a question that its asker no longer wants, unless its answer is there; its worker posts nothing more."""

SWEEPING = """
    SELECT set_config('lock_timeout', '1000', true), pg_try_advisory_xact_lock(6906) AS locked
"""
"""Let one sweep run at a time: two would each add a job for the same question."""

ORPHANS = """
    SELECT q.id FROM questions q
    WHERE q.state IN ('received', 'working', 'delivering') AND NOT q.waiting
      AND q.received_at < now() - interval '5 seconds'
      AND NOT EXISTS (
        SELECT 1 FROM procrastinate_jobs j
        WHERE j.status IN ('todo', 'doing') AND j.args ->> 'question_id' = q.id::text)
    FOR UPDATE OF q SKIP LOCKED
"""
"""Find the open questions without a job."""

RELEASE = """
    WITH people AS (SELECT DISTINCT team_id, user_id FROM questions WHERE waiting AND state = 'received'),
    -- Materialized: run again for each row, a limit that skips locked rows would choose other rows each time.
    turn AS MATERIALIZED (
        SELECT next.id FROM people p
        CROSS JOIN LATERAL (
            SELECT count(*) AS count FROM questions q
            WHERE q.team_id = p.team_id AND q.user_id = p.user_id AND NOT q.waiting
                AND q.state IN ('received', 'working', 'delivering')) AS queued
        CROSS JOIN LATERAL (
            SELECT q.id FROM questions q
            WHERE q.team_id = p.team_id AND q.user_id = p.user_id AND q.waiting AND q.state = 'received'
            ORDER BY q.received_at
            LIMIT GREATEST(0, %(queued_per_person)s - queued.count)
            FOR UPDATE OF q SKIP LOCKED) AS next)
    UPDATE questions q SET waiting = false FROM turn
    WHERE q.id = turn.id AND q.waiting AND q.state = 'received'
"""
"""Release the waiting questions of people who have fewer in the queue than they may; `ORPHANS` finds them then."""

WORKERS_ALIVE = """
    SELECT count(*) FROM procrastinate_workers WHERE last_heartbeat > now() - %(seconds)s * interval '1 second'
"""
"""How many workers, in any process, were heard of lately."""
