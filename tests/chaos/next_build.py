"""`python -m bot` as its next version may be: with one more migration, which only adds, and one more command."""

from __future__ import annotations

import sys
from dataclasses import replace

import bot.commands
from bot.commands.search import SEARCH
from bot.storage import migrate
from tests.chaos import faulty_process

TOMORROW = replace(SEARCH, name="tomorrow", summary="Search tomorrow's web")


def main() -> int:
    """Run the command line of the next build."""
    bot.commands.COMMANDS = (*bot.commands.COMMANDS, TOMORROW)
    known = migrate.all_migrations()
    added = migrate.Migration(name="9999_tomorrow.sql", sql="ALTER TABLE questions ADD COLUMN tomorrow text")
    setattr(migrate, "all_migrations", lambda: (*known, added))  # noqa: B010 - a function of another module
    return faulty_process.main()


if __name__ == "__main__":
    sys.exit(main())
