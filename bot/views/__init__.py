"""Modals and the App Home: each file builds one view, opens it, and handles what is done in it."""

from __future__ import annotations

from bot.views import (
    admin,
    ask,
    ask_about,
    budgets,
    check,
    digest,
    feedback,
    home,
    limits,
    own_data,
    sent,
    settings,
    share,
    sources,
)

VIEWS = (
    admin.register,
    ask.register,
    ask_about.register,
    budgets.register,
    check.register,
    digest.register,
    feedback.register,
    home.register,
    limits.register,
    own_data.register,
    sent.register,
    settings.register,
    share.register,
    sources.register,
)
"""The views. A new one is a file here, and a line in this list."""

OPENED_BY_COMMANDS = (ask.register_command, digest.register_command)
"""The views that a command without arguments opens."""
