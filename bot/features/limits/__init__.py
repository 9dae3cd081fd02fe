"""Limits: admins see and set how much and how fast people may ask."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from bot.feature import Core, Feature, Running
from bot.features.limits import command
from bot.features.limits.command import LIMITS, LimitStore, LimitTable
from bot.model.message import HomeSection
from bot.storage.audit_chain import AuditStore
from bot.storage.questions import fair_share
from bot.translation import N_


def start(core: Core) -> Running:
    """Connect the command, the form and the section on the page for admins."""
    share = fair_share(core.settings)
    store, before_ack = LimitStore(core.work, share=share), LimitStore(core.acks, share=share)
    fixed = {
        N_("Digests per person"): str(core.settings.digests_per_user),
        N_("Digests in a channel"): str(core.settings.digests_per_channel),
    }
    section = partial(command.admin_section, store=store, fixed=fixed, services=core.service_limits)
    return Running(
        commands=(replace(LIMITS, answer=partial(command.answer, admins=core.admins, store=store, slash=core.slash)),),
        listeners=(partial(command.register, store=before_ack, audit=AuditStore(core.acks)),),
        home_sections=(HomeSection(place="admin", blocks=section),),
    )


FEATURE = Feature(name="limits", start=start, commands=(LIMITS,), settings_table=LimitTable)
