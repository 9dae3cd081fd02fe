"""A checked claim fits Slack's limits, whatever is in it."""

from __future__ import annotations

import pytest

from bot.features.checking import claims_messages
from fake_slack.limits import check_message
from perplexity.claims.types import CheckedClaim, CheckedClaims, Verdict
from perplexity.types import Source

LONG_ADDRESS = f"https://a.example/{'p' * 1_930}"


@pytest.mark.parametrize("sign", ["&", "<", "x", "* "])
@pytest.mark.parametrize("url", [LONG_ADDRESS, "https://a.example/"])
def test_a_claim_fits_whatever_must_be_escaped(sign: str, url: str) -> None:
    source = Source(number=1, title=sign * 1_000, url=url, snippet=sign * 5_000)
    claim = CheckedClaim(
        claim=sign * 500, verdict=Verdict.UNCLEAR, quote=sign * 2_000, source=source, reason=sign * 400
    )

    messages = claims_messages(CheckedClaims(claims=(claim,), searched_by="P"))

    assert [fault for m in messages for fault in check_message({"text": m.text, "blocks": list(m.blocks)})] == []
    assert "a.example" in str(messages)
