"""Every table of the database, column by column: which data are personal, how to find them, and when to delete them.

Export, erasure, retention and the end of an installation all follow this list. A test compares it with the real schema,
so a new column needs an entry here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import LiteralString


class Data(Enum):
    """The kind of data in a column."""

    NONE = "no personal data: the app's own keys and states, figures, times"
    PERSON = "a person's Slack id, or ids of several"
    PLACE = "a Slack id of a workspace, a channel or a message"
    TEXT = "what a person wrote, chose or was answered"
    SECRET = "what opens something: never exported"  # noqa: S105 - a description


NONE, PERSON, PLACE, TEXT, SECRET = Data


@dataclass(frozen=True, kw_only=True)
class Table:
    """One table. Conditions and expressions are SQL."""

    columns: Mapping[str, Data]
    holds: str = ""
    """A sentence on what the rows contain; empty if docs/security.md names the table."""

    of_person: LiteralString | None = None
    """Finds the rows of the person `%(user)s` in the workspace `%(team)s`, or in all workspaces if that is NULL.

    None for a table without such rows.
    """

    of_workspace: LiteralString | None = None
    """Finds the rows of the workspaces `%(teams)s`.

    None if the table has no such rows, if they stay, or if they are deleted in another way, for example together with
    the rows of `parent`.
    """

    exported: LiteralString | None = None
    """The JSON that is exported for a person's row; None if the whole row is exported."""

    parent: str | None = None
    """The table that these rows belong to: when a row there is deleted, its rows in this table are deleted, too."""

    forget_person: Mapping[str, LiteralString] = field(default_factory=dict)
    """The values that are set in a person's rows when the person is erased; if empty, the rows are deleted."""

    forget_workspace: Mapping[str, LiteralString] = field(default_factory=dict)
    """The values set in a workspace's rows, so that `of_workspace` no longer finds them; if empty, rows are deleted."""

    limited_person: str | None = None
    """The column of `forget_person` that keeps its value if people erase themselves, so that an admin's limit stays."""

    forgotten_with: str | None = None
    """The only table that tells whose rows these are: without its rows, these rows name nobody."""

    outdated: LiteralString | None = None
    """Finds outdated rows by the database's clock; None if the table has none.

    Texts are kept for `%(days)s` days. Other data become outdated at an age of their own.
    """

    emptied: Mapping[str, LiteralString] = field(default_factory=dict)
    """The values set in outdated rows; if empty, the rows are deleted."""


def _columns(
    *, person: str = "", place: str = "", text: str = "", credentials: str = "", none: str = ""
) -> dict[str, Data]:
    """Return the kind of data in each column; each argument has the names of the columns of one kind."""
    names = {PERSON: person, PLACE: place, TEXT: text, SECRET: credentials, NONE: none}
    return {column: data for data, listed in names.items() for column in listed.split()}


_THERE: LiteralString = "(%(team)s::text IS NULL OR team_id = %(team)s)"
OF_PERSON: LiteralString = f"user_id = %(user)s AND {_THERE}"
_WORKSPACE: LiteralString = "team_id = ANY(%(teams)s)"
_personal = partial(Table, of_person=OF_PERSON, of_workspace=_WORKSPACE)
"""Builds a table whose rows each belong to a person in a workspace."""

_ASKED_THERE: LiteralString = (
    "EXISTS (SELECT 1 FROM questions q WHERE q.id = question_id AND (%(team)s::text IS NULL OR q.team_id = %(team)s))"
)
_OWN_QUESTION: LiteralString = f"question_id IN (SELECT id FROM questions WHERE {OF_PERSON})"
_OWN_DIGEST: LiteralString = f"digest_id IN (SELECT id FROM digests WHERE {OF_PERSON})"
_HOUR_AGO: LiteralString = "at < now() - interval '1 hour'"
_LONG_AGO: LiteralString = "at < now() - interval '90 days'"
_HAS_TEXT: LiteralString = "EXISTS (SELECT 1 FROM questions q WHERE q.id = question_id AND q.text_deleted_at IS NULL)"
_SETTLED_LONG_AGO: LiteralString = "settled_at <= now() - %(days)s * interval '1 day'"

QUESTIONS_EMPTIED: Mapping[str, LiteralString] = {
    "text": "''",
    "messages": "CASE WHEN messages IS NOT NULL THEN '[]'::jsonb END",
    "result": "NULL",
    "remembered": "NULL",
    "sent": "NULL",
    "files": "'[]'",
    "response_url": "NULL",
    "text_deleted_at": "now()",
}
"""The values of a settled question after its texts are deleted; its asker, its state and its cost stay."""

