"""`python -m tests.chaos`: run the faults, print a line each, and say at the end whether every bar was reached."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bot.storage.migrate import migrate
from tests.chaos.faults import FAULTS, Fault
from tests.chaos.postgres import Postgres, small_disk
from tests.chaos.report import HEADING, line, page, result
from tests.chaos.run import Row, run, run_storm, scale_of

PAGE = Path("docs/reliability.md")
RESULTS = Path(".artifacts/chaos/results.json")
TEMPLATE = "chaos_template"
SHORT_TOGETHER, FULL_TOGETHER = 3, 2
SECONDS = ("slowest ack", "acks late or missing", "requests taken again only after")
"""What the bars say that seconds can miss."""


def main() -> int:
    """Run what was asked for; 0 if every bar was reached, 1 if one was not, 2 for wrong arguments."""
    chosen = _parser().parse_args()
    if chosen.list:
        _print("\n".join(f"{fault.name:<18}{fault.about}" for fault in FAULTS))
        return 0
    picked = [fault for fault in FAULTS if _is_picked(fault, chosen)]
    # The longest first, so that none is left to run by itself at the end.
    picked.sort(key=lambda fault: -scale_of(fault, short=chosen.short).seconds)
    together = chosen.together or (SHORT_TOGETHER if chosen.short else FULL_TOGETHER)
    # The stand-ins cut connections on purpose, and their server complains of each.
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)
    _print(f"seed {chosen.seed}, {len(picked)} faults, {together} at once\n{HEADING}")
    try:
        rows = asyncio.run(_run_until_signal(picked, chosen, together=together))
    except asyncio.CancelledError:
        return 130
    whole = len(rows) == len(FAULTS) and not chosen.short
    if target := chosen.write or (PAGE if whole else None):
        kept = _saved_results()
        target.write_text(page([kept[fault.name] for fault in FAULTS if fault.name in kept]), encoding="utf-8")
    return 1 if any(row.wrong for row in rows) else 0


def _parser() -> argparse.ArgumentParser:
    names = [fault.name for fault in FAULTS]
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description="Break things under load and count.")
    parser.add_argument("--short", action="store_true", help="the hardest faults, fewer questions")
    parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", help="these faults")
    parser.add_argument("--questions", type=int, metavar="N", help="so many for each fault")
    parser.add_argument("--together", type=int, metavar="N", help="run so many faults at once")
    parser.add_argument("--seed", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="run so many storms, each with its own seed")
    parser.add_argument("--list", action="store_true", help="name the faults")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write the page from all results so far")
    return parser


def _is_picked(fault: Fault, chosen: argparse.Namespace) -> bool:
    if chosen.only:
        return fault.name in chosen.only
    return fault.short is not None if chosen.short else True


async def _run_until_signal(picked: Sequence[Fault], chosen: argparse.Namespace, *, together: int) -> list[Row]:
    """Run the faults; at SIGTERM or SIGINT end everything that was started, then this."""
    running = asyncio.ensure_future(_run_all(picked, chosen, together=together))
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, running.cancel)
    return await running


async def _run_all(picked: Sequence[Fault], chosen: argparse.Namespace, *, together: int) -> list[Row]:
    places = asyncio.Semaphore(together)
    with TemporaryDirectory(prefix="chaos-") as folder:
        shared = await _start_server(Path(folder))
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(_run_in_turn(fault, shared, chosen, places))
                    for fault in picked
                    if not fault.alone
                ]
            rows = [await _repeat_if_slow(task.result(), picked, shared, chosen, places) for task in tasks]
            rows += [await _run_in_turn(fault, shared, chosen, places) for fault in picked if fault.alone]
        finally:
            await shared.stop()
    return rows


async def _repeat_if_slow(
    row: Row, picked: Sequence[Fault], shared: Postgres, chosen: argparse.Namespace, places: asyncio.Semaphore
) -> Row:
    """Run a fault again by itself if only its seconds are over the bar: faults side by side slow each other down.

    What is counted (lost, doubled, paid twice) is never measured again.
    """
    if not row.wrong or not all(any(words in fault for words in SECONDS) for fault in row.wrong):
        return row
    return await _run_in_turn(next(fault for fault in picked if fault.name == row.name), shared, chosen, places)


async def _run_in_turn(fault: Fault, shared: Postgres, chosen: argparse.Namespace, places: asyncio.Semaphore) -> Row:
    async with places:
        began = time.monotonic()
        try:
            row = await (_on_own_server(fault, chosen) if fault.own_server else _run(fault, shared, chosen))
        except Exception as error:  # noqa: BLE001 - one that breaks must not take the others with it
            row = Row.broken(fault.name, f"{type(error).__name__}: {str(error)[:300]}", seed=chosen.seed)
    if not chosen.short:
        _save_result(row, about=fault.about)
    _print(line(row, seconds=time.monotonic() - began))
    return row


async def _on_own_server(fault: Fault, chosen: argparse.Namespace) -> Row:
    with TemporaryDirectory(prefix="chaos-") as name:
        folder = Path(name)
        disk = small_disk(folder, megabytes=fault.disk_megabytes) if fault.disk_megabytes else nullcontext(False)
        async with disk as small:
            own = await _start_server(folder)
            own.small_disk = small
            try:
                return await _run(fault, own, chosen)
            finally:
                await own.stop()


async def _run(fault: Fault, postgres: Postgres, chosen: argparse.Namespace) -> Row:
    if fault.storm:
        return await _run_storms(fault, postgres, chosen)
    return await run(fault, postgres, template=TEMPLATE, seed=chosen.seed, short=chosen.short, n=chosen.questions)


async def _run_storms(fault: Fault, postgres: Postgres, chosen: argparse.Namespace) -> Row:
    """Run a storm for each seed; return the last row, with what was wrong in any."""
    wrong: list[str] = []
    for seed in range(chosen.seed, chosen.seed + chosen.seeds):
        row = await run_storm(fault, postgres, template=TEMPLATE, seed=seed, short=chosen.short)
        wrong += [f"seed {seed}: {words}" for words in row.wrong]
        if chosen.seeds > 1:
            _print(f"  seed {seed}: {row.figures.n} questions, {'; '.join(row.wrong) or 'ok'}")
    return replace(row, wrong=wrong)


async def _start_server(folder: Path) -> Postgres:
    made = await Postgres.create(folder)
    await made.query("postgres", f"CREATE DATABASE {TEMPLATE}")
    await migrate(made.conninfo(TEMPLATE))
    return made


def _save_result(row: Row, *, about: str) -> None:
    """Add a row to the results so far."""
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    kept = _saved_results() | {row.name: result(row, about=about)}
    RESULTS.write_text(json.dumps(kept, indent=1), encoding="utf-8")


def _saved_results() -> dict[str, Any]:
    """Return the results so far, of this run and of those before."""
    return dict(json.loads(RESULTS.read_text(encoding="utf-8"))) if RESULTS.exists() else {}


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
