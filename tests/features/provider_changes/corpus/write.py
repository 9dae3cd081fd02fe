"""Writes the corpus beside it, the same at every run: `python -m tests.features.provider_changes.corpus.write`.

The workspace has a few hundred people, most in Berlin, some in New York. On a weekday they get 40 to 150 answers, most
between 07:00 and 16:00 UTC, and a handful on a Saturday or Sunday. Half are `fast`, a quarter `medium`, a tenth `high`,
and the rest are searches without an answer (`search`). People ask again soon, so answers come in small groups.

An answer's numbers follow from what was asked. The prompt and the pages that were found are the input, one search more
or less is a fee more or less, part of the input may be cached and is then cheaper, and each part of the cost is rounded
to a hundred-thousandth of a dollar, as the service does. So the cost of a token differs from answer to answer where no
price has changed: in `fast` the fee is four fifths of the cost, in `medium` a fifth.

`changed` (October 2026). Six things change for good, and each preset has at least one of them. `fast` gets a new model
at the same price, and three weeks later costs a fifth less; one answer after the first change is still from the old
model. `medium` costs 1.4 times as much from a Friday on, and later finds half as many pages, so that its input is
shorter too. In `high`, which is rarely asked, excerpts are gone from the results. In `search` the pages' dates become
numbers on a Saturday, when nearly nobody asks. Around that: a holiday, an outage of an hour, another model for single
answers, and people with few sites, long prompts or images.

`calm-1` (September 2026). An ordinary month in which the service is at times unwell. It is down for two hours; on
another day it answers half of the questions for three hours, briefly, from fewer pages, and some by another model.
People start to use the effort `low`. Some ask about a few sites only, one pastes whole documents, one wants images.
For an afternoon the responses of `high` could not be read; for a morning half of the costs are missing. Labor Day is a
holiday.

`calm-2` (December 2026). A month that thins out: little between Christmas and the end of the year, nothing on three of
these days. The effort `xhigh` comes into use. Costs are missing for a morning, most responses could not be read for
another; one person asks in very short prompts, one in very long ones, one uses the service's cache all day, one asks
about few sites. Another model answers now and then; the service is down for two hours and unwell for three.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Literal

FOLDER = Path(__file__).parent

Kind = Literal["model", "price", "shape", "sources"]
Shape = dict[str, str]

# Microdollars a token: input, output, cached input. README.md says which of them are invented.
PRICES = {
    "openai/gpt-6-luna": (0.10, 0.50, 0.025),
    "openai/gpt-6.1-luna": (0.10, 0.50, 0.025),
    "perplexity/sonar": (0.25, 2.50, 0.0625),
    "xai/grok-4.7": (2.00, 6.00, 0.50),
    "anthropic/claude-sonnet-5-5": (2.00, 10.00, 0.20),
}
SEARCH_REQUEST, FAST_SEARCH_REQUEST = 5_000, 1_000
FETCHED_PAGE, IMAGE_SEARCH = 500, 2_500
LONG_INPUT = 200_000  # from here on, grok-4.7 costs twice as much

# How likely an hour is (UTC), on a day of work and on another.
WORK = (0, 0, 0, 0, 0, 1, 4, 10, 13, 13, 10, 7, 10, 12, 11, 8, 5, 4, 3, 2, 2, 1, 0, 0)
LEISURE = (0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 4, 4, 3, 3, 3, 4, 4, 4, 4, 4, 3, 2, 1, 0)


@dataclass(frozen=True, kw_only=True)
class Preset:
    """What a preset's answers are like: medians, chances, and how many sources with which weight."""

    model: str | None
    fallback: str = ""
    system: int = 0
    prompt: int = 0
    page: int = 0  # tokens a source
    output: int = 0
    searches: tuple[int, int] = (1, 1)
    fee: int = 0  # microdollars a search
    sources: dict[int, int]
    cached: float = 0.0
    optional: dict[str, float] = field(default_factory=dict)


