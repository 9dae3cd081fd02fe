"""Streams, messages that are written while people read them: their contents, their look, and who sees them grow.

https://docs.slack.dev/reference/methods/chat.startStream; two facts are measured, not documented:
https://github.com/slackapi/python-slack-sdk/issues/1859 (the life of a stream),
https://github.com/agentconnect-md/agentconnect/issues/1494 (only one person sees a stream in a channel grow).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from fake_slack.limits import MAX_MARKDOWN, SlackError, check_blocks, refuse
from fake_slack.request_parsing import Block, json_value

LIFETIME_SECONDS = 306.0
"""The life of a stream from its start; appends do not extend it."""

MAX_TITLE = 256
"""The longest title of a task or a plan, in characters."""

STATUSES = {"pending", "in_progress", "complete", "error"}
DISPLAY_MODES = {"timeline", "plan"}

Chunk = Mapping[str, Any]

_APPENDED = ("details", "output")
"""The fields of a task to which updates append; updates replace the other fields."""

_KNOWN = {
    "markdown_text": {"text"},
    "task_update": {"id", "title", "status", "sources", "hide_title", "icon", *_APPENDED},
    "plan_update": {"title"},
    "blocks": {"blocks"},
}
_SHOWN_AS = (
    (re.compile(r"\[([^\[\]\n]*+)\]\(([^)\n]{0,2000}+)\)"), r"<\2|\1>"),
    (re.compile(r"\*\*([^\n]+?)\*\*"), r"*\1*"),
    (re.compile(r"^#+ ", re.MULTILINE), ""),
    (re.compile(r"^[-*] ", re.MULTILINE), "• "),
)
"""The patterns that Slack replaces in streamed Markdown to make the `text` of the message, and their replacements."""


class StreamMode(StrEnum):
    """The form of a stream's content, set by the first call with content; a stream keeps its form."""

    TEXT = "markdown_text"
    CHUNKS = "chunks"


@dataclass(frozen=True, kw_only=True)
class Content:
    """The content that one call adds; `mode` is None if it adds nothing."""

    mode: StreamMode | None = None
    chunks: tuple[Chunk, ...] = ()


class Ending(StrEnum):
    """The way in which a stream ended."""

    STOPPED = "stopped"
    EXPIRED = "expired"
    STOPPED_BY_USER = "stopped_by_user"


NOTHING = Content()


@dataclass(frozen=True, kw_only=True)
class Stream:
    """One stream. `started` is in seconds since 1970. Only `recipient` sees the stream grow; None means everyone.

    `opening` is the number of chunks in the first call with content, which everyone sees at once.
    """

    started: float
    recipient: str | None = None
    display: str = "timeline"
    content: Content = NOTHING
    opening: int = 0
    closing: tuple[Block, ...] = ()
    ending: Ending | None = None

    @property
    def ends(self) -> float:
        """The time at which Slack ends the stream by itself, in seconds since 1970."""
        return self.started + LIFETIME_SECONDS

    def is_live(self, now: float) -> bool:
        """Return whether the stream can still grow."""
        return self.ending is None and now < self.ends

    def grown(self, content: Content) -> Stream:
        """Return the stream with more content. Raises `SlackError` if text and chunks are mixed."""
        if content.mode is None:
            return self
        if self.content.mode not in {None, content.mode}:
            raise SlackError("streaming_mode_mismatch")
        whole = replace(content, chunks=self.content.chunks + content.chunks)
        return replace(self, content=whole, opening=self.opening or len(content.chunks))

    def opened(self) -> Stream:
        """Return the stream as people other than the recipient see it while it grows."""
        return replace(self, content=replace(self.content, chunks=self.content.chunks[: self.opening]))

    @property
    def markdown(self) -> str:
        """The Markdown that was streamed, without tasks and blocks."""
        return "".join(chunk["text"] for chunk in self.content.chunks if chunk["type"] == "markdown_text")

    @property
    def text(self) -> str:
        """The `text` of the message as Slack returns it, which differs from the Markdown that was sent."""
        shown = self.markdown
        for pattern, instead in _SHOWN_AS:
            shown = pattern.sub(instead, shown)
        titles = [task.get("title", "") for task in self.tasks().values()]
        return " ".join(part for part in (shown.strip(), *titles) if part)

    def tasks(self) -> dict[str, dict[str, Any]]:
        """Return the tasks by id, in the order in which they appeared, each with all its updates."""
        tasks: dict[str, dict[str, Any]] = {}
        for chunk in self.content.chunks:
            if chunk["type"] == "task_update":
                task = tasks.setdefault(chunk["id"], {})
                longer = {name: task.get(name, "") + chunk[name] for name in _APPENDED if name in chunk}
                task |= {**chunk, **longer}
        return tasks

    def streamed_blocks(self) -> tuple[Block, ...]:
        """Return the chunks as blocks in their order; the block of a task stays where the task first appeared."""
        shown: list[dict[str, Any]] = []
        tasks = {name: _task_card(task) for name, task in self.tasks().items()}
        placed: set[str] = set()
        for chunk in self.content.chunks:
            kind = chunk["type"]
            if kind == "markdown_text" and shown and shown[-1]["type"] == "markdown":
                shown[-1] = {"type": "markdown", "text": shown[-1]["text"] + chunk["text"]}
            elif kind == "markdown_text":
                shown.append({"type": "markdown", "text": chunk["text"]})
            elif kind == "blocks":
                shown += chunk["blocks"]
            elif self.display == "plan" and "plan" not in placed:
                shown.append({"type": "plan", "title": self._plan_title(), "tasks": list(tasks.values())})
                placed.add("plan")
            elif self.display == "timeline" and kind == "task_update" and f"task {chunk['id']}" not in placed:
                shown.append(tasks[chunk["id"]])
                placed.add(f"task {chunk['id']}")
        return tuple(shown)

    def blocks(self) -> tuple[Block, ...]:
        """Return all blocks of the message; their ids stay the same while it grows."""
        shown = [block for block in (*self.streamed_blocks(), *self.closing) if not _is_empty(block)]
        return tuple({"block_id": f"s{place}", **block} for place, block in enumerate(shown))

    def _plan_title(self) -> str:
        titles = [chunk["title"] for chunk in self.content.chunks if chunk["type"] == "plan_update"]
        return titles[-1] if titles else "Plan"

    def check(self) -> None:
        """Raise `SlackError` if the whole message exceeds one of Slack's limits.

        The check takes time in proportion to the length of the message.
        """
        streamed = [block for block in self.streamed_blocks() if not _is_empty(block)]
        refuse(check_blocks(streamed, self.closing))


