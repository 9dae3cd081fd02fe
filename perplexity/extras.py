"""The extras of this distribution: the modules of each, and an error that names a missing extra.

https://packaging.python.org/en/latest/specifications/dependency-specifiers/#extras
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

from perplexity.errors import MissingExtra

EXTRAS: Mapping[str, tuple[str, ...]] = {
    "agent": ("httpx2", "openai", "pydantic_ai", "pydantic_core"),
    "bot": (
        "babel",
        "cryptography",
        "multidict",
        "procrastinate",
        "prometheus_client",
        "psycopg",
        "psycopg_pool",
        "pydantic",
        "pydantic_core",
        "pydantic_settings",
        "pylatexenc",
        "re2",
        "slack_bolt",
        "slack_sdk",
    ),
    "cli": ("pylatexenc", "rich"),
    "duckduckgo": ("ddgs", "primp"),
    "mcp": ("mcp", "starlette", "uvicorn"),
}
"""The modules that this project imports from the packages of each extra in pyproject.toml."""


def require(extra: str) -> None:
    """Raise MissingExtra unless every module of the extra can be imported. No module is imported for this check."""
    if not all(_installed(module) for module in EXTRAS[extra]):
        raise MissingExtra.for_extra(extra)


def _installed(module: str) -> bool:
    found = find_spec(module)
    # `find_spec` also finds a mere folder of the same name, but then the origin is None.
    return found is not None and found.origin is not None
