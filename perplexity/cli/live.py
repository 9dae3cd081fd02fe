"""Shows answers on a terminal as their Markdown arrives, and redraws each block until it is finished."""

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

from perplexity.citations import number_citations
from perplexity.claims.types import CheckedClaim, Verdict
from perplexity.cli.output import claim_lines, footer, numbered_text, source_heading
from perplexity.cli.progress import FIRST_STEP, ProgressLine
from perplexity.errors import StreamTruncated
from perplexity.formatting import pluralize
from perplexity.formulas import readable, unfinished
from perplexity.markdown import RegionKind, parse
from perplexity.sanitize import one_line, printable, printable_line
from perplexity.types import Answer, AnswerKind, Done, Event, SearchQueries, SearchResults, Source, Sources, TextDelta
from perplexity.urls import safe_url


@dataclass
class StreamingMarkdown:
    """Collects the pieces and sources of a streamed answer, and returns each finished block once."""

    sources: tuple[Source, ...] = ()
    finished: str = ""
    _pieces: list[str] = field(default_factory=list)

    def add(self, piece: str) -> None:
        """Add the next piece."""
        self._pieces.append(piece)

    def take_finished(self) -> tuple[str, str]:
        """Return the blocks finished since the last call, and the text after them.

        No block is finished while the text refers to an unknown source, because some services name their sources last.
        """
        cited = number_citations("".join(self._pieces), self.sources)
        text = printable(cited.text)
        end = _last_block_start(text) if self.sources and not cited.dangling else 0
        if not text.startswith(self.finished) or end < len(self.finished):
            return "", text.removeprefix(self.finished)
        new, self.finished = text[len(self.finished) : end], text[:end]
        return new, text[end:]

    def remaining(self, text: str) -> str | None:
        """Return the part of the whole text after the finished blocks; None if those blocks have changed."""
        return text.removeprefix(self.finished) if text.startswith(self.finished) else None


def _last_block_start(text: str) -> int:
    """Return where the last top-level block starts, ignoring lines inside formulas that only look like blocks."""
    starts = [0, *accumulate(map(len, text.splitlines(keepends=True)))]
    document = parse(text)
    begun = [starts[block.start] for block in document.blocks if block.depth == 0]
    formulas = [(region.start, region.end) for region in document.regions if region.kind is RegionKind.MATH]
    formulas.append((unfinished(document), len(text)))
    while begun and formulas:
        start, end = formulas[-1]
        (begun if start < begun[-1] < end else formulas).pop()
    return begun[-1] if begun else 0


# Rich's own parser drops HTML, definitions of links, and images. Here they stay text: in answers, HTML is text such as
# `List<int>`.
_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).disable(["reference", "image"])


def render_markdown(text: str) -> Markdown:
    """Render a printable text with readable LaTeX; a link becomes its text followed by its address."""
    text = readable(parse(text)).text
    rendered = Markdown("", hyperlinks=False, code_theme="ansi_dark")
    rendered.markup, rendered.parsed = text, _PARSER.parse(text)
    return rendered


_REDRAW_SECONDS = 0.1
_VERDICT_COLORS = {Verdict.SUPPORTED: "green", Verdict.CONTRADICTED: "red"}


