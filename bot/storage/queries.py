"""The queries of `QuestionStore`, and some that other modules use, named and described."""

from __future__ import annotations

from typing import LiteralString

from bot.model.question import RECORDED
from bot.privacy.tables import QUESTIONS_EMPTIED, assignments

TASK = "answer_question"
"""The name of the only kind of job."""


DEFAULT, OVERFLOW = "default", "overflow"
"""The queues whose jobs do not wait for the limit of a service.

`DEFAULT` is for questions that ask no service, `OVERFLOW` for those that a service's limit would delay too long.
"""


def enqueue(
    question_id: LiteralString, *, priority: LiteralString, queue: LiteralString = f"'{DEFAULT}'"
) -> LiteralString:
    """Return the SQL expression that enqueues a question's job; the arguments are SQL expressions.

    The expression calls procrastinate's own function within the statement that writes the question, and so in the same
    transaction. Waiting jobs with the highest priority go first.
    """
    return f"""procrastinate_defer_jobs_v1(ARRAY[ROW({queue}, '{TASK}', {priority}, NULL, NULL,
        jsonb_build_object('question_id', {question_id}), NULL)::procrastinate_job_to_defer_v1])"""


ASKED = f"""command = ANY(%(commands)s) AND state NOT IN ('received', 'working', 'delivering', 'failed')
            AND provider IS DISTINCT FROM '{RECORDED}'"""
"""The condition for the questions that statistics count: closed, not failed, and not answered by a recorded example.

Dollars in statistics do not come from these questions, but from the column `cost` of the ledger.
"""

LOCK = """
    SELECT set_config('lock_timeout', '1000', true),
        pg_advisory_xact_lock(hashtextextended(%(team_id)s || ':' || %(user_id)s, 6)),
        CASE WHEN %(thread_ts)s::text IS NOT NULL THEN
            pg_advisory_xact_lock(hashtextextended(%(team_id)s || ':' || %(channel_id)s || ':' || %(thread_ts)s, 7))
        END
"""
"""Lock a person's and a thread's questions, so that only one transaction at a time counts and adds them.

Other transactions wait for at most a second. The lock is a statement of its own, so that the next statement sees the
rows that an earlier transaction added.
"""


def _on_one_line(statement: LiteralString) -> LiteralString:
    """Return a statement without its indentation, since psycopg caches statements of at most 4,096 characters."""
    return " ".join(statement.split()).replace("( ", "(")


_QUESTION = """
    INSERT INTO questions
        (id, delivery_key, surface, command, text, team_id, channel_id, user_id, response_url, thread_ts, message_ts,
        parent, action, conversation, queue, waiting)
    SELECT %(id)s::uuid, %(delivery_key)s, %(surface)s, %(command)s, %(text)s, %(team_id)s, %(channel_id)s, %(user_id)s,
        %(response_url)s, %(thread_ts)s::text, {message_ts}, %(parent)s::uuid, %(action)s, {conversation}, %(queue)s"""

_CONVERSATION = """CASE WHEN %(starts_conversation)s THEN %(id)s::uuid ELSE coalesce((
            SELECT conversation FROM questions
            WHERE team_id = %(team_id)s AND channel_id = %(channel_id)s AND thread_ts = %(thread_ts)s::text
            ORDER BY received_at DESC
            LIMIT 1),
        (
            SELECT conversation FROM questions
            WHERE %(surface)s = 'im' AND %(delivery_key)s LIKE '%%:' || %(thread_ts)s::text
                AND surface = 'im' AND team_id = %(team_id)s AND channel_id = %(channel_id)s
                AND received_at > now() - %(continues_minutes)s * interval '1 minute'
            ORDER BY received_at DESC
            LIMIT 1),
        (SELECT conversation FROM questions WHERE id = %(parent)s),
        %(id)s) END"""
"""The SQL expression for the conversation of a new question.

With `starts_conversation`, a question starts a new conversation. Otherwise it continues the conversation of its thread,
if there is one. A direct message outside a thread continues the conversation of the last direct message, if that is
recent. Any other question continues the conversation of its `parent`, or starts a new conversation.
"""

_STATUS = "coalesce(%(message_ts)s, (SELECT status_ts FROM earlier))"
"""The SQL expression for a new question's status message.

Without a message of its own, the question takes over the status message of the question that it replaces.
"""


def _limits_of(team_id: LiteralString) -> LiteralString:
    """Return the SQL call that reads the limits in force in a workspace; `team_id` is an SQL expression."""
    return f"""limits_of_v1({team_id}, %(open_per_person)s, %(user_per_minute)s, %(channel_per_minute)s,
        %(thread_per_minute)s, %(per_workspace)s, %(bounded)s)"""


