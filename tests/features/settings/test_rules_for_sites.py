"""A channel's rule for sites wins over what a person chooses."""

from __future__ import annotations

import pytest

from tests.driver import Driver
from tests.end_to_end.test_rules_for_sites import asked

pytestmark = pytest.mark.trust(18)


async def test_a_channel_s_rule_wins_over_what_a_person_chooses(harness: Driver) -> None:
    await asked(harness, "/pplx settings channel deny b.example")
    harness.perplexity.requests.clear()
    sent, shown = await asked(harness, "/ask what is it")
    assert '"-b.example"' in sent
    assert "b.example/" not in shown

    requests = len(harness.perplexity.requests)
    _, refused = await asked(harness, "/ask --domain b.example what is it")
    assert len(harness.perplexity.requests) == requests
    assert "answers in this channel never come from b.example" in refused

    await asked(harness, "/pplx settings domains b.example")
    sent, shown = await asked(harness, "/ask what is it")
    assert '"b.example"' not in sent
    assert "b.example/" not in shown
