"""What becomes of the files of a question, which the first line of its answer says."""

from __future__ import annotations

from collections.abc import Sequence

from bot.blocks.escaping import one_line, shorten
from bot.model.question import SharedFile
from perplexity.notes import join_clauses

LONGEST_NAME = 60
MOST_NAMED = 5


def left_out_files(files: Sequence[SharedFile]) -> str:
    """Return the sentence that files were not read."""
    return f"I don’t read files, so I left out {named(files)}."


def named(files: Sequence[SharedFile]) -> str:
    """Return the names of files as a part of a sentence, such as "a.pdf and b.png"."""
    names = [shorten(one_line(file.name), LONGEST_NAME) or "a file" for file in files]
    more = len(names) - MOST_NAMED
    return join_clauses(names if more <= 0 else [*names[:MOST_NAMED], f"{more} more"])