RECEIVE = _on_one_line(f"""
    WITH earlier AS MATERIALIZED (
        SELECT * FROM earlier_versions_v1(%(delivery_key)s, %(team_id)s, %(channel_id)s, %(thread_ts)s, %(user_id)s,
            %(again)s)),
    unsettled AS NOT MATERIALIZED (
        SELECT user_id, surface, waiting FROM questions
        WHERE team_id = %(team_id)s AND state IN ('received', 'working', 'delivering')
            AND id <> ALL ((SELECT replaced FROM earlier)::uuid[])),
    share AS MATERIALIZED (
        SELECT l.*, e.known, e.replaced,
            (SELECT count(*) FROM (
                SELECT FROM unsettled WHERE user_id = %(user_id)s AND surface <> 'digest'
                LIMIT l.open_per_person) AS mine) AS open,
            (SELECT count(*) FROM (
                SELECT FROM unsettled WHERE user_id = %(user_id)s AND NOT waiting
                LIMIT %(queued_per_person)s) AS queued) AS queued,
            thread_asked_v1(%(team_id)s, %(channel_id)s, %(thread_ts)s, l.thread_per_minute) AS threads,
            (SELECT count(*) FROM (
                SELECT FROM unsettled WHERE NOT waiting LIMIT l.per_workspace) AS t) AS team,
            queue_head_v2(%(team_id)s, %(queue)s, %(surface)s, %(command)s) AS head,
            twin_v1(%(team_id)s, %(user_id)s, %(channel_id)s, %(surface)s, %(command)s, %(text)s) AS twin
        FROM {_limits_of("CASE WHEN %(limited)s THEN %(team_id)s END")} l, earlier e),
    decision AS MATERIALIZED (
        SELECT
            CASE
                WHEN known THEN 'known'
                WHEN twin IS NOT NULL AND twin <> ALL (replaced) THEN 'twin'
                WHEN open >= nullif(open_per_person, 0) THEN 'too_many_open'
                WHEN threads >= nullif(thread_per_minute, 0) THEN 'thread_full'
                WHEN user_per_minute + channel_per_minute > 0 AND rate_take_v1(%(team_id)s, %(user_id)s,
                    %(channel_id)s, user_per_minute, channel_per_minute) > 0 THEN 'too_fast'
                ELSE 'new'
            END AS received,
            coalesce(queued >= nullif(%(queued_per_person)s, 0) OR team >= nullif(per_workspace, 0), false)
                AS waiting,
            (head - queued)::integer AS priority
        FROM share),
    refused AS (
        INSERT INTO refused_deliveries (delivery_key)
        SELECT %(delivery_key)s FROM decision
        WHERE received NOT IN ('known', 'new') AND NOT %(resubmittable)s
        ON CONFLICT DO NOTHING),
    written AS (
        {_QUESTION.format(conversation=_CONVERSATION, message_ts=_STATUS)}, waiting FROM decision
        WHERE received = 'new'
        ON CONFLICT (delivery_key) DO NOTHING
        RETURNING id, waiting),
    withdrawn AS (
        UPDATE questions
        SET state = 'withdrawn', attempt = attempt + 1, settled_at = now(), uncleared_since = now(), response_url = NULL
        WHERE id = ANY ((SELECT replaced FROM earlier)::uuid[]) AND state IN ('received', 'working', 'delivering')
            AND EXISTS (SELECT FROM written)
        RETURNING command),
    enqueued AS MATERIALIZED (
        SELECT {enqueue("written.id", priority="decision.priority", queue="%(queue)s")}
        FROM written, decision WHERE NOT written.waiting)
    SELECT
        CASE WHEN received = 'new' AND NOT EXISTS (SELECT FROM written) THEN 'known' ELSE received END AS received,
        (SELECT count(*) FROM enqueued) AS jobs,
        w.command AS withdrawn,
        ahead, people, seconds
    FROM decision LEFT JOIN withdrawn w ON true,
        waits_v1(%(queue)s, priority, %(team_id)s, %(user_id)s, %(wait_seconds)s)
""")
"""Insert a question and its job, unless the question is known, or its asker, channel or thread has reached a limit.

A question is refused while its `twin`, the same question of the same person, waits (see `TWIN`). A question waits
without a job if its asker or its workspace has enough questions in the queue. If the new question asks an earlier one
`again`, or comes from an edited message, the earlier question is closed; a worker that still holds a closed question
posts nothing more. The refusal of a question that is not `resubmittable` is remembered for an hour, so that a repeated
delivery is neither answered nor refused again. Counting stops at the limit; a limit of 0 means no limit. Limits set by
admins apply immediately.
"""

TWIN = "SELECT twin_v1(%(team_id)s, %(user_id)s, %(channel_id)s, %(surface)s, %(command)s, %(text)s) AS id"
"""Find the same question of the same person in the same channel, if it has waited for over a second.

Questions in `DEFAULT` are not found.
"""

