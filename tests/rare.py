"""Which cases of a slow test are tried at each change; `make rare` tries the others, every night."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def one_in(every: int, cases: Iterable[Any], *, first: int = 0) -> list[Any]:
    """Return cases for `pytest.mark.parametrize`: one in `every` stays, from `first` on; the others are rare."""
    return [case if number % every == first else _rare(case) for number, case in enumerate(cases)]


def _rare(case: Any) -> Any:
    return pytest.param(*case if isinstance(case, tuple) else (case,), marks=pytest.mark.rare)
