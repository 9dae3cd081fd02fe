"""A Python environment of its own: this project's wheel, and of the packages here only those that it needs."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement


@dataclass(frozen=True, kw_only=True)
class Environment:
    """A virtual environment under `root`, in which `ours` is installed."""

    root: Path
    ours: Distribution = field(repr=False)

    @classmethod
    def with_wheel(cls, wheel: Path, root: Path, *, extras: Iterable[str] = ()) -> Environment:
        """Make one as `python -m venv` does and install the wheel as pip does.

        What it and its extras depend on is linked from the environment of the tests, which is quick and offline.
        """
        venv.create(root, symlinks=True)
        pip = [sys.executable, "-m", "pip", "--isolated", "--disable-pip-version-check"]
        install = [
            "--python",
            str(root / "bin" / "python"),
            "install",
            "--quiet",
            "--no-index",
            "--no-deps",
            str(wheel),
        ]
        subprocess.run([*pip, *install], check=True)
        site = root / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
        (info,) = site.glob("web_answers_for_slack-*.dist-info")
        environment = cls(root=root, ours=Distribution.at(info))
        for each in environment._needs(Requirement(f"{environment.ours.name}[{','.join(extras)}]"), set()):
            for path in {Path(file.parts[0]) for file in each.files or () if file.parts[0] != ".."}:
                if not (site / path).exists():
                    (site / path).symlink_to(str(each.locate_file(path)))
        return environment

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the environment, outside the checkout and without a key, to its end."""
        return subprocess.run(
            [self.root / "bin" / command[0], *command[1:]],
            env={"PATH": os.environ["PATH"], "HOME": str(self.root)},
            cwd=self.root, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    def _needs(self, requirement: Requirement, seen: set[str]) -> Iterator[Distribution]:
        """Yield the distributions that a requirement needs, each once; `seen` grows by what was looked at."""
        found = self.ours if requirement.name == self.ours.name else distribution(requirement.name)
        for extra in ("", *sorted(requirement.extras)):
            if f"{found.name}[{extra}]" in seen:
                continue
            seen.add(f"{found.name}[{extra}]")
            if not extra and found is not self.ours:
                yield found
            for needed in map(Requirement, found.requires or ()):
                if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                    yield from self._needs(needed, seen)