class Screen:
    """A terminal. It shows colours if `color` is True and NO_COLOR is not set: https://no-color.org."""

    def __init__(self, stream: TextIO, *, color: bool) -> None:
        self._console = Console(file=stream, no_color=None if color else True, highlight=False, emoji=False)
        self._headed: list[str] = []

    async def print_stream(
        self,
        events: AsyncGenerator[Event, None],
        progress: ProgressLine,
        *,
        above: Callable[[Answer | None], Sequence[str]],
        wait: bool = False,
    ) -> Answer:
        """Print an answer as it arrives and return it. Raises any PerplexityError; the text that arrived stays visible.

        `above` returns the lines to print before the text. While the text arrives, it is called with None and returns
        the lines known so far; at the end, it is called with the finished answer. With `wait`, no text is printed
        before the end, because one of the lines may depend on the whole answer. `progress` shows the activity until
        there is text; if `progress` is not visible, this method shows the activity.
        """
        markdown_text = StreamingMarkdown()
        begins = Text("") if progress.is_shown else _dim(f"{FIRST_STEP} …")
        live = Live(begins, console=self._console, auto_refresh=False, transient=True)
        try:
            if not progress.is_shown:
                live.start(refresh=True)
            try:
                async with aclosing(events):
                    answer = await self._consume(events, markdown_text, live, progress, above=None if wait else above)
            finally:
                progress.stop()
                live.stop()
        except BaseException:
            # When the live area stopped, it erased the text that was not yet finished; print that text again.
            if rest := "".join(markdown_text.take_finished()).strip():
                self.print_markdown(rest)
            raise
        self.print_header(above(answer))
        self.print_answer(answer, markdown_text)
        return answer

    def print_header(self, lines: Sequence[str]) -> None:
        """Print the lines before the text, each once."""
        new = [line for line in lines if line not in self._headed]
        for line in new:
            self._console.print(Text(line, style="yellow"))
        if new:
            self._console.print()
        self._headed += new

    def print_answer(self, answer: Answer, printed: StreamingMarkdown | None = None) -> None:
        """Print the text of an answer; the blocks that were already printed are left out if they have not changed."""
        if answer.kind is AnswerKind.PASSAGES:
            for passage in answer.passages:
                self._console.print(
                    Padding(Text(f"“{printable(one_line(passage.text))}” [{passage.source}]"), (0, 0, 1, 2))
                )
            return
        text = printable(numbered_text(answer)[0])
        rest = (printed or StreamingMarkdown()).remaining(text)
        if rest is None:
            self._console.print(_dim("The service corrected its answer. Here is the whole text:"))
            self._console.print()
        self.print_markdown(text if rest is None else rest)

    def print_markdown(self, text: str) -> None:
        """Print a printable text in Markdown."""
        self._console.print(render_markdown(text))
        self._console.print()

    def print_sources(self, answer: Answer, remarks: Sequence[str]) -> None:
        """Print the sources of an answer, the remarks and the footer."""
        _, listed, others = numbered_text(answer)
        if listed:
            self._console.print(Text("Sources", style="bold"))
        for number, source in enumerate(listed, 1):
            self._print_source(number, source)
        if others:
            self._console.print(_dim(f"    {pluralize(others, 'more source')}"))
        self._print_footer(remarks, footer(answer), apart=bool(listed))

    def print_results(
        self, results: SearchResults, remarks: Sequence[str], *, nothing: str = "No pages were found."
    ) -> None:
        """Print the pages, or `nothing` if there are none, and the footer."""
        if not results.results:
            self._console.print(Text(nothing))
        for number, source in enumerate(results.results, 1):
            self._print_source(number, source)
            if snippet := printable_line(source.snippet):
                self._console.print(Padding(Text(snippet), (0, 0, 0, 4)))
            self._console.print()
        self._print_footer(remarks, footer(results), apart=not results.results)

    def print_claims(self, claims: Sequence[CheckedClaim], remarks: Sequence[str], last: str) -> None:
        """Print claims with their verdicts, quotations and sources, the remarks and the footer."""
        for number, checked in enumerate(claims, 1):
            verdict, claim, *rest = claim_lines(checked)
            style = f"bold {_VERDICT_COLORS.get(checked.verdict, 'yellow')}"
            self._console.print(
                Text.assemble((f"{number:>2}. ", "bold cyan"), (f"{verdict}: ", style), (claim, "bold"))
            )
            for line in rest:
                self._print_indented(line, Style(color="blue", link=safe_url(line)) if safe_url(line) else "")
            self._console.print()
        self._print_footer(remarks, last, apart=False)

    async def _consume(
        self,
        events: AsyncIterator[Event],
        markdown_text: StreamingMarkdown,
        live: Live,
        progress: ProgressLine,
        *,
        above: Callable[[None], Sequence[str]] | None,
    ) -> Answer:
        next_draw = None
        async for event in events:
            if isinstance(event, Done):
                return event.answer
            if isinstance(event, Sources):
                markdown_text.sources = event.sources
            if isinstance(event, TextDelta):
                markdown_text.add(event.text)
            if isinstance(event, TextDelta) and above is not None:
                if progress.is_shown and not live.is_started:
                    progress.stop()
                    live.start()
                # The first piece is not drawn at once, because a text in one piece may be passages, which are not
                # Markdown.
                next_draw = time.monotonic() + _REDRAW_SECONDS if next_draw is None else next_draw
                if time.monotonic() >= next_draw:
                    self.print_header(above(None))
                    self._redraw(markdown_text, live)
                    next_draw = time.monotonic() + _REDRAW_SECONDS
            elif next_draw is None:
                self._show_activity(event, live, progress)
        raise StreamTruncated("the stream ended without its last event")

    def _show_activity(self, event: Event, live: Live, progress: ProgressLine) -> None:
        """Show the activity on the progress line or, if that is not visible, where the text will be."""
        if progress.is_shown:
            progress.show_event(event)
        elif isinstance(event, SearchQueries | Sources | TextDelta) and (activity := progress.describe(event)):
            live.update(_dim(f"{printable_line(activity)} …"), refresh=True)

    def _redraw(self, markdown_text: StreamingMarkdown, live: Live) -> None:
        finished, tail = markdown_text.take_finished()
        if finished.strip():
            self.print_markdown(finished)
        # An unfinished formula is left out, because half of it would be rendered differently from the whole.
        live.update(render_markdown(tail[: unfinished(parse(tail))]), refresh=True)

    def _print_indented(self, text: str, style: Style | str = "") -> None:
        self._console.print(Padding(Text(text, style=style, overflow="fold"), (0, 0, 0, 4)))

    def _print_source(self, number: int, source: Source) -> None:
        title, known = source_heading(source)
        details = f" · {known}" if known else ""
        self._console.print(Text.assemble((f"{number:>2}. ", "bold cyan"), (title, "bold"), (details, "dim")))
        self._print_indented(printable_line(source.url), Style(color="blue", link=safe_url(source.url)))

    def _print_footer(self, remarks: Sequence[str], last: str, *, apart: bool) -> None:
        if apart:
            self._console.print()
        for remark in remarks:
            self._console.print(Text(remark, style="yellow"))
        self._console.print(_dim(last))


def _dim(text: str) -> Text:
    return Text(text, style="dim")
