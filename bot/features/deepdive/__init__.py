"""Deep dives: a report in three parts, in a few minutes, also as a file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from slack_bolt.async_app import AsyncApp

from bot.blocks.escaping import one_line
from bot.feature import Core, Feature, Running
from bot.features.deepdive.command import DEEPDIVE, answer
from bot.listeners.clicks import Click, ClickReply, button, clicked_question, may_see, text_reply
from bot.listeners.context import ListenerContext
from bot.listeners.files import markdown_file, send_file
from bot.model.message import MarkdownFile
from bot.model.question import QuestionRow
from bot.storage.stages import StageStore
from bot.translation import N_
from bot.translation import gettext as _
from bot.worker.background import FileUploader
from perplexity.deepdive.report import as_document, assemble, report_title
from perplexity.deepdive.types import DeepDive, Stage, StageResult
from perplexity.threads import run_in_thread

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
        row = await clicked_question(click, context)
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
