"""`run_deepdive`: the facts of a topic, what people say about it, and an analysis of both."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterable

from perplexity.citations import format_result
from perplexity.cli.base import Command, World, or_say
from perplexity.cli.options import Form, add_forms, add_providers, form_of, read_providers, read_text
from perplexity.cli.output import as_json, printable
from perplexity.cli.progress import Progress
from perplexity.cli.providers import checked_setup
from perplexity.deepdive.report import as_document
from perplexity.deepdive.types import DeepDive, NullStageStore, Stage, StageResult, StageUpdate
from perplexity.formatting import duration
from perplexity.notes import nothing_found
from perplexity.tools.news_deepdive import as_answer, opened_diver, with_xai
from perplexity.validation import parse_query

_DOES = {
    Stage.SITUATION: "researching the facts",
    Stage.PULSE: "listening to what people say",
    Stage.ANALYSIS: "writing the analysis",
}


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("topic", nargs="*", metavar="TOPIC", help="what to look into; - or nothing reads it from stdin")
    add_providers(parser)
    add_forms(parser)


def run(parsed: argparse.Namespace, world: World) -> None:
    """Research, show on a terminal how far it has come, and write the report. Raises UsageError or PerplexityError."""
    order = read_providers(parsed)
    topic = parse_query(read_text(parsed.topic, world.stdin, wanted="topic"))
    with or_say(nothing_found(topic)):
        report = asyncio.run(_dive(topic, world, order))
    form = form_of(parsed, world)
    if form is Form.SCREEN:
        from perplexity.cli.live import Screen

        Screen(world.stdout, color=not parsed.no_color).page(as_document(report))
    else:
        world.stdout.write(_written(report, form))


async def _dive(topic: str, world: World, order: tuple[str, ...]) -> DeepDive:
    progress, active = Progress.of(world), dict.fromkeys((Stage.SITUATION, Stage.PULSE))

    def tell(update: StageUpdate) -> None:
        if update.result is None:
            active[update.stage] = None
        else:
            active.pop(update.stage, None)
            progress.note(_line(update.stage, update.result))
        if active:
            progress.tell(_doing(active))

    setup = with_xai(world.environ, checked_setup(world, order))
    async with opened_diver(world.environ, setup=setup, order=order) as diver, progress.running(_doing(active)):
        # No one could resume the run after this process has ended.
        return await diver.run(topic, store=NullStageStore(), on_stage=tell, resumable=False)


def _doing(stages: Iterable[Stage]) -> str:
    text = ", ".join(_DOES[stage] for stage in stages)
    return text[:1].upper() + text[1:]


def _line(stage: Stage, finding: StageResult) -> str:
    return f"{stage.heading}: {finding.failure or 'done'} ({duration(finding.seconds)})"


def _written(report: DeepDive, form: Form) -> str:
    if form is Form.JSON:
        return as_json(report)
    return printable(as_document(report) if form is Form.PLAIN else f"{format_result(as_answer(report))}\n")


DEEPDIVE = Command(
    name="deepdive",
    summary="dig into a topic for some minutes: the facts, what people say, an analysis of both",
    add=add,
    run=run,
    cancelled="Cancelled, and a run that had begun at the service with it.",
)
