"""`make release`: what is published of HEAD, built twice in different circumstances and compared byte for byte."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from perplexity.version import DISTRIBUTION, __version__

ROOT = Path(__file__).parents[2]
DIST = ROOT / "dist"
SUMS = "SHA256SUMS"
SBOM = f"{DISTRIBUTION.replace('-', '_')}-{__version__}.cdx.json"

CIRCUMSTANCES = (
    ("here", 0o022, {"TZ": "UTC", "LC_ALL": "C", "PYTHONHASHSEED": "1"}),
    ("further/away", 0o077, {"TZ": "Asia/Kathmandu", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "2"}),
)
"""The folder, the rights of new files and the environment: what the result must not depend on."""


def main() -> None:
    if changed := git("status", "--porcelain"):
        sys.exit(f"A release is HEAD and nothing else. Commit these first, or put them away:\n{changed.decode()}")
    with TemporaryDirectory() as folder:
        first, second = (
            build(Path(folder, name), umask=umask, environment=environment)
            for name, umask, environment in CIRCUMSTANCES
        )
        differing = {name for name, _ in contents(first).items() ^ contents(second).items()}
        if differing:
            sys.exit(f"Built twice from HEAD, these are not the same: {', '.join(sorted(differing))}")
        shutil.rmtree(DIST, ignore_errors=True)
        shutil.copytree(first, DIST)
    print(f"{git('rev-parse', 'HEAD').decode().strip()}, built twice: the same, byte for byte. In dist/:")  # noqa: T201
    print((DIST / SUMS).read_text(), end="")  # noqa: T201


def build(folder: Path, *, umask: int, environment: Mapping[str, str], sbom: bool = True) -> Path:
    """Export HEAD into a folder, build all that is published of it, and return where it is."""
    source, built = folder / "source", folder / "built"
    source.mkdir(parents=True)
    built.mkdir()
    run(source, "tar", "-x", umask=umask, stdin=git("archive", "HEAD"))
    env = {**os.environ, **environment, "SOURCE_DATE_EPOCH": git("log", "-1", "--format=%ct").decode().strip()}
    run(source, sys.executable, "-m", "hatchling", "build", "-d", str(built), umask=umask, env=env)
    if sbom:
        # The environment is ready: the one that runs this.
        make = ["make", "sbom", f"VENV={sys.prefix}", f"--old-file={sys.prefix}/dev.stamp"]
        run(source, *make, umask=umask, env=env)
        shutil.copy(source / ".artifacts" / "sbom.json", built / SBOM)
    sums = [f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in contents(built).items()]
    (built / SUMS).write_text("".join(sums))
    return built


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def git(*words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True).stdout


def run(
    folder: Path, *command: str, umask: int, stdin: bytes | None = None, env: Mapping[str, str] | None = None
) -> None:
    """Run a command that says nothing unless it fails."""
    ended = subprocess.run(
        command, cwd=folder, input=stdin, env=env, umask=umask, check=False, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )  # fmt: skip
    if ended.returncode:
        sys.exit(f"{' '.join(command)}:\n{ended.stdout.decode()}")


if __name__ == "__main__":
    main()
