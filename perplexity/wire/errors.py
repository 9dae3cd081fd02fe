"""Turns the error statuses and the error objects of services into exceptions, without I/O."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

from perplexity.errors import (
    APIError,
    AuthenticationError,
    BillingError,
    EndpointRetired,
    InvalidRequest,
    PerplexityError,
    RateLimitError,
    RunFailed,
    ServerError,
)
from perplexity.retry import retry_after
from perplexity.types import JSON
from perplexity.wire.json import as_objects, as_texts, loads

MAX_MESSAGE_LENGTH = 300

_STATUSES: Mapping[int, type[APIError]] = {
    401: AuthenticationError,
    402: BillingError,
    403: AuthenticationError,
    410: EndpointRetired,
    429: RateLimitError,
}


@dataclass(frozen=True, kw_only=True)
class ErrorMap:
    """Maps one service's errors to exceptions, by error type or, if the type is unknown, by status."""

    types: Mapping[str, type[APIError]] = field(default_factory=dict)
    statuses: Mapping[int, type[APIError]] = field(default_factory=lambda: _STATUSES)


PERPLEXITY_ERRORS = ErrorMap(
    types={
        "insufficient_quota": BillingError,
        "chat_completions_not_available": EndpointRetired,
        "agent_api_migration_required": EndpointRetired,
        "invalid_api_key": AuthenticationError,
        "forbidden": AuthenticationError,
        "authentication_error": AuthenticationError,
        "payment_required": BillingError,
        "request_rate_limit_exceeded": RateLimitError,
        "rate_limit_exceeded": RateLimitError,
        "internal_error": ServerError,
        "server_error": ServerError,
        "service_unavailable": ServerError,
        "bad_gateway": ServerError,
        "gateway_timeout": ServerError,
        "upstream_structured_output_failed": ServerError,
    }
)
"""The errors of Perplexity, which reports insufficient credit as a 401.

https://docs.perplexity.ai/docs/sdk/error-handling

A response may contain OpenAI's error names, since the Agent API has OpenAI's format:
https://platform.openai.com/docs/guides/error-codes/api-errors
"""

_REFUSED = frozenset({400, 413, 422})
_NAME = re.compile(r"[^\s…]{1,80}")
_SECRET = re.compile(r"(?:\bpplx-|\bbearer\s+|\bsk-)[^\s\"',;]+", re.IGNORECASE)


def error_from_status(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    provider: str | None = None,
    error_map: ErrorMap = PERPLEXITY_ERRORS,
    now: float,
) -> PerplexityError:
    """Return the exception for an error status.

    `headers` have lower-case names; `now` is in seconds since 1970. A message of the service is shortened, and anything
    that looks like a key is removed.
    """
    error = {} if _is_page(headers, body) else _error_object(body)
    kind = _error_type(error, error_map)
    request_id = headers.get("x-request-id")
    if _is_refusal(status, kind, has_error=bool(error), error_map=error_map):
        message, named = _refusal(error)
        return InvalidRequest(
            message, field=named, provider=provider, status=status, type=kind or None, request_id=request_id
        )
    wait = retry_after(headers, now=now, limited=status == 429)
    return _error_class(status, kind, has_error=bool(error), error_map=error_map, waits=wait is not None)(
        sanitize_message(error.get("message")) or sanitize_message(error.get("detail")) or f"HTTP status {status}",
        provider=provider,
        status=status,
        type=kind or None,
        request_id=request_id,
        retry_after=wait,
    )


def error_from_object(error: Mapping[str, JSON], *, provider: str, default: str) -> PerplexityError:
    """Return the exception for an `error` object inside a response with a successful status.

    The class depends on the error's type, in upper or lower case; a type that begins with `invalid_` means
    InvalidRequest. If the type is unknown, the class depends on the HTTP status in the object. If there is no status,
    or no class for it, the class is RunFailed. `default` is the message if the object has none.
    """
    error = {str(name).lower(): value for name, value in error.items()}
    kind, status = _error_type(error, PERPLEXITY_ERRORS), status_of(error)
    message = sanitize_message(error.get("message")) or default
    if kind not in PERPLEXITY_ERRORS.types and kind.lower().startswith("invalid_"):
        return InvalidRequest(message, field=sanitize_message(error.get("param")) or None, provider=provider, type=kind)
    named = PERPLEXITY_ERRORS.types.get(kind) or _class_for_status(status, PERPLEXITY_ERRORS)
    return (named or RunFailed)(message, provider=provider, status=status if named else None, type=kind or None)


