"""What people set in one workspace is not that of another."""

from __future__ import annotations

import pytest

from tests.end_to_end.test_workspaces import app, wait_until_answered
from tests.fakes.workspaces import Installations

pytestmark = pytest.mark.features("digests", "settings")

__all__ = ["app"]


async def test_settings_and_digests_of_equal_people_and_channels_are_apart(app: Installations) -> None:
    await app.install("T1")
    await app.install("T2")
    for team, text in (("T1", "/pplx settings language de"), ("T1", '/pplx watch technology "zebrafish" daily 9:00')):
        async with await app.person(team).type_command(text, trigger=f"{team}{len(text)}") as response:
            assert response.status == 200
    await wait_until_answered(app, 2)
    for number, text in enumerate(("/pplx settings channel", "/pplx watch list")):
        async with await app.person("T2").type_command(text, trigger=f"l{number}") as response:
            assert response.status == 200
    await wait_until_answered(app, 4)

    said = {post.payload["token"]: post.shown_text for post in app.slack.posts if post.method == "response_url"}
    assert "zebrafish" not in said["l1"]
    assert await app.rows("SELECT team_id FROM person_settings") == [("T1",)]
    assert await app.rows("SELECT team_id FROM digests") == [("T1",)]
    claimed = "SELECT DISTINCT team_id FROM questions WHERE text LIKE '%zebrafish%'"
    assert await app.rows(claimed) == [("T1",)]
