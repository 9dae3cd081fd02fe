"""One call to the service: request, retries, deadline and a decoded answer. What it means, the wires know."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from perplexity.errors import MalformedResponse, PerplexityError, StreamTruncated
from perplexity.retry import Deadline, Retrier
from perplexity.transport import Method, OpenReply, Reply, Transport
from perplexity.types import JSON
from perplexity.wire.errors import PERPLEXITY_ERRORS, ErrorMap, error_from_status
from perplexity.wire.json import decode
from perplexity.wire.sse import Decoder, ServerSentEvent

_END = "[DONE]"


@dataclass(frozen=True, kw_only=True)
class Calls:
    """A service, reached through a transport; `dialect` is how it names errors. `now` gives seconds since 1970."""

    transport: Transport
    retries: Retrier
    now: Callable[[], float]
    dialect: ErrorMap = PERPLEXITY_ERRORS

    async def json(
        self,
        method: Method,
        path: str,
        body: JSON = None,
        *,
        deadline: Deadline,
        again: Callable[[PerplexityError], bool] | None = None,
        persist: bool = False,
    ) -> dict[str, JSON]:
        """Return the decoded object. Raises any PerplexityError; `again` and `persist` are as for `Retrier.run`."""

        async def attempt() -> dict[str, JSON]:
            return decode(self._checked(await self.transport.request(method, path, body)).body)

        return await self.retries.run(attempt, deadline=deadline, retryable=again, persist=persist)

    async def events(
        self, path: str, body: JSON, *, deadline: Deadline
    ) -> AsyncGenerator[Iterator[dict[str, JSON]], None]:
        """Yield the events of one attempt, chunk by chunk as they arrive; each is decoded when it is taken.

        The deadline strikes while waiting, never in the receiver's code. Raises any PerplexityError. Whether the last
        event was the terminal one is for the wire to say.
        """
        async with AsyncExitStack() as stack:
            opening = self.transport.open("POST", path, body, accept="text/event-stream")
            opened = await deadline.run(stack.enter_async_context(opening))
            if opened.status >= 300 or _is_whole(opened):
                yield iter([_as_event(decode(self._checked(await deadline.run(self.transport.whole(opened))).body))])
                return
            decoder = Decoder()
            while (chunk := await deadline.run(anext(opened.chunks, None))) is not None:
                events = decoder.feed(chunk)
                yield _objects(events)
                if _END in [event.data for event in events]:
                    return
            yield _objects(decoder.finish(), last=True)

    def _checked(self, reply: Reply) -> Reply:
        if not 200 <= reply.status < 300:
            raise error_from_status(reply.status, reply.headers, reply.body, error_map=self.dialect, now=self.now())
        return reply


def _is_whole(opened: OpenReply) -> bool:
    """Return whether an answer came in one piece although a stream was asked for; or a proxy's page."""
    return any(kind in opened.headers.get("content-type", "").lower() for kind in ("json", "html"))


def _as_event(body: dict[str, JSON]) -> dict[str, JSON]:
    """Return a whole response as the event that ends a stream; a bare error is one already."""
    is_error = body.get("error") and "output" not in body
    return body if is_error else {"type": "response.completed", "response": body}


def _objects(events: Sequence[ServerSentEvent], *, last: bool = False) -> Iterator[dict[str, JSON]]:
    """Yield the objects of events until the end is said; `last` are those of a connection that was closed."""
    for event in events:
        if event.data == _END:
            return
        if (decoded := _object(event, last=last)) is not None:
            yield decoded


def _object(event: ServerSentEvent, *, last: bool) -> dict[str, JSON] | None:
    """Return an event's object, its `type` taken from the event's name if it lacks one.

    None for what is no object, such as a heartbeat: a stream that is paid for does not end for it.
    """
    data = event.data
    if not data.startswith("{") and not data.lstrip().startswith("{"):
        return None
    try:
        decoded = decode(data)
    except MalformedResponse:
        # What the end of the connection cut off is no fault in what was sent.
        raise (StreamTruncated if last else MalformedResponse)("an event of the stream is not JSON") from None
    return decoded if "type" in decoded or not event.event else {**decoded, "type": event.event}