AGENT = {
    "followup": 0.18,
    "related": 0.06,
    "undated": 0.02,
    "annotated": 0.015,
    "incomplete": 0.006,
    "unsearched": 0.01,
}
PRESETS = {
    "fast": Preset(
        model="openai/gpt-6-luna",
        fallback="perplexity/sonar",
        system=320,
        prompt=60,
        page=95,
        output=220,
        fee=1_000,
        sources={6: 3, 7: 7, 8: 22, 9: 33, 10: 35},
        cached=0.05,
        optional=AGENT | {"images": 0.015},
    ),
    "low": Preset(
        model="perplexity/sonar",
        fallback="openai/gpt-6-luna",
        system=500,
        prompt=70,
        page=150,
        output=380,
        searches=(1, 2),
        fee=2_500,
        sources={7: 10, 8: 25, 9: 30, 10: 30, 12: 5},
        cached=0.05,
        optional=AGENT,
    ),
    "medium": Preset(
        model="anthropic/claude-sonnet-5-5",
        fallback="xai/grok-4.7",
        system=1_400,
        prompt=110,
        page=720,
        output=620,
        searches=(1, 3),
        fee=2_500,
        sources={7: 8, 8: 25, 9: 32, 10: 25, 11: 6, 12: 4},
        cached=0.12,
        optional=AGENT | {"reasoning": 0.35, "fetch": 0.25, "images": 0.02},
    ),
    "high": Preset(
        model="xai/grok-4.7",
        fallback="anthropic/claude-sonnet-5-5",
        system=6_000,
        prompt=180,
        page=1_500,
        output=2_300,
        searches=(3, 8),
        fee=2_500,
        sources={14: 1, 16: 2, 18: 4, 20: 5, 22: 4, 24: 3, 28: 1},
        cached=0.2,
        optional={"reasoning": 0.85, "fetch": 0.8, "followup": 0.1, "undated": 0.01, "incomplete": 0.015},
    ),
    "xhigh": Preset(
        model="anthropic/claude-sonnet-5-5",
        fallback="xai/grok-4.7",
        system=9_000,
        prompt=200,
        page=1_700,
        output=4_200,
        searches=(6, 14),
        fee=2_500,
        sources={24: 1, 28: 2, 32: 3, 36: 2, 40: 1},
        cached=0.3,
        optional={"reasoning": 0.95, "fetch": 0.9, "followup": 0.1},
    ),
    "search": Preset(
        model=None, sources={5: 4, 7: 1, 8: 2, 9: 4, 10: 89}, optional={"undated": 0.015, "untimed": 0.02}
    ),
}


@dataclass(frozen=True)
class Change:
    """A change that lasts, from a moment on."""

    at: datetime
    preset: str
    kind: Kind
    how: str


@dataclass(frozen=True)
class Window:
    """A stretch of time in which a share of a preset's answers (of all presets: `*`) is different in one way."""

    start: datetime
    end: datetime
    preset: str
    how: str
    share: float = 1.0

    def covers(self, at: datetime, preset: str) -> bool:
        return self.start <= at < self.end and self.preset in (preset, "*")


@dataclass(frozen=True, kw_only=True)
class Month:
    """What happens in thirty days."""

    name: str
    seed: int
    start: date
    shares: dict[str, float]
    days: dict[date, float] = field(
        default_factory=dict
    )  # how much is asked on a holiday, as a part of an ordinary day
    begins: dict[str, datetime] = field(default_factory=dict)  # when an effort comes into use
    windows: tuple[Window, ...] = ()
    fallbacks: tuple[tuple[datetime, str, int], ...] = ()  # the next answers of a preset come from another model
    changes: tuple[Change, ...] = ()


@dataclass
class Answer:
    """One line of the corpus while it is made."""

    at: datetime
    preset: str
    model: str | None
    sources: int
    options: set[str]
    input_tokens: int = 0
    output_tokens: int = 0
    cost: int | None = 0
    readable: bool = True


