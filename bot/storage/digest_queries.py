"""Every query on the tables of the digests, named and described."""

from __future__ import annotations

_FIGURES = """
    SELECT d.*, coalesce(f.runs, 0) AS runs, f.cost_usd, coalesce(f.unpriced, 0) AS unpriced
    FROM digests d
    LEFT JOIN LATERAL (
        SELECT count(*) AS runs, sum(q.cost_usd) AS cost_usd, count(*) FILTER (
            WHERE q.cost_usd IS NULL AND q.state NOT IN ('received', 'working', 'delivering')) AS unpriced
        FROM digest_runs r JOIN questions q ON q.id = r.question_id
        WHERE r.digest_id = d.id AND r.slot > %(now)s - interval '30 days') f ON true
"""

ALONE = "SELECT pg_advisory_xact_lock(hashtext('digests'), hashtext(%(team_id)s))"
"""Let one process at a time add digests of a workspace, so that the limits hold."""

COUNTS = """
    SELECT count(*) FILTER (WHERE user_id = %(user_id)s) AS of_owner,
        count(*) FILTER (WHERE channel_id = %(channel_id)s) AS in_channel,
        count(*) FILTER (WHERE user_id = %(user_id)s AND channel_id = %(channel_id)s) AS of_owner_in_channel
    FROM digests WHERE team_id = %(team_id)s
"""
"""Count the digests of a person, of a channel, and of the person in the channel."""

ADD = """
    INSERT INTO digests
        (id, team_id, user_id, number, channel_id, category, topic, days, at, zone, silence, next_at)
    SELECT %(id)s, %(team_id)s, %(user_id)s, min(n), %(channel_id)s, %(category)s, %(topic)s, %(days)s, %(at)s,
        %(zone)s, %(silence)s, %(next_at)s
    FROM generate_series(1, %(most)s) n
    WHERE NOT EXISTS (
        SELECT 1 FROM digests WHERE team_id = %(team_id)s AND user_id = %(user_id)s AND number = n)
"""
"""Keep a new digest under the owner's lowest free number."""

GET = f"{_FIGURES} WHERE d.id = %(id)s"
"""Read one digest."""

OF_OWNER = f"{_FIGURES} WHERE d.team_id = %(team_id)s AND d.user_id = %(user_id)s ORDER BY d.number"
"""Read what somebody has."""

LOCK = "SELECT id, state FROM digests WHERE id = %(id)s FOR UPDATE"
"""Hold a digest until the end of the transaction."""

SET_STATE = "UPDATE digests SET state = %(state)s, next_at = %(next_at)s WHERE id = %(id)s RETURNING id"
"""Pause, resume or stop a digest."""

STOP = "UPDATE digests SET state = 'stopped', next_at = NULL WHERE id = %(id)s AND state = 'active' RETURNING id"
"""Stop a digest; no row comes back when it does not run anyway."""

DELETE = "DELETE FROM digests WHERE id = %(id)s RETURNING id"
"""Forget a digest; the questions of its runs stay, with what they cost."""

DUE = """
    SELECT *, 0 AS runs, NULL AS cost_usd, 0 AS unpriced FROM digests
    WHERE state = 'active' AND next_at <= %(now)s
    ORDER BY next_at
    LIMIT 1
    FOR UPDATE SKIP LOCKED
"""
"""Hold a digest that is due and that no other process holds."""

ASTRAY = f"""
    {_FIGURES}
    WHERE d.state = 'active' AND d.next_at > %(now)s + (9 - cardinality(d.days)) * interval '1 day'
    ORDER BY d.next_at DESC
    LIMIT 1
    FOR UPDATE OF d SKIP LOCKED
"""
"""Hold a digest that is due later than its days of the week allow, with a day to spare for changes of the clocks."""

ADVANCE = "UPDATE digests SET next_at = %(next_at)s WHERE id = %(id)s"
"""Say when a digest is due again."""

RUN = """
    INSERT INTO digest_runs (digest_id, slot, question_id) VALUES (%(id)s, %(slot)s, %(question_id)s)
    ON CONFLICT (digest_id, slot) DO NOTHING
    RETURNING question_id
"""
"""Note a run; no row comes back when the slot had its run."""

RUNNING = """
    SELECT 1 FROM digest_runs r JOIN questions q ON q.id = r.question_id
    WHERE r.digest_id = %(id)s AND q.state IN ('received', 'working', 'delivering')
    LIMIT 1
"""
"""Whether a digest is being made."""

ASKED = "SELECT 1 FROM questions WHERE delivery_key = %(delivery_key)s"
"""Whether a run was asked for already, by whoever was interrupted before that could be said."""

WAITING = """
    SELECT 1 FROM digest_runs r JOIN questions q ON q.id = r.question_id
    WHERE r.digest_id = %(id)s AND q.state = 'received'
    LIMIT 1
"""
"""Whether a run of a digest still waits for a worker."""

SEEN = """
    SELECT s.fingerprint, s.at, s.place FROM digest_seen s
    LEFT JOIN questions q ON q.id = s.question_id
    WHERE s.digest_id = %(id)s AND s.question_id <> %(question_id)s AND s.place > %(place)s
      AND s.at > %(now)s - %(days)s * interval '1 day'
      AND (q.state IS NULL OR q.state NOT IN ('failed', 'expired'))
    ORDER BY s.at DESC
    LIMIT %(most)s
"""
"""What other runs posted since the table was read up to a place, the latest first."""

LOOKED = "UPDATE digest_runs SET looked = true WHERE digest_id = %(id)s AND question_id = %(question_id)s"
"""Note that a run has looked for news, and that what it found was told or is known."""

LAST_LOOK = """
    SELECT max(r.slot) AS slot FROM digest_runs r JOIN questions q ON q.id = r.question_id
    WHERE r.digest_id = %(id)s AND r.question_id <> %(question_id)s AND r.looked AND r.slot <= %(now)s
      AND q.state = 'answered'
"""
"""For which moment a digest last looked; one that is still to come is a mistake of some computer's clock."""

UNSEE = """
    DELETE FROM digest_seen
    WHERE digest_id = %(id)s
      AND (question_id = %(question_id)s OR at <= %(now)s - %(days)s * interval '1 day')
"""
"""Forget what this run noted before it was interrupted, and what is too old."""

SEE = """
    INSERT INTO digest_seen (digest_id, question_id, fingerprint, at)
    SELECT %(id)s, %(question_id)s, unnest(%(fingerprints)s::text[]), %(now)s
"""
"""Note what this run posts."""
