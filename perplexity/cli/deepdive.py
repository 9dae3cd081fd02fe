"""`run_deepdive`: the facts of a topic, what people say about it, and an analysis of both."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterable

from perplexity.citations import format_result
from perplexity.cli.base import Command, ProcessIO, explain_nothing_found
from perplexity.cli.options import (
    OutputFormat,
    add_output_formats,
    add_providers,
    output_format,
    parse_providers,
    read_input,
)
from perplexity.cli.output import as_json, printable
from perplexity.cli.progress import ProgressLine
from perplexity.cli.providers import checked_config
from perplexity.deepdive.report import as_document
from perplexity.deepdive.types import DeepDive, NullStageStore, Stage, StageResult, StageUpdate
from perplexity.formatting import format_duration
from perplexity.notes import no_results_text
from perplexity.tools.news_deepdive import add_xai, as_answer, open_deepdive_runner
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
    add_output_formats(parser)


def run(parsed: argparse.Namespace, world: ProcessIO) -> None:
    """Research, show on a terminal how far it has come, and write the report. Raises UsageError or PerplexityError."""
    order = parse_providers(parsed)
    topic = parse_query(read_input(parsed.topic, world.stdin, wanted="topic"))
    with explain_nothing_found(no_results_text(topic)):
        report = asyncio.run(_dive(topic, world, order))
    form = output_format(parsed, world)
    if form is OutputFormat.SCREEN:
        from perplexity.cli.live import Screen

        Screen(world.stdout, color=not parsed.no_color).print_document(as_document(report))
    else:
        world.stdout.write(_written(report, form))


async def _dive(topic: str, world: ProcessIO, order: tuple[str, ...]) -> DeepDive:
    progress, active = ProgressLine.for_process(world), dict.fromkeys((Stage.SITUATION, Stage.PULSE))

    def tell(update: StageUpdate) -> None:
        if update.result is None:
            active[update.stage] = None
        else:
            active.pop(update.stage, None)
            progress.print_above(_line(update.stage, update.result))
        if active:
            progress.show(_doing(active))

    setup = add_xai(world.environ, checked_config(world, order))
    async with open_deepdive_runner(world.environ, setup=setup, order=order) as diver, progress.running(_doing(active)):
        # No one could resume the run after this process has ended.
        return await diver.run(topic, store=NullStageStore(), on_stage=tell, resumable=False)


def _doing(stages: Iterable[Stage]) -> str:
    text = ", ".join(_DOES[stage] for stage in stages)
    return text[:1].upper() + text[1:]


def _line(stage: Stage, finding: StageResult) -> str:
    return f"{stage.heading}: {finding.failure or 'done'} ({format_duration(finding.seconds)})"


def _written(report: DeepDive, form: OutputFormat) -> str:
    if form is OutputFormat.JSON:
        return as_json(report)
    return printable(as_document(report) if form is OutputFormat.PLAIN else f"{format_result(as_answer(report))}\n")


DEEPDIVE = Command(
    name="deepdive",
    summary="dig into a topic for some minutes: the facts, what people say, an analysis of both",
    add=add,
    run=run,
    cancelled="Cancelled, and a run that had begun at the service with it.",
)