TAKE_DELIVERY = """
    INSERT INTO refused_deliveries (delivery_key) VALUES (%s) ON CONFLICT DO NOTHING RETURNING delivery_key
"""
"""Record a delivery that is not a question; return no row for its repetitions within an hour."""

LIMITS = f"""
    SELECT l.*, w.open_per_person AS own_open_per_person, w.user_per_minute AS own_user_per_minute,
        w.channel_per_minute AS own_channel_per_minute, w.thread_per_minute AS own_thread_per_minute,
        w.per_workspace AS own_per_workspace
    FROM {_limits_of("%(team_id)s")} l LEFT JOIN workspace_limits w ON w.team_id = %(team_id)s
"""
"""Read a workspace's limits: those in force, and those that its admins have set."""

DELIVERED_LATE = "UPDATE questions SET late_seconds = %(late_seconds)s WHERE id = %(id)s"
"""Record Slack's delay in delivering a message, in the transaction that inserts its question."""

HAS_FILES = "UPDATE questions SET files = %(files)s WHERE id = %(id)s"
"""Record the files of a message, in the transaction that inserts its question."""

INSERT = f"""
    WITH written AS (
        {_QUESTION.format(conversation="NULL", message_ts="%(message_ts)s")}, false
        ON CONFLICT (delivery_key) DO NOTHING
        RETURNING id, queue)
    SELECT id, {enqueue("id", priority="queue_class_v1(%(surface)s, %(command)s)", queue="queue")} FROM written
"""
"""Insert a question that nobody typed, and its job; return no row if the delivery key is known."""

OPEN = """
    SELECT command, text, channel_id, extract(epoch FROM now() - received_at)::float8 AS age FROM questions
    WHERE team_id = %(team_id)s AND user_id = %(user_id)s AND state IN ('received', 'working', 'delivering')
        AND surface <> 'digest'
    ORDER BY received_at
    LIMIT %(most)s
"""
"""List a person's open questions, the oldest first."""

PLACES = """
    WITH asked AS MATERIALIZED (
        SELECT q.id, q.state, q.waiting, q.queue FROM questions q WHERE q.id = ANY(%(ids)s)),
    lines AS (
        SELECT q.id, q.queue, q.team_id, q.user_id, q.waiting, q.received_at, j.priority, j.id AS job
        FROM procrastinate_jobs j JOIN questions q ON q.id = (j.args ->> 'question_id')::uuid
        WHERE j.status = 'todo' AND j.queue_name = q.queue
        UNION ALL
        SELECT q.id, q.queue, q.team_id, q.user_id, true, q.received_at, NULL, NULL
        FROM questions q WHERE q.waiting AND q.state = 'received'),
    own AS (
        SELECT *, row_number() OVER (
            PARTITION BY queue, team_id, user_id ORDER BY waiting, priority DESC, job, received_at) AS among_own
        FROM lines),
    placed AS (
        SELECT id, row_number() OVER line - 1 AS ahead, count(*) FILTER (WHERE among_own = 1) OVER line - 1 AS people
        FROM own WINDOW line AS (PARTITION BY queue ORDER BY waiting, priority DESC, job, received_at))
    SELECT asked.id, state, waiting, coalesce(ahead, 0)::integer AS ahead, coalesce(people, 0)::integer AS people,
        shown_wait_v1(queue, coalesce(ahead, 0) + 1, %(wait_seconds)s) AS seconds
    FROM asked LEFT JOIN placed USING (id)
"""
"""Read the places of questions: how many questions and other people are ahead in the queue, and the expected wait.

For a question that waits for other questions of its workspace, the numbers are upper bounds.
"""

TAKE_RESPONSE_USE = """
    UPDATE questions SET response_uses = response_uses + 1 WHERE id = %(id)s AND state = 'received' RETURNING id
"""
"""Count one use of the response_url of a question that no worker has begun."""

NOTICE = """
    WITH old AS (DELETE FROM thread_notices WHERE at < now() - interval '1 hour')
    INSERT INTO thread_notices (team_id, channel_id, thread_ts)
    VALUES (%(team_id)s, %(channel_id)s, %(thread_ts)s)
    ON CONFLICT (team_id, channel_id, thread_ts) DO UPDATE SET at = now()
    WHERE thread_notices.at <= now() - interval '1 minute'
    RETURNING at
"""
"""Record that a thread is told about its limit; return no row if it was told within the last minute."""

_COLUMNS = """
    id, delivery_key, surface, command, text, team_id, channel_id, user_id, response_url, response_uses, message_ts,
    thread_ts, state, attempt, returns, messages, outcome, part, run_id, received_at, unconfirmed, conversation,
    streams, shown, streaming, parent, action, public, text_deleted_at, late_seconds, settled_at, files
"""
"""The columns of a question.

They are named one by one: with `*`, a prepared statement would fail after a newer version's migration adds a column.
"""