def moment(text: str) -> datetime:
    """Return a time such as `2026-10-06T14:10`, in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def window(start: str, end: str, preset: str, how: str, share: float = 1.0) -> Window:
    """Return a window; the end may be a time of the same day."""
    return Window(moment(start), moment(end if "T" in end else f"{start[:10]}T{end}"), preset, how, share)


def nested(paths: Iterable[str], kind: str) -> Shape:
    return dict.fromkeys(paths, kind)


def search_shape(options: set[str], sources: int) -> Shape:
    """Return the paths and types of a response of the Search API."""
    shape = {"id": "string", "results": "array", "server_time": "null" if "untimed" in options else "string"}
    if sources:
        shape |= {"results[]": "object"} | nested(
            (f"results[].{name}" for name in ("title", "url", "snippet")), "string"
        )
        dated = "null" if "undated" in options else "number" if "numbered" in options else "string"
        updated = "null" if "undated" in options else "string"
        shape |= {"results[].date": dated, "results[].last_updated": updated}
    return shape


def agent_shape(options: set[str]) -> Shape:
    """Return the paths and types of a response of the Agent API."""
    shape: Shape = {"error": "null", "output": "array", "output[]": "object", "usage": "object", "usage.cost": "object"}
    shape |= nested(("id", "object", "model", "status"), "string") | nested(("store", "background"), "boolean")
    shape |= {"created_at": "number", "usage.cost.currency": "string"}
    shape |= nested((f"output[].{name}" for name in ("type", "id", "role", "status")), "string")
    shape |= {"output[].content": "array", "output[].content[]": "object", "output[].content[].annotations": "array"}
    shape |= nested(("output[].content[].type", "output[].content[].text"), "string")
    shape |= nested((f"usage.{name}_tokens" for name in ("input", "output", "total")), "number")
    shape |= nested((f"usage.{name}_tokens_details" for name in ("input", "output")), "object")
    shape |= nested(
        ("usage.input_tokens_details.cached_tokens", "usage.output_tokens_details.reasoning_tokens"), "number"
    )
    shape |= nested((f"usage.cost.{name}_cost" for name in ("input", "output", "total")), "number")
    for option, more in AGENT_OPTIONS.items():
        if option in options:
            shape |= more
    if "unsearched" not in options:
        shape |= {"output[].queries": "array", "output[].queries[]": "string", "usage.tool_calls_details": "object"}
        shape |= {"output[].results": "array", "output[].results[]": "object", "output[].results[].id": "number"}
        dated = () if "undated" in options else ("date", "last_updated")
        excerpt = () if "no excerpts" in options else ("snippet",)
        shape |= nested(
            (f"output[].results[].{name}" for name in ("title", "url", "source", *excerpt, *dated)), "string"
        )
        shape |= tool("search_web") | {"usage.cost.tool_calls_cost": "number"}
    return shape


def tool(name: str) -> Shape:
    """Return what a response says of a tool that was called."""
    path = f"usage.tool_calls_details.{name}"
    return {path: "object", f"{path}.invocation": "number", f"{path}.cost_usd": "number"}


# What a response has at times only.
AGENT_OPTIONS: dict[str, Shape] = {
    "cached": nested(("usage.cost.cache_read_cost", "usage.cost.cache_creation_cost"), "number"),
    "followup": {"previous_response_id": "string"},
    "related": {"related_questions": "array", "related_questions[]": "string"},
    "incomplete": {"incomplete_details": "object", "incomplete_details.reason": "string"},
    "reasoning": {"output[].summary": "array", "output[].summary[]": "object", "output[].summary[].text": "string"},
    "annotated": {"output[].content[].annotations[]": "object"}
    | nested((f"output[].content[].annotations[].{name}" for name in ("type", "url", "title")), "string")
    | nested((f"output[].content[].annotations[].{name}" for name in ("start_index", "end_index")), "number"),
    "fetch": {"output[].contents": "array", "output[].contents[]": "object"}
    | nested((f"output[].contents[].{name}" for name in ("url", "title", "snippet")), "string")
    | tool("fetch_url"),
    "images": nested((f"output[].results[].{name}" for name in ("image_url", "origin_url")), "string")
    | nested((f"output[].results[].{name}" for name in ("width", "height")), "number")
    | tool("image_search"),
}


class Shapes:
    """The table of shapes that all files share."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    def name(self, shape: Shape) -> str:
        return self.names.setdefault(json.dumps(shape, sort_keys=True), f"s{len(self.names) + 1}")

    def text(self) -> str:
        rows = (f"{json.dumps(name)}: {shape}" for shape, name in self.names.items())
        return "{\n" + ",\n".join(rows) + "\n}\n"


