"""The settings of a person and a channel hold for what other features ask."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest

from tests.driver import Driver

pytestmark = pytest.mark.features("checking", "deepdive", "digests", "settings")


@pytest.mark.parametrize("command", ["/deepdive heat pumps", "/pplx check The tower is 330 m tall.", "a digest"])
async def test_sites_and_language_hold_for_reports_checks_and_digests(harness: Driver, command: str) -> None:
    await harness.answered("/pplx settings domains tagesschau.de")
    await harness.answered("/pplx settings channel language de")
    if command == "a digest":
        await harness.answered('/pplx watch world "europe" weekdays 9:00')
        command = "/pplx watch run 1"
    before = len(harness.perplexity.requests)

    await harness.ask(command, trigger=str(uuid4()))
    if "deepdive" in command:  # the facts and the analysis
        await harness.slack.wait_until(lambda: json.dumps(asked(harness, before)).count("language de (ISO 639-1)") == 2)
    await harness.slack.wait_until(lambda: "tagesschau.de" in json.dumps(asked(harness, before)))
    await harness.slack.wait_until(lambda: "check" in command or '"de"' in json.dumps(asked(harness, before)))


def asked(harness: Driver, since: int) -> list[Any]:
    return [request.json for request in harness.perplexity.requests[since:]]
