"""The home tab: a person's questions with the features' sections, and a page for admins."""

from __future__ import annotations

from functools import partial

from bot.feature import Core, Feature, Running
from bot.features.home import page
from bot.features.home.admin import AdminHome
from bot.features.home.page import HomePublisher
from bot.features.home.store import AdminStore, HomeStore
from bot.storage.budgets import BudgetStore


def start(core: Core) -> Running:
    """Show home tabs from now on, and listen to clicks on them."""
    settings = core.settings
    admin = AdminHome(
        admins=core.admins,
        store=AdminStore(
            core.work,
            commands=lambda: [one.name for one in core.together().commands if one.question_text is not None],
        ),
        budgets=BudgetStore(core.work, budgets=settings.budgets),
        together=core.together,
    )
    publisher = HomePublisher(
        store=HomeStore(core.work),
        tabs=core.home,
        together=core.together,
        slash=settings.command_prefix,
        admin=admin,
        start=core.start,
        retention_days=settings.retention_days,
    )
    core.home.shown_by = publisher
    return Running(
        listeners=(
            admin.register,
            partial(page.register, store=HomeStore(core.acks), delete=publisher.delete),
        )
    )


FEATURE = Feature(name="home", start=start)
