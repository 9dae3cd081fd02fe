"""Budgets: admins see the spending, limit it and stop it; they are told when a budget is nearly or completely spent."""

from __future__ import annotations

from functools import partial

from bot.feature import Core, Feature, Running
from bot.features.budgets.checks import CHECK
from bot.features.budgets.command import BUDGET, PAUSE, RESUME, BudgetCommand, BudgetTable, admin_section, register
from bot.features.budgets.notices import BudgetWatch
from bot.model.message import HomeSection
from bot.process import Periodic
from bot.storage.audit_chain import AuditStore
from bot.storage.budgets import BudgetStore
from bot.storage.ledger import Ledger


def start(core: Core) -> Running:
    """Connect the commands, the form, the section for admins, and the notices."""
    usual = core.settings.budgets
    budgets, before_ack = (BudgetStore(pool, budgets=usual) for pool in (core.work, core.acks))
    command, switch = (
        BudgetCommand(admins=core.admins, budgets=store, slash=core.slash) for store in (budgets, before_ack)
    )
    watch = BudgetWatch(ledger=Ledger(core.work, budgets=usual), notices=core.notices, slash=core.slash)
    listen = partial(register, budgets=before_ack, audit=AuditStore(core.acks), slash=core.slash)
    return Running(
        commands=(command.command(), *switch.switches()),
        listeners=(listen,),
        home_sections=(HomeSection(place="admin", blocks=partial(admin_section, budgets=budgets)),),
        periodic=(Periodic(name="budgets", run=watch.run),),
    )


FEATURE = Feature(
    name="budgets",
    start=start,
    commands=(BUDGET, PAUSE, RESUME),
    doctor_checks=(CHECK,),
    settings_table=BudgetTable,
)
