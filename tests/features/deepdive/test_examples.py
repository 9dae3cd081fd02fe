"""The recorded deep dive of a playground without any key."""

from __future__ import annotations

import pytest

from tests.end_to_end.test_examples import LINES, answered, assert_replayed, keyless, no_network

__all__ = ["no_network"]


@pytest.mark.usefixtures("no_network")
async def test_the_deep_dive_has_all_three_stages_and_its_chart(database: str) -> None:
    async with keyless(database) as browser:
        await answered(browser, LINES[1], "Of 6 posts")
        shown = str(await browser.shown())

    assert "Of 6 posts: 4 positive · 1 neutral · 0 negative · 1 mixed" in shown
    assert "is missing" not in shown
    assert "without a source" not in shown
    assert all(f"[{number}]" in shown for number in range(1, 18))


@pytest.mark.parametrize("line", [LINES[1], "/ask How did Twitter become X?"])
@pytest.mark.usefixtures("no_network")
async def test_it_is_replayed_through_the_app_and_marked(database: str, line: str) -> None:
    await assert_replayed(database, line, "Bluesky, which had begun")
