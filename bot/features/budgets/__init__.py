"""Budgets: admins see the spending, limit it and stop it; they are told when a budget is nearly or completely spent."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from bot.feature import Core, Feature, Running
from bot.features.budgets import command
from bot.features.budgets.checks import CHECK
from bot.features.budgets.command import BUDGET, PAUSE, RESUME, BudgetTable, switch_spending
from bot.features.budgets.notices import BudgetWatch
from bot.model.message import HomeSection
from bot.process import Periodic
from bot.storage.audit_chain import AuditStore
from bot.storage.budgets import BudgetStore
from bot.storage.ledger import Ledger


def start(core: Core) -> Running:
    """Connect the commands, the form, the section for admins, and the notices."""
    usual, admins, slash = core.settings.budgets, core.admins, core.slash
    budgets, before_ack = (BudgetStore(pool, budgets=usual) for pool in (core.work, core.acks))
    switch = partial(command.answer_switch, admins=admins, budgets=before_ack, slash=slash)
    switches = [
        replace(one, answer=partial(switch, name=one.name), at_once=partial(switch_spending, one.name, before_ack))
        for one in (PAUSE, RESUME)
    ]
    budget = replace(BUDGET, answer=partial(command.answer, admins=admins, budgets=budgets, slash=slash))
    watch = BudgetWatch(ledger=Ledger(core.work, budgets=usual), notices=core.notices, slash=slash)
    return Running(
        commands=(budget, *switches),
        listeners=(partial(command.register, budgets=before_ack, audit=AuditStore(core.acks), slash=slash),),
        home_sections=(HomeSection(place="admin", blocks=partial(command.admin_section, budgets=budgets)),),
        periodic=(Periodic(name="budgets", run=watch.run),),
    )


FEATURE = Feature(
    name="budgets",
    start=start,
    commands=(BUDGET, PAUSE, RESUME),
    doctor_checks=(CHECK,),
    settings_table=BudgetTable,
)
