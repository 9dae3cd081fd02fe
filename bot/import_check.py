"""Whether the `perplexity` that Python finds is this project's: Perplexity's own SDK has the same import name.

The SDK (`perplexityai` on PyPI) and this project write into one folder when both are installed in one environment: the
later `__init__.py` replaces the earlier one, and the SDK's folder `types` hides our `types.py`.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

OURS = Path(__file__).parent.parent / "perplexity"
"""The package that was installed with this one."""

DISTRIBUTION = "web-answers-for-slack"
_WRONG = (
    "`import perplexity` finds {found}, because another package, such as Perplexity's SDK (perplexityai), has the same "
    f"import name: install {DISTRIBUTION} in a virtual environment of its own."
)


def wrong_package() -> str | None:
    """Return a sentence that says what is wrong and how to fix it, or None if `perplexity` is ours. Imports nothing."""
    found = find_spec("perplexity")
    if found is None or found.origin is None:
        return _WRONG.format(found="no complete package")
    if _is_ours(Path(found.origin)) and not _is_shared(Path(found.origin).parent):
        return None
    return _WRONG.format(found=f"a package that is not, or not only, {DISTRIBUTION}'s (in {Path(found.origin).parent})")


def _is_ours(start: Path) -> bool:
    """Return whether this `__init__.py`, compiled or not, is in the package next to this one and names this project."""
    return start.parent.resolve() == OURS.resolve() and DISTRIBUTION.encode() in start.read_bytes()


def _is_shared(folder: Path) -> bool:
    """Return whether the SDK is installed into the same folder, or anything hides one of our modules."""
    hidden = any(module.with_suffix("").is_dir() for module in folder.glob("*.py"))
    return hidden or any(folder.parent.glob("perplexityai-*.dist-info"))
