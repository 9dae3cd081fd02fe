"""Sends requests to a service with retries and deadlines, decodes the replies, and follows background runs.

The modules of `perplexity.wire` interpret the decoded replies. https://docs.perplexity.ai/docs/agent-api/background
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from urllib.parse import quote

from perplexity.errors import APIError, MalformedResponse, PerplexityError, RunFailed, StreamTruncated, TimedOut
from perplexity.limiter import CallKind
from perplexity.retry import Deadline, Retrier, is_retryable, is_safe_to_repeat
from perplexity.scope import BeforeSending
from perplexity.transport import Method, Response, StreamingResponse, Transport
from perplexity.types import JSON, Query, Question
from perplexity.wire.errors import PERPLEXITY_ERRORS, ErrorMap, error_from_status
from perplexity.wire.json import as_text, decode
from perplexity.wire.sse import Decoder, ServerSentEvent

_END = "[DONE]"

_COUNT = re.compile(r"\d{1,7}", re.ASCII)

OnLimit = Callable[[CallKind, int, int | None], Awaitable[None]]
"""A function that is awaited when a reply names a limit of the key.

Its arguments are the kind of call, the number of such calls that the key may make per minute, and the number made so
far (None if the reply does not tell).
"""


@dataclass(frozen=True, kw_only=True)
class ApiClient:
    """Sends requests to one service through `transport`.

    `error_map` maps the service's errors to exceptions. `now` returns seconds since 1970. `on_limit` is awaited as soon
    as the headers of a reply name the key's limit.
    """

    transport: Transport
    retries: Retrier
    now: Callable[[], float]
    error_map: ErrorMap = PERPLEXITY_ERRORS
    on_limit: OnLimit | None = None

    async def request(
        self,
        method: Method,
        path: str,
        body: JSON = None,
        *,
        deadline: Deadline,
        retryable: Callable[[PerplexityError], bool] | None = None,
        asked: Query | Question | None = None,
    ) -> dict[str, JSON]:
        """Send a request and return the decoded JSON object of the reply. Raises any PerplexityError.

        `retryable` is as for `Retrier.run`. `asked` is the query or the question that the request is for: its `retries`
        count the retries, its `before_retry` is awaited before each retry, and its `before_sending` before each
        sending.
        """

        async def attempt() -> dict[str, JSON]:
            response = await self.transport.request(
                method, path, body, before_sending=asked.before_sending if asked else None
            )
            await self._note_limit(body, response.headers)
            return decode(self._raise_for_status(response).body)

        return await self.retries.run(
            attempt,
            deadline=deadline,
            retryable=retryable,
            retries=asked.retries if asked else None,
            before_retry=asked.before_retry if asked else None,
        )

    async def stream(
        self, path: str, body: JSON, *, deadline: Deadline, before_sending: BeforeSending | None = None
    ) -> AsyncGenerator[dict[str, JSON], None]:
        """Send a request once and yield the decoded events as they arrive.

        The deadline limits the time spent waiting for the service, not the caller's own time. Raises any
        PerplexityError. The caller checks whether the last event was the terminal one.
        """
        async with AsyncExitStack() as stack:
            opening = self.transport.open("POST", path, body, accept="text/event-stream", before_sending=before_sending)
            opened = await deadline.run(stack.enter_async_context(opening))
            await self._note_limit(body, opened.headers)
            if opened.status >= 300 or _is_whole(opened):
                response = await deadline.run(self.transport.read(opened))
                yield _as_event(decode(self._raise_for_status(response).body))
                return
            decoder = Decoder()
            while (chunk := await deadline.run(anext(opened.chunks, None))) is not None:
                for event in decoder.feed(chunk):
                    if event.data == _END:
                        return
                    if (decoded := _object(event, last=False)) is not None:
                        yield decoded
            for event in decoder.finish():
                if (decoded := _object(event, last=True)) is not None:
                    yield decoded

    async def _note_limit(self, body: JSON, headers: Mapping[str, str]) -> None:
        """Pass to `on_limit` the limit that a reply names for its kind of request.

        Replies to requests without a body, such as requests for a run's state, are ignored.
        """
        limit = headers.get("x-ratelimit-limit", "")
        if self.on_limit is None or not isinstance(body, dict) or not re.fullmatch(r"[1-9]\d{0,6}", limit, re.ASCII):
            return
        kind: CallKind = "search" if "query" in body else "background" if body.get("background") else "answer"
        used, left = (headers.get(f"x-ratelimit-{name}", "") for name in ("used", "remaining"))
        made = int(used) if _COUNT.fullmatch(used) else int(limit) - int(left) if _COUNT.fullmatch(left) else None
        await self.on_limit(kind, int(limit), made)

    def _raise_for_status(self, response: Response) -> Response:
        if not 200 <= response.status < 300:
            raise error_from_status(
                response.status, response.headers, response.body, error_map=self.error_map, now=self.now()
            )
        return response


def _is_whole(opened: StreamingResponse) -> bool:
    """Return whether the reply is one JSON body, or a proxy's HTML page, instead of the requested stream."""
    return any(kind in opened.headers.get("content-type", "").lower() for kind in ("json", "html"))