class Writer:
    """Thinks up the answers of one month."""

    def __init__(self, month: Month) -> None:
        self.month = month
        self.random = Random(month.seed)  # noqa: S311 - nothing secret
        self.other_model = dict.fromkeys(PRESETS, 0)
        self.since: dict[Change, int] = {}
        self.waiting = sorted(month.fallbacks)

    def around(self, median: float, spread: float) -> float:
        """Return a number around a median; in two of three cases within a factor of e to the power of `spread`."""
        return median * math.exp(self.random.gauss(0, spread))

    def moments(self) -> Iterator[datetime]:
        """Yield when answers came, if the service was well: in small groups, most in working hours."""
        for number in range(30):
            day = self.month.start + timedelta(days=number)
            at_work = day.weekday() < 5
            usual = (
                self.random.uniform(70, 130) * (0.8 if day.weekday() == 4 else 1)
                if at_work
                else min(self.around(7, 0.5), 15)
            )
            wanted = round(usual * self.month.days.get(day, 1))
            found: set[datetime] = set()
            while len(found) < wanted:
                hour = self.random.choices(range(24), WORK if at_work else LEISURE)[0]
                at = datetime(day.year, day.month, day.day, hour, tzinfo=UTC)
                at += timedelta(seconds=self.random.randrange(3600))
                for _ in range(self.random.choices((1, 2, 3, 4), (62, 23, 10, 5))[0]):
                    found.add(at)
                    at += timedelta(seconds=self.random.randrange(25, 400))
            yield from sorted(found)

    def preset(self, at: datetime) -> str:
        """Return which preset a question is for; an effort that is new is tried by few at first."""
        shares = dict(self.month.shares)
        for effort, begins in self.month.begins.items():
            days = (at - begins).total_seconds() / 86_400
            shares[effort] = 0.0 if days < 0 else min(0.03 + 0.015 * days, 0.12)
        return self.random.choices(list(shares), list(shares.values()))[0]

    def happening(self, at: datetime, preset: str) -> set[str]:
        """Return what is different about an answer."""
        return {one.how for one in self.month.windows if one.covers(at, preset) and self.random.random() < one.share}

    def changed(self, at: datetime, preset: str) -> set[str]:
        """Return the changes that an answer shows."""
        shown = set()
        for change in self.month.changes:
            if change.preset == preset and change.at <= at:
                self.since[change] = self.since.get(change, 0) + 1
                # One answer soon after the change is still from the old model: not every machine has the new one yet.
                if change.kind != "model" or self.since[change] != 4:
                    shown.add(change.how)
        return shown

    def served(self, at: datetime, name: str, happening: set[str]) -> str | None:
        """Return the model that answers, which may for once be another."""
        while self.waiting and self.waiting[0][0] <= at:
            _, preset, answers = self.waiting.pop(0)
            self.other_model[preset] = answers
        if self.other_model[name]:
            self.other_model[name] -= 1
            return PRESETS[name].fallback
        return "openai/gpt-6.1-luna" if "new model" in happening else PRESETS[name].model

    def found(self, preset: Preset, happening: set[str]) -> int:
        """Return the number of sources."""
        if "few sites" in happening:
            return self.random.choices((1, 2, 3, 4, 5), (20, 30, 25, 15, 10))[0]
        weights = {3: 8, 4: 42, 5: 38, 6: 12} if "fewer sources" in happening else preset.sources
        sources = self.random.choices(list(weights), list(weights.values()))[0]
        if "unwell" in happening:
            return max(sources - self.random.choice((2, 3, 4)), 2)
        return 0 if preset.model is None and self.random.random() < 0.01 else sources

    def answers(self) -> Iterator[Answer]:
        """Yield the month's answers."""
        for at in self.moments():
            name = self.preset(at)
            happening = self.happening(at, name)
            if "down" in happening or ("unwell" in happening and self.random.random() < 0.5):
                continue
            happening |= self.changed(at, name)
            preset = PRESETS[name]
            options = {option for option, chance in preset.optional.items() if self.random.random() < chance}
            options |= happening & {"images", "no excerpts", "numbered"}
            answer = Answer(at, name, self.served(at, name, happening), self.found(preset, happening), options)
            if "unsearched" in options:
                answer.sources = 0
            if answer.model:
                self.spend(answer, happening)
            else:
                answer.cost = FAST_SEARCH_REQUEST if self.random.random() < 0.03 else SEARCH_REQUEST
            if "no cost" in happening or self.random.random() < 0.02:
                answer.cost = None
            answer.readable = not ("unreadable" in happening or self.random.random() < 0.03)
            yield answer

    def spend(self, answer: Answer, happening: set[str]) -> None:
        """Fill in the tokens and the cost of an answer that a model wrote."""
        preset = PRESETS[answer.preset]
        prompt = self.around(preset.prompt, 0.9)
        if "long prompt" in happening:
            prompt = self.random.uniform(15_000, 42_000)
        elif "short prompt" in happening:
            prompt = self.random.uniform(3, 12)
        elif self.random.random() < 0.01:
            prompt += self.random.uniform(4_000, 20_000)
        if answer.preset == "high" and self.random.random() < 0.006:
            prompt += LONG_INPUT
        followup = self.around(900, 0.5) if "followup" in answer.options else 0
        pages = self.around(preset.page, 0.22) * answer.sources
        answer.input_tokens = round(preset.system + prompt + followup + pages)
        shorter = 0.3 if "unwell" in happening else 0.45 if "incomplete" in answer.options else 1
        answer.output_tokens = max(round(self.around(preset.output, 0.5) * shorter), 16)
        cached = 0
        if self.random.random() < (0.9 if "caching" in happening else preset.cached):
            answer.options.add("cached")
            cached = round(answer.input_tokens * self.random.uniform(0.3, 0.85))
        elif answer.preset == "fast":
            answer.options.add("cached")
        answer.cost = self.cost(answer, cached, happening)

    def cost(self, answer: Answer, cached: int, happening: set[str]) -> int:
        """Return the sum of the parts that a response names, each rounded to ten microdollars."""
        preset = PRESETS[answer.preset]
        cost_in, cost_out, cost_cached = PRICES[answer.model or ""]
        factor = 1.4 if "dearer" in happening else 0.8 if "cheaper" in happening else 1.0
        tier = 2 if answer.model == "xai/grok-4.7" and answer.input_tokens >= LONG_INPUT else 1
        searches = 0 if "unsearched" in answer.options else self.random.randint(*preset.searches)
        if answer.preset == "fast" and searches and self.random.random() < 0.04:
            searches += 1
        tools = searches * preset.fee
        tools += FETCHED_PAGE * self.random.randint(1, 4) if "fetch" in answer.options else 0
        tools += IMAGE_SEARCH if "images" in answer.options else 0
        tokens = ((answer.input_tokens - cached) * cost_in, answer.output_tokens * cost_out, cached * cost_cached)
        return sum(
            round(part * factor * many / 10) * 10 for part, many in [*((one, tier) for one in tokens), (tools, 1)]
        )


