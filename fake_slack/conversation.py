"""A person's conversation with the app: sends lines and clicks to the app, and shows the app's responses."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from fake_slack import payloads, response_urls, web_api
from fake_slack.request_parsing import BadInput, Block, blocks_of, text_of, ts_of
from fake_slack.response_urls import ResponseUrlToken
from fake_slack.sender import AckError, Sender
from fake_slack.timeline import Author, SlackMessage, Timeline
from fake_slack.workspace import BOT_USER_ID, USER_ID, YOU, Channel

MAX_LINES = 200
"""The most command lines that are kept; a line is shown when the app answers its command publicly."""

_LINK = re.compile(r"https?://\S")


@dataclass(kw_only=True)
class Conversation:
    """Sends lines and clicks to the app, and puts the app's messages into the timeline.

    `events` are the events to which the app has subscribed.
    """

    timeline: Timeline
    sender: Sender
    app_name: str
    commands: Sequence[str]
    response_base: str
    secret: str = field(repr=False)
    clock: Callable[[], float]
    events: Collection[str] = ("app_mention", "message.im")
    _lines: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._mentioned = re.compile(rf"(?<!\w)@{re.escape(self.app_name)}(?!\w)", re.IGNORECASE)
        self._uses = response_urls.UseCounter(clock=self.clock)

    async def post(self, line: str, *, channel: Channel, thread_ts: str | None = None) -> None:
        """Post the line that a person typed; a command, a mention or a direct message also goes to the app."""
        name, _, text = line.strip().partition(" ")
        if not name.startswith("/"):
            await self._compose(line.strip(), channel=channel, thread_ts=thread_ts)
        elif name not in self.commands:
            self._post_ephemeral(
                channel, f"`{_inline_code(name)}` is not a valid command. Try {_either(self.commands)}.", thread_ts
            )
        elif thread_ts is not None:
            self._post_ephemeral(
                channel, f"`{name}` is not supported in threads. Mention `@{self.app_name}` here instead.", thread_ts
            )
        else:
            await self.command(name, text.strip(), channel=channel)

    async def click(self, message: SlackMessage, action: Mapping[str, Any], *, channel: Channel) -> None:
        """Send a click to the app; `action` is the element with the chosen value, as Slack reports it."""
        ticket = self._issue_token(channel, original=message.ts, private=message.private)
        payload = payloads.message_actions(
            YOU,
            [action],
            message=message.as_slack(),
            private=message.private,
            channel=channel.as_payload(),
            trigger_id=ticket.trigger,
            response_url=self._response_url(ticket),
        )
        try:
            await self.sender.send_interaction(payload)
        except AckError as error:
            self._post_ephemeral(channel, f"This button failed with the error “{error}”")

    def issue_response_url(self, channel: Channel, trigger_id: str) -> str:
        """Return a response_url for new messages in a channel; message shortcuts and submitted modals contain one."""
        return self._response_url(self._issue_token(channel, trigger=trigger_id))

    async def stop(self, channel: Channel, *, thread_ts: str) -> None:
        """Press Slack's own stop button in a thread: end the thread's streams, and inform the app."""
        event = payloads.session_stopped(
            channel=channel.id,
            thread_ts=thread_ts,
            user=USER_ID,
            streams=self.timeline.press_stop(channel.id, thread_ts),
            event_ts=self.timeline.next_ts(),
        )
        self.timeline.around.set_status(channel.id, thread_ts, "")
        try:
            await self._report(event)
        except AckError as error:
            self._post_ephemeral(channel, f"{self.app_name} did not take the stop: “{error}”", thread_ts)

    async def respond(self, token: str, payload: Mapping[str, Any]) -> None:
        """Show a message that was posted to a response_url, or delete the original message if `payload` requests that.

        Raises `ClosedError`, with Slack's error name, if the address is closed, BadInput if `payload` is not a message,
        and `SlackError` if the message exceeds one of Slack's limits.
        """
        ticket = response_urls.decode(token, secret=self.secret)
        text, blocks, _ = read_message(payload)
        self._uses.spend(ticket)
        if payload.get("delete_original"):
            self.timeline.remove(ticket.channel, ticket.original)
            return
        await web_api.check({"text": text, "blocks": blocks})
        self._show(ticket, payload)

    async def _compose(self, line: str, *, channel: Channel, thread_ts: str | None) -> None:
        if not channel.is_im and not self._mentioned.search(line):
            start = f" or start with {_either(self.commands)}" if thread_ts is None else " here"
            how = f"To ask something, mention `@{self.app_name}`{start}."
            await self.say(line, channel=channel, thread_ts=thread_ts)
            self._post_ephemeral(channel, how, thread_ts)
            return
        try:
            await self.say(line, channel=channel, thread_ts=thread_ts)
        except AckError as error:
            self._post_ephemeral(channel, f"{self.app_name} did not take this message: “{error}”", thread_ts)

    async def say(self, line: str, *, channel: Channel, thread_ts: str | None = None) -> None:
        """Post a message, and report it to the app in the events to which the app has subscribed. Raises `AckError`.

        The preview of a link in the message is reported as an edit, which leaves the text as it was.
        """
        text = _escape(line)
        shown = self._mentioned.sub(f"<@{BOT_USER_ID}|{self.app_name}>", text)
        message = _message(channel.id, self.timeline.next_ts(), Author.YOU, shown)
        message = self.timeline.put(replace(message, thread_ts=thread_ts))
        self.timeline.around.suggest(channel.id, ())
        reported = self._mentioned.sub(f"<@{BOT_USER_ID}>", text)
        event_of = partial(
            payloads.message_event, YOU, reported, channel=channel.id, ts=message.ts, thread_ts=thread_ts
        )
        if shown != text and not channel.is_im and "app_mention" in self.events:
            await self._report(event_of())
        if channel.is_member and ("message.im" if channel.is_im else "message.channels") in self.events:
            event = event_of(channel_type="im" if channel.is_im else "channel")
            await self._report(event)
            if _LINK.search(text):
                await self._report(payloads.link_preview(event, event_ts=self.timeline.next_ts()))

    async def _report(self, event: Mapping[str, Any]) -> None:
        await self.sender.send_event(payloads.event_envelope(YOU, event, at=self.timeline.now()))

    async def command(self, name: str, text: str, *, channel: Channel) -> None:
        """Send a slash command to the app, and show the app's answer or an error message."""
        ticket = self._issue_token(channel)
        self._remember(ticket, _escape(f"{name} {text}".strip()))
        form = payloads.slash_command(
            YOU,
            name,
            text,
            channel=channel.as_payload(),
            trigger_id=ticket.trigger,
            response_url=self._response_url(ticket),
        )
        try:
            self._show_ack(ticket, await self.sender.send_form(form))
        except AckError as error:
            self._post_ephemeral(channel, f"{name} failed with the error “{error}”")
        except BadInput:
            self._post_ephemeral(channel, f"{name} failed with the error “invalid_payload”")

    def _show_ack(self, ticket: ResponseUrlToken, answer: Mapping[str, Any]) -> None:
        """Show the message in the acknowledgement, unless an answer to the response_url has already taken its place."""
        says_something = bool(answer.get("text") or answer.get("blocks"))
        if says_something and self.timeline.find(ticket.channel, ticket.original) is None:
            self._show(ticket, {**answer, "replace_original": True})

    def _show(self, ticket: ResponseUrlToken, payload: Mapping[str, Any]) -> None:
        """Show the app's answer; it replaces the original message only if both are private or both are public."""
        private = payload.get("response_type") != "in_channel" and (ticket.private or _is_new(payload))
        replaces = bool(payload.get("replace_original")) and private == ticket.private
        line = self._lines.pop(ticket.trigger, None) if not private else None
        if line is not None:
            self.timeline.put(_message(ticket.channel, self.timeline.next_ts(), Author.YOU, line))
        ts = ticket.original if replaces else self.timeline.next_ts()
        text, blocks, thread_ts = read_message(payload)
        message = _message(ticket.channel, ts, Author.APP, text)
        self.timeline.put(replace(message, blocks=blocks, private=private, thread_ts=thread_ts))

    def _issue_token(
        self, channel: Channel, *, trigger: str = "", original: str = "", private: bool = True
    ) -> ResponseUrlToken:
        return ResponseUrlToken(
            channel=channel.id,
            original=original or self.timeline.next_ts(),
            trigger=trigger or self.timeline.views.issue_trigger(USER_ID, channel=channel.id),
            issued=self.clock(),
            private=private,
        )

    def _response_url(self, ticket: ResponseUrlToken) -> str:
        return self.response_base + response_urls.encode(ticket, secret=self.secret)

    def _remember(self, ticket: ResponseUrlToken, line: str) -> None:
        self._lines[ticket.trigger] = line
        if len(self._lines) > MAX_LINES:
            del self._lines[next(iter(self._lines))]

    def _post_ephemeral(self, channel: Channel, text: str, thread_ts: str | None = None) -> None:
        message = _message(channel.id, self.timeline.next_ts(), Author.SLACKBOT, text)
        self.timeline.put(replace(message, private=True, thread_ts=thread_ts))


def read_message(payload: Mapping[str, Any]) -> tuple[str, tuple[Block, ...], str | None]:
    """Return the text, the blocks and the thread of a message. Raises BadInput."""
    return text_of(payload, "text"), blocks_of(payload.get("blocks")), ts_of(payload, "thread_ts")


def _is_new(payload: Mapping[str, Any]) -> bool:
    """Return whether an answer is a new message; such an answer is private unless its payload says otherwise."""
    return not payload.get("replace_original")


def _message(channel: str, ts: str, author: Author, text: str) -> SlackMessage:
    return SlackMessage(channel=channel, ts=ts, author=author, text=text)


def _either(names: Sequence[str]) -> str:
    return " or ".join(f"`{name}`" for name in names)


def _escape(text: str) -> str:
    """Escape a person's text, as Slack does before showing it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _inline_code(text: str) -> str:
    """Escape text so that it cannot end the code span that contains it."""
    return _escape(text).replace("`", "'")
