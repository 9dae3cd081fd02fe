"""Every link in the pages leads somewhere."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from bot import features
from tests.docs.pages import FEATURES, PATHS, ROOT, anchors, links, name

INDEX = ROOT / "docs" / "README.md"
LINKS = sorted({(path, target) for path in PATHS for target in links(path)})


@pytest.mark.parametrize(("page", "target"), [pytest.param(p, t, id=f"{name(p)} {t}") for p, t in LINKS])
def test_a_link_leads_to_a_file_a_heading_or_https(page: Path, target: str) -> None:
    parts = urlsplit(target)
    if parts.scheme:
        assert parts.scheme == "https"
        return
    leads_to = (page.parent / parts.path).resolve() if parts.path else page

    assert leads_to.is_relative_to(ROOT)
    if leads_to.parent == FEATURES:
        assert page == INDEX or page.parent == FEATURES, "Link the list of features: this one may be left out."
        if is_left_out(leads_to):
            return
    assert leads_to.exists()
    assert not parts.fragment or parts.fragment in anchors(leads_to)


def is_left_out(page: Path) -> bool:
    """Return whether a listed feature, and so its page, is missing in this copy of the project."""
    listed = {(INDEX.parent / target).resolve() for target in links(INDEX)}
    return page in listed and page.stem not in {feature.name for feature in features.FEATURES} and not page.exists()


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached and page.suffix == ".md" and page.exists():
            reached.add(page)
            waiting += [(page.parent / urlsplit(t).path).resolve() for t in links(page) if not urlsplit(t).scheme]

    assert set(PATHS) <= reached
