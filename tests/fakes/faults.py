"""How each service says that something is wrong: the same faults, each in its own words."""

from __future__ import annotations

from collections.abc import Mapping

from tests.fakes import brave, openrouter
from tests.fakes.perplexity import fixture
from tests.fakes.service import Fault, json_reply, sse, stream_reply

_PAGE = b"<!DOCTYPE html><html><body><h1>Something else</h1></body></html>"

_OF_ANYBODY = {
    "reset mid-body": Fault(chunks=(b'{"id": "half of',), reset=True),
    "hang": Fault(hang=True),
    "slow drip": Fault(chunks=(b" ",) * 400, pause=0.05),
    "502 HTML": Fault(status=502, content_type="text/html", chunks=(_PAGE,)),
    "200 HTML": Fault(content_type="text/html", chunks=(_PAGE,)),
    "200 empty": Fault(),
    "200 truncated": Fault(chunks=(b'{"id": "half of',)),
}


def _told(status: int, kind: str, **options: str) -> Fault:
    """Answer with an error as Perplexity writes it; `options` are headers, with _ for -."""
    headers = {name.replace("_", "-"): value for name, value in options.items()}
    return json_reply({"error": {"message": "No.", "type": kind, "code": status}}, status=status, headers=headers)


_AGENT = fixture("agent.stream.completed.sse")
_BEFORE_TEXT = _AGENT[: _AGENT.rindex(b"\n\n", 0, _AGENT.index(b"response.output_text.delta")) + 2]
_IT = {"type": "response.output_text.delta", "delta": "It is"}

PERPLEXITY: Mapping[str, Fault] = {
    **_OF_ANYBODY,
    "400": _told(400, "invalid_parameter"),
    "401 key": _told(401, "invalid_api_key"),
    "401 quota": _told(401, "insufficient_quota"),
    "402": _told(402, "payment_required"),
    "403 retired": _told(403, "chat_completions_not_available"),
    "404": _told(404, "not_found"),
    **{str(status): _told(status, kind) for status, kind in [(408, "timeout"), (409, "conflict"), (529, "overloaded")]},
    "413": _told(413, "payload_too_large"),
    "503": _told(503, "service_unavailable"),
    "504": _told(504, "gateway_timeout"),
    "422": json_reply({"detail": [{"loc": ["body", "query"], "msg": "too long", "type": "value_error"}]}, status=422),
    "429 short": _told(429, "request_rate_limit_exceeded", Retry_After="0.05"),
    "429 long": _told(429, "request_rate_limit_exceeded", Retry_After="300"),
    "500": _told(500, "internal_error"),
    "200 with an error inside": json_reply({"id": "r", "status": "failed", "output": [], "error": {"message": "No."}}),
    "stream cut": stream_reply(_BEFORE_TEXT),
    "stream cut in the text": stream_reply(_BEFORE_TEXT + sse(_IT)),
}

OPENROUTER: Mapping[str, Fault] = {
    **_OF_ANYBODY,
    "400": json_reply(openrouter.error(400), status=400),
    "401 key": json_reply(openrouter.error(401), status=401),
    "402": json_reply(openrouter.error(402), status=402),
    "403 retired": json_reply(openrouter.error(400, "perplexity/sonar is not a valid model ID"), status=400),
    "404": json_reply(openrouter.error(404, "No endpoints found for perplexity/sonar."), status=404),
    **{str(code): json_reply(openrouter.error(code), status=code) for code in (408, 409, 413, 503, 504, 529)},
    "422": json_reply(openrouter.error(422), status=422),
    "429 short": json_reply(openrouter.error(429), status=429, headers={"Retry-After": "0.05"}),
    "429 long": json_reply(openrouter.error(429), status=429, headers={"Retry-After": "300"}),
    "500": json_reply(openrouter.error(500), status=500),
    "200 with an error inside": json_reply(openrouter.error(502)),
    "stream cut": stream_reply(openrouter.COMMENT + sse(openrouter.chunk())),
    "stream cut in the text": stream_reply(openrouter.COMMENT + sse(openrouter.chunk("It is"))),
}

BRAVE: Mapping[str, Fault] = {
    **_OF_ANYBODY,
    "400": json_reply(brave.error(400, "BAD_REQUEST"), status=400),
    "401 key": json_reply(brave.error(422, "SUBSCRIPTION_TOKEN_INVALID"), status=422),
    "401 quota": json_reply(brave.error(429, "QUOTA_LIMITED"), status=429, headers={"X-RateLimit-Reset": "1, 1419704"}),
    "403 retired": json_reply(brave.error(403, "RESOURCE_NOT_ALLOWED"), status=403),
    "404": json_reply(brave.error(404, "NOT_FOUND"), status=404),
    **{
        str(status): json_reply(brave.error(status, "OTHER"), status=status)
        for status in (408, 409, 413, 503, 504, 529)
    },
    "422": json_reply(brave.error(422, "VALIDATION"), status=422),
    "429 short": json_reply(
        brave.error(429, "RATE_LIMITED"), status=429, headers={"X-RateLimit-Reset": "0.05, 1419704"}
    ),
    "429 long": json_reply(brave.error(429, "RATE_LIMITED"), status=429, headers={"X-RateLimit-Reset": "300, 1419704"}),
    "500": json_reply(brave.error(500, "INTERNAL"), status=500),
    "200 with an error inside": json_reply(brave.error(500, "INTERNAL")),
}

DUCKDUCKGO: Mapping[str, Fault] = {
    **_OF_ANYBODY,
    **{
        f"{status}{more}": Fault(status=status, content_type="text/html", chunks=(_PAGE,))
        for status, more in [(400, ""), (403, " retired"), (404, ""), (422, ""), (500, "")]
    },
    # Its limit is a 202 with a page in place of results.
    "429 short": Fault(status=202, content_type="text/html", chunks=(_PAGE,)),
    "429 long": Fault(status=202, content_type="text/html", chunks=(_PAGE,)),
    # A captcha.
    "200 with an error inside": Fault(
        content_type="text/html", chunks=(b'<html><body><div class="anomaly-modal">Robot?</div></body></html>',)
    ),
}
