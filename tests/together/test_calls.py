"""No text from outside calls anyone or becomes a token of Slack's, on any surface."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from bot.blocks.escaping import sanitize_message, sanitize_view
from bot.model.message import OutgoingMessage
from tests.fakes.attacks import ATTACKS, attacks
from tests.fakes.hostile_text import wild
from tests.fakes.judge import harms_of_message
from tests.together.surfaces import SURFACES, every_ninth_or_all, judged, some_of, streams

pytestmark = [
    pytest.mark.trust(13),
    pytest.mark.features(
        "ask_about", "budgets", "checking", "deepdive", "digests", "home", "limits", "saving", "settings", "sharing"
    ),
]


CALLS = attacks("call") | attacks("date") | attacks("order")


def test_the_corpus_is_large_and_has_no_duplicates() -> None:
    assert len(set(ATTACKS.values())) >= 500
    assert len(attacks("order")) >= 100


@every_ninth_or_all
@pytest.mark.parametrize("name", SURFACES)
def test_no_text_calls_anyone(name: str, step: int) -> None:
    assert judged(SURFACES[name], some_of(CALLS, name, step)) == {}


@pytest.mark.parametrize("kind", ["mrkdwn", "plain_text"])
def test_the_last_gate_breaks_calls_in_texts_that_no_one_escaped(kind: str) -> None:
    # Disguises are undone where texts are escaped, each by its own rule.
    for name, text in {name: text for name, text in CALLS.items() if " with " not in name or "date" in name}.items():
        block = {"type": "section", "text": {"type": kind, "text": text}}
        sealed = sanitize_message(OutgoingMessage(text=text, blocks=(block,)))
        view = sanitize_view({"type": "modal", "blocks": [block]})
        shown = [
            *harms_of_message({"text": sealed.text, "blocks": list(sealed.blocks)}, ()),
            *harms_of_message(view, ()),
        ]
        # What no one escaped may have links; it calls no one.
        assert [harm for harm in shown if "calls" in harm or "character" in harm] == [], name


@given(wild)
@settings(max_examples=60, deadline=None)
def test_no_text_calls_anyone_while_it_is_written(text: str) -> None:
    assert [harm for one in streams([text]) for harm in one] == []
