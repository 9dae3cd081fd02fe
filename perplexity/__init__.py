"""Web search and sourced answers for any program: the library of web-answers-for-slack, which works without Slack.

The names below are imported when they are first used (https://peps.python.org/pep-0562/): importing the package alone
imports only its version, not even `typing`. The tools for agents are in `perplexity.tools`, the agent is in
`perplexity.agent`.
"""

from perplexity.version import __version__

TYPE_CHECKING = False
"""Type checkers treat a variable of this name as True, so it need not be imported from `typing`."""

if TYPE_CHECKING:
    from perplexity.client import AskOptions, PerplexityClient, Prompt
    from perplexity.errors import (
        AllProvidersFailed,
        APIError,
        Attempt,
        AuthenticationError,
        BillingError,
        ConnectionFailed,
        EndpointRetired,
        InvalidRequest,
        MalformedResponse,
        MissingExtra,
        MissingKey,
        NothingFound,
        NotPermitted,
        PerplexityError,
        RateLimitError,
        RequestCancelled,
        RequestKind,
        RunFailed,
        ServerError,
        StreamTruncated,
        TimedOut,
    )
    from perplexity.fallback import BreakerPolicy, Fallback
    from perplexity.filters import Filters, Mode, Recency
    from perplexity.limiter import Limiter, Limits, MemoryLimiter
    from perplexity.models import Effort, FallbackTimeouts, Timeouts
    from perplexity.providers.base import Provider
    from perplexity.providers.brave import Brave
    from perplexity.providers.duckduckgo import DuckDuckGo
    from perplexity.providers.openrouter import OpenRouter
    from perplexity.providers.perplexity import PerplexityProvider
    from perplexity.retry import RetryPolicy
    from perplexity.types import (
        API,
        Answer,
        AnswerKind,
        Attachment,
        Context,
        Done,
        Event,
        Message,
        Passage,
        Query,
        Question,
        Restarted,
        RunStarted,
        SearchQueries,
        SearchResults,
        Source,
        Sources,
        TextDelta,
        Usage,
    )

__all__ = [
    "API",
    "APIError",
    "AllProvidersFailed",
    "Answer",
    "AnswerKind",
    "AskOptions",
    "Attachment",
    "Attempt",
    "AuthenticationError",
    "BillingError",
    "Brave",
    "BreakerPolicy",
    "ConnectionFailed",
    "Context",
    "Done",
    "DuckDuckGo",
    "Effort",
    "EndpointRetired",
    "Event",
    "Fallback",
    "FallbackTimeouts",
    "Filters",
    "InvalidRequest",
    "Limiter",
    "Limits",
    "MalformedResponse",
    "MemoryLimiter",
    "Message",
    "MissingExtra",
    "MissingKey",
    "Mode",
    "NotPermitted",
    "NothingFound",
    "OpenRouter",
    "Passage",
    "PerplexityClient",
    "PerplexityError",
    "PerplexityProvider",
    "Prompt",
    "Provider",
    "Query",
    "Question",
    "RateLimitError",
    "Recency",
    "RequestCancelled",
    "RequestKind",
    "Restarted",
    "RetryPolicy",
    "RunFailed",
    "RunStarted",
    "SearchQueries",
    "SearchResults",
    "ServerError",
    "Source",
    "Sources",
    "StreamTruncated",
    "TextDelta",
    "TimedOut",
    "Timeouts",
    "Usage",
    "__version__",
]

_NAMES = {
    "perplexity.errors": (
        "AllProvidersFailed APIError Attempt AuthenticationError BillingError ConnectionFailed EndpointRetired "
        "InvalidRequest MalformedResponse MissingExtra MissingKey NothingFound NotPermitted "
        "PerplexityError RateLimitError RequestCancelled RequestKind RunFailed ServerError StreamTruncated TimedOut"
    ),
    "perplexity.fallback": "BreakerPolicy Fallback",
    "perplexity.filters": "Filters Mode Recency",
    "perplexity.limiter": "Limiter Limits MemoryLimiter",
    "perplexity.models": "Effort FallbackTimeouts Timeouts",
    "perplexity.client": "AskOptions PerplexityClient Prompt",
    "perplexity.providers.base": "Provider",
    "perplexity.providers.brave": "Brave",
    "perplexity.providers.duckduckgo": "DuckDuckGo",
    "perplexity.providers.openrouter": "OpenRouter",
    "perplexity.providers.perplexity": "PerplexityProvider",
    "perplexity.retry": "RetryPolicy",
    "perplexity.types": (
        "API Answer AnswerKind Attachment Context Done Event Message Passage Query Question Restarted RunStarted "
        "SearchQueries SearchResults Source Sources TextDelta Usage"
    ),
}
"""The public names of each module, separated by spaces."""

# Type checkers must not see `__getattr__`, because they would then accept any name as an attribute of this package.
if not TYPE_CHECKING:

    def __getattr__(name):
        """Import the module of a public name, and store all public names of that module for later."""
        for module, names in _NAMES.items():
            if name in names.split():
                from importlib import import_module

                loaded = import_module(module)
                globals().update({each: getattr(loaded, each) for each in names.split()})
                return globals()[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__():
        """Return the public names, including those that were not used yet."""
        return sorted({*globals(), *__all__})
