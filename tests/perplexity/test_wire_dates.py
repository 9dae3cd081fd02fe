"""A page's date is kept as far as it can be read."""

from __future__ import annotations

import pytest

from perplexity.wire.dates import iso_date
from perplexity.wire.sources import merge


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2024-01-05", "2024-01-05"),
        ("2024-1-5", "2024-01-05"),
        (" 2024-01-05T10:00:00Z ", "2024-01-05"),
        ("2024-01-05 10:00", "2024-01-05"),
        ("20240105", "2024-01-05"),
        ("20240105T100000Z", "2024-01-05"),
        ("2024/01/05", "2024-01-05"),
        ("2024.01.05", "2024-01-05"),
        ("2024-03", "2024-03"),
        ("2024/03", "2024-03"),
        ("2024", "2024"),
        ("2024-13", "2024"),
        ("2024-02-30", "2024-02"),
        ("2024-02-29", "2024-02-29"),
        ("2023-02-29", "2023-02"),
        ("2024-00-00", "2024"),
        ("2024-03-00", "2024-03"),
        ("Jan 5, 2024", "2024-01-05"),
        ("Jan. 5, 2024", "2024-01-05"),
        ("January 5 2024", "2024-01-05"),
        ("JANUARY 5TH, 2024", "2024-01-05"),
        ("Sept 3, 2024", "2024-09-03"),
        ("May 1, 2024 at 10:00", "2024-05-01"),
        ("Thursday, January 04, 2024", "2024-01-04"),
        ("5 January 2024", "2024-01-05"),
        ("5. January 2024", "2024-01-05"),
        ("5th of January, 2024", "2024-01-05"),
        ("05-Jan-2024", "2024-01-05"),
        ("Fri, 05 Jan 2024 10:00:00 GMT", "2024-01-05"),
        ("Feb 30, 2024", "2024-02"),
        ("January 2024", "2024-01"),
        ("Jan, 2024", "2024-01"),
        ("25/12/2024", "2024-12-25"),
        ("12/25/2024", "2024-12-25"),
        ("25.12.2024", "2024-12-25"),
        ("03/05/2024", "2024"),
        ("05/05/2024", "2024-05-05"),
        ("44/44/2024", "2024"),
        ("3 days ago", None),
        ("yesterday", None),
        ("N/A", None),
        ("", None),
        ("202", None),
        ("0000-00-00", None),
        ("20245", None),
        ("99999999", None),
        ("1.2.3", None),
        ("٢٠٢٤-٠١-٠٥", None),
        ("Jan 5", None),
        ("Mayor 2024", None),
        ("x" * 1_000_000, None),
    ],
)
def test_a_date_is_read_as_far_as_it_goes(written: str, read: str | None) -> None:
    assert iso_date(written) == read


def test_a_source_keeps_a_part_of_a_date() -> None:
    pages = [{"url": "https://a.example/", "date": "2024-03", "last_updated": "Jan 5, 2024"}]

    (source,) = merge(pages)

    assert (source.date, source.last_updated) == ("2024-03", "2024-01-05")
