"""What makes Perplexity's tools need nothing yet: they look for a key, and connect, when they are called."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping

from perplexity.environment import Access
from perplexity.errors import PerplexityError
from perplexity.tools.base import Failure, Tool
from perplexity.transport import checked_base_url, new_session
from perplexity.types import JSON


def keyless(
    create: Callable[..., Tool],
    *,
    failed: Callable[[PerplexityError, Mapping[str, JSON]], Failure],
    environ: Mapping[str, str] = os.environ,
) -> Callable[..., Awaitable[str]]:
    """Return the handler of the tool that `create` makes of a session and the environment.

    Each call reads the environment and has connections of its own, which are closed at its end. `failed` tells the
    model that called with these arguments of a missing key, or of one that cannot be right.
    """

    async def handler(**arguments: JSON) -> str:
        try:
            base_url = checked_base_url(Access.found(environ).base_url)
            async with new_session(base_url) as session:
                return await create(session, environ=environ).handler(**arguments)
        except PerplexityError as error:
            return failed(error, arguments)

    return handler
