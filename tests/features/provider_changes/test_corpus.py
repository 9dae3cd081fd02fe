"""Scripted days, written without a look at the rules: changes are found soon, and calm days stay calm."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import pytest

from bot.features.provider_changes.detection import KEPT, Kind, Observation, find_changes

CORPUS = Path(__file__).parent / "corpus"
WITHIN = 20

Found = list[tuple[str, Kind, int]]
"""Preset, kind, and the number of the answer of that preset with which a change was found."""


def observed(line: Mapping[str, object], shapes: Mapping[str, Mapping[str, str]]) -> Observation:
    shape = None if line["shape"] is None else shapes[str(line["shape"])]
    return Observation(
        at=datetime.fromisoformat(str(line["at"])),
        model=line["model"],  # type: ignore[arg-type]
        input_tokens=line["input_tokens"],  # type: ignore[arg-type]
        output_tokens=line["output_tokens"],  # type: ignore[arg-type]
        cost=line["cost_microdollars"],  # type: ignore[arg-type]
        sources=line["sources"],  # type: ignore[arg-type]
        shape=None if shape is None else [f"{path}: {kind}" for path, kind in shape.items() if kind != "null"],
    )


def replay(month: str) -> tuple[Found, dict[str, list[datetime]]]:
    """Return the changes found in a month, compared after each answer, and the times of each preset's answers."""
    shapes = json.loads((CORPUS / "shapes.json").read_text())
    kept, since = defaultdict[str, list[Observation]](list), defaultdict[str, dict[Kind, datetime]](dict)
    times, found = defaultdict[str, list[datetime]](list), []
    for line in map(json.loads, (CORPUS / f"{month}.jsonl").read_text().splitlines()):
        preset = line["preset"]
        kept[preset] = [*kept[preset][-KEPT + 1 :], observed(line, shapes)]
        times[preset].append(kept[preset][-1].at)
        for change in find_changes(kept[preset], since[preset]):
            since[preset][change.kind] = change.at
            found.append((preset, change.kind, len(times[preset])))
    return found, times


@pytest.mark.rare
@pytest.mark.parametrize("month", ["calm-1", "calm-2"])
def test_a_calm_month_has_no_change(month: str) -> None:
    assert replay(month)[0] == []


def test_each_change_is_found_soon__and_nothing_else_is() -> None:
    found, times = replay("changed")
    late = []
    for one in json.loads((CORPUS / "changed.expected.json").read_text()):
        preset, begin = one["preset"], times[one["preset"]].index(datetime.fromisoformat(one["at"]))
        answers = [number - begin for name, kind, number in found if (name, kind) == (preset, one["kind"])]
        late += [(preset, one["kind"], answers)] if not any(0 < count <= WITHIN for count in answers) else []

    assert late == []
    assert len(found) == 6, found
