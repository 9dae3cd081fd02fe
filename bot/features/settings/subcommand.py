"""`python -m bot settings`: the admins' settings, as a file."""

from __future__ import annotations

import asyncio
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from bot.command_line import Subcommand, channel_id, fail, open_migrated, say, say_aside, user_id
from bot.features.settings.file import NotUsable, SettingsFile
from bot.settings import Settings


def add_arguments(parser: ArgumentParser) -> None:
    """Add the actions on the file."""
    of_file = parser.add_subparsers(dest="do", required=True)
    of_file.add_parser("export", help="print it as TOML")
    plan = of_file.add_parser("plan", help="say what a file would change; exit with 2 if anything")
    for one in (plan, of_file.add_parser("apply", help="make it as a file says")):
        one.add_argument("file", type=Path, metavar="FILE")
    why = of_file.add_parser("explain", help="say which value applies to a person in a channel, and what has set it")
    why.add_argument("--user", type=user_id, required=True, metavar="U…")
    why.add_argument("--channel", type=channel_id, required=True, metavar="C…")
    why.add_argument("--team", metavar="T…", help="the workspace, if there are several")


def run(settings: Settings, parsed: Namespace) -> int:
    """Print, compare or apply the file, or explain a value; return 2 if a plan changes anything."""
    with open_migrated(settings, tell=say_aside) as database:
        tables = parsed.brought.settings_tables
        of_database = SettingsFile(settings=settings, conninfo=database.conninfo, open_tables=tables)
        try:
            match parsed.do:
                case "export":
                    sys.stdout.write(asyncio.run(of_database.export()))
                    return 0
                case "explain":
                    place = {"team": parsed.team, "user": parsed.user, "channel": parsed.channel}
                    sys.stdout.write(asyncio.run(of_database.explain(**place)))
                    return 0
            text, apply = parsed.file.read_text("utf-8"), parsed.do == "apply"
            changed = asyncio.run(of_database.change(text, apply=apply))
        except UnicodeDecodeError:
            return fail(f"{parsed.file} is not UTF-8 text.", code=1)
        except NotUsable as error:
            return fail(str(error), code=1)
    done = "Applied." if apply else f"{len(changed)} to change."
    say("\n".join([*changed, done]) if changed else "Nothing to change.")
    return 2 if changed and not apply else 0


SUBCOMMAND = Subcommand(
    name="settings", help="what admins have set, as a file", add_arguments=add_arguments, run=run, only_prints=True
)
