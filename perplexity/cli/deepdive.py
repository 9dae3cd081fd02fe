"""`deepdive`: the facts of a topic, what people say about it, and an analysis of both."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterable

from perplexity.cli.base import CliCommand, ProcessIO, explain_nothing_found
from perplexity.cli.options import add_options, add_text, parse_providers, read_input
from perplexity.cli.output import format_raw
from perplexity.cli.progress import ProgressLine
from perplexity.cli.services import checked_config
from perplexity.cli.writing import open_screen, write_reply
from perplexity.deepdive.report import as_document
from perplexity.deepdive.types import DeepDive, NullStageStore, Stage, StageUpdate
from perplexity.formatting import format_duration
from perplexity.notes import no_results_text
from perplexity.sanitize import printable
from perplexity.tools.news_deepdive import add_xai, as_answer, open_deepdive_runner_from_env
from perplexity.types import parse_query

_ACTIVITIES = {
    Stage.SITUATION: "researching the facts",
    Stage.PULSE: "listening to what people say",
    Stage.ANALYSIS: "writing the analysis",
}


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_text(parser, "topic", "what to research")
    add_options(parser, filters=False)


def run(parsed: argparse.Namespace, process: ProcessIO) -> None:
    """Run the deep dive, show its progress, and write the report.

    Raises UsageError, CommandFailed or PerplexityError.
    """
    order = parse_providers(parsed)
    topic = parse_query(read_input(parsed.topic, process.stdin, expected="topic"))
    with explain_nothing_found(no_results_text(topic)):
        report = asyncio.run(_run_deepdive(topic, process, order))
    text = printable(as_document(report))
    if (screen := open_screen(parsed, process)) is not None:
        screen.print_markdown(text)
    else:
        write_reply(report, parsed, process, plain=lambda: text, raw=format_raw(as_answer(report)))


async def _run_deepdive(topic: str, process: ProcessIO, order: tuple[str, ...]) -> DeepDive:
    progress, active = ProgressLine.for_process(process), dict.fromkeys((Stage.SITUATION, Stage.PULSE))

    def on_update(update: StageUpdate) -> None:
        if update.result is None:
            active[update.stage] = None
        else:
            active.pop(update.stage, None)
            result = update.result.failure or "done"
            progress.print_above(f"{update.stage.heading}: {result} ({format_duration(update.result.seconds)})")
        if active:
            progress.show(_activity(active))

    config = add_xai(process.environ, checked_config(process, order))
    async with (
        open_deepdive_runner_from_env(process.environ, config=config, order=order) as runner,
        progress.running(_activity(active)),
    ):
        # If this process is stopped, its background run is cancelled, because nothing could resume it later.
        return await runner.run(topic, store=NullStageStore(), on_stage=on_update, resumable=False)


def _activity(stages: Iterable[Stage]) -> str:
    text = ", ".join(_ACTIVITIES[stage] for stage in stages)
    return text[:1].upper() + text[1:]


DEEPDIVE = CliCommand(
    name="deepdive",
    summary="research a topic for some minutes: the facts, what people say, an analysis of both",
    add=add,
    run=run,
    cancelled="Cancelled, including the run at the service.",
)
