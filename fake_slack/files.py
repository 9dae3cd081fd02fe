"""The files and canvases of the app, in memory. For a file, the app announces, sends and completes an upload.

https://docs.slack.dev/messaging/working-with-files#upload
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from fake_slack.limits import SlackError

MAX_FILES = 50
"""The most files that are kept; the oldest are dropped first."""

MAX_FILE_BYTES = 1024 * 1024

MAX_NAME = 255

MARKDOWN, BINARY = "text/markdown", "application/octet-stream"

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?^ {0,3}\1", re.MULTILINE | re.DOTALL)
_QUOTED_LIST = re.compile(r"^ {0,3}>[ >]*([-*+]|\d{1,9}[.)])\s", re.MULTILINE)
_NAME = re.compile(r"[^\x00-\x1f/\\]{1,255}")


@dataclass(frozen=True, kw_only=True)
class File:
    """A file. `content` is None before the upload, and `title` is empty until the upload is completed."""

    id: str
    name: str
    size: int
    title: str = ""
    content: bytes | None = None

    @property
    def mime_type(self) -> str:
        """The MIME type with which the file is served: `MARKDOWN` if the name ends with `.md`, otherwise `BINARY`."""
        return MARKDOWN if self.name.endswith(".md") else BINARY

    @property
    def disposition(self) -> str:
        """The value of Content-Disposition that makes a browser save the file instead of showing it.

        https://www.rfc-editor.org/rfc/rfc6266
        """
        return f"attachment; filename*=UTF-8''{quote(self.name, safe='')}"

    def as_slack(self) -> dict[str, Any]:
        """Return the file object of the Web API."""
        shown = {"id": self.id, "name": self.name, "title": self.title, "mimetype": self.mime_type}
        return {**shown, "size": self.size, "mode": "hosted"}


class Files:
    """The files by id, newest last."""

    def __init__(self, *, max_files: int = MAX_FILES) -> None:
        self._max_files = max_files
        self._files: dict[str, File] = {}

    def announce(self, *, name: object, length: object) -> File:
        """Create and return a file, whose content can then be uploaded; `length` is in bytes. Raises `SlackError`."""
        size = int(str(length)) if re.fullmatch("[0-9]{1,9}", str(length), re.ASCII) else 0
        if not isinstance(name, str) or not _NAME.fullmatch(name) or size == 0:
            raise SlackError("invalid_arguments")
        if size > MAX_FILE_BYTES:
            raise SlackError("file_upload_size_restricted")
        return self.put(File(id=f"F{secrets.token_hex(5).upper()}", name=name, size=size))

    def create_canvas(self, title: str, markdown: str) -> File:
        """Create and return a canvas. Raises `SlackError` if it has a list in a quotation."""
        if _QUOTED_LIST.search(_FENCE.sub("", markdown)):
            raise SlackError("canvas_creation_failed", detail="Unsupported list in a quotation")
        file_id, title, content = f"F{secrets.token_hex(5).upper()}", title or "Untitled", markdown.encode()
        return self.put(File(id=file_id, name=f"{title}.md", title=title, size=len(content), content=content))

    def upload(self, file_id: str, content: bytes) -> bool:
        """Store the content of a file; return False if no content is expected or its length is not as announced."""
        file = self._files.get(file_id)
        if file is None or file.content is not None or len(content) != file.size:
            return False
        self.put(replace(file, content=content))
        return True

    def complete(self, named: Sequence[object]) -> tuple[File, ...]:
        """Complete and return uploaded files; each object in `named` has an `id` and perhaps a `title`.

        Raises `SlackError`.
        """
        if not named or not all(isinstance(one, Mapping) for one in named):
            raise SlackError("invalid_arguments")
        return tuple(self._complete(one) for one in named if isinstance(one, Mapping))

    def find(self, file_id: str) -> File | None:
        """Return a completed file; None if there is none with this id."""
        file = self._files.get(file_id)
        return file if file is not None and file.title else None

    def completed(self) -> list[File]:
        """Return the completed files, oldest first."""
        return [file for file in self._files.values() if file.title]

    def _complete(self, named: Mapping[str, Any]) -> File:
        file = self._files.get(str(named.get("id", "")))
        if file is None or file.content is None:
            raise SlackError("file_not_found")
        title = named.get("title") or file.name
        if not isinstance(title, str) or len(title) > MAX_NAME:
            raise SlackError("invalid_arguments")
        return self.put(replace(file, title=title))

    def put(self, file: File) -> File:
        """Keep a file, in place of an earlier version of it; drop the oldest files above the limit."""
        self._files[file.id] = file
        while len(self._files) > self._max_files:
            del self._files[next(iter(self._files))]
        return file
