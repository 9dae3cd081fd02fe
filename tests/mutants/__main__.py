"""Disables each rule of the gate, one at a time, and shows which test notices: `python -m tests.mutants`.

Each rule is disabled in a copy of the sources; this run fails if there is a rule without which every test passes.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory

from tests.mutants.rules import RULES, Rule

ROOT = Path(__file__).parent.parent.parent
COPIED = ("bot", "fake_slack", "perplexity", "tests", "docs", "pyproject.toml", "manifest.yml", "README.md")
TIME_LIMIT_SECONDS = 300.0
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The test that failed without a rule; empty if none did."""

    rule: Rule
    failed: str
    seconds: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen rules and print the table; return 1 if a rule has no test that fails without it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="rules whose name contains this")
    parser.add_argument("--processes", type=int, default=max(1, min(4, os.cpu_count() or 1)))
    chosen = parser.parse_args(arguments)
    rules = [rule for rule in RULES if chosen.only is None or chosen.only in rule.name]
    trees: SimpleQueue[Path] = SimpleQueue()
    with TemporaryDirectory(prefix="mutants-") as folder:
        for number in range(chosen.processes):
            trees.put(_copy(Path(folder) / str(number)))
        with ThreadPoolExecutor(chosen.processes) as pool:
            outcomes = list(pool.map(lambda rule: _report(_run(rule, trees)), rules))
    _print(f"\n{table(outcomes)}")
    survived = [outcome for outcome in outcomes if not outcome.failed]
    _print(f"A test fails without {len(outcomes) - len(survived)} of the {len(outcomes)} rules.")
    return 1 if survived else 0


def _copy(tree: Path) -> Path:
    tree.mkdir()
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tree / name, ignore=shutil.ignore_patterns("node_modules", "__pycache__"))
        else:
            shutil.copy2(source, tree / name)
    return tree


def _run(rule: Rule, trees: SimpleQueue[Path]) -> Outcome:
    tree = trees.get()
    began = time.monotonic()
    try:
        with _disabled(rule, tree):
            failed = next(filter(None, (_first_failure(tree, test) for test in rule.tests)), "")
    finally:
        trees.put(tree)
    return Outcome(rule=rule, failed=failed, seconds=time.monotonic() - began)


@contextmanager
def _disabled(rule: Rule, tree: Path) -> Iterator[None]:
    file = tree / rule.path
    source = file.read_text(encoding="utf-8")
    _write(file, mutated(source, rule))
    try:
        yield
    finally:
        _write(file, source)


def mutated(source: str, rule: Rule) -> str:
    """Return the source without the rule. Raises ValueError unless its text is there exactly once."""
    if source.count(rule.old) != 1:
        raise ValueError(f"{rule.name}: {rule.path} has its text {source.count(rule.old)} times, not once")
    return source.replace(rule.old, rule.new)


def _write(file: Path, source: str) -> None:
    file.write_text(source, encoding="utf-8")
    # Compiled files are compared by size and second.
    for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
        compiled.unlink()


def _first_failure(tree: Path, test: str) -> str:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "-p", "no:cacheprovider", "--tb=no", test]
    try:
        ran = subprocess.run(command, cwd=tree, capture_output=True, text=True, timeout=TIME_LIMIT_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"{test} (did not end)"
    found = _FAILED.search(ran.stdout)
    if found is not None:
        return found[1]
    if ran.returncode:
        raise RuntimeError(f"{test} did not run: exit code {ran.returncode}\n{ran.stderr[-2_000:]}")
    return ""


def table(outcomes: Sequence[Outcome]) -> str:
    """Return the outcomes as a Markdown table."""
    rows = [f"| {one.rule.name} | {one.rule.path} | {one.failed or '**none**'} |" for one in outcomes]
    return "\n".join(["| Rule | Disabled in | The test that failed |", "|---|---|---|", *rows])


def _report(outcome: Outcome) -> Outcome:
    _print(f"{outcome.seconds:5.1f} s  {outcome.rule.name}: {outcome.failed or 'NO TEST FAILED'}")
    return outcome


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
