"""The features of the app, and what they bring together; a new one is a folder and a line in `FEATURES`."""

from __future__ import annotations

from bot import commands
from bot.feature import Feature
from bot.features import checking, feedback, limits, sharing
from bot.manifest import SHORTCUTS, Offers

FEATURES: tuple[Feature, ...] = (
    limits.FEATURE,
    sharing.FEATURE,
    feedback.FEATURE,
    checking.FEATURE,
)

COMMANDS = commands.in_order((*commands.COMMANDS, *(one for feature in FEATURES for one in feature.commands)))
ANSWER_PARTS = tuple(part for feature in FEATURES for part in feature.answer_parts)
OFFERS = Offers(commands=COMMANDS, shortcuts=(*SHORTCUTS, *(one for feature in FEATURES for one in feature.shortcuts)))
CHECKS = tuple(check for feature in FEATURES for check in feature.doctor_checks)
