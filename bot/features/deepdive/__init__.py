"""`/deepdive`: reports the facts of a topic, what people say about it, and an analysis of both, also as a file."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from time import monotonic

from slack_bolt.async_app import AsyncApp

from bot.blocks import messages
from bot.blocks.elements import (
    bar_chart,
    context,
    header,
    quote_question,
    secondary_button,
    section,
    spoken,
    stop_button,
)
from bot.blocks.escaping import clean, escape, one_line, shorten
from bot.blocks.markdown.blocks import insert_placeholders
from bot.blocks.markdown.render import Part, split_markdown
from bot.blocks.sources import link_url, source_line, source_titles
from bot.blocks.words import time_of_day
from bot.commands.base import PACE_SECONDS, Command, CommandContext, CommandForm, Reply, Stats
from bot.commands.conversation import remember_answer
from bot.commands.parsing import (
    PRIVATE,
    PUBLIC,
    OptionParser,
    PublicOrPrivate,
    audience_of,
    parse_options,
    parse_visibility,
    usage_errors,
)
from bot.errors import UsageError
from bot.feature import Core, Feature, Running
from bot.listeners.clicks import (
    Click,
    ClickReply,
    button,
    find_question,
    markdown_file,
    may_see,
    send_file,
    text_reply,
)
from bot.listeners.context import ListenerContext
from bot.model.message import Audience, Block, MarkdownFile, OutgoingMessage
from bot.model.question import AnswerButtons, QuestionRow
from bot.preferences import Preferred
from bot.storage.stages import StageStore
from bot.translation import N_, figures, money
from bot.translation import gettext as _
from bot.worker.background import FileUploader
from perplexity.citations import CitedText, Marker, number_citations
from perplexity.deepdive.report import as_document, assemble, render_sections, render_text, report_title
from perplexity.deepdive.types import DeepDive, Stage, StageResult, StageUpdate
from perplexity.filters import NO_FILTERS, Filters
from perplexity.formatting import format_dollars, format_duration
from perplexity.notes import no_results_text
from perplexity.threads import run_in_thread
from perplexity.types import Answer, Source, Usage, parse_query

PARSER = OptionParser(
    options=(PUBLIC, PRIVATE),
    unsupported={
        "--recency": N_(
            "`--recency` works for `/ask`, `/search` and `/news`: a deep dive looks for the latest there is."
        ),
        "--reasoning": N_("`--reasoning` works for `/ask` only: a deep dive always takes its time."),
        "--model": N_("`--model` works for `/ask` only: a deep dive has its own models."),
        "--effort": N_("`--effort` works for `/ask` only: a deep dive always takes its time."),
    },
)


@dataclass(frozen=True, kw_only=True)
class DeepDiveRequest(PublicOrPrivate):
    """A topic; the `filters` come from settings, since none can be typed."""

    topic: str
    filters: Filters = NO_FILTERS


@dataclass(kw_only=True)
class ProgressBoard:
    """The latest update of each stage; `changed` is set after each update and at the end."""

    stages: dict[Stage, StageUpdate] = field(default_factory=dict)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def update(self, update: StageUpdate) -> None:
        """Record an update of a stage."""
        self.stages[update.stage] = update
        self.changed.set()

    @property
    def milestones(self) -> int:
        """How many milestones were reached: the start, and the end of each stage but the last.

        The report itself shows the end of the last stage.
        """
        ended = (update.result is not None for stage, update in self.stages.items() if stage is not Stage.ANALYSIS)
        return 1 + sum(ended)


@dataclass(frozen=True, kw_only=True)
class DeepDiveResult:
    """The report; `file` is the value of the button that sends the report as a file, None if files cannot be sent."""

    report: DeepDive
    file: str | None


def parse(text: str) -> DeepDiveRequest:
    """Parse the text after `/deepdive`. Raises UsageError."""
    arguments = parse_options(text, PARSER)
    if not arguments.text:
        raise UsageError(_("Add a topic after the options."))
    with usage_errors(N_("a topic")):
        topic = parse_query(arguments.text)
    return DeepDiveRequest(topic=topic, filters=NO_FILTERS, **parse_visibility(arguments))


async def no_uploads() -> bool:
    """Return False: files cannot be sent."""
    return False


async def answer(
    request: DeepDiveRequest,
    context: CommandContext,
    *,
    can_upload: Callable[[], Awaitable[bool]] = no_uploads,
    pace_seconds: float = PACE_SECONDS,
) -> DeepDiveResult:
    """Make the report and show its progress. Raises PerplexityError; RequestCancelled if it is stopped."""
    board = ProgressBoard()
    deepdives = replace(context.services.deepdives, filters=request.filters)
    task = asyncio.create_task(deepdives.run(request.topic, store=context.stages, on_stage=board.update))
    task.add_done_callback(lambda __: board.changed.set())
    try:
        await _show_progress(task, board, request, context, pace_seconds)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    return DeepDiveResult(report=task.result(), file=str(context.row.id) if await can_upload() else None)


async def _show_progress(
    run: asyncio.Task[DeepDive],
    board: ProgressBoard,
    request: DeepDiveRequest,
    context: CommandContext,
    pace_seconds: float,
) -> None:
    """Show each update at once, and the elapsed time every few seconds, until the end. Raises RequestCancelled."""
    shown = context.progress.milestones_shown
    await asyncio.sleep(0)
    while not run.done():
        board.changed.clear()
        clock = monotonic() if context.progress.editable else None
        reached = board.milestones
        message = deepdive_progress_message(
            request.topic,
            board.stages,
            question_id=str(context.row.id),
            clock=clock,
            now=datetime.fromtimestamp(context.now(), UTC),
        )
        if await context.progress.update(message, milestone=reached > shown):
            shown = max(shown, reached)
        with suppress(TimeoutError):
            async with asyncio.timeout(pace_seconds):
                await board.changed.wait()


def prefer(request: DeepDiveRequest, settings: Preferred) -> DeepDiveRequest:
    """Return the request with preferences for everything that was not typed."""
    filters = settings.filters(request.filters, language=True)
    return replace(request, filters=filters, public=settings.visible(public=request.public, private=request.private))


def render_pending(request: DeepDiveRequest, question: str, public: bool) -> OutgoingMessage:
    """Render the pending message."""
    return deepdive_started_message(request.topic, question_id=question, public=public)


def render(result: DeepDiveResult, __: DeepDiveRequest, audience: Audience) -> Reply:
    """Render the report."""
    messages = deepdive_messages(result.report, audience=audience, file_id=result.file)
    return Reply(messages=messages, stats=Stats(cost_usd=result.report.cost_usd))


def as_answer(result: DeepDiveResult) -> Answer:
    """Return the report as an answer, without its chart."""
    report = result.report
    return Answer(
        text=render_sections(report),
        sources=report.sources,
        provider=next((stage.provider for stage in report.stages if stage.provider), _("several services")),
        seconds=report.seconds,
        usage=Usage(cost_usd=report.cost_usd),
    )


DEEPDIVE = Command[DeepDiveRequest, DeepDiveResult](
    name="deepdive",
    summary=N_("Dig into a topic: the facts, what people say, and an analysis of both"),
    usage="[--public] TOPIC",
    options=PARSER.options,
    examples=(
        ("heat pumps in Germany", N_("a report in three parts, in a few minutes")),
        ("--public the four-day week", N_("shown to everyone here")),
    ),
    parse=parse,
    audience=audience_of,
    answer=answer,
    render=render,
    buttons=lambda result, _: AnswerButtons(sources=len(result.report.sources)),
    keep=as_answer,
    remember=lambda result: remember_answer(as_answer(result)),
    nothing_found=lambda request: no_results_text(request.topic),
    question_text=lambda request: request.topic,
    render_pending=render_pending,
    effort="high",
    keeps_stages=True,
    form=CommandForm(title=N_("Deep dive"), text=N_("Topic"), missing=N_("Write your topic.")),
    prefer=prefer,
)


def deepdive_messages(
    report: DeepDive, *, audience: Audience, file_id: str | None = None
) -> tuple[OutgoingMessage, ...]:
    """Render a report as one message or several numbered ones; the last message has the sources and the footer.

    `file_id` is the value of the button that sends the report as a file; None for no button.
    """
    blocks: list[Block | Part] = [header(one_line(report.topic))]
    for finding in report.stages:
        text = insert_placeholders(_cited(render_text(finding), report.sources))
        blocks.append(header(_(HEADINGS[finding.stage])) | {"level": 4})
        blocks += split_markdown(text, [link_url(source) for source in report.sources])
        blocks += _sentiment_chart(finding)
    blocks += [*source_line(report.sources), context(" · ".join(_parts(report)))]
    blocks += [secondary_button(_("Get as a file"), action_id="as_file", value=file_id)] if file_id else []
    titles = source_titles(report.sources)
    return messages.pack(blocks, sources=titles, quote=quote_question(report.topic, audience))


def _sentiment_chart(finding: StageResult) -> Iterator[Block]:
    """Yield a chart of the posts by sentiment; the text has the same numbers, for readers without charts."""
    if finding.sentiment is not None and finding.sentiment.total:
        counts = finding.sentiment.counts()
        names, values = [_(mood).capitalize() for mood in counts], [float(count) for count in counts.values()]
        yield bar_chart(_("Posts by mood"), categories=names, series={_("Posts"): values}, y_label=_("Posts"))


def _parts(report: DeepDive) -> Iterator[str]:
    """Yield the heading of each part, with its cost if known."""
    for finding in report.stages:
        yield " ".join(filter(None, (_(HEADINGS[finding.stage]), money(format_dollars(finding.cost_usd)))))


def _cited(text: str, sources: tuple[Source, ...]) -> CitedText:
    """Return a text with its citation markers, numbered like the sources in the report's list."""
    cited = number_citations(clean(text), sources)
    pieces = (replace(p, number=p.source.number) if isinstance(p, Marker) else p for p in cited.pieces)
    return replace(cited, pieces=tuple(pieces))


