"""The files of a question: reads them, and says in the first line of the answer what became of them.

Where an admin allows it, images and PDFs go to the search service with the question. They are in memory until the
question is answered, and nowhere else.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Literal

from bot.blocks.escaping import one_line, shorten
from bot.commands.ask import ASK
from bot.model.question import QuestionRow, SharedFile
from bot.slack.files import MAX_BYTES, FileReader, Trouble, Unreadable, media_type
from bot.translation import N_
from bot.translation import gettext as _
from perplexity.notes import join_clauses
from perplexity.steps import Call, Replies, Request
from perplexity.types import Answer, Attachment, Query

LONGEST_NAME = 60
MOST_NAMED = 5
MOST_FILES = 5
"""The most files of one question that are read."""

MEMORY = 64 * 1024 * 1024
"""The most bytes of files in the memory of a process. Questions whose files do not fit wait."""

Fate = Literal["read", "forbidden", "command", "many", "untaken"] | Trouble

_SENTENCES: dict[Fate, str] = {
    "read": N_("I read {files}."),
    "forbidden": N_("I didn’t read {files}: files are not allowed here. An admin can allow them in my settings."),
    "command": N_("I didn’t read {files}: only a question to the search service takes files."),
    "untaken": N_("This answer was made without {files}: {provider} takes no files."),
    "many": N_("I read at most {most} files, so I left out {files}."),
    "scope": N_("I couldn’t read {files}: I need the scope `files:read`, which an admin can give me."),
    "large": N_("I left out {files}: all files together may have {size} MB."),
    "type": N_("I left out {files}: I read images and PDFs only."),
    "refused": N_("I couldn’t read {files}: Slack didn’t give me the file."),
}
"""The sentences on files, by the fate of a file. An answer contains its sentences in this order."""


def named(files: Sequence[SharedFile]) -> str:
    """Return the names of files as a part of a sentence, such as "a.pdf and b.png"."""
    names = [shorten(one_line(file.name), LONGEST_NAME) or _("a file") for file in files]
    more = len(names) - MOST_NAMED
    return join_clauses(names if more <= 0 else [*names[:MOST_NAMED], _("{count} more").format(count=more)])


@dataclass(kw_only=True)
class GivenFiles:
    """The step that gives a question's files to the model. `fates` says what became of each file."""

    fates: dict[SharedFile, Fate] = field(default_factory=dict)
    attachments: tuple[Attachment, ...] = ()
    answer: Answer | None = None

    @property
    def line(self) -> str:
        """The sentences on what became of all files."""
        if self.answer is None or not self.answer.attachments:
            instead: Fate = "command" if self.answer is None else "untaken"
            fates = {file: instead if fate == "read" else fate for file, fate in self.fates.items()}
        else:
            fates = self.fates
        provider = self.answer.provider if self.answer is not None else ""
        grouped = {fate: [file for file, one in fates.items() if one == fate] for fate in _SENTENCES}
        return " ".join(
            _(_SENTENCES[fate]).format(files=named(files), provider=provider, most=MOST_FILES, size=MAX_BYTES >> 20)
            for fate, files in grouped.items()
            if files
        )

    async def around(self, request: Request, call: Call[Request]) -> Replies:
        """Add the files to the request, unless it is a search; make the call, and keep the answer for `line`."""
        if not isinstance(request, Query):
            request = replace(request, attachments=self.attachments)
        async with aclosing(call(request)) as replies:
            async for reply in replies:
                if isinstance(reply, Answer):
                    self.answer = reply
                yield reply


@dataclass(kw_only=True)
class FileMemory:
    """The memory of a process for files; `left` is the number of bytes that may still be read."""

    left: int = MEMORY
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def take(self, size: int) -> None:
        """Wait until `size` bytes are left, and take them."""
        async with self.changed:
            await self.changed.wait_for(lambda: self.left >= size)
            self.left -= size

    async def give_back(self, size: int) -> None:
        """Give `size` bytes back to the questions that wait for memory."""
        async with self.changed:
            self.left += size
            self.changed.notify_all()


@dataclass(frozen=True, kw_only=True)
class QuestionFiles:
    """Reads the files of questions."""

    reader: FileReader
    memory: FileMemory = field(default_factory=FileMemory)

    @asynccontextmanager
    async def given(self, row: QuestionRow) -> AsyncIterator[GivenFiles]:
        """Read a question's files, if this is allowed, and yield the step that gives them to the model.

        The files are in memory during the block.
        """
        everywhere, here = row.preferences.workspace.files, row.preferences.channel.files
        if not everywhere or here is False:
            yield GivenFiles(fates=dict.fromkeys(row.files, "forbidden"))
        elif row.command != ASK.name:
            yield GivenFiles(fates=dict.fromkeys(row.files, "command"))
        else:
            await self.memory.take(MAX_BYTES)
            used = MAX_BYTES
            try:
                given = await _read(self.reader, row.files)
                used = sum(len(one.data) for one in given.attachments)
                await self.memory.give_back(MAX_BYTES - used)
                yield given
            finally:
                await self.memory.give_back(used)


async def _read(reader: FileReader, files: Sequence[SharedFile]) -> GivenFiles:
    given, left = GivenFiles(), MAX_BYTES
    for place, file in enumerate(files, 1):
        if place > MOST_FILES:
            given.fates[file] = "many"
            continue
        try:
            name, data = await reader.read(file.id, most=left)
        except Unreadable as error:
            given.fates[file] = error.trouble
            continue
        left -= len(data)
        given.fates[SharedFile(id=file.id, name=name or file.name)] = "read"
        # The service does not get the file's own name, which is text that nobody has checked.
        ending = media_type(data).rpartition("/")[2]
        one = Attachment(name=f"file-{place}.{ending}", media_type=media_type(data), data=data)
        given.attachments += (one,)
    return given
