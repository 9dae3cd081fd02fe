"""The settings: every fault in them, or which are set."""

from __future__ import annotations

from collections.abc import Mapping

from bot.doctor.report import Finding, fault, well
from bot.settings import Settings

ABOUT = "Settings"

FIX = "Correct it in the environment or in .env; docs/settings.md says what each setting takes."


def configuration_findings(settings: Settings, faults: Mapping[str, str]) -> tuple[Finding, ...]:
    """Name each fault, or the settings that are set; never a value that is secret. Pure."""
    if faults:
        return tuple(fault(ABOUT, f"{text}.", fix=FIX) for text in faults.values())
    names = ", ".join(sorted(name.upper() for name in settings.model_fields_set))
    return (well(ABOUT, f"Well formed: {names}." if names else "None is set, and none is needed to try the app."),)