_ROW = f"""{_COLUMNS}, extract(epoch FROM clock_timestamp() - received_at)::float8 AS age,
    coalesce(settled_at > clock_timestamp() - interval '2 seconds', false) AS just_settled"""


def of_installation(team_id: LiteralString) -> LiteralString:
    """Return an SQL condition that is true if this process may work on a workspace's rows.

    `team_id` is an SQL expression; a column must be given with its table. A process with the token of one installation
    works only on the rows of this installation. While the process does not know its installation yet, it works only if
    the database has no installation. With `many`, a process works on the rows of all installations.
    """
    return f"""(%(many)s
            OR %(installation)s::text IS NULL AND NOT EXISTS (SELECT FROM workspaces)
            OR EXISTS (
                SELECT FROM workspaces w
                WHERE w.id = %(installation)s AND (
                    {team_id} IN (w.team_id, w.enterprise_id)
                    OR w.is_enterprise_install AND NOT EXISTS (
                        SELECT FROM workspaces o WHERE {team_id} IN (o.team_id, o.enterprise_id)))))"""


CLAIM = f"""
    WITH found AS MATERIALIZED (SELECT id AS found, attempt AS was FROM questions WHERE id = %(id)s),
    taken AS (
        UPDATE questions
        SET state = CASE WHEN messages IS NULL THEN 'working' ELSE 'delivering' END,
            attempt = attempt + 1,
            returns = returns + CASE WHEN state = 'received' THEN 0 ELSE 1 END,
            claimed_by = %(claim)s,
            claimed_at = now()
        FROM found
        WHERE id = found AND attempt = was AND state IN ('received', 'working', 'delivering')
            AND command = ANY(%(commands)s) AND claimed_by IS DISTINCT FROM %(claim)s
            AND {of_installation("questions.team_id")}
        RETURNING {_COLUMNS}),
    held AS (
        SELECT {_COLUMNS} FROM taken
        UNION ALL
        SELECT {_COLUMNS} FROM questions
        WHERE id = %(id)s AND claimed_by = %(claim)s AND state IN ('received', 'working', 'delivering'))
    SELECT {_ROW},
        coalesce((SELECT w.state <> 'open' FROM workspaces w WHERE w.id = %(installation)s), false) AS closed,
        coalesce((
            SELECT u.user_team FROM user_teams u
            WHERE u.user_id IN (held.user_id, held.team_id || ':' || held.user_id)
                AND u.at > now() - %(seconds)s * interval '1 second'
            ORDER BY u.at DESC LIMIT 1), '') AS user_team,
        (SELECT p.settings FROM person_settings p
            WHERE p.team_id = held.team_id AND p.user_id = held.user_id) AS person_settings,
        (SELECT c.settings FROM channel_settings c
            WHERE c.team_id = held.team_id AND c.channel_id = held.channel_id) AS channel_settings,
        (SELECT w.settings FROM workspace_settings w WHERE w.team_id = held.team_id) AS workspace_settings,
        EXISTS (
            SELECT 1 FROM homes h WHERE h.team_id = held.team_id AND h.user_id = held.user_id
                AND h.opened_at > now() - interval '12 hours') AS home_open
    FROM held
"""
"""Claim an open question; a worker that held it before posts nothing more. Of two simultaneous claims, one succeeds.

A repeated claim returns the question that it has already taken, in case the first confirmation was lost.
"""

HAND_OVER = "UPDATE questions SET state = 'received' WHERE id = %(id)s AND attempt = %(attempt)s RETURNING id"
"""Pass a question to another process, without counting this as a redelivery."""

IS_OWN = f"SELECT {of_installation('%(team_id)s')} AS own"
"""Read whether this process works on a workspace's questions."""

GET = f"SELECT {_ROW} FROM questions WHERE id = %(id)s"
"""Read one question."""

RESULT = """
    SELECT id AS question_id, command, text, result, received_at AS asked_at, channel_id FROM questions
    WHERE id = %(id)s AND result IS NOT NULL
"""
"""Read the data for the buttons below an answer."""

CLAIMS = """
    SELECT id, CASE
        WHEN state NOT IN ('received', 'working', 'delivering') THEN -1
        WHEN EXISTS (SELECT FROM spending_pauses p WHERE p.team_id = questions.team_id)
            AND EXISTS (
                SELECT FROM ledger l
                WHERE l.question_id = questions.id
                    AND (l.state = 'reserved' OR l.state = 'cut' AND l.held_at >= l.ended_at)) THEN -2
        ELSE attempt END AS claim
    FROM questions WHERE id = ANY(%(ids)s)
"""
"""Read the number of the claim on each question: -1 if the question is closed, -2 if it may spend despite a pause.

A question may spend while one of its calls is reserved, or after the run of an interrupted call was resumed.
"""

