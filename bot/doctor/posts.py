"""xAI's key, with which deep dives read posts on X, tried by a request that costs nothing."""

from __future__ import annotations

from collections.abc import Sequence

from bot.doctor.examining import Case
from bot.doctor.report import Finding, warning, well
from perplexity.errors import AuthenticationError, ConnectionFailed, InvalidRequest, PerplexityError, TimedOut
from perplexity.social.xai_key import check_key

ABOUT = "Posts on X"

_KEYS = (
    "Make a key at https://console.x.ai and set XAI_API_KEY. "
    "Or unset it: OpenRouter then reads the posts, where it has a key."
)


async def check(case: Case) -> Sequence[Finding]:
    """Ask xAI about the key. Without one there is nothing to say: a deep dive says it then."""
    settings = case.settings
    key = settings.xai_api_key
    if key is None:
        return []
    try:
        await check_key(key.get_secret_value(), base_url=settings.xai_base_url, open_timeout=settings.open_timeout)
    except PerplexityError as error:
        return [_explained(error)]
    return [well(ABOUT, "xAI takes the key. Whether there is credit was not tried, since that costs.")]


def _explained(error: PerplexityError) -> Finding:
    """Say what is wrong; the app runs without posts, so none of it is a fault."""
    match error:
        case AuthenticationError() | InvalidRequest():
            return warning(ABOUT, "xAI does not take the key.", fix=_KEYS)
        case ConnectionFailed() | TimedOut():
            fix = "Check the network, a proxy (HTTPS_PROXY) and XAI_BASE_URL."
            return warning(ABOUT, "xAI cannot be reached.", fix=fix)
        case _:
            status = f"status {error.status}" if error.status else type(error).__name__
            text = f"The key could not be tried: xAI does not tell of it ({status})."
            return warning(ABOUT, text, fix="Ask for a deep dive to try it, which costs something.")
