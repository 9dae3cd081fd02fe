"""What `make release` builds of HEAD depends on nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.release import CIRCUMSTANCES, ROOT, SUMS, build, contents

pytestmark = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this copy of the project has no history")


def test_a_changed_tree_is_refused(tmp_path: Path) -> None:
    subprocess.run(["git", "clone", "--quiet", "--shared", ROOT, tmp_path / "clone"], check=True)
    (tmp_path / "clone" / "README.md").write_text("changed")
    command = [sys.executable, "-m", "tests.packaging.release"]
    ended = subprocess.run(command, cwd=tmp_path / "clone", capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stdout) == (1, "")
    assert "Commit these first" in ended.stderr
    assert " M README.md" in ended.stderr
    assert not (tmp_path / "clone" / "dist").exists()


@pytest.mark.rare
def test_it_is_the_same_in_another_folder_zone_and_environment(tmp_path: Path) -> None:
    """The bill of materials is left out: what makes it comes from the network."""
    first, second = (
        contents(build(tmp_path / name, umask=umask, environment=environment, sbom=False))
        for name, umask, environment in CIRCUMSTANCES
    )

    assert first == second
    assert sorted(line.split("  ")[1] for line in first.pop(SUMS).decode().splitlines()) == sorted(first)
