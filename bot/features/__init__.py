"""The list of features. To add a feature, add its folder and a line to `FEATURES`."""

from __future__ import annotations

from bot.feature import Feature, bring_together
from bot.features import (
    ask_about,
    audit,
    budgets,
    checking,
    data_requests,
    deepdive,
    digests,
    feedback,
    home,
    limits,
    provider_changes,
    provider_keys,
    saving,
    settings,
    sharing,
)

FEATURES: tuple[Feature, ...] = (
    budgets.FEATURE,
    limits.FEATURE,
    sharing.FEATURE,
    feedback.FEATURE,
    checking.FEATURE,
    ask_about.FEATURE,
    saving.FEATURE,
    deepdive.FEATURE,
    digests.FEATURE,
    audit.FEATURE,
    provider_changes.FEATURE,
    provider_keys.FEATURE,
    data_requests.FEATURE,
    home.FEATURE,
    settings.FEATURE,
)

BROUGHT = bring_together(FEATURES)
COMMANDS, ANSWER_PARTS, OFFERS, CHECKS = BROUGHT.commands, BROUGHT.answer_parts, BROUGHT.offers, BROUGHT.checks