HEADINGS = {
    Stage.SITUATION: N_("The situation"),
    Stage.PULSE: N_("The public pulse"),
    Stage.ANALYSIS: N_("My analysis"),
}
ACTIVITIES = {
    Stage.SITUATION: N_("researching the facts"),
    Stage.PULSE: N_("listening to what people say"),
    Stage.ANALYSIS: N_("writing"),
}
_TOPIC = 150


def deepdive_started_message(topic: str, *, question_id: str, public: bool) -> OutgoingMessage:
    """Render the pending message of a deep dive; it states no progress, so it is not wrong if it is never replaced."""
    parts = _("The report has three parts: the facts, what people say, and an analysis of both.")
    contents = [parts, _("It is for everyone here.")] if public else [parts]
    return _stoppable([_title(topic), " ".join(contents)], question_id)


def deepdive_progress_message(
    topic: str, stages: Mapping[Stage, StageUpdate], *, question_id: str, clock: float | None = None, now: datetime
) -> OutgoingMessage:
    """Render the progress; a stage that is not in `stages` has not started.

    `question_id` is the value of the stop button. `clock` is the current time of the clock that timed the stages.
    `clock` is None if the message may not be changed again soon; the message then states the time `now`, and calls no
    stage running.
    """
    title = _title(topic)
    if clock is None:
        title = _("{title} · as of {time}").format(title=title, time=time_of_day(now))
    lines = [f"*{_(HEADINGS[stage])}*  {_state(stage, stages, clock)}" for stage in Stage]
    return _stoppable([title, *lines], question_id)


