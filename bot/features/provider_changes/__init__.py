"""Tells admins of lasting changes at search services that the services did not announce."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from bot.blocks.elements import bullets, name, section
from bot.feature import Core, Feature, Running
from bot.features.provider_changes.detection import ProviderChange
from bot.features.provider_changes.store import Preset, ProviderChanges
from bot.model.message import Block, HomeSection
from bot.process import Periodic
from bot.translation import figures
from bot.translation import gettext as _

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
    """Return a sentence that says since when a service has changed, and how, for the model or effort in `preset`."""
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
