"""Digests: news on a schedule, posted only if something is new."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from operator import attrgetter

from bot.blocks.answer import DIGEST, AnswerPart
from bot.blocks.elements import button
from bot.feature import Core, Feature, Running
from bot.features.digests import surface
from bot.features.digests.model import DigestLimits
from bot.features.digests.service import DigestRunner, DigestScheduler, DigestService, StopNotices
from bot.features.digests.store import DigestStore
from bot.features.digests.surface import WATCH, answer
from bot.model.message import HomeSection, always
from bot.process import Periodic
from bot.storage.questions import DatabaseRetry
from bot.translation import N_
from bot.translation import gettext as _


def start(core: Core) -> Running:
    """Connect the command, the form, the buttons, the check that runs every minute, and the workers' commands."""
    settings = core.settings
    retry = DatabaseRetry(seconds=math.inf)
    limits = DigestLimits(per_user=settings.digests_per_user, per_channel=settings.digests_per_channel)
    stores = partial(DigestStore, many=settings.oauth_configured, in_lane=core.questions.in_lane)
    label, language = f"{core.slash} {WATCH.name}", core.home.language
    services = partial(DigestService, timezone=core.users.timezone, command_label=label, limits=limits)
    store = stores(core.work)
    service, before_ack = services(digests=store), services(digests=stores(core.acks))
    notices = StopNotices(digests=store, database_retry=retry, command_label=label, language=language)
    runner = DigestRunner(
        digests=store, admins=core.admins, membership=core.users.membership, notices=notices, database_retry=retry
    )
    scheduler = DigestScheduler(digests=store, disabled=limits.disabled, installed=lambda: core.admission.installed)
    rows = surface.all_digests(service.list_all)
    profiles = core.users.profiles
    return Running(
        commands=(replace(WATCH, answer=partial(answer, digests=service)), runner.command(), notices.command()),
        listeners=(partial(surface.register, profiles=profiles, digests=before_ack, notices=notices, all_rows=rows),),
        forms={WATCH.name: surface.open_from_command},
        home_sections=(
            HomeSection(place="top", blocks=always(lambda: [button(_("Set up a digest"), DIGEST, "home")])),
            HomeSection(place="page", blocks=partial(surface.own_section, digests=service)),
            HomeSection(place="admin_end", blocks=partial(surface.admin_section, all_rows=rows)),
        ),
        periodic=(Periodic(name="scheduler", run=scheduler.run),),
        problems=service.problems,
    )


FEATURE = Feature(
    name="digests",
    start=start,
    commands=(WATCH,),
    answer_parts=(AnswerPart(name=DIGEST, label=N_("Every weekday morning"), offered=attrgetter("buttons.scheduled")),),
)