def _as_event(body: dict[str, JSON]) -> dict[str, JSON]:
    """Return a whole response's body as the event that ends a stream; an error without `output` stays as it is."""
    is_error = body.get("error") and "output" not in body
    return body if is_error else {"type": "response.completed", "response": body}


def _object(event: ServerSentEvent, *, last: bool) -> dict[str, JSON] | None:
    """Return an event's JSON object; None if the event has none, such as a heartbeat.

    An object without a `type` gets the event's name as its `type`. `last` is True if the connection was closed after
    this event. If the data begins like an object but is not JSON, raises StreamTruncated if `last` is True, and
    otherwise MalformedResponse.
    """
    # An event without an object is no error, because the stream has been paid for.
    if not event.data.lstrip().startswith("{"):
        return None
    try:
        decoded = decode(event.data)
    except MalformedResponse:
        # If the connection was closed after this event, it may have been closed within the event.
        raise (StreamTruncated if last else MalformedResponse)("an event of the stream is not JSON") from None
    return decoded if "type" in decoded or not event.event else {**decoded, "type": event.event}


_MAX_PAUSE_SECONDS = 5.0
_LAST_POLL_SECONDS = 2.0
"""The seconds before a run's deadline that are kept for one last request for the run's state."""
_RUNNING = frozenset({"queued", "in_progress"})


@dataclass(frozen=True, kw_only=True)
class Runs:
    """Starts, follows and cancels the background runs under one path of the service.

    A request for a run's state may take at most `poll_seconds`, so that a request that hangs does not use up the run's
    time.
    """

    api: ApiClient
    path: str
    sleep: Callable[[float], Awaitable[None]]
    poll_seconds: float = 15.0

    async def create(self, body: JSON, *, deadline: Deadline, asked: Question | None = None) -> dict[str, JSON]:
        """Start a run and return its state, with its `id`.

        A run is paid for, so the request is repeated only if the first one surely had no effect. Raises any
        PerplexityError.
        """
        state = await self.api.request(
            "POST", self.path, body, deadline=deadline, retryable=is_safe_to_repeat, asked=asked
        )
        if not isinstance(state.get("id"), str) or not state["id"]:
            raise MalformedResponse("the run has no id")
        return state

    async def states(
        self, run_id: str, *, state: dict[str, JSON] | None = None, deadline: Deadline
    ) -> AsyncGenerator[dict[str, JSON], None]:
        """Yield the states of a run, asking the service again until the run has ended; `state` is the last known state.

        While the service is unavailable, hangs or sends unreadable replies, it is asked again. Raises RunFailed for a
        run that the service does not know, TimedOut if the run does not end in time, and other errors that are not
        worth a retry. An error that is worth a retry is raised only if no time is left for another request after the
        wait that the service asks for.
        """
        polls = 0
        if state is not None:
            yield state
        while state is None or as_text(state.get("status")).lower() in _RUNNING:
            if polls or state is not None:
                await self._sleep_within(min(polls + 1.0, _MAX_PAUSE_SECONDS), deadline=deadline)
            polls += 1
            state = await self._poll(run_id, before=state, deadline=deadline)
            if state is not None:
                yield state

    async def _poll(self, run_id: str, *, before: dict[str, JSON] | None, deadline: Deadline) -> dict[str, JSON] | None:
        poll = Deadline(at=min(deadline.at, deadline.clock() + self.poll_seconds), clock=deadline.clock)
        try:
            return await self.api.request("GET", self._run_path(run_id), deadline=poll)
        except (TimedOut, MalformedResponse):
            return before
        except PerplexityError as error:
            if isinstance(error, APIError) and error.status == 404:
                raise RunFailed("the service does not know the run", status=404, type=error.type) from None
            if not is_retryable(error):
                raise
            requested = error.retry_after or 0.0
            if requested > deadline.remaining() - _LAST_POLL_SECONDS:
                raise
            await self._sleep_within(requested, deadline=deadline)
            return before

    async def cancel(self, run_id: str, *, deadline: Deadline) -> None:
        """Ask the service to stop a run; a run that has already ended is no error. Raises any other PerplexityError."""
        try:
            await self.api.request("POST", f"{self._run_path(run_id)}/cancel", deadline=deadline)
        except PerplexityError as error:
            if error.status != 400:
                raise

    async def _sleep_within(self, seconds: float, *, deadline: Deadline) -> None:
        left = deadline.remaining() - _LAST_POLL_SECONDS
        if left <= 0:
            raise TimedOut("the run was not finished in time")
        await self.sleep(min(seconds, left))

    def _run_path(self, run_id: str) -> str:
        return f"{self.path}/{quote(run_id, safe='')}"
