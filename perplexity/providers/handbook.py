"""The handbook: this project's own documentation as a provider that needs no network; the playground's last resort."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from perplexity.computing import computed
from perplexity.errors import NothingFound
from perplexity.passages import events, passages_answer
from perplexity.providers.base import BOTH
from perplexity.providers.handbook_text import readable
from perplexity.providers.setup import Setup
from perplexity.queries import LONGEST_QUERY
from perplexity.ranking import scores
from perplexity.types import Answer, Event, Query, Question, SearchResults, Source

_HEADING = re.compile(r"(#{1,6})\s+(.+?)\s*#*\s*$")
_FENCE = re.compile(r"\s{0,3}(```|~~~)")


@dataclass(frozen=True, kw_only=True)
class Section:
    """A heading and the text up to the next one.

    `page` is the file's path, `text` the words without Markdown's signs, `anchor` the heading's own; both heading and
    anchor are empty above the first heading.
    """

    page: str
    heading: str
    anchor: str
    text: str


class Handbook:
    """Full-text search over Markdown pages; it answers with passages.

    `pages` are texts by path (`docs/deploying.md`); a result's address is `base_url/path#anchor`,
    just `path#anchor` when `base_url` is empty.
    """

    name = "Handbook"
    offers = BOTH
    at_once = True
    search_only = True

    def __init__(self, pages: Mapping[str, str], *, base_url: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._sections = [section for path, text in pages.items() for section in sections(path, text)]
        self._base_url = base_url.rstrip("/")
        self._clock = clock

    async def search(self, query: Query) -> SearchResults:
        """Return the sections that share a word with the query, best first. Raises NothingFound when none does."""
        if query.news:
            raise NothingFound("a handbook holds no news", provider=self.name)
        started = self._clock()
        texts = [f"{section.heading} {section.text}" for section in self._sections]
        fits = await computed(scores, query.text[:LONGEST_QUERY], texts)
        best = sorted(range(len(fits)), key=lambda index: -fits[index])[: query.max_results]
        sources = tuple(self._source(n, self._sections[i]) for n, i in enumerate(best, start=1) if fits[i] > 0)
        if not sources:
            raise NothingFound("no section fits", provider=self.name)
        return SearchResults(
            results=sources,
            provider=self.name,
            seconds=self._clock() - started,
            cost_usd=0.0,
            notes=("The web was not searched: these are pages of this app’s own handbook.",),
        )

    async def answer(self, question: Question) -> Answer:
        """Return the passages that fit the question best, word for word. Raises NothingFound."""
        return passages_answer(await self.search(Query(text=question.text, news=question.news)), question.text)

    async def stream(self, question: Question) -> AsyncGenerator[Event, None]:
        """Yield the passages at once. Raises NothingFound."""
        for event in events(await self.answer(question)):
            yield event

    def _source(self, number: int, section: Section) -> Source:
        address = "/".join(filter(None, (self._base_url, section.page))) + (
            f"#{section.anchor}" if section.anchor else ""
        )
        page = Path(section.page).stem
        title = f"{page} › {section.heading}" if section.heading else page
        return Source(number=number, title=title, url=address, snippet=section.text)


def build(setup: Setup) -> Handbook | None:
    """Return the provider where there are pages for it."""
    return Handbook(load_pages(setup.pages), base_url=setup.pages_url) if setup.pages else None


def sections(page: str, text: str) -> list[Section]:
    """Split a Markdown page at its headings, those in code fences excepted; sections without text are left out."""
    found: list[Section] = []
    used: dict[str, int] = {}
    for heading, lines in _split(text):
        anchor = _unique(slug(heading), used)
        if body := readable("\n".join(lines)):
            found.append(Section(page=page, heading=heading, anchor=anchor, text=body))
    return found


def slug(heading: str) -> str:
    """Return a heading's anchor as GitHub makes it: lower case, spaces to hyphens, punctuation gone."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def load_pages(root: Path) -> dict[str, str]:
    """Read the project's Markdown pages: those at the root, then those under `docs/`, by path relative to the root."""
    files = [*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md"))]
    return {file.relative_to(root).as_posix(): file.read_text(encoding="utf-8") for file in files}


def _split(text: str) -> Iterator[tuple[str, list[str]]]:
    heading, lines, fence = "", list[str](), ""
    for line in text.splitlines():
        fence = _fence_after(line, fence)
        if not fence and (match := _HEADING.match(line)):
            yield heading, lines
            heading, lines = re.sub(r"[`*]", "", match[2]), []
        else:
            lines.append(line)
    yield heading, lines


def _fence_after(line: str, fence: str) -> str:
    """Return the code fence that is open after the line, empty for none."""
    match = _FENCE.match(line)
    if match is None:
        return fence
    if not fence:
        return match[1]
    return "" if match[1] == fence else fence


def _unique(anchor: str, used: dict[str, int]) -> str:
    count = used.get(anchor, 0)
    used[anchor] = count + 1
    return f"{anchor}-{count}" if anchor and count else anchor
