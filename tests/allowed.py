"""What admins allow, tried on a surface: a signed request in, what reached the services and what was shown out.

A new setting is a line in `SETTINGS`, a new surface one in `SURFACES`; each setting is tried on each surface.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

from bot.settings import Settings
from bot.worker.runner import NOT_ALLOWED_HERE
from perplexity.models import EFFORTS
from tests.driver import TS, Driver, Message
from tests.fakes.all_services import Services, with_all_services

ADMIN = "U9"
LATER = "1795255260.000100"


def with_follow_ups(settings: Settings, services: Services) -> Settings:
    return with_all_services(settings, services).model_copy(update={"follow_ups": "always"})


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What became of a question: the bodies of the requests to the services, by path, and what Slack was told."""

    surface: str
    asked: Sequence[tuple[str, dict[str, Any]]]
    shown: str

    @property
    def searching(self) -> list[dict[str, Any]]:
        """The bodies of those that search the web."""
        offline = [body.get("tool_choice") == "none" for _, body in self.asked]
        return [
            body for (path, body), alone in zip(self.asked, offline, strict=True) if path in PERPLEXITY and not alone
        ]

    @property
    def answers(self) -> list[dict[str, Any]]:
        """The bodies of those that have an answer written."""
        return [body for path, body in self.asked if path == "/v1/agent"]


PERPLEXITY = {"/search", "/v1/agent"}


@dataclass(frozen=True, kw_only=True)
class Surface:
    """A way to ask; `options` are those of `/ask`, where they can be given. `before` is done before the setting."""

    act: Callable[[Driver, str, Message], Awaitable[object]]
    before: Callable[[Driver], Awaitable[Message]]
    takes_options: bool = False


async def nothing(harness: Driver) -> Message:
    return {}


async def by_command(harness: Driver, options: str, _: Message) -> None:
    await harness.answered(f"/ask {options} why is the sky blue")


async def by_mention(harness: Driver, options: str, _: Message) -> None:
    assert await harness.mention(f"{options} why is the sky blue".strip(), id=str(uuid4())) == 200


async def answered_mention(harness: Driver) -> Message:
    return await harness.answered_mention("why is the sky blue")


async def by_follow_up(harness: Driver, options: str, _: Message) -> None:
    text = f"{options} and at night?".strip()
    said = {"type": "message", "channel": "C1", "channel_type": "channel", "text": text, "ts": LATER, "thread_ts": TS}
    assert await harness.event(said, id=str(uuid4())) == 200


async def answered_command(harness: Driver) -> Message:
    return await harness.answered("/ask why is the sky blue")


async def by_button(harness: Driver, _: str, answer: Message) -> None:
    await harness.click(answer, "more", "go_deeper")


async def by_form(harness: Driver, _: str, __: Message) -> None:
    """Choose the highest effort that the form offers."""
    await harness.shortcut("ask_anything")
    blocks = {block["block_id"]: block for block in harness.slack.modal().blocks}
    efforts = [option["value"] for option in blocks["--effort"]["element"]["options"]]
    assert await harness.submit(question="why is the sky blue", **{"--effort": efforts[-1]}) == {}


async def planned_digest(harness: Driver) -> Message:
    harness.slack.workspace.zones["U1"] = "Europe/Berlin"
    return await harness.answered('/pplx watch world "europe" weekdays 9:00')


async def by_digest(harness: Driver, _: str, __: Message) -> None:
    await harness.answered("/pplx watch run 1")


async def by_check(harness: Driver, _: str, __: Message) -> None:
    await harness.answered("/pplx check The tower is 330 m tall.")


async def by_deepdive(harness: Driver, _: str, __: Message) -> None:
    await harness.answered("/deepdive heat pumps")


async def by_agent(harness: Driver, _: str, __: Message) -> None:
    await harness.answered("/ask --agent why is the sky blue")


SURFACES: dict[str, Surface] = {
    "command": Surface(act=by_command, before=nothing, takes_options=True),
    "mention": Surface(act=by_mention, before=nothing, takes_options=True),
    "follow-up": Surface(act=by_follow_up, before=answered_mention, takes_options=True),
    "button": Surface(act=by_button, before=answered_command),
    "form": Surface(act=by_form, before=nothing),
    "agent": Surface(act=by_agent, before=nothing),
}
"""Those of the core."""

