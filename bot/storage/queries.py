"""Every query on the questions table, named and described."""

from __future__ import annotations

RECEIVE = """
    INSERT INTO questions
        (id, delivery_key, surface, command, text, team_id, channel_id, user_id, response_url, thread_ts, message_ts)
    VALUES (%(id)s, %(delivery_key)s, %(surface)s, %(command)s, %(text)s, %(team_id)s, %(channel_id)s, %(user_id)s,
        %(response_url)s, %(thread_ts)s, %(message_ts)s)
    ON CONFLICT (delivery_key) DO NOTHING
    RETURNING id
"""
"""Write a question down; no row comes back when its delivery key is known already."""

WITHDRAW = """
    UPDATE questions
    SET state = 'failed', attempt = attempt + 1, settled_at = now(), response_url = NULL
    WHERE id = %(id)s AND state IN ('received', 'working', 'delivering')
"""
"""Close a question that is asked again; whoever holds it is from now on a zombie."""

CLAIM = """
    UPDATE questions
    SET state = CASE WHEN messages IS NULL THEN 'working' ELSE 'delivering' END,
        attempt = attempt + 1,
        returns = returns + CASE WHEN state = 'received' THEN 0 ELSE 1 END,
        claimed_at = now()
    WHERE id = %(id)s AND state IN ('received', 'working', 'delivering')
    RETURNING *
"""
"""Take a question that is not settled; whoever held it before is from now on a zombie."""

GET = "SELECT * FROM questions WHERE id = %(id)s"
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
    SET state = 'delivering', part = %(part)s, response_uses = response_uses + %(uses)s
    WHERE id = %(id)s AND attempt = %(attempt)s AND state IN ('working', 'delivering')
    RETURNING id
"""
"""Say which message is about to be posted; no row comes back for a zombie."""

SETTLE = """
    UPDATE questions
    SET state = %(state)s, settled_at = now(), response_url = NULL
    WHERE id = %(id)s AND attempt = %(attempt)s AND state IN ('working', 'delivering')
    RETURNING id
"""
"""Close a question. Its response_url is of no more use and goes."""

STOP = """
    UPDATE questions
    SET state = 'stopped', attempt = attempt + 1, settled_at = now(), response_url = NULL
    WHERE id = %(id)s AND user_id = %(user_id)s AND state IN ('received', 'working', 'delivering') AND messages IS NULL
    RETURNING *
"""
"""Close a question that its asker does not want any more, unless its answer is there; its worker is then a zombie."""

ORPHANS = """
    SELECT q.id FROM questions q
    WHERE q.state IN ('received', 'working', 'delivering')
      AND q.received_at < now() - interval '5 seconds'
      AND NOT EXISTS (
        SELECT 1 FROM procrastinate_jobs j
        WHERE j.status IN ('todo', 'doing') AND j.args ->> 'question_id' = q.id::text)
    FOR UPDATE OF q SKIP LOCKED
"""
"""Open questions without a job: a zombie that woke up late can finish the job that another worker holds."""

WORKERS_ALIVE = """
    SELECT count(*) FROM procrastinate_workers WHERE last_heartbeat > now() - %(seconds)s * interval '1 second'
"""
"""How many workers, in any process, were heard of lately."""
