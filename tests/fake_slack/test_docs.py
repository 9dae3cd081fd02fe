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


@pytest.mark.rare
def test_a_mistake_fails_the_test_by_its_name_though_everything_was_shown(tmp_path: Path) -> None:
    mistaken = APP.replace("        ack()\n", "        time.sleep(4)\n        ack()\n").replace(
        "import os", "import os\nimport time"
    )
    ended = tried(tmp_path, mistaken)
    assert ended.returncode == 1
    assert "block_actions: operation_timeout, not acknowledged within 3 s" in ended.stdout
