"""An answer's text while it comes: which blocks of it are finished, and which may still change. Pure."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TextIO

from markdown_it import MarkdownIt
from rich.console import Console
from rich.live import Live
from rich.markdown import Markdown
from rich.padding import Padding
from rich.style import Style
from rich.text import Text

from perplexity.citations import cite
from perplexity.cli.output import footer, numbered_text, printable, printable_line, source_heading
from perplexity.cli.progress import ProgressLine
from perplexity.errors import StreamTruncated
from perplexity.formatting import pluralize
from perplexity.formulas import readable, unfinished
from perplexity.markdown import Kind, blocks, regions
from perplexity.sanitize import one_line
from perplexity.types import (
    Answer,
    AnswerKind,
    Done,
    Event,
    SearchQueries,
    SearchResults,
    Source,
    Sources,
    TextDelta,
)
from perplexity.urls import safe_url


@dataclass
class StreamingMarkdown:
    """Takes the pieces and the sources. What was given as finished is never given again."""

    sources: tuple[Source, ...] = ()
    finished: str = ""
    _pieces: list[str] = field(default_factory=list)

    def add(self, piece: str) -> None:
        """Take the next piece."""
        self._pieces.append(piece)

    def take_finished(self) -> tuple[str, str]:
        """Return the blocks that are finished since the last cut, and those behind them.

        Nothing is finished while the text refers to a source that is not known yet: some services name theirs last.
        """
        cited = cite("".join(self._pieces), self.sources)
        text = printable(cited.text)
        end = _last_block(text) if self.sources and not cited.orphans else 0
        if not text.startswith(self.finished) or end < len(self.finished):
            return "", text.removeprefix(self.finished)
        new, self.finished = text[len(self.finished) : end], text[:end]
        return new, text[end:]

    def remaining(self, text: str) -> str | None:
        """Return what of the whole text was not given as finished; None when the whole is another text by now."""
        return text.removeprefix(self.finished) if text.startswith(self.finished) else None


def _last_block(text: str) -> int:
    """Return where the last block begins that is in no other, nor in a formula, whose lines can look like blocks."""
    starts = [0, *accumulate(map(len, text.splitlines(keepends=True)))]
    begun = [starts[token.map[0]] for token in blocks(text) if token.level == 0 and token.map]
    formulas = [(region.start, region.end) for region in regions(text) if region.kind is Kind.MATH]
    formulas.append((unfinished(text), len(text)))
    while begun and formulas:
        start, end = formulas[-1]
        (begun if start < begun[-1] < end else formulas).pop()
    return begun[-1] if begun else 0


# By itself Rich drops HTML, which in an answer is text such as `List<int>`, definitions of links, and where images are.
_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).disable(["reference", "image"])


def render_markdown(text: str) -> Markdown:
    """Return a printable text to be shown, its LaTeX readable; a link is its words and then its address."""
    text = readable(text)
    rendered = Markdown("", hyperlinks=False, code_theme="ansi_dark")
    rendered.markup, rendered.parsed = text, _PARSER.parse(text)
    return rendered


_REDRAWN_SECONDS = 0.1


class Screen:
    """A terminal. Without `color` it is as with NO_COLOR: https://no-color.org."""

    def __init__(self, stream: TextIO, *, color: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = Console(file=stream, no_color=None if color else True, highlight=False, emoji=False)
        self._clock = clock
        self._headed: list[str] = []

    async def print_stream(
        self,
        events: AsyncGenerator[Event, None],
        progress: ProgressLine,
        *,
        above: Callable[[Answer | None], Sequence[str]],
        wait: bool = False,
    ) -> Answer:
        """Show an answer's text while it is made and return the answer. Raises any PerplexityError; what came stays.

        `above` returns the lines that come first, of the finished answer or, for None, as far as they are known. With
        `wait` the text is shown when it is finished, because one of these lines may depend on all of it. `progress`
        shows what is done until there is text to show; if it is not shown itself, that is shown here.
        """
        growing = StreamingMarkdown()
        begins = Text("") if progress.is_shown else _dim("Searching the web …")
        live = Live(begins, console=self._console, auto_refresh=False, transient=True)
        try:
            if not progress.is_shown:
                live.start(refresh=True)
            try:
                async with aclosing(events):
                    answer = await self._watched(events, growing, live, progress, above=None if wait else above)
            finally:
                progress.stop()
                live.stop()
        except BaseException:
            self._keep(growing)
            raise
        self.print_header(above(answer))
        self._finish(answer, growing)
        return answer

    def print_header(self, lines: Sequence[str]) -> None:
        """Show the lines that come first, each once."""
        new = [line for line in lines if line not in self._headed]
        for line in new:
            self._console.print(Text(line, style="yellow"))
        if new:
            self._console.print()
        self._headed += new

    def print_answer(self, answer: Answer) -> None:
        """Show the text of an answer that is whole."""
        self._finish(answer, StreamingMarkdown())

    def print_sources(self, answer: Answer, remarks: Sequence[str]) -> None:
        """Show what stands below an answer: its sources, remarks, and who served."""
        _, listed, others = numbered_text(answer)
        if listed:
            self._console.print(Text("Sources", style="bold"))
        for number, source in enumerate(listed, 1):
            self._source(number, source)
        if others:
            self._console.print(_dim(f"    {pluralize(others, 'more source')}"))
        self._end(remarks, footer(answer), apart=bool(listed))

    def print_results(
        self, results: SearchResults, remarks: Sequence[str], *, nothing: str = "No pages were found."
    ) -> None:
        """Show the pages, or `nothing` if there are none, and who served."""
        if not results.results:
            self._console.print(Text(nothing))
        for number, source in enumerate(results.results, 1):
            self._source(number, source)
            if snippet := printable_line(source.snippet):
                self._console.print(Padding(Text(snippet), (0, 0, 0, 4)))
            self._console.print()
        self._end(remarks, footer(results), apart=not results.results)

    async def _watched(
        self,
        events: AsyncIterator[Event],
        growing: StreamingMarkdown,
        live: Live,
        progress: ProgressLine,
        *,
        above: Callable[[None], Sequence[str]] | None,
    ) -> Answer:
        next_draw = None
        async for event in events:
            if isinstance(event, Done):
                return event.answer
            if isinstance(event, SearchQueries) and not progress.is_shown:
                live.update(_dim(f"Searching for {printable_line(' · '.join(event.queries))} …"), refresh=True)
            if isinstance(event, Sources):
                growing.sources = event.sources
            if isinstance(event, TextDelta):
                growing.add(event.text)
                if above is None:
                    self._wait(live, progress, event)
                    continue
                self._begin(live, progress)
                # A text in one piece is over before it is drawn: it may be passages, which are no Markdown.
                next_draw = self._clock() + _REDRAWN_SECONDS if next_draw is None else next_draw
                if self._clock() >= next_draw:
                    self.print_header(above(None))
                next_draw = self._drawn(growing, live, next_draw)
            elif not live.is_started:
                progress.show_event(event)
        raise StreamTruncated("the stream ended without its last event")

    def _wait(self, live: Live, progress: ProgressLine, event: TextDelta) -> None:
        """Say that there is text, which is not shown yet."""
        if progress.is_shown:
            progress.show_event(event)
        else:
            live.update(_dim("Writing the answer …"), refresh=True)

    def _begin(self, live: Live, progress: ProgressLine) -> None:
        """Take the place of the line that said what is being done."""
        if progress.is_shown and not live.is_started:
            progress.stop()
            live.start()

    def _drawn(self, growing: StreamingMarkdown, live: Live, due: float) -> float:
        """Draw when it is time, and return when it will be time again."""
        if self._clock() < due:
            return due
        finished, tail = growing.take_finished()
        if finished.strip():
            self._block(finished)
        # Half a formula would be shown as other signs than the whole.
        live.update(render_markdown(tail[: unfinished(tail)]), refresh=True)
        return self._clock() + _REDRAWN_SECONDS

    def _keep(self, growing: StreamingMarkdown) -> None:
        """Show what came of an answer that ends here, which would be wiped away with what is still being drawn."""
        if rest := "".join(growing.take_finished()).strip():
            self._block(rest)

    def _finish(self, answer: Answer, growing: StreamingMarkdown) -> None:
        """Show the rest of the text; all of it, where the service put right what was shown already."""
        if answer.kind is AnswerKind.PASSAGES:
            for passage in answer.passages:
                self._console.print(
                    Padding(Text(f"“{printable(one_line(passage.text))}” [{passage.source}]"), (0, 0, 1, 2))
                )
            return
        text = printable(numbered_text(answer)[0])
        rest = growing.remaining(text)
        if rest is None:
            self._console.print(_dim("The service corrected its answer; here is the whole of it."))
            self._console.print()
        self._block(text if rest is None else rest)

    def print_document(self, text: str) -> None:
        """Show a whole text in Markdown."""
        self._block(printable(text))

    def _block(self, text: str) -> None:
        self._console.print(render_markdown(text))
        self._console.print()

    def _source(self, number: int, source: Source) -> None:
        title, known = source_heading(source)
        beside = f" · {known}" if known else ""
        self._console.print(Text.assemble((f"{number:>2}. ", "bold cyan"), (title, "bold"), (beside, "dim")))
        address = printable_line(source.url)
        style = Style(color="blue", link=safe_url(source.url))
        self._console.print(Padding(Text(address, style=style, overflow="fold"), (0, 0, 0, 4)))

    def _end(self, remarks: Sequence[str], last: str, *, apart: bool) -> None:
        if apart:
            self._console.print()
        for remark in remarks:
            self._console.print(Text(remark, style="yellow"))
        self._console.print(_dim(last))


def _dim(text: str) -> Text:
    return Text(text, style="dim")
