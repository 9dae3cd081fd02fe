"""Finds mistakes of an app that Slack's replies do not report; each mistake is described in one sentence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from fake_slack.limits import walk
from fake_slack.timeline import Author, SlackMessage, Timeline
from fake_slack.workspace import USER_ID

_ALERT = re.compile(r"<(?:!(?:channel|here|everyone)|@[UW][A-Z0-9]+)(?:\|[^>]*)?>")
_FORMATTED = {"markdown", "mrkdwn"}


def left_open(timeline: Timeline) -> Iterator[str]:
    """Yield a mistake for each unstopped stream, failed submission of a modal, and thread in which the app seems busy.

    https://docs.slack.dev/ai/agent-sessions
    """
    timeline.expire_streams()
    for message in _of_app(timeline):
        if message.stream is not None and message.stream.ending is None:
            yield f"the stream {message.ts} was never stopped"
    for view in timeline.views.stack(USER_ID):
        if view.failure:
            yield f"the submission of the modal {view.id} was not answered as Slack accepts"
    yield from (f"the thread {ts} still shows that the app is working" for ts in timeline.around.unended())


def alerts(timeline: Timeline, *, typed: str) -> Iterator[str]:
    """Yield a mistake for each message that alerts a whole channel, or a person whose mention a user typed as text.

    `typed` is the text that the user typed.

    https://docs.slack.dev/messaging/formatting-message-text#escaping
    """
    for message in _of_app(timeline):
        if message.private:
            continue
        parts = (part for part, _ in walk(list(message.blocks)) if isinstance(part, dict))
        shown = [str(part.get("text")) for part in parts if part.get("type") in _FORMATTED] or [message.text]
        for token in _ALERT.findall(" ".join(shown)):
            if token.startswith("<!") or token in typed:
                yield f"the message {message.ts} alerts {token}: escape text from outside"


def posted_twice(timeline: Timeline, *, since: float) -> Iterator[str]:
    """Yield a mistake for each text that the app has posted more than once after `since`, in seconds since 1970.

    An app must expect that Slack reports a message more than once: after a missing acknowledgement, as a mention and as
    a channel's message, and as an edit that adds a link's preview. https://docs.slack.dev/apis/events-api#retries
    """
    shown = Counter((m.channel, m.thread_ts, m.text) for m in _of_app(timeline) if float(m.ts) > since)
    yield from (
        f"{text!r} was posted again for a message that was reported again" for (_, _, text), n in shown.items() if n > 1
    )


def _of_app(timeline: Timeline) -> list[SlackMessage]:
    return [message for message in timeline.messages() if message.author is Author.APP]
