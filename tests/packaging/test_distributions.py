"""What the wheel and the source distribution hold, and what pip is told of them."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Mapping, Sequence
from email.message import Message
from email.parser import Parser
from importlib.metadata import packages_distributions
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import perplexity
from bot import __main__
from perplexity.extras import EXTRAS
from perplexity.version import DISTRIBUTION

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PACKAGES = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
BUNDLER = ROOT / "bot" / "playground" / "build"


def files() -> set[str]:
    """Return what must be in the wheel: every file of the packages but those that only bundle the page."""
    found = (path for name in PACKAGES for path in (ROOT / name).rglob("*") if path.is_file())
    return {
        path.relative_to(ROOT).as_posix()
        for path in found
        if "__pycache__" not in path.parts and not path.is_relative_to(BUNDLER)
    }


def in_wheel(path: Path) -> set[str]:
    with ZipFile(path) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def metadata(wheel: Path) -> Message:
    with ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return Parser().parsestr(archive.read(name).decode())


def test_the_wheel_holds_the_packages_with_all_their_files(wheel: Path) -> None:
    assert in_wheel(wheel) == files()
    assert {
        "perplexity/py.typed",
        "bot/py.typed",
        "bot/storage/migrations/0001_questions.sql",
        "fake_slack/block_kit.json",
        "bot/playground/static/index.html",
        "bot/playground/static/page.js",
        "bot/playground/static/page.css",
    } <= in_wheel(wheel)


def test_the_source_distribution_is_enough_for_the_same_wheel(sdist: Path, wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "dist"],
        cwd=source, check=True, capture_output=True,
    )  # fmt: skip
    (again,) = (tmp_path / "dist").iterdir()

    assert in_wheel(again) == in_wheel(wheel)
    assert {"README.md", "LICENSE", "CHANGELOG.md", "docs"} <= {path.name for path in source.iterdir()}
    assert not {"tests", ".env", ".data", ".venv"} & {path.name for path in source.iterdir()}


def test_the_library_alone_needs_few_packages(wheel: Path) -> None:
    needs = [Requirement(text) for text in metadata(wheel).get_all("Requires-Dist", [])]

    own = {"aiohttp", "idna", "jiter", "jsonschema", "markdown-it-py", "referencing"}
    assert {each.name for each in needs if each.marker is None} == own


def test_the_metadata_has_the_version_and_the_commands(wheel: Path) -> None:
    told = metadata(wheel)
    with ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("entry_points.txt")]
        commands = archive.read(name).decode()

    assert (told["Name"], told["Version"]) == (DISTRIBUTION, perplexity.__version__)
    assert commands.splitlines() == [
        "[console_scripts]",
        "fake-slack = fake_slack.__main__:main",
        "pplx = bot.__main__:pplx",
        "web-answers = bot.__main__:web_answers",
    ]


def test_the_changelog_begins_with_the_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    assert re.findall(r"^## (\S+) - \d{4}-\d\d-\d\d$", changelog, re.MULTILINE)[:1] == [perplexity.__version__]


def test_the_package_is_known_by_the_name_that_pip_knows() -> None:
    assert PROJECT["project"]["name"] == DISTRIBUTION == __main__.DISTRIBUTION


def test_an_environment_for_checks_can_build_without_fetching_anything() -> None:
    assert set(PROJECT["build-system"]["requires"]) <= set(PROJECT["project"]["optional-dependencies"]["dev"])


@pytest.fixture(scope="module")
def owners() -> Mapping[str, Sequence[str]]:
    """Which distributions each module that can be imported belongs to."""
    return packages_distributions()


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_brings_the_modules_that_are_looked_for(extra: str, owners: Mapping[str, Sequence[str]]) -> None:
    brings = {canonicalize_name(Requirement(text).name) for text in PROJECT["project"]["optional-dependencies"][extra]}
    looked_for = {canonicalize_name(owner) for module in EXTRAS[extra] for owner in owners[module]}
    # What one of its packages brings along is looked for as well; the data of time zones are never imported.
    along = {"agent": {"openai"}}.get(extra, set())

    assert looked_for - along == brings - {DISTRIBUTION, "tzdata"}
