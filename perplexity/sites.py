"""Domain filters for search engines that know only operators in the query. Pure."""

from __future__ import annotations

from collections.abc import Sequence


def with_sites(text: str, domains: Sequence[str]) -> str:
    """Write the domains as `site:` operators behind the text: `(site:a.com OR site:b.com)`, `-site:c.com`.

    DuckDuckGo and Brave read them alike: https://duckduckgo.com/duckduckgo-help-pages/results/syntax,
    https://search.brave.com/help/operators.
    """
    allowed = " OR ".join(f"site:{domain}" for domain in domains if not domain.startswith("-"))
    denied = [f"-site:{domain[1:]}" for domain in domains if domain.startswith("-")]
    wanted = [f"({allowed})" if " OR " in allowed else allowed] if allowed else []
    return " ".join(filter(None, [text, *wanted, *denied]))
