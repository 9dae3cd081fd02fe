"""Checks of the database: connection, version, migrations, permissions, and what the app has written into it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from psycopg import AsyncConnection, Error, OperationalError
from psycopg.rows import DictRow

from bot.blocks.messages import LATE_AFTER_SECONDS
from bot.blocks.status import service_line
from bot.doctor.checks import Context, Finding, failure, ok, reading_database, skipped, warning
from bot.model.admin import LaneUse
from bot.settings import Settings
from bot.storage.calls import read_admin_issues, read_uses
from bot.storage.embedded import NoEmbeddedServer, require_embedded
from bot.storage.migrate import all_migrations, applied_migrations, newer
from bot.storage.questions import is_pooled, lane_name
from perplexity.formatting import pluralize
from perplexity.limiter import CallKind
from perplexity.providers import PROVIDERS


def embedded_findings(settings: Settings) -> Sequence[Finding]:
    """Check the embedded server's package and its folder."""
    try:
        require_embedded(dyno=settings.dyno)
    except NoEmbeddedServer as error:
        text, _, fix = str(error).partition(". ")
        return [failure(f"{text}.", fix=fix)]
    folder = Path(settings.data_dir).absolute()
    # If the folder does not exist, the app creates it, so the nearest existing folder above it must be writable.
    while not folder.exists():
        folder = folder.parent
    if not (folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)):
        text = f"DATA_DIR is {settings.data_dir}, which cannot be written to."
        return [failure(text, fix="Set DATA_DIR to a folder that can, or DATABASE_URL to a Postgres server.")]
    return [ok(f"An embedded Postgres in {settings.data_dir}, which starts with the app.")]


OLDEST = 14
"""The oldest version of Postgres that the app supports (docs/production.md)."""

_COPY = "Copy DATABASE_URL again. In the password, write signs such as @ : / # % as %40 %3A %2F %23 %25."
_FULL = (
    "The server has no free connection.",
    "Run fewer processes, which open up to ten connections each, or choose a larger plan.",
)
_PLAIN = ("The server requires an encrypted connection.", "Add ?sslmode=require to the end of DATABASE_URL.")
_NO_HOST = ("No host has that name.", "Correct the host in DATABASE_URL, or check the network.")
_BUSY = ("The server is starting or stopping.", "Wait a minute, then try again.")

_REASONS = (
    ("password authentication failed", ("The server refuses the user name or the password.", _COPY)),
    ("no password supplied", ("The server requires a password.", _COPY)),
    ("does not support ssl", ("The server does not offer encryption.", "Remove sslmode from DATABASE_URL.")),
    ("pg_hba.conf", _PLAIN),
    ("ssl", _PLAIN),
    ("remaining connection slots", _FULL),
    ("too many", _FULL),
    ("starting up", _BUSY),
    ("shutting down", _BUSY),
    ('role "', ("The server has no user of that name.", _COPY)),
    ('database "', ("The server has no database of that name.", "Create it, or correct the end of DATABASE_URL.")),
    ("refused", ("No server is listening there.", "Start Postgres, or correct host and port in DATABASE_URL.")),
    ("resolve", _NO_HOST),
    ("name or service", _NO_HOST),
    ("nodename", _NO_HOST),
)
"""Parts of libpq's message in lower case, each with its meaning and the fix; the first match counts.

The message itself is not shown, because libpq quotes input that it cannot read, which may be secret.
"""


async def check_database(context: Context) -> Sequence[Finding]:
    """Connect and check without changing anything."""
    url = context.settings.database_url
    if url is None:
        return embedded_findings(context.settings)
    try:
        connection = await AsyncConnection.connect(url.get_secret_value(), prepare_threshold=None)
    except OperationalError as error:
        return [explain(error)]
    async with connection:
        pooler = [_POOLED] if await is_pooled(connection) else []
        return [_version(connection), *pooler, *await _schema(connection)]


_POOLED = ok(
    "A pooler such as PgBouncer is between the app and the server. The app polls for new questions every half second "
    "instead of listening. There is nothing to do."
)


def explain(error: OperationalError) -> Finding:
    """Return a finding on why there is no connection, without the library's message. Pure."""
    message = str(error).lower()
    for sign, (text, fix) in _REASONS:
        if sign in message:
            return failure(text, fix=fix)
    text = f"The database cannot be reached ({type(error).__name__})."
    return failure(text, fix="Check DATABASE_URL, and whether this machine may connect to that host and port.")


def _version(connection: AsyncConnection) -> Finding:
    version = connection.info.server_version // 10_000
    if version < OLDEST:
        return failure(f"This is Postgres {version}.", fix=f"Use Postgres {OLDEST} or newer.")
    return ok(f"Connected to Postgres {version} at DATABASE_URL.")


async def _schema(connection: AsyncConnection) -> list[Finding]:
    there = await applied_migrations(connection)
    ours = [migration.name for migration in all_migrations()]
    missing, unknown = [name for name in ours if name not in there], there.keys() - set(ours)
    findings = []
    if unknown:
        text = "A newer version of the app has migrated this database."
        if (await newer(connection))[1]:
            text += " This version can run with it; commands that it does not know stay in the queue for a newer one."
            findings.append(warning(text, fix="Run that version, or a newer one."))
        else:
            text += " This version cannot run with it."
            findings.append(failure(text, fix="Run that version, or a newer one."))
    elif missing:
        text = "1 migration is missing." if len(missing) == 1 else f"{len(missing)} migrations are missing."
        fix = "Run `python -m bot migrate`; `python -m bot run` applies them, too."
        findings.append(warning(text, fix=fix))
    return [*findings, await _check_writable(connection)]