OF_FEATURES: dict[str, Surface] = {
    "digest": Surface(act=by_digest, before=planned_digest),
    "check": Surface(act=by_check, before=nothing),
    "deep dive": Surface(act=by_deepdive, before=nothing),
}

EVERYWHERE = frozenset(SURFACES) | frozenset(OF_FEATURES)


@dataclass(frozen=True, kw_only=True)
class Row:
    """What an admin types after `/pplx` and the command, and what then holds of each cell.

    `options` are typed with the question. `says` are words that a surface shows, and `refused` the surfaces that
    search nothing.
    """

    typed: Sequence[str]
    holds: Callable[[Cell], bool]
    command: str = "settings"
    options: str = ""
    says: Mapping[str, str] = field(default_factory=dict)
    refused: frozenset[str] = frozenset()


def domains(body: Mapping[str, Any]) -> list[str]:
    tools = [tool.get("filters", {}) for tool in body.get("tools", ()) if tool["type"] == "web_search"]
    filters = tools[0] if tools else body
    return list(filters.get("search_domain_filter", []))


def only_from(site: str) -> Callable[[Cell], bool]:
    """Return whether nothing else was asked for, or shown."""

    def holds(cell: Cell) -> bool:
        links = re.findall(r"https://([a-z.]+)/", cell.shown)
        return (
            all(domains(body) == [site] for body in cell.searching)
            and {link for link in links if link.endswith(".example")} <= {site}
            and not any(path == "/v1/responses" for path, _ in cell.asked)  # no posts on X
        )

    return holds


SETTINGS: dict[str, Row] = {
    "sites of the workspace": Row(typed=["workspace allow a.example"], holds=only_from("a.example")),
    "sites that a channel narrows": Row(
        typed=["channel allow b.example, c.example", "workspace allow a.example, b.example"],
        holds=lambda cell: cell.surface == "form" or only_from("b.example")(cell),  # its answer is a direct message
    ),
    "sites that a channel cannot widen": Row(
        typed=["channel allow b.example", "workspace allow a.example"],
        holds=lambda cell: cell.surface == "form" or only_from("a.example")(cell),
        says=dict.fromkeys(("command", "button"), "answers in this channel come from b.example only"),
        refused=EVERYWHERE - {"form"},
    ),
}


STYLE = "Call them mice, never rats."


def efforts_up_to(most: str) -> Callable[[Cell], bool]:
    def holds(cell: Cell) -> bool:
        return all(EFFORTS.index(body["effort"]) <= EFFORTS.index(most) for body in cell.answers)

    return holds


def with_instructions(cell: Cell) -> bool:
    """Return whether each answer got them first, in no field that replaces the effort's own, and kept its source."""
    bodies = [body for body in cell.answers if cell.surface != "check"]
    if cell.surface == "agent":
        return any(path == "/model" and STYLE in json.dumps(body) for path, body in cell.asked)
    first = [body["input"][0] for body in bodies]
    return (
        all(one["role"] == "system" and STYLE in one["content"] for one in first)
        and not any("instructions" in body for body in bodies)
        and (cell.surface in {"check", "digest"} or "https://a.example/1" in cell.shown)
    )


def stored_nowhere(cell: Cell) -> bool:
    return not any(body.get("store") or body.get("background") for _, body in cell.asked)


OPTIONED = frozenset({"command", "mention", "follow-up"})

