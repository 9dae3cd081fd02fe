"""Data requests: a person's data is exported or erased, by the person or by an operator."""

from __future__ import annotations

from functools import partial

from bot.feature import Core, Feature, Running
from bot.features.data_requests import own_data
from bot.features.data_requests.commands import ERASE, EXPORT
from bot.features.data_requests.own_data import OwnData
from bot.model.message import HomeSection, always
from bot.storage.personal_data import PersonalDataStore


def start(core: Core) -> Running:
    """Connect the buttons at the end of the home tab."""
    personal = OwnData(
        store=PersonalDataStore(core.work),
        files=core.files,
        cancel_runs=core.cancel_runs,
        tell=core.home.tell,
    )
    return Running(
        listeners=(partial(own_data.register, own_data=personal),),
        home_sections=(HomeSection(place="end", blocks=always(own_data.home_buttons)),),
    )


FEATURE = Feature(name="data_requests", start=start, cli=(EXPORT, ERASE))