async def _check_writable(connection: AsyncConnection) -> Finding:
    """Check that the database can be written to, as a replica cannot: create a table, then roll back."""
    try:
        await connection.execute("CREATE TABLE doctor_was_here (nothing int)")
        await connection.rollback()
    except Error as error:
        reason = type(error).__name__
        text = f"The database cannot be written to ({reason})."
        return failure(text, fix="Use the primary server, and a user who may create tables in this database.")
    return ok("The database can be written to.")


_ERRORS = {
    "AuthenticationError": ("it refused the key", "Set a new key"),
    "BillingError": ("it was out of credit", "Buy credit"),
}


@reading_database
async def check_recent_errors(context: Context, connection: AsyncConnection[DictRow]) -> Sequence[Finding]:
    """Return a warning for each provider whose last request, within a day, failed with an error that needs an admin."""
    found = await read_admin_issues(connection)
    findings = []
    for provider, error in sorted(found.items()):
        reason, fix = _ERRORS.get(error, (error, "Check the account"))
        text = f"{provider}'s last request failed: {reason}."
        findings.append(warning(text, fix=f"{fix} for {provider}, unless you have done so since."))
    return findings


_LATE = """
    SELECT count(*) AS late, max(late_seconds) AS longest, EXISTS (
        SELECT FROM refused_deliveries WHERE split_part(delivery_key, ':', 2) = 'app_rate_limited') AS limited
    FROM questions
    WHERE late_seconds > %(seconds)s AND received_at > now() - interval '7 days'
"""
"""Counts the late messages of the last week, and says whether Slack has dropped events in the last hour or so."""


_NONE_LATE = (
    "No message came late in the last week. Slack does not say whether Delayed Events is on: switch it on in the app's "
    "settings, under Event Subscriptions, so that mentions and direct messages survive an outage."
)

_DROPPED = warning(
    "Slack has dropped events in the last hour: it sends an app at most 30,000 an hour from a workspace. Mentions and "
    "direct messages can stay without an answer; commands and buttons work.",
    fix="Remove the app from the busiest channels, or set FOLLOW_UPS=mention, replace the manifest with what "
    "`python -m bot manifest` prints, and reinstall the app.",
    title="Events",
)


@reading_database
async def check_events(context: Context, connection: AsyncConnection[DictRow]) -> Sequence[Finding]:
    """Return findings on events that Slack has dropped, and on messages that it has delivered late.

    No method of Slack says whether Delayed Events are switched on; a late delivery shows that they are.
    """
    row = await (await connection.execute(_LATE, {"seconds": LATE_AFTER_SECONDS})).fetchone()
    dropped = [_DROPPED] if row and row["limited"] else []
    if row is None or not row["late"]:
        return dropped if context.settings.slack_signing_secret is None else [skipped(_NONE_LATE), *dropped]
    text = (
        f"In the last week Slack delivered {pluralize(row['late'], 'message')} late, at most {row['longest'] // 60} "
        "minutes: Delayed Events is on, and the app could not be reached. Such an answer says how old its question is; "
        "after two hours the app asks first."
    )
    fix = "Look in Slack’s app settings, Event Subscriptions, for failed deliveries."
    return [warning(text, fix=fix), *dropped]


RETENTION_LATE_DAYS = 0.125
"""How late a text may be deleted without a warning, in days (3 hours); the app deletes texts every ten minutes."""

_KEPT_TOO_LONG = """
    SELECT count(*) AS late FROM questions
    WHERE text_deleted_at IS NULL AND settled_at < now() - %(days)s * interval '1 day'
"""


@reading_database
async def check_retention(context: Context, connection: AsyncConnection[DictRow]) -> Sequence[Finding]:
    """Return a warning if texts are kept longer than RETENTION_DAYS."""
    days = context.settings.retention_days
    row = await (await connection.execute(_KEPT_TOO_LONG, {"days": days + RETENTION_LATE_DAYS})).fetchone()
    if row is None or not row["late"]:
        return []
    text = f"The texts of {pluralize(row['late'], 'question')} are kept longer than RETENTION_DAYS ({days}) allows."
    fix = "Start the app, which deletes them every ten minutes. If it is running, look for `retention` in its log."
    return [warning(text, fix=fix)]


@reading_database
async def check_limits(context: Context, connection: AsyncConnection[DictRow]) -> Sequence[Finding]:
    """Return a finding for each limit of calls to a service. It is a warning if other programs use the same key."""
    keys = context.settings.provider_keys
    lanes = [lane_name(PROVIDERS[name].title, kind, key) for name, key in keys.items() for kind in get_args(CallKind)]
    uses = await read_uses(connection, lanes)
    return [_limit_finding(one) for one in uses]


def _limit_finding(use: LaneUse) -> Finding:
    if use.others is None:
        return ok(service_line(use))
    text = f"{service_line(use)} In a minute of that hour {pluralize(use.others, 'call')} came from other programs."
    return warning(text, fix="Stop them, or set PROVIDER_LIMITS to what they leave.")