TURNS = """
    SELECT command, question, answer, own, delivery_key, received_at FROM (
        SELECT command, text AS question, remembered AS answer, user_id = %(user_id)s AS own, delivery_key, received_at
        FROM questions
        WHERE conversation = %(conversation)s AND remembered IS NOT NULL AND received_at < %(received_at)s
            AND team_id = %(team_id)s AND channel_id = %(channel_id)s
        ORDER BY received_at DESC
        LIMIT %(most)s) AS last
    ORDER BY received_at
"""
"""List the answered questions of a conversation before one of its questions, oldest first."""

ASKED_DIRECTLY = """
    SELECT command, text FROM questions
    WHERE team_id = %(team_id)s AND channel_id = %(channel_id)s AND user_id = %(user_id)s AND surface = 'im'
        AND state = 'answered' AND seconds IS NOT NULL AND action = '' AND text_deleted_at IS NULL
    ORDER BY received_at DESC
    LIMIT %(most)s
"""
"""List a person's answered direct messages, the newest first, without questions asked by buttons."""

_WITH_SENT = """sent = CASE WHEN right(sent, length(%(sent)s::text)) = %(sent)s::text THEN sent
            ELSE nullif(concat(sent, %(sent)s::text), '') END"""
"""The SQL assignment that appends `sent` to the saved requests, only once even if the statement is repeated."""

RECORD_RUN = f"""
    UPDATE questions
    SET run_id = %(run_id)s, {_WITH_SENT},
        uncleared_since = CASE WHEN attempt = %(attempt)s THEN uncleared_since ELSE now() END
    WHERE id = %(id)s AND (attempt = %(attempt)s OR state IN ('stopped', 'withdrawn'))
    RETURNING attempt = %(attempt)s AS ours
"""
"""Save the provider's id of a background run, and the requests sent so far.

If the question was closed while the run began, the clear-up cancels the run, even if this process dies now.
"""

RECORD_SENT = f"UPDATE questions SET {_WITH_SENT} WHERE id = %(id)s AND text_deleted_at IS NULL"
"""Save the requests sent for a question that was stopped meanwhile, or that another worker has claimed."""

REPLACE_SENT = "DELETE FROM sent_requests WHERE question_id = %(id)s AND id = ANY(%(replaced)s)"
"""Delete saved requests that were not sent, or that are saved elsewhere."""

SENT = """
    SELECT concat(sent, (
        SELECT string_agg(r.request, '' ORDER BY r.at) FROM sent_requests r WHERE r.question_id = questions.id)) AS sent
    FROM questions WHERE id = %(id)s
"""
"""Read the requests sent for a question."""

RECORD_MESSAGE = """
    UPDATE questions SET message_ts = %(message_ts)s WHERE id = %(id)s AND attempt = %(attempt)s RETURNING id
"""
"""Save the `ts` of the message that announces the search and will become the answer."""

KEEP_MESSAGES = f"""
    WITH replaced AS (
        {REPLACE_SENT} AND EXISTS (SELECT FROM questions q WHERE q.id = %(id)s AND q.attempt = %(attempt)s))
    UPDATE questions
    SET messages = %(messages)s, outcome = %(outcome)s, state = 'delivering', response_uses = %(uses)s,
        unconfirmed = %(unconfirmed)s, provider = %(provider)s, model = %(model)s, effort = %(effort)s,
        cost_usd = %(cost_usd)s, seconds = %(seconds)s, error = %(error)s, remembered = %(remembered)s,
        result = %(result)s, public = %(public)s, {_WITH_SENT}
    WHERE id = %(id)s AND attempt = %(attempt)s
    RETURNING id
"""
"""Save the rendered messages, and delete the saved requests that `sent` replaces.

As `BEGIN_PART` does, record that the first message is about to be posted.
"""

KEEP_STOPPED = "UPDATE questions SET result = %(result)s WHERE id = %(id)s AND state = 'stopped'"
"""Save the written part of a stopped answer, for the buttons below it."""

BEGIN_PART = """
    UPDATE questions
    SET state = 'delivering', part = %(part)s, response_uses = %(uses)s, unconfirmed = %(unconfirmed)s
    WHERE id = %(id)s AND attempt = %(attempt)s AND state IN ('working', 'delivering')
    RETURNING id
"""
"""Record which message is about to be posted; return no row if the question is closed or another worker claimed it."""


def _workspace_limit(team_id: LiteralString) -> LiteralString:
    """Return the SQL expression of the number of questions that a workspace may have in progress.

    `team_id` is an SQL expression.
    """
    return f"""limit_v1((SELECT w.per_workspace FROM workspace_limits w WHERE w.team_id = {team_id}),
        %(per_workspace)s, %(bounded)s)"""


_LEAVES_LANE: LiteralString = f"""
    left_lane AS (
        UPDATE procrastinate_jobs j SET queue_name = '{DEFAULT}' FROM closed
        WHERE j.status = 'todo' AND j.args ->> 'question_id' = closed.id::text)"""
