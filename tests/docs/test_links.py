"""Every link in the pages leads somewhere."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.docs.pages import PATHS, ROOT, anchors, links, name

LINKS = sorted({(path, target) for path in PATHS for target in links(path)})


@pytest.mark.parametrize(("page", "target"), [pytest.param(p, t, id=f"{name(p)} {t}") for p, t in LINKS])
def test_a_link_leads_to_a_file_a_heading_or_https(page: Path, target: str) -> None:
    parts = urlsplit(target)
    if parts.scheme:
        assert parts.scheme == "https"
        return
    leads_to = (page.parent / parts.path).resolve() if parts.path else page

    assert leads_to.is_relative_to(ROOT)
    assert leads_to.exists()
    assert not parts.fragment or parts.fragment in anchors(leads_to)


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached and page.suffix == ".md":
            reached.add(page)
            waiting += [(page.parent / urlsplit(t).path).resolve() for t in links(page) if not urlsplit(t).scheme]

    assert set(PATHS) <= reached