OCTOBER = Month(
    name="changed",
    seed=20261001,
    start=date(2026, 10, 1),
    shares={"fast": 0.48, "medium": 0.25, "high": 0.10, "search": 0.17},
    days={date(2026, 10, 12): 0.75},
    windows=(
        window("2026-10-08T12:30", "13:35", "*", "down"),
        window("2026-10-13T07:00", "11:00", "fast", "few sites", 0.35),
        window("2026-10-20T08:00", "15:00", "medium", "few sites", 0.25),
        window("2026-10-21T09:00", "12:00", "search", "unreadable", 0.6),
        window("2026-10-26T07:00", "12:00", "medium", "long prompt", 0.3),
        window("2026-10-15T13:00", "17:00", "fast", "images", 0.3),
    ),
    fallbacks=(
        (moment("2026-10-02T09:30"), "fast", 2),
        (moment("2026-10-07T15:00"), "medium", 1),
        (moment("2026-10-13T13:00"), "fast", 3),
        (moment("2026-10-20T10:00"), "high", 1),
        (moment("2026-10-23T08:40"), "fast", 1),
        (moment("2026-10-28T09:00"), "medium", 2),
    ),
    changes=(
        Change(moment("2026-10-06T14:10"), "fast", "model", "new model"),
        Change(moment("2026-10-09T08:00"), "medium", "price", "dearer"),
        Change(moment("2026-10-14T10:30"), "high", "shape", "no excerpts"),
        Change(moment("2026-10-17T03:00"), "search", "shape", "numbered"),
        Change(moment("2026-10-22T12:00"), "medium", "sources", "fewer sources"),
        Change(moment("2026-10-27T00:00"), "fast", "price", "cheaper"),
    ),
)

