"""Audit: `python -m bot audit` verifies, exports and signs the log; the doctor checks it."""

from __future__ import annotations

import asyncio
import re
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence

from psycopg import AsyncConnection
from psycopg.errors import UndefinedTable
from psycopg.rows import DictRow

from bot.command_line import Subcommand, fail, open_database
from bot.doctor.checks import DATABASE_HINT, Check, Context, Finding, reading_database, warning
from bot.feature import Feature
from bot.features.audit import log
from bot.settings import Settings

_FIX = (
    "Look for `audit` in the app’s log, and run `python -m bot audit verify`. If AUDIT_KEY was set or changed, run "
    "`python -m bot audit sign`."
)


def add_arguments(parser: ArgumentParser) -> None:
    """Add the log's subcommands."""
    do = parser.add_subparsers(dest="do", required=True)
    verify = do.add_parser("verify", help="find what was changed, deleted, cut off or moved in the audit log")
    verify.add_argument(
        "--head",
        type=parse_head,
        action="append",
        default=[],
        metavar="TEAM:COUNT:HASH",
        help="an earlier head, as the app's log has it; it must still be there",
    )
    do.add_parser("export", help="print the audit log as lines of JSON")
    do.add_parser("sign", help="sign the heads with AUDIT_KEY after it was set or changed")


def parse_head(text: str) -> tuple[str, int, str]:
    """Parse `TEAM:COUNT:HASH`: a workspace, the number of an entry and its hash. Raises ArgumentTypeError."""
    team, count, digest = [*text.split(":"), "", "", ""][:3]
    if not (team and count.isdecimal() and re.fullmatch("[0-9a-f]{64}", digest)):
        raise ArgumentTypeError("must be a workspace, a number and a hash, such as T012AB3CD:120:9f86d081…")
    return team, int(count), digest


def run(settings: Settings, parsed: Namespace) -> int:
    """Verify, export or sign the log; return 1 if a problem was found."""
    key = settings.audit_key.get_secret_value() if settings.audit_key is not None else None
    known: dict[str, dict[int, str]] = {}
    for team, count, digest in getattr(parsed, "head", ()):
        known.setdefault(team, {})[count] = digest
    with open_database(settings) as (conninfo, _):
        try:
            if parsed.do == "export":
                asyncio.run(log.export(conninfo, sys.stdout))
                return 0
            found = asyncio.run(
                log.sign(conninfo, key=key) if parsed.do == "sign" else log.verify(conninfo, key=key, known=known)
            )
        except UndefinedTable:
            return fail("The database has no audit log yet. Run `python -m bot migrate`.", code=1)
    sys.stdout.write(found.report())
    return 0 if found.ok else 1


@reading_database
async def check_log(context: Context, connection: AsyncConnection[DictRow]) -> Sequence[Finding]:
    """Return the problems of the audit log."""
    key = context.settings.audit_key
    problems = await log.inspect(connection, key=key.get_secret_value() if key is not None else None)
    return [warning(problem, fix=_FIX) for problem in problems]


FEATURE = Feature(
    name="audit",
    doctor_checks=(Check("Audit log", check_log, needs={"audit_key"}, hint=DATABASE_HINT),),
    cli=(
        Subcommand(
            name="audit",
            help="check or export the audit log",
            add_arguments=add_arguments,
            run=run,
            only_prints=True,
        ),
    ),
)