TABLES: Mapping[str, Table] = {
    "digests": _personal(
        columns=_columns(
            person="user_id",
            place="team_id channel_id",
            text="category topic zone",
            none="id number days at silence state next_at created_at held_next_at",
        ),
    ),
    "digest_runs": Table(
        of_person=_OWN_DIGEST,
        parent="digests",
        columns=_columns(none="digest_id slot question_id looked"),
    ),
    "digest_seen": Table(
        of_person=_OWN_DIGEST,
        parent="digests",
        outdated="at <= now() - %(days)s * interval '1 day' AND NOT EXISTS ("
        "SELECT 1 FROM questions q WHERE q.id = question_id AND q.settled_at IS NULL)",
        columns=_columns(text="fingerprint", none="digest_id question_id at place"),
    ),
    "stages": Table(
        of_person=_OWN_QUESTION,
        parent="questions",
        outdated="EXISTS (SELECT 1 FROM questions q WHERE q.id = question_id AND q.text_deleted_at IS NOT NULL)",
        columns=_columns(text="result", none="question_id stage run_id begun_at seconds cost_usd"),
    ),
    "feedback": Table(
        of_person=f"user_id = %(user)s AND {_ASKED_THERE}",
        parent="questions",
        outdated="comment <> '' AND at <= now() - %(days)s * interval '1 day'",
        emptied={"comment": "''"},
        columns=_columns(person="user_id", text="reasons comment", none="question_id up agreed at"),
    ),
    "shares": Table(
        of_person=_OWN_QUESTION,
        parent="questions",
        columns=_columns(place="channel_id", none="question_id state at"),
    ),
    # For a canvas, `user_id` is the person's id, a colon, and "canvas".
    "file_requests": Table(
        of_person=f"split_part(user_id, ':', 1) = %(user)s AND {_ASKED_THERE}",
        parent="questions",
        outdated="asked_at < now() - interval '1 hour'",
        columns=_columns(person="user_id", none="question_id asked_at"),
    ),
    # Requests of a question are saved before they are sent. A trigger deletes them with the question's text. A request
    # that was saved while its question was being deleted stays for a day longer than texts are kept.
    "sent_requests": Table(
        of_person=_OWN_QUESTION,
        of_workspace="question_id IN (SELECT id FROM questions WHERE team_id = ANY(%(teams)s))",
        outdated=f"at <= now() - (%(days)s + 1) * interval '1 day' AND NOT {_HAS_TEXT}",
        columns=_columns(text="request", none="question_id id at"),
    ),
    # Answers to questions that the app itself offers, shared with everyone in the workspace who asks the same question.
    # Until an answer is saved, `question_id` is the question that is getting the answer; after that, it is NULL.
    "shared_answers": Table(
        of_person=_OWN_QUESTION,
        of_workspace=_WORKSPACE,
        outdated=_HOUR_AGO,
        columns=_columns(place="team_id", text="answer", none="key question_id claim at"),
    ),
    "questions": _personal(
        outdated=f"text_deleted_at IS NULL AND {_SETTLED_LONG_AGO}",
        emptied=QUESTIONS_EMPTIED,
        columns=_columns(
            person="user_id",
            place="delivery_key team_id channel_id message_ts thread_ts streams",
            text="text messages remembered result sent files",
            credentials="response_url",
            none="id surface command response_uses state attempt returns outcome part run_id provider model "
            "effort cost_usd seconds error received_at claimed_at settled_at claimed_by waiting "
            "unconfirmed late_seconds conversation shown streaming parent action public text_deleted_at "
            "uncleared_since queue",
        ),
    ),
    # A row has the requests with which the app looked for claims in a message. If a person then asks for a check of the
    # claims, the requests move to the question of that check. Otherwise, the row is deleted after at most a day.
    "proposals": _personal(
        outdated="at <= now() - least(%(days)s, 1) * interval '1 day'",
        columns=_columns(person="user_id", place="team_id", text="sent", none="id at"),
    ),
    "last_choices": _personal(
        columns=_columns(person="user_id", place="team_id", text="options", none="command at"),
    ),
    "person_settings": _personal(
        columns=_columns(person="user_id", place="team_id", text="settings", none="at"),
    ),
    "channel_settings": Table(
        of_person=f"(user_id = %(user)s OR %(user)s = ANY(string_to_array(settings ->> 'askers', ' '))) AND {_THERE}",
        of_workspace=_WORKSPACE,
        # The settings are not exported, since they belong to the channel and to other people.
        exported="jsonb_build_object('team_id', t.team_id, 'channel_id', t.channel_id, 'names_you', true)",
        # If the only person who may ask is erased, admins may ask; an empty list would let everyone ask.
        forget_person={
            "user_id": "CASE WHEN user_id = %(user)s THEN '' ELSE user_id END",
            "settings": "CASE WHEN %(user)s = ANY(string_to_array(settings ->> 'askers', ' '))"
            " THEN jsonb_set(settings, '{askers}', to_jsonb(coalesce(nullif(array_to_string("
            "array_remove(string_to_array(settings ->> 'askers', ' '), %(user)s), ' '), ''), 'admins')))"
            " ELSE settings END",
        },
        columns=_columns(person="settings user_id", place="team_id channel_id", none="at"),
    ),
    # These rules are the workspace's own, and name nobody.
    "workspace_settings": Table(of_workspace=_WORKSPACE, columns=_columns(place="team_id", none="settings at")),
    "homes": _personal(
        columns=_columns(person="user_id", place="team_id", none="opened_at shown_at for_admins page"),
    ),
    # With many workspaces, `user_id` is the workspace where the person was seen, a colon, and the person's id.
    "user_teams": Table(
        of_person="(user_id = %(user)s OR split_part(user_id, ':', 2) = %(user)s"
        " AND (%(team)s::text IS NULL OR split_part(user_id, ':', 1) = %(team)s))",
        of_workspace="(user_team = ANY(%(teams)s) OR split_part(user_id, ':', 1) = ANY(%(teams)s))",
        outdated="at < now() - interval '1 day'",
        columns=_columns(person="user_id", place="user_team", none="at"),
    ),
    "refused_deliveries": Table(
        of_workspace="split_part(delivery_key, ':', 1) = ANY(%(teams)s)",
        outdated=_HOUR_AGO,
        columns=_columns(place="delivery_key", none="at"),
    ),
    "thread_notices": Table(
        of_workspace=_WORKSPACE,
        outdated=_HOUR_AGO,
        columns=_columns(place="team_id channel_id thread_ts", none="at"),
    ),
    "provider_limits": Table(
        columns=_columns(
            none="lane per_second per_minute source stands_in stopped_until full_at told_at others others_at"
        )
    ),
    "provider_turns": Table(outdated=_HOUR_AGO, columns=_columns(none="id lane at left_at")),
    "slack_calls": Table(
        of_workspace=_WORKSPACE,
        columns=_columns(place="team_id", none="starts appends stops edits no_streams_until"),
    ),
    # The log's rows stay; only `audit_people` tells whose they are.
    "audit": Table(
        of_person=f"(team_id, who) IN (SELECT team_id, who FROM audit_people WHERE {OF_PERSON})",
        forgotten_with="audit_people",
        columns=_columns(
            place="team_id channel_id",
            none="number at who what cost_microusd decision subject before after hash",
        ),
    ),
    "audit_outbox": Table(
        of_person=f"(user_id = %(user)s OR strpos(concat_ws(' ', before, after, subject), %(user)s) > 0) AND {_THERE}",
        of_workspace="team_id = ANY(%(teams)s) AND user_id <> ''",
        forget_person={
            "who": "CASE WHEN user_id = %(user)s THEN replace(gen_random_uuid()::text, '-', '') ELSE who END",
            "user_id": "CASE WHEN user_id = %(user)s THEN '' ELSE user_id END",
            "subject": "replace(subject, %(user)s, replace(gen_random_uuid()::text, '-', ''))",
            "before": "replace(before::text, %(user)s, replace(gen_random_uuid()::text, '-', ''))::json",
            "after": "replace(after::text, %(user)s, replace(gen_random_uuid()::text, '-', ''))::json",
        },
        forget_workspace={"who": "replace(gen_random_uuid()::text, '-', '')", "user_id": "''"},
        columns=_columns(
            person="user_id before after subject",
            place="team_id channel_id",
            none="id at who what cost_microusd decision",
        ),
    ),
    "audit_people": _personal(
        columns=_columns(person="user_id", place="team_id", credentials="key", none="who"),
    ),
    "audit_heads": Table(
        columns=_columns(place="team_id", none="count hash key_id signature at"),
    ),
    "audit_keys": Table(
        columns=_columns(credentials="key", none="id at"),
    ),
    # Installations and provider keys are deleted as soon as the app is uninstalled (`bot/workspaces`).
    "installations": Table(
        columns=_columns(
            place="id team_id enterprise_id",
            credentials="bot_token refresh_token",
            none="is_enterprise_install bot_user_id app_id expires_at refresh_error installed_at",
        ),
    ),
    "provider_keys": Table(
        columns=_columns(place="id", credentials="secret", none="provider at"),
    ),
    "organization_teams": Table(
        columns=_columns(place="team_id enterprise_id", none="revoked changed_at"),
    ),
    "oauth_states": Table(
        columns=_columns(none="state_hash expires_at"),
    ),
    # These rows stay, so that the app can refuse requests from a workspace that has uninstalled it.
    "workspaces": Table(
        columns=_columns(
            place="id team_id enterprise_id",
            credentials="token_hash closed_token_hash",
            none="is_enterprise_install bot_user_id app_id state closed_at opened_at",
        ),
    ),
    "attempts": Table(
        columns=_columns(none="id at provider kind seconds error_class cost_usd"),
    ),
    "provider_answers": Table(
        holds="What the last answers of a service show of it: model, tokens, cost, number of sources, fields.",
        outdated=_LONG_AGO,
        columns=_columns(none="id provider preset at shown"),
    ),
    # Answers and changes are deleted at the same age: if answers stayed longer, a deleted change would be found again.
    "provider_changes": Table(
        holds="Lasting changes of a service, such as another model.",
        outdated=_LONG_AGO,
        columns=_columns(none="provider preset kind at before after found_at"),
    ),
    # When a person is erased, the costs of their calls stay for the workspace's sums.
    "ledger": _personal(
        # The id of a direct message would reveal the person.
        forget_person={
            "user_id": "''",
            "question_id": "NULL",
            "channel_id": "CASE WHEN starts_with(channel_id, 'D') THEN 'D' ELSE channel_id END",
        },
        outdated="at < now() - interval '400 days'",
        columns=_columns(
            person="user_id",
            place="team_id channel_id",
            none="id question_id provider effort reserved cost state at held_at ended_at",
        ),
    ),
    "budget_use": Table(
        of_person=f"scope IN ('user', 'user_week') AND subject = %(user)s AND {_THERE}",
        of_workspace=_WORKSPACE,
        outdated="period < now() - interval '62 days'",
        columns=_columns(
            person="subject", place="team_id", none="scope period reserved spent noticed told telling_since"
        ),
    ),
    "budgets": Table(
        of_person=f"(user_id = %(user)s OR scope IN ('user', 'user_week') AND subject = %(user)s) AND {_THERE}",
        of_workspace=_WORKSPACE,
        forget_person={
            "user_id": "CASE WHEN user_id = %(user)s THEN '' ELSE user_id END",
            "subject": "CASE WHEN scope IN ('user', 'user_week') AND subject = %(user)s"
            " THEN 'erased ' || gen_random_uuid()"
            " ELSE subject END",
        },
        limited_person="subject",
        columns=_columns(person="subject user_id", place="team_id", none="scope amount at"),
    ),
    # A row has only a salted hash of the erased person's id, so it is found only by someone who knows the id. Rows are
    # deleted after the end of the week.
    "erased_spending": Table(
        of_workspace=_WORKSPACE,
        outdated="period < date_trunc('week', now() AT TIME ZONE 'UTC')::date AND at < now() - interval '1 hour'",
        columns=_columns(place="team_id", none="period salt person spent at full_at"),
    ),
    # A pause stays until an admin resumes spending, even if the person who paused it is erased.
    "spending_pauses": _personal(
        forget_person={"user_id": "''"},
        columns=_columns(person="user_id", place="team_id", none="at"),
    ),
    "rate_limits": Table(
        of_person=f"kind = 'user' AND subject = %(user)s AND {_THERE}",
        of_workspace=_WORKSPACE,
        columns=_columns(person="subject", place="team_id", none="kind full_at"),
    ),
    "workspace_limits": Table(
        of_workspace=_WORKSPACE,
        columns=_columns(
            place="team_id",
            none="open_per_person user_per_minute channel_per_minute thread_per_minute per_workspace",
        ),
    ),
    "call_costs": Table(
        columns=_columns(none="provider effort calls highest"),
    ),
    "thread_reads": Table(
        columns=_columns(none="method at"),
    ),
    "schema_migrations": Table(
        columns=_columns(none="name applied_at adds"),
    ),
    # A job contains a question's id and nothing else, and is deleted with the end of its question.
    "procrastinate_jobs": Table(
        columns=_columns(
            none="id queue_name task_name priority lock queueing_lock args status scheduled_at attempts "
            "abort_requested worker_id",
        ),
    ),
    "procrastinate_events": Table(
        columns=_columns(none="id job_id type at"),
    ),
    "procrastinate_periodic_defers": Table(
        columns=_columns(none="id task_name defer_timestamp job_id periodic_id"),
    ),
    "procrastinate_workers": Table(
        columns=_columns(none="id last_heartbeat"),
    ),
}
"""The tables in the order in which their rows are erased.

Apart from `ledger` and `budget_use`, this is the order in which transactions lock them
(`bot.storage.migrate.LOCK_ORDER`).
"""


def assignments(values: Mapping[str, LiteralString]) -> LiteralString:
    """Return the text after `SET` in an UPDATE that gives columns these values."""
    return ", ".join(f"{column} = {value}" for column, value in values.items())


def of_people() -> Iterator[tuple[str, Table, LiteralString]]:
    """Yield the name of each table with rows of people, the table, and the condition that finds these rows."""
    for name, table in TABLES.items():
        if table.of_person is not None:
            yield name, table, table.of_person