SEPTEMBER = Month(
    name="calm-1",
    seed=20260901,
    start=date(2026, 9, 1),
    shares={"fast": 0.49, "medium": 0.24, "high": 0.10, "search": 0.17},
    days={date(2026, 9, 7): 0.6},
    begins={"low": moment("2026-09-14T08:00")},
    windows=(
        window("2026-09-09T08:40", "10:40", "*", "down"),
        window("2026-09-17T12:00", "15:10", "*", "unwell"),
        window("2026-09-03T07:00", "10:00", "fast", "few sites", 0.4),
        window("2026-09-10T12:00", "16:00", "fast", "few sites", 0.35),
        window("2026-09-22T07:00", "16:00", "medium", "few sites", 0.35),
        window("2026-09-24T08:00", "12:00", "search", "few sites", 0.3),
        window("2026-09-11T07:00", "14:00", "medium", "long prompt", 0.5),
        window("2026-09-28T09:00", "11:00", "fast", "long prompt", 0.4),
        window("2026-09-23T12:00", "16:00", "fast", "images", 0.5),
        window("2026-09-15T11:00", "18:00", "high", "unreadable"),
        window("2026-09-25T08:00", "12:00", "fast", "no cost", 0.5),
    ),
    fallbacks=(
        (moment("2026-09-02T13:20"), "fast", 1),
        (moment("2026-09-04T09:00"), "medium", 2),
        (moment("2026-09-16T08:15"), "high", 1),
        (moment("2026-09-17T12:05"), "fast", 2),
        (moment("2026-09-17T13:00"), "fast", 3),
        (moment("2026-09-17T14:20"), "fast", 1),
        (moment("2026-09-17T12:30"), "medium", 2),
        (moment("2026-09-21T14:00"), "fast", 3),
        (moment("2026-09-29T10:00"), "low", 2),
    ),
)

