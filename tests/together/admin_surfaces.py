"""What admins and operators read: the home tab's part for them, budgets, the audit log, and what commands print."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from bot.blocks.status import status_message
from bot.doctor.checks import failure, render, warning
from bot.features.budgets.command import budgets_section, budgets_view, spending_message
from bot.features.digests.model import Digest
from bot.features.digests.rendering import workspace_blocks, workspace_rows
from bot.features.home.admin import USE_TABLES, admin_blocks, recorded_list
from bot.features.home.store import AdminData, Recorded, Use, WorkspaceUse
from bot.features.limits import NAMES, Limit, limits_message, limits_view
from bot.model.admin import BadAnswer, Feedback, Problem, ProviderStats, Rating
from bot.model.audit import Entry
from bot.model.message import OutgoingMessage
from bot.model.spending import NO_BUDGETS, BudgetLine, Spending, Spent
from tests.fakes.judge import harms_of_plain_text
from tests.fakes.shown import Harms, of_messages, of_view
from tests.fakes.time import SATURDAY
from tests.features.digests.examples import OWNER, make_spec

pytestmark = pytest.mark.features("budgets", "digests", "home", "limits")

LIMITS = (Limit(name="user", value=3, own=3, host=20, bounded=True),)
AT = datetime(2026, 11, 22, 10, 0, tzinfo=UTC)
ASKER = '{"type": "user", "user_id": "U1"}'
"""How the judge names a person whose name Slack fills in."""


def _spending(texts: Sequence[str]) -> Spending:
    spent = tuple(Spent(name=text, calls=2, spent=3_000) for text in texts)
    line = BudgetLine(scope="user", subject="", amount=2_000_000)
    return Spending(today=1, month=2, reserved=3, people=(), channels=(), providers=spent, lines=(line,), paused_by="")


def _digest(text: str) -> Digest:
    spec = replace(make_spec(), topic=text)
    return Digest(id=UUID(int=7), number=2, owner=OWNER, channel_id="C1", spec=spec, next_at=SATURDAY)


def admin_home(texts: Sequence[str]) -> Harms:
    """The part of the home tab for admins: names of services, problems, limits, topics, and changes."""
    use = [Use(name=text, count=1, cost=500_000) for text in texts]
    people, channels = Use(name="U1", count=1, cost=0), Use(name="C1", count=1, cost=0)
    recorded = [
        Recorded(at=AT, user_id="U1", what=text, channel_id="C1", decision=text, before=text, after=text)
        for text in texts
    ]
    data = AdminData(
        spending=_spending(texts),
        use=WorkspaceUse(days=use, people=[people], channels=[channels], providers=use),
        problems=[Problem(text=text, fix=text) for text in texts],
        recorded=[*recorded, replace(recorded[0], channel_id=texts[0], before=None, after=None)],
    )
    digests = [_digest(text) for text in texts]
    owner = json.dumps({"type": "user", "user_id": OWNER.user_id})
    blocks = admin_blocks(data, "", budgets_section(data.spending.lines), [*workspace_blocks(digests)])
    yield from of_view({"type": "home", "blocks": blocks}, {"C1", ASKER, owner})
    pages = [table.list(table.rows(data.use)) for table in USE_TABLES]
    for page in (*pages, recorded_list(data.recorded), workspace_rows(digests)):
        yield from of_view({"type": "modal", "blocks": page}, {"C1", ASKER, owner})
    yield from of_view(budgets_view(data.spending.lines))
    yield from of_view(limits_view(dict.fromkeys(NAMES, LIMITS[0])))


def admin_figures(texts: Sequence[str]) -> Harms:
    """What admins read of feedback, services and budgets: questions and comments as they were typed."""
    bad = [BadAnswer(reference="r", text=text, reasons=["wrong", text], comment=text, at=AT) for text in texts]
    stats = [ProviderStats(provider=text, asked=2, answered=1, p50=1.0, p95=2.0) for text in texts]
    ratings = [Rating(provider=text, effort=text, up=1, down=2) for text in texts]
    problems = [Problem(text=text, fix=text) for text in texts]
    shown: Iterator[OutgoingMessage] = iter(
        (
            status_message((), Feedback(ratings=[Rating(provider="P", effort="fast", up=1, down=2)], bad=bad)),
            status_message(stats, Feedback(ratings=ratings), spending=_spending(texts), problems=problems),
            spending_message(_spending(texts), NO_BUDGETS, slash="/pplx", note=texts[0]),
            limits_message(LIMITS, slash="/pplx", note=texts[0]),
        )
    )
    yield from of_messages(shown)


def printed_for_operators(texts: Sequence[str]) -> Harms:
    """The doctor's report and the lines of the audit log."""
    findings = [make(text, fix=text, title="Title") for text in texts for make in (warning, failure)]
    yield harms_of_plain_text(render(findings, symbols=True))
    for number, text in enumerate(texts):
        safe = text.encode("utf-8", "replace").decode().replace("\0", "")
        entry = Entry(
            team_id="T1",
            number=number,
            at=AT,
            who="w",
            what="setting.change",
            channel_id="C1",
            cost_microusd=None,
            decision="done",
            subject=safe,
            before=json.dumps({"model": safe}),
            after=json.dumps([safe]),
        )
        line = entry.as_json("h")
        yield harms_of_plain_text(line)
        assert json.loads(line)["after"] == [safe]
