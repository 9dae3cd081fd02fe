"""What people write of digests is read in time in proportion to its length."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bot.features.digests.model import parse_run
from bot.features.digests.surface import parse_days, parse_digest_spec
from tests.fakes.linear import WRITTEN, assert_linear, some_or_all

READERS: dict[str, Callable[[str], object]] = {
    "wish": lambda text: parse_digest_spec(f"tech {text} monday 9:00"),
    "text after the time": lambda text: parse_digest_spec(f"tech monday 9:00 {text}"),
    "wish in quotes": lambda text: parse_digest_spec(f'tech "{text}" monday 9:00', report_empty_on=[text]),
    "days": parse_days,
    "run": parse_run,
}


@some_or_all
@pytest.mark.parametrize("name", READERS)
def test_what_people_write_is_read_in_linear_time(name: str, step: int) -> None:
    for shape in WRITTEN[::step]:
        assert_linear(READERS[name], shape)
