"""The app and its test on docs/fake-slack.md: they are as short as the page says, pass, and fail for a mistake."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, blocks

APP, TEST = (one.text for one in blocks() if one.page == "docs/fake-slack.md" and one.language == "python")


def tried(folder: Path, app: str) -> subprocess.CompletedProcess[str]:
    (folder / "approvals.py").write_text(app)
    (folder / "test_approvals.py").write_text(TEST)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(folder)]
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{folder}", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_an_app_of_thirty_lines_is_tested_in_ten(tmp_path: Path) -> None:
    app, test = (sum(bool(line.strip()) for line in text.splitlines()) for text in (APP, TEST))
    assert (app, test) <= (30, 10)
    ended = tried(tmp_path, APP)
    assert ended.returncode == 0, ended.stdout


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ('text="Approved."', 'text="Approved." * 1000', "chat.update: msg_too_long"),
        ("signing_secret=signing_secret", 'signing_secret="another"', "the app answered with status 401"),
        ("[button]", "[button, button]", "has the action_id approve twice"),
    ],
)
def test_a_mistake_of_this_app_fails_the_test_by_its_name(tmp_path: Path, right: str, wrong: str, said: str) -> None:
    assert right in APP
    ended = tried(tmp_path, APP.replace(right, wrong))
    assert ended.returncode == 1
    assert said in ended.stdout
