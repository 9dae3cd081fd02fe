"""Writes a copy of the tree without one feature: `python -m tests.house.without NAME FOLDER`. Nothing changes here."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from bot.features import FEATURES

ROOT = Path(__file__).parents[2]
LIST = Path("bot/features/__init__.py")
MANIFEST = "from bot.features import OFFERS; from bot.manifest import as_yaml; print(as_yaml(OFFERS), end='')"
IGNORED = shutil.ignore_patterns(
    *(".git", ".venv*", ".data", ".artifacts", "__pycache__", ".*_cache", ".hypothesis"),
    *("node_modules", "dist", "*.egg-info"),
)


def copy_without(name: str, into: Path) -> None:
    """Copy the tree, take the feature away, and write the manifest and the catalogues of what is left."""
    shutil.copytree(ROOT, into, ignore=IGNORED, dirs_exist_ok=True)
    shutil.rmtree(into / "bot" / "features" / name)
    shutil.rmtree(into / "tests" / "features" / name, ignore_errors=True)
    (into / "docs" / "features" / f"{name}.md").unlink(missing_ok=True)
    for test in needing(name, into / "tests" / "together"):
        test.unlink()
    listed = into / LIST
    listed.write_text(unlisted(listed.read_text(encoding="utf-8"), name), encoding="utf-8")
    (into / "manifest.yml").write_bytes(_run("-c", MANIFEST, folder=into))
    _run("-m", "tests.house.translations", folder=into)


def _run(*arguments: str, folder: Path) -> bytes:
    return subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, check=True).stdout


def needing(name: str, folder: Path) -> set[Path]:
    """Return the modules of a folder that name a feature, and those that import one of them."""
    texts = {path: path.read_text(encoding="utf-8") for path in folder.glob("*.py")}
    found = {path for path in texts if name in features_of(path)}
    while (
        more := {path for path, text in texts.items() for one in found if f"tests.together.{one.stem} import" in text}
        - found
    ):
        found |= more
    return found


def features_of(test: Path) -> set[str]:
    """Return the features that a module of tests names: `pytestmark = pytest.mark.features("budgets", "digests")`."""
    marks = (
        node
        for node in ast.walk(ast.parse(test.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "features"
    )
    return {str(one.value) for mark in marks for one in mark.args if isinstance(one, ast.Constant)}


def unlisted(text: str, name: str) -> str:
    """Return the list of features without one: without its line, and without its import."""
    text = re.sub(rf"^    {name}\.FEATURE,\n", "", text, flags=re.MULTILINE).replace("= (\n)", "= ()")
    return re.sub(
        r"^from bot\.features import ([^(\n]*|\([^)]*\))\n",
        lambda found: _imports(found[1], name),
        text,
        flags=re.MULTILINE,
    )


def _imports(names: str, name: str) -> str:
    left = [one for one in re.findall(r"\w+", names) if one != name]
    line = f"from bot.features import {', '.join(left)}"
    if len(line) > 120:
        line = "from bot.features import (\n" + "".join(f"    {one},\n" for one in left) + ")"
    return f"{line}\n" if left else ""


def problem(arguments: Sequence[str], names: Iterable[str]) -> str:
    """Return what is wrong with the arguments, empty if nothing is."""
    if len(arguments) != 2 or not all(arguments):
        return "Say which feature and where: make without FEATURE=<name> INTO=<folder>."
    name, into = arguments[0], Path(arguments[1])
    if name not in names:
        return f"FEATURE={name}: there is no such feature. `make features` prints their names."
    if into.exists() and (not into.is_dir() or any(into.iterdir())):
        return f"INTO={into}: it must be a new or an empty folder."
    if into.resolve().is_relative_to(ROOT):
        return f"INTO={into}: it must lie outside of this project."
    return ""


def main(arguments: Sequence[str]) -> int:
    """Write the copy, or say what is wrong."""
    if told := problem(arguments, [feature.name for feature in FEATURES]):
        sys.stderr.write(f"{told}\n")
        return 2
    copy_without(arguments[0], Path(arguments[1]))
    sys.stdout.write(f"{arguments[1]} is this project without {arguments[0]}.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
