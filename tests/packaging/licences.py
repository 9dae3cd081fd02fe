"""The licences of what the app installs, read from the installed packages: `make licences` writes docs/licences.md."""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

LOCK = Path("requirements.txt")
HEAD = """# Licences

What `requirements.txt` installs, and under which licence, as the packages say themselves. `make licences` writes this
page. The renderer of the playground has [its own list](../bot/playground/static/THIRD_PARTY_LICENSES.txt).

| Package | Licence |
|---|---|
"""


def locked() -> list[str]:
    """Return the names of the packages that the app installs."""
    return re.findall(r"^([a-z0-9][a-z0-9._-]*)==", LOCK.read_text(encoding="utf-8"), flags=re.MULTILINE)


def licence(package: str) -> str | None:
    """Return the licence that an installed package names, in a few words; None if it is not installed here."""
    try:
        said = metadata(package)
    except PackageNotFoundError:
        return None
    if expression := said.json.get("license_expression"):
        return str(expression)
    classified = [line.rsplit(" :: ", 1)[-1] for line in said.get_all("Classifier") or () if line.startswith("License")]
    named = str(said.json.get("license") or "").strip().splitlines()
    return ", ".join(classified) or (named[0] if named else "unknown")


def page() -> str:
    """Return the page."""
    rows = [(name, licence(name)) for name in locked()]
    return HEAD + "".join(f"| {name} | {said} |\n" for name, said in rows if said is not None)


if __name__ == "__main__":
    sys.stdout.write(page())
