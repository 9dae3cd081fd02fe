"""The providers, in the order in which they are asked. A new one is a file beside this and a line in `configured`."""

from __future__ import annotations

from pathlib import Path

from perplexity.client import PerplexityClient
from perplexity.providers.base import Provider
from perplexity.providers.duckduckgo import DuckDuckGo
from perplexity.providers.handbook import Handbook, load_pages
from perplexity.providers.perplexity import PerplexityProvider


def configured(
    *, perplexity: PerplexityClient | None = None, pages: Path | None = None, pages_url: str = ""
) -> list[Provider]:
    """Return the providers that can be asked, first choice first; those that need what is not there are left out.

    `perplexity` is an open client. `pages` is the project's root, for the handbook; `pages_url` is the address under
    which the same Markdown files can be read, empty for none.
    """
    providers: list[Provider | None] = [
        PerplexityProvider(perplexity) if perplexity else None,
        DuckDuckGo(),
        Handbook(load_pages(pages), base_url=pages_url) if pages else None,
    ]
    return [provider for provider in providers if provider is not None]
