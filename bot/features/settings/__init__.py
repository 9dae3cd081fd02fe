"""Settings: people, channels and workspaces change their preferences by a command, a form or a file."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from bot.blocks.elements import button
from bot.feature import Core, Feature, Running
from bot.features.settings.file import SUBCOMMAND
from bot.features.settings.surface import SETTINGS, SETTINGS_BUTTON, SettingsForm, answer
from bot.model.message import HomeSection, always
from bot.slack.users import ChannelManagers
from bot.storage.preferences import PreferenceStore, app_defaults
from bot.translation import gettext as _


def start(core: Core) -> Running:
    """Connect the command, the form, and the button that opens it."""
    defaults = app_defaults(core.settings)
    store, before_ack = (PreferenceStore(pool, defaults) for pool in (core.work, core.acks))
    managers = ChannelManagers(core.users.client, admins=core.admins)
    answered = partial(answer, store=store, managers=managers, admins=core.admins, slash=core.slash)
    opened = SettingsForm(store=before_ack, managers=managers)
    return Running(
        commands=(replace(SETTINGS, answer=answered),),
        listeners=(opened.register,),
        forms={SETTINGS.name: opened.open_for_command},
        home_sections=(
            HomeSection(place="top", blocks=always(lambda: [button(_("Settings"), SETTINGS_BUTTON, "home")])),
        ),
    )


FEATURE = Feature(name="settings", start=start, commands=(SETTINGS,), cli=(SUBCOMMAND,))