"""Move the waiting job of a closed question from its lane to `DEFAULT`: clearing up needs the job, but no turn."""

_HEAD: LiteralString = "queue_head_v2('', queue, surface, command)"

_NEXT = f"""
    place AS (
        SELECT c.most, CASE WHEN c.most > 0 THEN (
            SELECT count(*) FROM questions o
            WHERE o.team_id = c.team_id AND o.id <> c.id AND NOT o.waiting
                AND o.state IN ('received', 'working', 'delivering')) END AS taken
        FROM (SELECT id, team_id, {_workspace_limit("closed.team_id")} AS most FROM closed LIMIT 1) AS c),
    next AS (
        UPDATE questions SET waiting = false
        WHERE id = (
            SELECT q.id FROM questions q, closed c
            WHERE q.team_id = c.team_id AND q.waiting AND q.state = 'received'
                AND coalesce((SELECT taken < most FROM place), true)
                AND (q.user_id = c.user_id OR (SELECT most FROM place) > 0 AND (
                    SELECT count(*) FROM questions o
                    WHERE o.team_id = q.team_id AND o.user_id = q.user_id AND NOT o.waiting
                        AND o.state IN ('received', 'working', 'delivering')) < %(queued_per_person)s)
            ORDER BY q.received_at
            LIMIT 1
            FOR UPDATE OF q SKIP LOCKED)
        RETURNING id, queue, surface, command),
    jobless AS (
        SELECT * FROM next
        WHERE NOT EXISTS (
            SELECT 1 FROM procrastinate_jobs j
            WHERE j.status IN ('todo', 'doing') AND j.args ->> 'question_id' = next.id::text)),
    enqueued AS MATERIALIZED (
        SELECT {enqueue("id", priority=_HEAD + " - %(behind)s::integer", queue="queue")} FROM jobless)
    SELECT closed.id, (SELECT count(*) FROM enqueued) AS jobs,
        EXISTS (
            SELECT 1 FROM homes h WHERE h.team_id = closed.team_id AND h.user_id = closed.user_id
                AND h.opened_at > now() - interval '12 hours') AS home_open
    FROM closed
"""
"""Give the place of a closed question to the same person's longest waiting question.

If the workspace has a limit, give the place to the longest waiting question of anyone in the workspace who may have
another question in the queue. No question is started while the workspace has reached its limit, for example after the
limit was lowered. A waiting question that already has a job, from an older version of the app, gets no second job.
"""


def _settle(emptied: LiteralString) -> LiteralString:
    return f"""
    WITH closed AS (
        UPDATE questions
        SET state = %(state)s, settled_at = now(), {emptied}
        WHERE id = %(id)s AND attempt = %(attempt)s AND state IN ('working', 'delivering', %(state)s)
        RETURNING id, team_id, user_id),
    job AS (DELETE FROM procrastinate_jobs j USING closed WHERE j.id = %(job)s AND j.status IN ('todo', 'doing')),
    {_NEXT}
"""


SETTLE = _settle("response_url = NULL")
"""Close a question, delete its response_url, and remove its job.

The statement may be repeated, and succeeds again if the same attempt has already closed the question with this state.
"""

SETTLE_WITHOUT_TEXT = _settle(assignments(QUESTIONS_EMPTIED))
"""Do the same as `SETTLE`, and delete the text of the question and of its answer."""

WITHDRAW_ANSWER = """
    UPDATE questions SET state = 'withdrawn', remembered = NULL WHERE id = %(id)s AND state IN ('answered', 'failed')
"""
"""Record that the answer to a question was withdrawn; later questions are then sent without it."""

DELETE = "DELETE FROM questions WHERE id = %(id)s AND state NOT IN ('received', 'working', 'delivering')"
"""Delete a closed question, with its rows in other tables."""

OF_STREAMS = f"""
    SELECT {_ROW} FROM questions
    WHERE team_id = %(team_id)s AND channel_id = %(channel_id)s AND streams && %(streams)s
        AND state IN ('received', 'working', 'delivering')
    LIMIT 1
"""
"""Read the open question whose answer is being written into one of these messages."""

_OF_MESSAGE: LiteralString = """
    team_id = %(team_id)s AND channel_id = %(channel_id)s AND thread_ts = %(thread_ts)s AND user_id = %(user_id)s
        AND (delivery_key = %(delivery_key)s OR starts_with(delivery_key, %(delivery_key)s || ':edited:'))
"""

