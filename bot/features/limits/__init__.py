"""Limits: admins see and set how much and how fast people may ask."""

from __future__ import annotations

from functools import partial

from bot.feature import Core, Feature, Running
from bot.features.limits.command import LIMITS, LimitsCommand, LimitStore, LimitTable, admin_section, register
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
    section = partial(admin_section, store=store, fixed=fixed, services=core.service_limits)
    return Running(
        commands=(LimitsCommand(admins=core.admins, store=store, slash=core.slash).command(),),
        listeners=(partial(register, store=before_ack, audit=AuditStore(core.acks)),),
        home_sections=(HomeSection(place="admin", blocks=section),),
    )


FEATURE = Feature(name="limits", start=start, commands=(LIMITS,), settings_table=LimitTable)
