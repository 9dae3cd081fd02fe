"""Tells admins of lasting changes at search services that the services did not announce."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from psycopg import AsyncConnection
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from bot.blocks.elements import bullets, name, section
from bot.clock import utc_now
from bot.feature import Core, Feature, Running
from bot.features.provider_changes.detection import KEPT, Observation, ProviderChange, find_changes
from bot.model.message import Block, HomeSection
from bot.process import Periodic, watch
from bot.storage.questions import Pool
from bot.translation import figures
from bot.translation import gettext as _
from bot.web.metrics import Metrics
from perplexity.models import Effort, resolve
from perplexity.steps import Reply
from perplexity.types import Answer, AnswerKind, Query, Question, SearchResults, Usage

Preset = tuple[str, str]
"""The display name of a service, and what was asked for: a model, an effort, or a search."""

_ADD = "INSERT INTO provider_answers (provider, preset, at, shown) VALUES (%s, %s, %s, %s)"
_LAST = """
    WITH kept AS (
        SELECT id, at, shown FROM provider_answers WHERE provider = %(provider)s AND preset = %(preset)s
        ORDER BY at DESC, id DESC LIMIT %(kept)s),
    others AS (
        DELETE FROM provider_answers
        WHERE provider = %(provider)s AND preset = %(preset)s AND id NOT IN (SELECT id FROM kept))
    SELECT at, shown FROM kept ORDER BY at, id
"""
"""Reads the last answers, the oldest first, and deletes those before them."""

_SINCE = "SELECT kind, max(at) AS at FROM provider_changes WHERE provider = %s AND preset = %s GROUP BY kind"
_FOUND = "INSERT INTO provider_changes (provider, preset, kind, at, before, after) VALUES (%s, %s, %s, %s, %s, %s)"
_RECENT = """
    SELECT provider, preset, kind, at, before, after FROM provider_changes
    WHERE found_at > now() - interval '30 days' ORDER BY at DESC, provider, preset, kind
"""


@dataclass(frozen=True, kw_only=True)
class ProviderChanges:
    """Returns the changes that were found, and looks for more in the replies that this process receives.

    `effort` is the effort of questions that ask for reasoning. `heard` are the answers that are not compared yet.
    Answers that cannot be saved are dropped, since later answers show a lasting change as well.
    """

    pool: Pool
    metrics: Metrics
    effort: Effort
    heard: deque[tuple[Preset, Observation]] = field(default_factory=lambda: deque(maxlen=1_000))

    def hear(self, request: Query | Question, reply: Reply) -> None:
        """Keep a reply for the next comparison if it has search results or is prose that a model wrote from the web."""
        match request, reply:
            case Query(), SearchResults():
                asked, sources, usage, model = "search", reply.results, Usage(), None
            case Question(offline=False, schema=None, tools=(), attachments=()), Answer(kind=AnswerKind.MODEL):
                target = resolve(request.model, reasoning=request.reasoning, reasoning_effort=self.effort)
                asked, sources, usage, model = target.name or target.effort, reply.sources, reply.usage, reply.model
            case _:
                return
        shown = Observation(
            at=utc_now(),
            model=model,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cost=usage.cost_usd,
            sources=len(sources),
            shape=reply.shape,
        )
        self.heard.append(((reply.provider, asked), shown))

    async def run(self) -> None:
        """Look for changes every few seconds until cancelled."""
        await watch(self.look)

    async def look(self) -> None:
        """Save the answers heard since the last call, and compare them with earlier ones. Raises database errors."""
        if heard := [self.heard.popleft() for _ in range(len(self.heard))]:
            async with self.pool.transaction() as connection:
                # One process compares at a time, so that a change is found once.
                await connection.execute("LOCK TABLE provider_changes IN SHARE ROW EXCLUSIVE MODE")
                for preset, one in heard:
                    shown = {name: value for name, value in vars(one).items() if name != "at"}
                    await connection.execute(_ADD, (*preset, one.at, Jsonb(shown)))
                for preset in dict.fromkeys(preset for preset, _ in heard):
                    await _compare(connection, preset)
        self.metrics.set_provider_changes(
            Counter((provider, change.kind) for (provider, _), change in await self.recent())
        )

    async def recent(self) -> list[tuple[Preset, ProviderChange]]:
        """Return the changes found in the last 30 days, the latest first. Raises database errors."""
        rows = await self.pool.fetch_all(_RECENT)
        return [((row.pop("provider"), row.pop("preset")), ProviderChange(**row)) for row in rows]


async def _compare(connection: AsyncConnection[DictRow], preset: Preset) -> None:
    since = {row["kind"]: row["at"] for row in await (await connection.execute(_SINCE, preset)).fetchall()}
    values: Mapping[str, object] = {"provider": preset[0], "preset": preset[1], "kept": KEPT}
    last = await (await connection.execute(_LAST, values)).fetchall()
    for change in find_changes([Observation(at=row["at"], **row["shown"]) for row in last], since):
        await connection.execute(_FOUND, (*preset, change.kind, change.at, change.before, change.after))


MAX_SHOWN = 10


def start(core: Core) -> Running:
    """Watch the replies, and show the changes on the page for admins."""
    changes = ProviderChanges(pool=core.work, metrics=core.metrics, effort=core.settings.reasoning_effort)
    core.reply_listeners.append(changes.hear)
    return Running(
        home_sections=(HomeSection(place="admin", blocks=partial(changes_section, changes=changes)),),
        periodic=(Periodic(name="provider_changes", run=changes.run),),
    )


async def changes_section(team_id: str, user_id: str, *, changes: ProviderChanges) -> Sequence[Block]:
    """Return the latest changes, one a line; empty if there are none. They are the same for every workspace."""
    lines = [[name(change_sentence(*one))] for one in (await changes.recent())[:MAX_SHOWN]]
    return [section(_("*Changed at search services*, the last 30 days")), bullets(lines)] if lines else []


def change_sentence(preset: Preset, change: ProviderChange) -> str:
    """Return a sentence that says since when, and how, a service has changed for what was asked for in `preset`."""
    asked = _("a search") if preset[1] == "search" else _("“{name}”").format(name=preset[1])
    known = {"since": f"{change.at:%Y-%m-%d %H:%M} UTC", "service": preset[0], "asked": asked}
    before, after = change.before, change.after
    match change.kind:
        case "model":
            none = _("several models")
            text = _("Since {since}, {asked} at {service} is served by {new} instead of {old}.")
        case "price":
            none, after = "", figures(f"{float(after) / (float(before) or 1):.2g}")
            text = _("Since {since}, {asked} at {service} costs {new} times as much for the same tokens.")
        case "sources":
            none, before, after = "", figures(before), figures(after)
            text = _("Since {since}, {asked} at {service} has {new} sources an answer instead of {old}.")
        case "shape":
            none = _("none")
            text = _("Since {since}, {asked} at {service} sends other fields (gone: {old}; new: {new}).")
    return text.format(**known, old=before or none, new=after or none)


FEATURE = Feature(name="provider_changes", start=start)