SETTINGS |= {
    **{
        f"effort of the {place}": Row(
            typed=[f"{place} max-effort fast"],
            options="--effort high",
            holds=(lambda cell: cell.surface == "form" or efforts_up_to("fast")(cell))
            if place == "channel"
            else efforts_up_to("fast"),
            says={
                **dict.fromkeys(OPTIONED, f"I thought quickly instead of much longer, as this {place}’s settings say."),
                "button": f"I thought quickly instead of longer, as this {place}’s settings say.",
                "deep dive": "This needs the effort high. Here at most fast is allowed",
                "agent": "This needs the effort medium. Here at most fast is allowed",
            },
            refused=frozenset({"deep dive", "agent"}),
        )
        for place in ("workspace", "channel")
    },
    **{
        f"models of the {place}": Row(
            typed=[f"{place} models openai/gpt-6-luna, anthropic/claude-9"],
            options="--model xai/grok-9",
            holds=lambda cell: "xai/" not in json.dumps(cell.asked),
            says=dict.fromkeys(OPTIONED, "here it takes anthropic/claude-9 or openai/gpt-6-luna or an effort"),
            refused=OPTIONED,
        )
        for place in ("workspace", "channel")
    },
    "no models at all": Row(
        typed=["channel models openai/gpt-6-luna", "workspace models none"],
        options="--model openai/gpt-6-luna",
        holds=lambda cell: "gpt-6-luna" not in json.dumps(cell.asked),
        says=dict.fromkeys(OPTIONED, "here it takes an effort such as fast"),
        refused=OPTIONED,
    ),
    "a model that is allowed": Row(
        typed=["workspace models openai/gpt-6-luna", "workspace max-effort fast"],
        options="--model openai/gpt-6-luna",
        holds=lambda cell: (
            cell.surface not in OPTIONED or [body.get("model") for body in cell.answers] == ["openai/gpt-6-luna"]
        ),
        refused=frozenset({"deep dive", "agent"}),
    ),
    "instructions of the workspace": Row(typed=[f"workspace instructions {STYLE}"], holds=with_instructions),
    "instructions of the channel": Row(
        typed=[f"channel instructions {STYLE}"],
        holds=lambda cell: cell.surface == "form" or with_instructions(cell),
    ),
    "nothing stored": Row(
        typed=["workspace store-nothing on"],
        options="--effort high",
        holds=stored_nowhere,
        says={
            **dict.fromkeys(
                OPTIONED, "I thought longer instead of much longer, since more would be stored at the search"
            ),
            "deep dive": "Here at most medium is allowed, since more would be stored at the search service",
        },
        refused=frozenset({"deep dive"}),
    ),
}


SETTINGS |= {
    "people of a user group": Row(
        typed=["channel askers <!subteam^S1|@desk> U7"], holds=lambda cell: NOT_ALLOWED_HERE not in cell.shown
    ),
    "people of another user group": Row(
        typed=["channel askers S2"],
        holds=lambda cell: cell.surface == "form" or not cell.asked,  # its answer is a direct message
        says=dict.fromkeys(EVERYWHERE - {"form", "digest", "follow-up"}, NOT_ALLOWED_HERE),
        refused=EVERYWHERE - {"form"},
    ),
}

BUDGETS: Mapping[str, Row] = {
    "a budget by week": Row(
        command="budget",
        typed=["user 0 week"],
        holds=lambda cell: not cell.asked,
        says=dict.fromkeys(("command", "mention", "button", "form"), "Your budget for this week is $0.00"),
        refused=EVERYWHERE,
    ),
}


async def cell_of(harness: Driver, services: Services, row: Row, name: str) -> Cell:
    """Ask on a surface under the settings of a row."""
    surface = (SURFACES | OF_FEATURES)[name]
    harness.slack.workspace.admins.add(ADMIN)
    harness.slack.workspace.groups = {"S1": ["U2", "U1"], "S2": ["U2"]}
    before = await surface.before(harness)
    admin = replace(harness, person=replace(harness.person, user=ADMIN))
    for typed in row.typed:
        assert "Saved." in json.dumps(await admin.answered(f"/pplx {row.command} {typed}")), typed
    posts, requests = len(harness.slack.posts), len(log(services))
    await surface.act(harness, row.options, before)
    await harness.settle()
    asked = log(services)[requests:]
    shown = [json.dumps(post.payload, ensure_ascii=False) for post in harness.slack.posts[posts:]]
    return Cell(surface=name, asked=asked, shown=" ".join(shown))


def log(services: Services) -> list[tuple[str, dict[str, Any]]]:
    served = [*services.perplexity.served, *services.posts.served]
    bodies = [(one.path, json.loads(one.content)) for one in served if one.content]
    return [*bodies, *(("/model", dict(body)) for body in services.model.requests)]


async def assert_holds(harness: Driver, services: Services, row: Row, surface: str) -> Cell:
    """Ask on a surface under the settings of a row, and look at what holds of it."""
    cell = await cell_of(harness, services, row, surface)

    assert bool(cell.searching) is (surface not in row.refused)
    assert row.holds(cell)
    assert row.says.get(surface, "") in cell.shown
    assert harness.slack.refusals == []
    return cell
