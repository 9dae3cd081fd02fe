"""A plugin for pytest, which is not loaded automatically.

Load it by `pytest_plugins = ["fake_slack.pytest"]` in your conftest.py.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fake_slack.stand_in import Slack


@pytest.fixture
def slack() -> Iterator[Slack]:
    """Run a stand-in for Slack for one test, and fail the test at its end if the app made mistakes.

    If the test calls `slack.mistakes()`, it must judge the mistakes itself, and the fixture does not fail it.

    Build your app with `slack.bot_token`, `slack.signing_secret` and `slack.api_url`, and hand it over:
    `slack.start(app.start)`.
    """
    with Slack() as slack:
        yield slack
        if not slack.were_read and (mistakes := slack.mistakes()):
            pytest.fail("Slack would not have taken this:\n" + "\n".join(mistakes))
