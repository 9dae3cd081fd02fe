"""Every table of the database, column by column: what is personal, how it is found, and when it is deleted.

Export, erasure, retention and the end of an installation all work by this list. A test compares it with the real
schema: a new column is a line here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import LiteralString


class Data(Enum):
    """What a column holds."""

    NONE = "no personal data: the app's own keys and states, figures, times"
    PERSON = "a person's Slack id, or ids of several"
    PLACE = "a Slack id of a workspace, a channel or a message"
    TEXT = "what a person wrote, chose or was answered"
    SECRET = "what opens something: never exported"  # noqa: S105 - a description


NONE, PERSON, PLACE, TEXT, SECRET = Data


@dataclass(frozen=True, kw_only=True)
class Table:
    """One table. Conditions and expressions are SQL.

    `of_person` finds the rows of a person by `%(user)s`, in the workspace `%(team)s` or, if that is NULL, in each.
    `of_workspace` finds those of the workspaces `%(teams)s`. None for a table without such rows, or one whose rows go
    with those of `parent`. What belongs to a person is deleted, unless `forget_person` says what is set instead, or
    `forgotten_with` names the table without whose rows nothing tells whose these are. `forget_workspace` is the same
    for a workspace, whose rows are then none any more for `of_workspace`.

    `outdated` finds the rows that are older than `%(days)s` days by the database's clock. Their `emptied` columns get
    these values; a table without any loses the rows.
    """

    columns: Mapping[str, Data]
    of_person: LiteralString | None = None
    of_workspace: LiteralString | None = None
    parent: str | None = None
    forget_person: Mapping[str, LiteralString] = field(default_factory=dict)
    forget_workspace: Mapping[str, LiteralString] = field(default_factory=dict)
    forgotten_with: str | None = None
    outdated: LiteralString | None = None
    emptied: Mapping[str, LiteralString] = field(default_factory=dict)


_PERSON: LiteralString = "user_id = %(user)s AND (%(team)s::text IS NULL OR team_id = %(team)s)"
_WORKSPACE: LiteralString = "team_id = ANY(%(teams)s)"
_ASKED_THERE: LiteralString = (
    "EXISTS (SELECT 1 FROM questions q WHERE q.id = question_id AND (%(team)s::text IS NULL OR q.team_id = %(team)s))"
)
_OWN_QUESTION: LiteralString = (
    "question_id IN (SELECT id FROM questions"
    " WHERE user_id = %(user)s AND (%(team)s::text IS NULL OR team_id = %(team)s))"
)
_OWN_DIGEST: LiteralString = (
    "digest_id IN (SELECT id FROM digests WHERE user_id = %(user)s AND (%(team)s::text IS NULL OR team_id = %(team)s))"
)
_HOUR_AGO: LiteralString = "at < now() - interval '1 hour'"
_SETTLED_LONG_AGO: LiteralString = "settled_at <= now() - %(days)s * interval '1 day'"

QUESTIONS_EMPTIED: Mapping[str, LiteralString] = {
    "text": "''",
    "messages": "CASE WHEN messages IS NOT NULL THEN '[]'::jsonb END",
    "result": "NULL",
    "remembered": "NULL",
    "sent": "NULL",
    "response_url": "NULL",
    "text_deleted_at": "now()",
}
"""What becomes of a settled question whose text is no longer kept; who asked, its state and its cost stay."""

TABLES: Mapping[str, Table] = {
    "digests": Table(
        of_person=_PERSON,
        of_workspace=_WORKSPACE,
        columns={
            "id": NONE,
            "team_id": PLACE,
            "user_id": PERSON,
            "number": NONE,
            "channel_id": PLACE,
            "category": TEXT,
            "topic": TEXT,
            "days": NONE,
            "at": NONE,
            "zone": TEXT,
            "silence": NONE,
            "state": NONE,
            "next_at": NONE,
            "created_at": NONE,
            "held_next_at": NONE,
        },
    ),
    "digest_runs": Table(
        of_person=_OWN_DIGEST,
        parent="digests",
        columns={"digest_id": NONE, "slot": NONE, "question_id": NONE, "looked": NONE},
    ),
    "digest_seen": Table(
        of_person=_OWN_DIGEST,
        parent="digests",
        outdated="at <= now() - %(days)s * interval '1 day' AND NOT EXISTS ("
        "SELECT 1 FROM questions q WHERE q.id = question_id AND q.settled_at IS NULL)",
        columns={"digest_id": NONE, "question_id": NONE, "fingerprint": TEXT, "at": NONE, "place": NONE},
    ),
    "stages": Table(
        of_person=_OWN_QUESTION,
        parent="questions",
        outdated="EXISTS (SELECT 1 FROM questions q WHERE q.id = question_id AND q.text_deleted_at IS NOT NULL)",
        columns={
            "question_id": NONE,
            "stage": NONE,
            "run_id": NONE,
            "begun_at": NONE,
            "result": TEXT,
            "seconds": NONE,
            "cost_usd": NONE,
        },
    ),
    "feedback": Table(
        of_person=f"user_id = %(user)s AND {_ASKED_THERE}",
        parent="questions",
        outdated="comment <> '' AND at <= now() - %(days)s * interval '1 day'",
        emptied={"comment": "''"},
        columns={
            "question_id": NONE,
            "user_id": PERSON,
            "up": NONE,
            "reasons": TEXT,
            "comment": TEXT,
            "agreed": NONE,
            "at": NONE,
        },
    ),
    "shares": Table(
        of_person=_OWN_QUESTION,
        parent="questions",
        columns={"question_id": NONE, "channel_id": PLACE, "state": NONE, "at": NONE},
    ),
    "file_requests": Table(
        of_person=f"user_id = %(user)s AND {_ASKED_THERE}",
        parent="questions",
        outdated="asked_at < now() - interval '1 hour'",
        columns={"question_id": NONE, "user_id": PERSON, "asked_at": NONE},
    ),
    "questions": Table(
        of_person=_PERSON,
        of_workspace=_WORKSPACE,
        outdated=f"text_deleted_at IS NULL AND {_SETTLED_LONG_AGO}",
        emptied=QUESTIONS_EMPTIED,
        columns={
            "id": NONE,
            "delivery_key": PLACE,
            "surface": NONE,
            "command": NONE,
            "text": TEXT,
            "team_id": PLACE,
            "channel_id": PLACE,
            "user_id": PERSON,
            "response_url": SECRET,
            "response_uses": NONE,
            "message_ts": PLACE,
            "thread_ts": PLACE,
            "state": NONE,
            "attempt": NONE,
            "returns": NONE,
            "messages": TEXT,
            "outcome": NONE,
            "part": NONE,
            "run_id": NONE,
            "provider": NONE,
            "model": NONE,
            "effort": NONE,
            "cost_usd": NONE,
            "seconds": NONE,
            "error": NONE,
            "received_at": NONE,
            "claimed_at": NONE,
            "settled_at": NONE,
            "claimed_by": NONE,
            "waiting": NONE,
            "unconfirmed": NONE,
            "late_seconds": NONE,
            "conversation": NONE,
            "remembered": TEXT,
            "streams": PLACE,
            "shown": NONE,
            "streaming": NONE,
            "result": TEXT,
            "parent": NONE,
            "action": NONE,
            "public": NONE,
            "text_deleted_at": NONE,
            "sent": TEXT,
        },
    ),
    "last_choices": Table(
        of_person=_PERSON,
        of_workspace=_WORKSPACE,
        columns={"team_id": PLACE, "user_id": PERSON, "command": NONE, "options": TEXT, "at": NONE},
    ),
    "person_settings": Table(
        of_person=_PERSON,
        of_workspace=_WORKSPACE,
        columns={"team_id": PLACE, "user_id": PERSON, "settings": TEXT, "at": NONE},
    ),
    "channel_settings": Table(
        of_person="(user_id = %(user)s OR %(user)s = ANY(string_to_array(settings ->> 'askers', ' ')))"
        " AND (%(team)s::text IS NULL OR team_id = %(team)s)",
        of_workspace=_WORKSPACE,
        # Without the only one who may ask, admins may; it must not become everyone.
        forget_person={
            "user_id": "CASE WHEN user_id = %(user)s THEN '' ELSE user_id END",
            "settings": "CASE WHEN %(user)s = ANY(string_to_array(settings ->> 'askers', ' '))"
            " THEN jsonb_set(settings, '{askers}', to_jsonb(coalesce(nullif(array_to_string("
            "array_remove(string_to_array(settings ->> 'askers', ' '), %(user)s), ' '), ''), 'admins')))"
            " ELSE settings END",
        },
        columns={"team_id": PLACE, "channel_id": PLACE, "settings": PERSON, "user_id": PERSON, "at": NONE},
    ),
    "homes": Table(
        of_person=_PERSON,
        of_workspace=_WORKSPACE,
        columns={"team_id": PLACE, "user_id": PERSON, "opened_at": NONE, "shown_at": NONE},
    ),
    # Of many workspaces, the id is that of the one where the person was seen, a colon, and the person's.
    "user_teams": Table(
        of_person="(user_id = %(user)s OR split_part(user_id, ':', 2) = %(user)s"
        " AND (%(team)s::text IS NULL OR split_part(user_id, ':', 1) = %(team)s))",
        of_workspace="(user_team = ANY(%(teams)s) OR split_part(user_id, ':', 1) = ANY(%(teams)s))",
        outdated="at < now() - interval '1 day'",
        columns={"user_id": PERSON, "user_team": PLACE, "at": NONE},
    ),
    "refused_deliveries": Table(
        of_workspace="split_part(delivery_key, ':', 1) = ANY(%(teams)s)",
        outdated=_HOUR_AGO,
        columns={"delivery_key": PLACE, "at": NONE},
    ),
    "thread_notices": Table(
        of_workspace=_WORKSPACE,
        outdated=_HOUR_AGO,
        columns={"team_id": PLACE, "channel_id": PLACE, "thread_ts": PLACE, "at": NONE},
    ),
    "slack_calls": Table(
        of_workspace=_WORKSPACE,
        columns={
            "team_id": PLACE,
            "starts": NONE,
            "appends": NONE,
            "stops": NONE,
            "edits": NONE,
            "no_streams_until": NONE,
        },
    ),
    # The log's rows stay; whose they are, only `audit_people` tells.
    "audit": Table(
        of_person=f"(team_id, who) IN (SELECT team_id, who FROM audit_people WHERE {_PERSON})",
        forgotten_with="audit_people",
        columns={
            "team_id": PLACE,
            "number": NONE,
            "at": NONE,
            "who": NONE,
            "what": NONE,
            "channel_id": PLACE,
            "cost_microusd": NONE,
            "decision": NONE,
            "subject": NONE,
            "before": NONE,
            "after": NONE,
            "hash": NONE,
        },
    ),
    "audit_outbox": Table(
        of_person="(user_id = %(user)s OR strpos(concat(before, after), %(user)s) > 0)"
        " AND (%(team)s::text IS NULL OR team_id = %(team)s)",
        of_workspace="team_id = ANY(%(teams)s) AND user_id <> ''",
        forget_person={
            "who": "CASE WHEN user_id = %(user)s THEN replace(gen_random_uuid()::text, '-', '') ELSE who END",
            "user_id": "CASE WHEN user_id = %(user)s THEN '' ELSE user_id END",
            "before": "replace(before::text, %(user)s, replace(gen_random_uuid()::text, '-', ''))::json",
            "after": "replace(after::text, %(user)s, replace(gen_random_uuid()::text, '-', ''))::json",
        },
        forget_workspace={"who": "replace(gen_random_uuid()::text, '-', '')", "user_id": "''"},
        columns={
            "id": NONE,
            "at": NONE,
            "team_id": PLACE,
            "user_id": PERSON,
            "who": NONE,
            "what": NONE,
            "channel_id": PLACE,
            "cost_microusd": NONE,
            "decision": NONE,
            "subject": NONE,
            "before": PERSON,
            "after": PERSON,
        },
    ),
    "audit_people": Table(
        of_person=_PERSON,
        of_workspace=_WORKSPACE,
        columns={"team_id": PLACE, "user_id": PERSON, "key": SECRET, "who": NONE},
    ),
    "audit_heads": Table(
        columns={"team_id": PLACE, "count": NONE, "hash": NONE, "key_id": NONE, "signature": NONE, "at": NONE},
    ),
    "audit_keys": Table(columns={"id": NONE, "key": SECRET, "at": NONE}),
    # These, and the keys, are deleted as soon as the app is uninstalled (`bot/workspaces`).
    "installations": Table(
        columns={
            "id": PLACE,
            "team_id": PLACE,
            "enterprise_id": PLACE,
            "is_enterprise_install": NONE,
            "bot_user_id": NONE,
            "app_id": NONE,
            "bot_token": SECRET,
            "refresh_token": SECRET,
            "expires_at": NONE,
            "refresh_error": NONE,
            "installed_at": NONE,
        },
    ),
    "provider_keys": Table(columns={"id": PLACE, "provider": NONE, "secret": SECRET, "at": NONE}),
    "organization_teams": Table(columns={"team_id": PLACE, "enterprise_id": PLACE}),
    "oauth_states": Table(columns={"state_hash": NONE, "expires_at": NONE}),
    # Kept: it is how an uninstalled app knows to refuse requests.
    "workspaces": Table(
        columns={
            "id": PLACE,
            "team_id": PLACE,
            "enterprise_id": PLACE,
            "is_enterprise_install": NONE,
            "bot_user_id": NONE,
            "app_id": NONE,
            "token_hash": SECRET,
            "state": NONE,
            "closed_token_hash": SECRET,
            "closed_at": NONE,
            "opened_at": NONE,
        },
    ),
    "attempts": Table(
        columns={
            "id": NONE,
            "at": NONE,
            "provider": NONE,
            "kind": NONE,
            "seconds": NONE,
            "error_class": NONE,
            "cost_usd": NONE,
        },
    ),
    # Without the person, what a call cost stays for the workspace's sums.
    "ledger": Table(
        of_person=_PERSON,
        of_workspace=_WORKSPACE,
        forget_person={"user_id": "''", "question_id": "NULL"},
        outdated="at < now() - interval '400 days'",
        columns={
            "id": NONE,
            "team_id": PLACE,
            "channel_id": PLACE,
            "user_id": PERSON,
            "question_id": NONE,
            "provider": NONE,
            "effort": NONE,
            "reserved": NONE,
            "cost": NONE,
            "state": NONE,
            "at": NONE,
            "held_at": NONE,
            "ended_at": NONE,
        },
    ),
    "budget_use": Table(
        of_person="scope = 'user' AND subject = %(user)s AND (%(team)s::text IS NULL OR team_id = %(team)s)",
        of_workspace=_WORKSPACE,
        outdated="period < now() - interval '62 days'",
        columns={
            "team_id": PLACE,
            "scope": NONE,
            "subject": PERSON,
            "period": NONE,
            "reserved": NONE,
            "spent": NONE,
            "noticed": NONE,
            "told": NONE,
        },
    ),
    "budgets": Table(
        of_person="(user_id = %(user)s OR scope = 'user' AND subject = %(user)s)"
        " AND (%(team)s::text IS NULL OR team_id = %(team)s)",
        of_workspace=_WORKSPACE,
        forget_person={
            "user_id": "CASE WHEN user_id = %(user)s THEN '' ELSE user_id END",
            "subject": "CASE WHEN scope = 'user' AND subject = %(user)s THEN 'erased ' || gen_random_uuid()"
            " ELSE subject END",
        },
        columns={
            "team_id": PLACE,
            "scope": NONE,
            "subject": PERSON,
            "amount": NONE,
            "user_id": PERSON,
            "at": NONE,
        },
    ),
    # It stays until an admin resumes, also without the one who paused.
    "spending_pauses": Table(
        of_person=_PERSON,
        of_workspace=_WORKSPACE,
        forget_person={"user_id": "''"},
        columns={"team_id": PLACE, "user_id": PERSON, "at": NONE},
    ),
    "rate_limits": Table(
        of_person="kind = 'user' AND subject = %(user)s AND (%(team)s::text IS NULL OR team_id = %(team)s)",
        of_workspace=_WORKSPACE,
        columns={"team_id": PLACE, "kind": NONE, "subject": PERSON, "full_at": NONE},
    ),
    "call_costs": Table(columns={"provider": NONE, "effort": NONE, "calls": NONE, "highest": NONE}),
    "thread_reads": Table(columns={"method": NONE, "at": NONE}),
    "schema_migrations": Table(columns={"name": NONE, "applied_at": NONE, "adds": NONE}),
    # A job holds the id of a question and nothing else, and is deleted with the end of its question.
    "procrastinate_jobs": Table(
        columns={
            "id": NONE,
            "queue_name": NONE,
            "task_name": NONE,
            "priority": NONE,
            "lock": NONE,
            "queueing_lock": NONE,
            "args": NONE,
            "status": NONE,
            "scheduled_at": NONE,
            "attempts": NONE,
            "abort_requested": NONE,
            "worker_id": NONE,
        },
    ),
    "procrastinate_events": Table(columns={"id": NONE, "job_id": NONE, "type": NONE, "at": NONE}),
    "procrastinate_periodic_defers": Table(
        columns={"id": NONE, "task_name": NONE, "defer_timestamp": NONE, "job_id": NONE, "periodic_id": NONE},
    ),
    "procrastinate_workers": Table(columns={"id": NONE, "last_heartbeat": NONE}),
}
"""The tables in the order in which transactions lock them (`bot.storage.database.LOCK_ORDER`)."""


def assignments(values: Mapping[str, LiteralString]) -> LiteralString:
    """Return what follows `SET` in an UPDATE that gives columns these values."""
    return ", ".join(f"{column} = {value}" for column, value in values.items())


def of_people() -> Iterator[tuple[str, Table, LiteralString]]:
    """Yield the tables with rows of people, and how they are found."""
    for name, table in TABLES.items():
        if table.of_person is not None:
            yield name, table, table.of_person
