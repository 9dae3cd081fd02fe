"""An answer of one workspace is not asked about by a click in another."""

from __future__ import annotations

from tests.end_to_end.test_workspaces import app, assert_does_nothing_elsewhere
from tests.fakes.workspaces import Installations

__all__ = ["app"]


async def test_the_button_does_nothing_in_another_workspace(app: Installations) -> None:
    await assert_does_nothing_elsewhere(app, "ask_about")