WITHDRAW = f"""
    WITH deleted AS (
        INSERT INTO refused_deliveries (delivery_key) VALUES (%(delivery_key)s || ':withdrawn') ON CONFLICT DO NOTHING),
    closed AS (
        UPDATE questions
        SET state = 'withdrawn', attempt = attempt + 1, settled_at = now(), uncleared_since = now(), response_url = NULL
        WHERE {_OF_MESSAGE} AND state IN ('received', 'working', 'delivering') AND messages IS NULL
            AND received_at > now() - %(seconds)s * interval '1 second'
        RETURNING id, team_id, user_id),
    {_LEAVES_LANE},
    {_NEXT}
"""
"""Close the question of a deleted message, unless it is answered or older than `seconds`.

Its worker posts nothing more. For an hour, questions from the same message are refused: Slack may deliver the message
or an edit late.
"""

UNWANTED = f"""
    UPDATE questions
    SET uncleared_since = now(), state = CASE state WHEN 'stopped' THEN 'withdrawn' ELSE state END
    WHERE {_OF_MESSAGE}
        AND (messages IS NOT NULL AND state IN ('delivering', 'answered', 'failed') OR state = 'stopped')
"""
"""Mark the question of a deleted message, so that a worker deletes its answer, or the note that it was stopped."""

STOP = f"""
    WITH closed AS (
        UPDATE questions
        SET state = 'stopped', attempt = attempt + 1, settled_at = now(), uncleared_since = now(),
            response_url = coalesce(%(response_url)s, response_url)
        WHERE id = %(id)s AND user_id = %(user_id)s AND state IN ('received', 'working', 'delivering')
            AND messages IS NULL
        RETURNING id, team_id, user_id),
    {_LEAVES_LANE},
    {_NEXT}
"""
"""Close a question of this asker as stopped, unless it has been answered; its worker posts nothing more.

The response_url of the click, if there is one, then serves to replace the clicked message.
"""


def stop_all(values: LiteralString, condition: LiteralString) -> LiteralString:
    """Return the statement that closes open questions, and reads the background runs that services still work on.

    `values` are SQL assignments that set the new state, `condition` selects the questions.
    """
    return f"""
    WITH stopped AS (
        UPDATE questions SET {values}, attempt = attempt + 1, settled_at = now(), uncleared_since = now()
        WHERE state IN ('received', 'working', 'delivering') AND {condition}
        RETURNING id, team_id, run_id)
    SELECT team_id, run_id FROM stopped WHERE run_id IS NOT NULL
    UNION SELECT q.team_id, s.run_id FROM stages s JOIN stopped q ON q.id = s.question_id
    WHERE s.run_id IS NOT NULL AND s.result IS NULL
    """


ANSWERED_IN_THREAD = """
    SELECT 1 FROM questions
    WHERE team_id = %(team_id)s AND channel_id = %(channel_id)s AND thread_ts = %(thread_ts)s
        AND state = 'answered' AND seconds IS NOT NULL
        AND coalesce((
            SELECT c.settings -> 'follow_ups' = 'true'::jsonb FROM channel_settings c
            WHERE c.team_id = %(team_id)s AND c.channel_id = %(channel_id)s), %(follow_ups)s)
        AND coalesce((
            SELECT p.settings -> 'follow_ups' = 'true'::jsonb FROM person_settings p
            WHERE p.team_id = %(team_id)s AND p.user_id = %(user_id)s), true)
    LIMIT 1
"""
"""Return a row if a thread has an answered question, and the channel's and the person's settings allow follow-ups.

A help text does not count as an answer; its `seconds` are null.
"""

SWEEPING = """
    SELECT set_config('lock_timeout', '1000', true), pg_try_advisory_xact_lock(6906) AS locked
"""
"""Try to get the lock for recovering jobs, since two processes at once would each add a job for the same question."""

ORPHANS = f"""
    WITH orphans AS MATERIALIZED (
        SELECT q.id, queue_class_v1(q.surface, q.command) AS class,
            CASE WHEN q.state IN ('received', 'working') THEN q.queue ELSE '{DEFAULT}' END AS queue
        FROM questions q
        WHERE (q.state IN ('received', 'working', 'delivering') AND NOT q.waiting
            AND q.received_at < now() - interval '5 seconds' OR q.uncleared_since < now() - interval '2 seconds')
          AND NOT EXISTS (
            SELECT 1 FROM procrastinate_jobs j
            WHERE j.status IN ('todo', 'doing') AND j.args ->> 'question_id' = q.id::text)
        FOR UPDATE OF q SKIP LOCKED)
    SELECT {enqueue("id", priority="class", queue="queue")} FROM orphans
"""
"""Enqueue questions that are open or must be cleared up, have no job and need not wait."""

LEFT_OVER = f"""
    SELECT {_ROW}, uncleared_since, extract(epoch FROM now() - uncleared_since)::float8 AS uncleared,
        EXISTS (SELECT FROM questions o WHERE o.delivery_key IN (q.id || ':retry', q.id || ':past_week')) OR EXISTS (
            SELECT FROM questions o
            WHERE o.team_id = q.team_id AND o.channel_id = q.channel_id AND o.thread_ts = q.thread_ts
                AND o.message_ts = q.message_ts AND o.received_at > q.received_at) AS passed_on
    FROM questions q
    WHERE id = %(id)s AND state NOT IN ('received', 'working', 'delivering')
        AND (uncleared_since IS NOT NULL OR %(again)s AND state IN ('stopped', 'withdrawn'))
"""
"""Read a closed question that may have left something, and whether another question has its status message now."""

