"""The database: is it there, is it new enough, is it up to date, can it be written to."""

from __future__ import annotations

from collections.abc import Sequence

from psycopg import AsyncConnection, Error, OperationalError

from bot.doctor.embedded import embedded_findings
from bot.doctor.examining import Case
from bot.doctor.report import Finding, fault, warning, well
from bot.storage.migrations import applied, known, newer
from bot.storage.pooler import is_pooled

ABOUT = "Database"
OLDEST = 13
"""The oldest Postgres that the job engine supports: https://procrastinate.readthedocs.io"""

_COPY = "Copy DATABASE_URL once more; in the password write signs such as @ : / # % as %40 %3A %2F %23 %25."
_FULL = ("The server has no connection left.", "Run fewer processes, each takes five, or take a larger plan.")
_PLAIN = ("The server wants an encrypted connection.", "Put ?sslmode=require at the end of DATABASE_URL.")
_NO_HOST = ("There is no host of that name.", "Correct the host in DATABASE_URL, or look after the network.")
_BUSY = ("The server is starting or stopping.", "Wait a minute.")

_REASONS = (
    ("password authentication failed", ("The server refuses the user name or the password.", _COPY)),
    ("no password supplied", ("The server wants a password.", _COPY)),
    ("does not support ssl", ("The server knows no encrypted connections.", "Take sslmode out of DATABASE_URL.")),
    ("pg_hba.conf", _PLAIN),
    ("ssl", _PLAIN),
    ("remaining connection slots", _FULL),
    ("too many", _FULL),
    ("starting up", _BUSY),
    ("shutting down", _BUSY),
    ('role "', ("The server does not know the user.", _COPY)),
    ('database "', ("The server has no database of that name.", "Create it, or correct the end of DATABASE_URL.")),
    ("refused", ("No server listens there.", "Start Postgres, or correct host and port in DATABASE_URL.")),
    ("resolve", _NO_HOST),
    ("name or service", _NO_HOST),
    ("nodename", _NO_HOST),
)
"""A part of libpq's message in small letters, and what it means and what to do; the first that fits counts.

The message itself is not shown: libpq quotes what it cannot read.
"""


async def check(case: Case) -> Sequence[Finding]:
    """Connect, and look without changing anything."""
    url = case.settings.database_url
    if url is None:
        return embedded_findings(case.settings)
    try:
        connection = await AsyncConnection.connect(url.get_secret_value(), prepare_threshold=None)
    except OperationalError as error:
        return [explained(error)]
    async with connection:
        return [_version(connection), *await _pooler(connection), *await _schema(connection)]


def explained(error: OperationalError) -> Finding:
    """Say why there is no connection, without the words of the library. Pure."""
    said = str(error).lower()
    for sign, (text, fix) in _REASONS:
        if sign in said:
            return fault(ABOUT, text, fix=fix)
    text = f"It cannot be reached ({type(error).__name__})."
    return fault(ABOUT, text, fix="Check DATABASE_URL, and whether this machine may connect to that host and port.")


def _version(connection: AsyncConnection) -> Finding:
    version = connection.info.server_version // 10_000
    if version < OLDEST:
        return fault(ABOUT, f"This is Postgres {version}.", fix=f"Use Postgres {OLDEST} or newer.")
    return well(ABOUT, f"Postgres {version} at DATABASE_URL answers.")


async def _pooler(connection: AsyncConnection) -> list[Finding]:
    if not await is_pooled(connection):
        return []
    text = (
        "A pooler such as PgBouncer is between the app and the server. The app polls for new questions every half "
        "second instead of listening. You need to do nothing."
    )
    return [well(ABOUT, text)]


async def _schema(connection: AsyncConnection) -> list[Finding]:
    there = await applied(connection)
    ours = [migration.name for migration in known()]
    missing, unknown = [name for name in ours if name not in there], there - set(ours)
    findings = []
    if unknown:
        text = "A newer version of the app has been at work in this database."
        if (await newer(connection))[1]:
            text += " This one can run with it; commands that it does not know stay in the queue for a newer version."
            findings.append(warning(ABOUT, text, fix="Run that version, or a newer one."))
        else:
            text += " This one cannot run with it."
            findings.append(fault(ABOUT, text, fix="Run that version, or a newer one."))
    elif missing:
        text = "1 migration is missing." if len(missing) == 1 else f"{len(missing)} migrations are missing."
        findings.append(warning(ABOUT, text, fix="`python -m bot migrate` applies them; so does `python -m bot run`."))
    return [*findings, await _writable(connection)]


async def _writable(connection: AsyncConnection) -> Finding:
    """Make a table and take it back: a replica and a reader's role refuse it."""
    try:
        await connection.execute("CREATE TABLE doctor_was_here (nothing int)")
        await connection.rollback()
    except Error as error:
        reason = type(error).__name__
        text = f"It cannot be written to ({reason})."
        return fault(ABOUT, text, fix="Use the primary server, and a user who may create tables in this database.")
    return well(ABOUT, "It can be written to.")
