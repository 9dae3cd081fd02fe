"""Web search and sourced answers for any program: the library of web-answers-for-slack, which works without Slack.

The names below are imported when they are first used (https://peps.python.org/pep-0562/): importing the package alone
imports only its version, not even `typing`. The tools for agents are in `perplexity.tools`, the agent is in
`perplexity.agent`.
"""

from perplexity.version import __version__ as __version__

TYPE_CHECKING = False
"""Type checkers treat a variable of this name as True, so it need not be imported from `typing`."""

if TYPE_CHECKING:
    from perplexity.client import AskOptions as AskOptions
    from perplexity.client import PerplexityClient as PerplexityClient
    from perplexity.client import Prompt as Prompt
    from perplexity.errors import AllProvidersFailed as AllProvidersFailed
    from perplexity.errors import APIError as APIError
    from perplexity.errors import Attempt as Attempt
    from perplexity.errors import AuthenticationError as AuthenticationError
    from perplexity.errors import BillingError as BillingError
    from perplexity.errors import ConnectionFailed as ConnectionFailed
    from perplexity.errors import EndpointRetired as EndpointRetired
    from perplexity.errors import InvalidRequest as InvalidRequest
    from perplexity.errors import MalformedResponse as MalformedResponse
    from perplexity.errors import MissingExtra as MissingExtra
    from perplexity.errors import MissingKey as MissingKey
    from perplexity.errors import NothingFound as NothingFound
    from perplexity.errors import NotPermitted as NotPermitted
    from perplexity.errors import PerplexityError as PerplexityError
    from perplexity.errors import RateLimitError as RateLimitError
    from perplexity.errors import RequestCancelled as RequestCancelled
    from perplexity.errors import RequestKind as RequestKind
    from perplexity.errors import RunFailed as RunFailed
    from perplexity.errors import ServerError as ServerError
    from perplexity.errors import StreamTruncated as StreamTruncated
    from perplexity.errors import TimedOut as TimedOut
    from perplexity.fallback import BreakerPolicy as BreakerPolicy
    from perplexity.fallback import Fallback as Fallback
    from perplexity.filters import Filters as Filters
    from perplexity.filters import Mode as Mode
    from perplexity.filters import Recency as Recency
    from perplexity.limiter import Limiter as Limiter
    from perplexity.limiter import Limits as Limits
    from perplexity.limiter import MemoryLimiter as MemoryLimiter
    from perplexity.models import Effort as Effort
    from perplexity.models import FallbackTimeouts as FallbackTimeouts
    from perplexity.models import Timeouts as Timeouts
    from perplexity.providers.base import Provider as Provider
    from perplexity.providers.brave import Brave as Brave
    from perplexity.providers.duckduckgo import DuckDuckGo as DuckDuckGo
    from perplexity.providers.openrouter import OpenRouter as OpenRouter
    from perplexity.providers.perplexity import PerplexityProvider as PerplexityProvider
    from perplexity.retry import RetryPolicy as RetryPolicy
    from perplexity.types import API as API
    from perplexity.types import Answer as Answer
    from perplexity.types import AnswerKind as AnswerKind
    from perplexity.types import Attachment as Attachment
    from perplexity.types import Context as Context
    from perplexity.types import Done as Done
    from perplexity.types import Event as Event
    from perplexity.types import Message as Message
    from perplexity.types import Passage as Passage
    from perplexity.types import Query as Query
    from perplexity.types import Question as Question
    from perplexity.types import Restarted as Restarted
    from perplexity.types import RunStarted as RunStarted
    from perplexity.types import SearchQueries as SearchQueries
    from perplexity.types import SearchResults as SearchResults
    from perplexity.types import Source as Source
    from perplexity.types import Sources as Sources
    from perplexity.types import TextDelta as TextDelta
    from perplexity.types import Usage as Usage

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

__all__ = sorted(" ".join(["__version__", *_NAMES.values()]).split())  # noqa: PLE0605  # it is a list of strings

# Type checkers must not see `__getattr__`, because they would then accept any name as an attribute of this package.
if not TYPE_CHECKING:

    def __getattr__(name):
        """Import the module of a public name, store all public names of the module here, and return the named one."""
        for module, names in _NAMES.items():
            if name in names.split():
                from importlib import import_module

                loaded = import_module(module)
                globals().update({each: getattr(loaded, each) for each in names.split()})
                return globals()[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__():
        """Return the names in this module, including public names that were not used yet."""
        return sorted({*globals(), *__all__})