DECEMBER = Month(
    name="calm-2",
    seed=20261201,
    start=date(2026, 12, 1),
    shares={"fast": 0.47, "medium": 0.26, "high": 0.11, "search": 0.16},
    days={
        date(2026, 12, 21): 0.6,
        date(2026, 12, 22): 0.5,
        date(2026, 12, 23): 0.35,
        date(2026, 12, 24): 0.08,
        date(2026, 12, 25): 0.0,
        date(2026, 12, 26): 0.0,
        date(2026, 12, 27): 0.0,
        date(2026, 12, 28): 0.12,
        date(2026, 12, 29): 0.15,
        date(2026, 12, 30): 0.12,
    },
    begins={"xhigh": moment("2026-12-07T09:00")},
    windows=(
        window("2026-12-10T13:00", "15:05", "*", "down"),
        window("2026-12-16T07:30", "10:30", "*", "unwell"),
        window("2026-12-02T07:00", "12:00", "fast", "no cost"),
        window("2026-12-08T07:00", "15:00", "fast", "short prompt", 0.5),
        window("2026-12-18T07:00", "18:00", "medium", "short prompt", 0.4),
        window("2026-12-14T06:00", "18:00", "medium", "caching", 0.45),
        window("2026-12-09T07:00", "14:00", "medium", "few sites", 0.35),
        window("2026-12-17T12:00", "17:00", "fast", "few sites", 0.35),
        window("2026-12-15T08:00", "11:00", "*", "unreadable", 0.8),
        window("2026-12-28T00:00", "2026-12-31T00:00", "fast", "images", 0.3),
        window("2026-12-11T12:00", "16:00", "medium", "long prompt", 0.5),
    ),
    fallbacks=(
        (moment("2026-12-03T08:30"), "medium", 3),
        (moment("2026-12-05T09:00"), "fast", 2),
        (moment("2026-12-11T10:10"), "fast", 3),
        (moment("2026-12-11T11:30"), "fast", 2),
        (moment("2026-12-16T07:40"), "fast", 3),
        (moment("2026-12-16T08:00"), "high", 2),
        (moment("2026-12-22T10:00"), "medium", 1),
        (moment("2026-12-28T08:00"), "fast", 3),
        (moment("2026-12-29T08:00"), "xhigh", 1),
    ),
)


def line(answer: Answer, shapes: Shapes) -> str:
    """Return an answer as a line of JSON."""
    shape = agent_shape(answer.options) if answer.model else search_shape(answer.options, answer.sources)
    row = {
        "at": answer.at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "provider": "perplexity",
        "preset": answer.preset,
        "model": answer.model,
        "input_tokens": answer.input_tokens,
        "output_tokens": answer.output_tokens,
        "cost_microdollars": answer.cost,
        "sources": answer.sources,
        "shape": shapes.name(shape) if answer.readable else None,
    }
    return json.dumps(row)


def expected(month: Month, answers: list[Answer]) -> str:
    """Return the month's changes, each from its first answer on."""
    rows = []
    for change in month.changes:
        first = next(one for one in answers if one.preset == change.preset and one.at >= change.at)
        at = first.at.strftime("%Y-%m-%dT%H:%M:%SZ")
        rows.append("  " + json.dumps({"at": at, "preset": change.preset, "kind": change.kind}))
    return "[\n" + ",\n".join(rows) + "\n]\n"


def main() -> None:
    """Write all files."""
    shapes = Shapes()
    for month in (OCTOBER, SEPTEMBER, DECEMBER):
        answers = list(Writer(month).answers())
        lines = "\n".join(line(answer, shapes) for answer in answers)
        (FOLDER / f"{month.name}.jsonl").write_text(f"{lines}\n", encoding="utf-8")
        if month.changes:
            (FOLDER / f"{month.name}.expected.json").write_text(expected(month, answers), encoding="utf-8")
    (FOLDER / "shapes.json").write_text(shapes.text(), encoding="utf-8")


if __name__ == "__main__":
    main()