CLEARED = """
    UPDATE questions SET uncleared_since = NULL, response_url = NULL
    WHERE id = %(id)s AND state NOT IN ('received', 'working', 'delivering')
        AND uncleared_since IS NOT DISTINCT FROM %(since)s
"""
"""Record that nothing of a closed question is left to clear up, unless its message was deleted meanwhile."""

TAKE_TURN = f"""
    SELECT rate_take_v1(%(team_id)s, %(user_id)s, %(channel_id)s, user_per_minute, channel_per_minute) <= 0 AS taken
    FROM {_limits_of("%(team_id)s")}
"""
"""Count a request that is no question against the rate limits of person and channel, unless a limit is reached."""

RATE_WAIT = f"""
    SELECT kind, extract(epoch FROM full_at - now())::float8
        - CASE kind WHEN 'user' THEN 60.0 * (user_per_minute - 1) / nullif(user_per_minute, 0)
            ELSE 60.0 * (channel_per_minute - 1) / nullif(channel_per_minute, 0) END AS seconds
    FROM rate_limits, {_limits_of("%(team_id)s")}
    WHERE team_id = %(team_id)s AND (kind = 'user' AND subject = %(user_id)s
        OR kind = 'channel' AND subject = %(channel_id)s)
    ORDER BY seconds DESC NULLS LAST
    LIMIT 1
"""
"""Read how long a person's next question in a channel has to wait, and which limit (`kind`) is the reason."""

OVERFLOWING = f"""
    WITH places AS (
        SELECT j.id, j.queue_name, j.priority, (j.args ->> 'question_id')::uuid AS question_id,
            row_number() OVER (PARTITION BY j.queue_name ORDER BY j.priority DESC, j.id) AS place
        FROM provider_limits l JOIN procrastinate_jobs j ON j.queue_name = l.lane
        WHERE l.stands_in AND j.status = 'todo')
    UPDATE procrastinate_jobs SET queue_name = '{OVERFLOW}' WHERE status = 'todo' AND id IN (
        SELECT p.id FROM places p JOIN questions q ON q.id = p.question_id
        WHERE q.surface <> 'digest' AND lane_wait_v1(p.queue_name, p.place)
            + extract(epoch FROM now() - q.received_at) > %(wait_seconds)s)
"""
"""Move questions that would wait too long, except digests, to `OVERFLOW`, if another service can write the answer."""

FORGET_RATES = "DELETE FROM rate_limits WHERE full_at < now() - interval '1 minute'"
"""Delete the rows of people and channels whose full rate has been available again for a minute."""

RELEASE = f"""
    WITH people AS (
        SELECT team_id, user_id, {_workspace_limit("waits.team_id")} AS most
        FROM (SELECT DISTINCT team_id, user_id FROM questions WHERE waiting AND state = 'received') AS waits),
    -- Materialized: run again for each row, a limit that skips locked rows would choose other rows each time.
    turn AS MATERIALIZED (
        SELECT next.id, p.team_id, p.most, row_number() OVER (PARTITION BY p.team_id ORDER BY next.received_at) AS place
        FROM people p
        CROSS JOIN LATERAL (
            SELECT count(*) AS count FROM questions q
            WHERE q.team_id = p.team_id AND q.user_id = p.user_id AND NOT q.waiting
                AND q.state IN ('received', 'working', 'delivering')) AS queued
        CROSS JOIN LATERAL (
            SELECT q.id, q.received_at FROM questions q
            WHERE q.team_id = p.team_id AND q.user_id = p.user_id AND q.waiting AND q.state = 'received'
            ORDER BY q.received_at
            LIMIT GREATEST(0, %(queued_per_person)s - queued.count)
            FOR UPDATE OF q SKIP LOCKED) AS next)
    UPDATE questions q SET waiting = false FROM turn
    WHERE q.id = turn.id AND q.waiting AND q.state = 'received'
        AND (turn.most = 0 OR turn.place <= turn.most - (
            SELECT count(*) FROM questions o
            WHERE o.team_id = turn.team_id AND NOT o.waiting AND o.state IN ('received', 'working', 'delivering')))
"""
"""Release waiting questions as far as the limits of person and workspace allow; `ORPHANS` then enqueues them."""

WORKERS_ALIVE = """
    SELECT count(*) FROM procrastinate_workers WHERE last_heartbeat > now() - %(seconds)s * interval '1 second'
"""
"""Count the workers of all processes that were alive recently."""