def status_of(error: Mapping[str, JSON]) -> int | None:
    """Return the HTTP status (400 to 599) in an `error` object, as a number or in digits; None if there is none."""
    for name in ("code", "status", "status_code"):
        value = error.get(name)
        digits = value.strip() if isinstance(value, str) else str(value) if type(value) is int else ""
        if len(digits) == 3 and digits.isascii() and digits.isdigit() and 400 <= int(digits) < 600:
            return int(digits)
    return None


def sanitize_message(message: JSON) -> str:
    """Return a service's message for a log: one line, at most 300 characters, no key; empty if it is not a text."""
    if not isinstance(message, str):
        return ""
    line = _SECRET.sub("…", message[: 2 * MAX_MESSAGE_LENGTH])
    if not line.isprintable():
        line = "".join(c if unicodedata.category(c)[0] != "C" else " " for c in line)
    line = " ".join(line.split())
    return line if len(line) <= MAX_MESSAGE_LENGTH else line[: MAX_MESSAGE_LENGTH - 1] + "…"


def service_name(name: JSON) -> str | None:
    """Return the service's name for a model or an error; None if it is missing.

    Text that does not look like a name is replaced by "(not a name)", since names are logged, and a service may echo
    what it was sent.
    """
    if not (text := sanitize_message(name)):
        return None
    return text if _NAME.fullmatch(text) else "(not a name)"


def _error_object(body: bytes) -> dict[str, JSON]:
    """Return the error object in the body; empty if the body is not a JSON object, and so not from the service."""
    try:
        decoded = loads(body)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(decoded, dict):
        return {}
    listed = decoded.get("errors")
    error = decoded.get("error", listed[0] if isinstance(listed, list) and listed else decoded)
    return error if isinstance(error, dict) else {"message": error}


def _is_page(headers: Mapping[str, str], body: bytes) -> bool:
    """Return whether a proxy in front of the service wrote the body: Cloudflare's pages are HTML."""
    return "html" in headers.get("content-type", "").lower() or body.lstrip()[:1] == b"<"


def _error_type(error: Mapping[str, JSON], error_map: ErrorMap) -> str:
    """Return the error type, spelled as in `error_map`; some services put it into `code` or `status`."""
    known = {_letters(kind): kind for kind in error_map.types}
    names = [
        sanitize_message(error[key])[:80] for key in ("type", "code", "status") if sanitize_message(error.get(key))
    ]
    own = service_name(next(iter(names), None)) or ""
    return next((known[_letters(kind)] for kind in names if _letters(kind) in known), own)


def _letters(kind: str) -> str:
    """Return a name without case and separators, since `insufficient_quota` may be written `InsufficientQuota`."""
    return re.sub(r"[\W_]", "", kind).lower()


def _class_for_status(status: int | None, error_map: ErrorMap) -> type[APIError] | None:
    if status is None:
        return None
    return ServerError if status >= 500 else error_map.statuses.get(status)


def _is_refusal(status: int, kind: str, *, has_error: bool, error_map: ErrorMap) -> bool:
    """Return whether the service refused the request as invalid; a 400 without an error object does not show that."""
    if not has_error or kind in error_map.types:
        return False
    return status in _REFUSED or (status == 404 and kind.startswith("invalid_"))


def _error_class(status: int, kind: str, *, has_error: bool, error_map: ErrorMap, waits: bool) -> type[APIError]:
    if kind in error_map.types and status < 500:
        return error_map.types[kind]
    if status >= 500 or (status == 403 and not has_error):
        return ServerError
    # OpenRouter answers 402 while other requests hold the rest of the credit. Such a lack of credit ends by itself, so
    # it counts as a rate limit.
    return RateLimitError if status == 402 and waits else error_map.statuses.get(status, APIError)


def _refusal(error: Mapping[str, JSON]) -> tuple[str, str | None]:
    """Return the message and the field of a refusal; FastAPI's 422 holds a list of `loc` and `msg`."""
    detail = error.get("detail")
    if details := as_objects(detail):
        message = sanitize_message(details[0].get("msg"))
        named = sanitize_message(".".join(part for part in as_texts(details[0].get("loc")) if part != "body"))
    else:
        message = sanitize_message(error.get("message")) or sanitize_message(detail)
        named = sanitize_message(error.get("param"))
    return message or "the request was refused", named or None
