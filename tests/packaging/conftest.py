"""The wheel and the source distribution, built once from the checkout, offline: hatchling is among the requirements."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.environment import Environment

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with both."""
    folder = tmp_path_factory.mktemp("dist")
    # What pip runs as well, but without an environment into which it would have to fetch the build system.
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="session")
def wheel(distributions: Path) -> Path:
    (found,) = distributions.glob("*.whl")
    return found


@pytest.fixture(scope="session")
def sdist(distributions: Path) -> Path:
    (found,) = distributions.glob("*.tar.gz")
    return found


@pytest.fixture(scope="session")
def library(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Return an environment that has the library alone, without any extra."""
    return Environment.with_wheel(wheel, tmp_path_factory.mktemp("library"))