def _title(topic: str) -> str:
    return _("*Deep dive*  “{topic}”").format(topic=escape(shorten(one_line(topic), _TOPIC)))


def _stoppable(lines: Sequence[str], question_id: str) -> OutgoingMessage:
    below = context(_("This takes a few minutes and survives a restart."))
    return spoken(section("\n".join(lines)), stop_button(question_id), below)


def _state(stage: Stage, stages: Mapping[Stage, StageUpdate], clock: float | None) -> str:
    update = stages.get(stage)
    if stage is Stage.ANALYSIS and update is None and not _inputs_ended(stages):
        return _("waiting for the first two")
    if update is None or update.result is None:
        if clock is None:
            return _("no result yet")
        lasted = f" · {figures(format_duration(max(0.0, clock - update.started)))}" if update else ""
        return f"{_(ACTIVITIES[stage])} …{lasted}"
    finding = update.result
    took, cost = figures(format_duration(finding.seconds)), money(format_dollars(finding.cost_usd))
    return " · ".join(filter(None, [_("no result") if finding.failure else _("done"), took, cost]))


def _inputs_ended(stages: Mapping[Stage, StageUpdate]) -> bool:
    """Return whether the stages that the analysis needs have ended."""
    needed = (stages.get(stage) for stage in (Stage.SITUATION, Stage.PULSE))
    return all(update is not None and update.result is not None for update in needed)


UNKNOWN_REPORT = N_("I no longer have this report.")


def start(core: Core) -> Running:
    """Connect the command and the button that sends a report."""
    reports = Reports(files=core.files, stages=StageStore(core.work), persona=core.settings.persona_name)
    command = replace(DEEPDIVE, answer=partial(answer, can_upload=core.files.can_upload))
    return Running(commands=(command,), listeners=(reports.register,))


@dataclass(frozen=True, kw_only=True)
class Reports:
    """Sends reports as files; `persona` is the author of the analyses."""

    files: FileUploader
    stages: StageStore
    persona: str

    def register(self, app: AsyncApp, context: ListenerContext) -> None:
        """Listen to the button below a report."""
        button(app, context, "as_file", self.send)

    async def send(self, click: Click, context: ListenerContext) -> ClickReply:
        """Send the report of a question, in the background, to the user who clicked."""
        row = await find_question(click.id, context)
        if row is None:
            return text_reply(_(UNKNOWN_REPORT))
        if not may_see(row, click, context.commands):
            return text_reply(_("Only the person who asked can get this report as a file."))
        report = await self._load(row)
        if report is None:
            return text_reply(_(UNKNOWN_REPORT))
        return await send_file(report, row, click, context, self.files, what=N_("the report"))

    async def _load(self, row: QuestionRow) -> MarkdownFile | None:
        """Return a question's report as a file, None if it has none. Raises database errors."""
        kept = {stage: await self.stages.get(row.id, stage) for stage in Stage}
        results = {stage: one["result"] for stage, one in kept.items() if one and one["result"]}
        if row.command != DEEPDIVE.name or len(results) < len(Stage):
            return None
        topic, found = DEEPDIVE.parse(row.text).topic, [StageResult.from_json(stage, results[stage]) for stage in Stage]
        return await run_in_thread(lambda: _report_file(assemble(topic, *found, persona=self.persona)))


def _report_file(report: DeepDive) -> MarkdownFile:
    return markdown_file(
        report.topic, beginning="deep-dive", title=report_title(one_line(report.topic)), content=as_document(report)
    )


FEATURE = Feature(name="deepdive", start=start, commands=(DEEPDIVE,))