def read_content(arguments: Mapping[str, Any]) -> Content:
    """Return the content that the arguments of a call add. Raises `SlackError`."""
    text, chunks = arguments.get("markdown_text"), _decoded(arguments.get("chunks"))
    if text and chunks:
        raise SlackError("markdown_text_conflict")
    if text:
        return Content(mode=StreamMode.TEXT, chunks=(_checked({"type": "markdown_text", "text": text}),))
    if chunks is None or chunks == []:
        return Content()
    if not isinstance(chunks, list):
        raise SlackError("invalid_chunks")
    return Content(mode=StreamMode.CHUNKS, chunks=tuple(_checked(chunk) for chunk in chunks))


def _decoded(chunks: object) -> object:
    """Return the chunks of a call; decode them if the call is a form, which has JSON in a string. Raises BadInput."""
    return json_value(chunks) if isinstance(chunks, str) and chunks else chunks


def _checked(chunk: object) -> Chunk:
    """Return the chunk if it is well-formed. Raises `SlackError` if it is not."""
    kind = chunk.get("type") if isinstance(chunk, dict) else None
    if not isinstance(chunk, dict) or not isinstance(kind, str) or set(chunk) - _KNOWN.get(kind, set()) - {"type"}:
        raise SlackError("invalid_chunks")
    texts = [chunk[name] for name in ("text", "id", "title", *_APPENDED) if name in chunk]
    if not all(isinstance(text, str) for text in texts) or len(chunk.get("title", "")) > MAX_TITLE:
        raise SlackError("invalid_chunks")
    if kind == "markdown_text":
        check_text(chunk.get("text", ""))
    elif kind == "blocks":
        _check_blocks(chunk.get("blocks"))
    elif kind not in _KNOWN or not chunk.get("title") or (kind == "task_update" and not _is_task(chunk)):
        raise SlackError("invalid_chunks")
    return chunk


def _is_task(chunk: Chunk) -> bool:
    named = bool(chunk.get("id")) and isinstance(chunk.get("sources", []), list)
    return named and isinstance(chunk.get("status"), str) and chunk["status"] in STATUSES


def check_text(text: str) -> None:
    """Raise `SlackError` if the Markdown of one call is empty or too long."""
    if not text:
        raise SlackError("no_text")
    if len(text) > MAX_MARKDOWN:
        raise SlackError("msg_too_long")


def _check_blocks(blocks: object) -> None:
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise SlackError("invalid_blocks_format")


def _task_card(task: Chunk) -> dict[str, Any]:
    """Return the block of a task."""
    card: dict[str, Any] = {"type": "task_card", "task_id": task["id"]}
    card |= {name: task[name] for name in ("title", "status", "sources") if name in task}
    return card | {name: _rich_text(task[name]) for name in _APPENDED if task.get(name)}


def _rich_text(text: str) -> dict[str, Any]:
    section = {"type": "rich_text_section", "elements": [{"type": "text", "text": text}]}
    return {"type": "rich_text", "elements": [section]}


def _is_empty(block: Block) -> bool:
    """Return whether a block shows nothing yet, because it is Markdown of spaces only."""
    return block.get("type") == "markdown" and not str(block.get("text", "")).strip()


def replaces_rich_text(stream: Stream, blocks: Sequence[Block]) -> bool:
    """Return whether an update would replace streamed text by blocks that contain neither rich text nor Markdown."""
    return bool(stream.markdown and blocks) and not any(b.get("type") in {"rich_text", "markdown"} for b in blocks)
