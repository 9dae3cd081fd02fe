"""Checks that need the real services: Slack, in one thread, and the providers.

The thread is deleted at the end, unless it is to be kept. docs/assumptions.md gives the purpose of each check.
`blocks.validate`, which takes no token, is not counted as a call.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from slack_sdk.errors import SlackApiError

from bot.blocks.elements import context, primary_button, section
from bot.budgets import CEILINGS, FAST, format_amount
from bot.chain import micros
from bot.doctor.checks import Finding, Severity, failure, finding_lines, ok, skipped
from bot.doctor.slack import api_error_name
from bot.listeners.actions import LIVE_PRESS
from bot.model.message import OutgoingMessage
from bot.services import provider_config
from bot.settings import Settings
from bot.slack.connection import SlackConnection, WorkspaceClient, open_session, web_client
from bot.slack.messages import FAILURES, Chat, Found, LookupForbidden, LookupResult, PostResult, Retryable, Sent
from bot.slack.streams import StreamEnded, StreamResult, Streams, Unsupported
from bot.slack.threads import Page, ThreadReader
from bot.streaming.live import ROLL_OVER_SECONDS
from perplexity.errors import PerplexityError, RequestCancelled, RunFailed, StreamTruncated
from perplexity.providers import open_providers
from perplexity.providers.base import Provider
from perplexity.providers.perplexity import PerplexityProvider
from perplexity.retry import RetryPolicy
from perplexity.scope import RequestLog, SentRequest, logged_requests
from perplexity.types import Done, Message, Query, Question, RunStarted, TextDelta

MAX_SLACK_CALLS, MAX_CHECKING_CALLS = 40, 27
"""The most calls to Slack in a whole run, and the most before its end, when the posts are deleted."""

MAX_PROVIDER_CALLS = 8

WAIT_SECONDS, LOOKS = 60, 3
"""The seconds that a person has to press a button, or to stop an answer, and how often the run checks in this time."""

MARK, KEPT = "doctor-live", "doctor-live-kept"
"""The name in the metadata of a run's messages: `MARK`, or `KEPT` if the run's thread is to be kept.

A run deletes every thread whose first message has the name `MARK`.
"""

REMEMBERED = timedelta(days=30)
"""How far back a run looks for threads that it has to delete."""

_CEILING = CEILINGS[FAST]
_GONE = "message_not_found"
_QUERY = Query(text="PostgreSQL release notes")
_QUESTION = Question(messages=(Message(role="user", content="What changed in PostgreSQL?"),), model=FAST)


class _NotTried(Exception):
    """A requirement of a check is missing; the message names it."""


class _Wrong(Exception):
    """An assumption of the app is wrong; the message says which."""


@dataclass(kw_only=True)
class LiveRun:
    """A run of the live checks in a channel.

    `spent` is the cost so far and `most` its limit, both in micro-dollars. For each finding, `file` receives a line of
    JSON without texts, and `show` the text for a person. `figures` are the measurements of the current check.
    """

    settings: Settings
    channel: str
    most: int
    keep: bool
    file: TextIO
    show: Callable[[str], None]
    symbols: bool
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    findings: list[Finding] = field(default_factory=list)
    calls: int = 0
    max_calls: int = MAX_CHECKING_CALLS
    spent: int = 0
    team: str = ""
    mark: str = MARK
    root: str = ""
    stream: tuple[str, float] | None = None
    figures: dict[str, float | str] = field(default_factory=dict)

    def connect(self, session: Any) -> None:
        """Use a session for the calls to Slack, and count the calls to Slack and to providers from now on."""
        address = self.settings.slack_api_url
        self.client = WorkspaceClient(read_token=self._read_token, api_url=address, session=session)
        self.chat, self.streams = Chat(self.client), Streams(self.client)
        self.reader = ThreadReader(client=self.client, capped=False, may_read=_always)
        self.requests = RequestLog(before_sending=self._count_request)

    async def _read_token(self) -> str:
        if self.calls >= self.max_calls or self.settings.slack_bot_token is None:
            raise _NotTried("the calls to Slack are used up. Run it again.")
        self.calls += 1
        return self.settings.slack_bot_token.get_secret_value()

    async def _count_request(self, _: SentRequest) -> None:
        if len(self.requests.requests) > MAX_PROVIDER_CALLS:
            raise RequestCancelled("the calls to providers are used up")

    @property
    def thread(self) -> str:
        """The `ts` of the thread's first message."""
        if not self.root:
            raise _NotTried("there is no thread.")
        return self.root

    async def post(self, text: str, *blocks: dict[str, Any]) -> str:
        """Post a message in the thread."""
        message, thread = OutgoingMessage(text=text, blocks=blocks), self.thread
        return self.taken(await self.chat.post(self.channel, message, question=self.mark, part=1, thread_ts=thread))

    async def start_stream(self, text: str) -> str:
        """Start a streamed message in the thread; in a channel, Slack requires one person who sees it grow."""
        recipient = None
        if not self.channel.startswith("D"):
            if not (self.team and self.settings.admins):
                raise _NotTried("in a channel, a stream is for one person. Name yourself in ADMIN_USER_IDS.")
            recipient = (self.settings.admins[0], self.team)
        started = await self.streams.start(self.channel, self.thread, text, recipient=recipient)
        if isinstance(started, Unsupported):
            raise _NotTried(f"this workspace has no streams ({started.error}). The app edits messages instead.")
        return self.taken(started)

    async def stop_stream(self, ts: str) -> None:
        """End a streamed message like an answer, with a block below the text."""
        below = [context("The end.")]
        self.taken(await self.streams.stop(self.channel, ts, question=self.mark, part=1, blocks=below))

    def taken(self, result: PostResult | StreamResult) -> str:
        """Return the `ts` of a message, empty if Slack names none. Raises `_Wrong` if Slack refused the message."""
        if isinstance(result, Sent):
            return result.ts or ""
        self.figures["error"] = result.error
        raise _Wrong(f"Slack refuses it ({result.error}).")

    async def find_thread(self) -> LookupResult:
        """Find a thread of this run, or of an earlier one, by the metadata of its first message."""
        since = datetime.now(UTC) - REMEMBERED
        found = await self.chat.find(self.channel, question=self.mark, part=0, since=since)
        if isinstance(found, LookupForbidden):
            raise _Wrong(
                "The app cannot look through this channel, so it could not clear up after a run that was killed."
            )
        return found

    async def delete(self, ts: str) -> None:
        """Delete a message."""
        for _ in range(2):
            deleted = await self.chat.delete(self.channel, ts)
            if isinstance(deleted, Sent) or deleted.error == _GONE:
                return
            # A stream that is still open cannot be deleted.
            await self.streams.stop(self.channel, ts, question=MARK, part=1)
        self.taken(deleted)

    async def is_done(self, what: str, happened: Callable[[], Awaitable[bool]]) -> bool:
        """Ask a person to do something in the thread; return whether they did it in time."""
        self.show(f"Now: {what} in the thread in {self.channel} within {WAIT_SECONDS} seconds.")
        for _ in range(LOOKS):
            await self.sleep(WAIT_SECONDS / LOOKS)
            if await happened():
                return True
        return False


Check = Callable[[LiveRun], Awaitable[str]]
"""A check of an assumption of the app. It returns a sentence if the assumption holds, otherwise it raises."""


async def _try_token(run: LiveRun) -> str:
    run.team = str((await run.client.auth_test()).get("team_id", ""))
    return "Slack takes the token."


async def _delete_threads(run: LiveRun) -> str:
    """Delete the thread of this run and the threads of earlier runs, except those that were to be kept.

    The first message is deleted last, because threads are found by it.
    """
    deleted = 0
    while isinstance(found := await run.find_thread(), Found):
        if not isinstance(page := await run.reader.read(run.channel, found.ts), Page):
            raise _Wrong("The thread of a run cannot be read.")
        ours = page.messages[0].get("bot_id")
        for ts in [str(one["ts"]) for one in reversed(page.messages) if one.get("bot_id") == ours]:
            await run.delete(ts)
            deleted += 1
    if isinstance(found, Retryable):
        raise _Wrong(f"Slack does not say what is in the channel ({found.error}).")
    run.figures["deleted"] = deleted
    return "Nothing is left in the channel."


async def _always() -> bool:
    return True


async def _begin_thread(run: LiveRun) -> str:
    # Raises if threads cannot be looked up. Then nothing is posted, since it could not be found and deleted later.
    await run.find_thread()
    run.mark = KEPT if run.keep else MARK
    message = OutgoingMessage(text="`python -m bot doctor --live` tries Slack in this thread.")
    run.root = run.taken(await run.chat.post(run.channel, message, question=run.mark, part=0))
    if await run.find_thread() != Found(ts=run.root):
        raise _Wrong("A message is not found by its metadata: after a lost reply it would be posted twice.")
    return "The app can post, and find its message by the metadata."


async def _stream(run: LiveRun) -> str:
    run.stream = await run.start_stream("This stream stays open for some minutes."), run.clock()
    run.taken(await run.streams.append(run.channel, run.stream[0], " It grows."))
    return "A stream starts and grows."


async def _post_longest(run: LiveRun) -> str:
    longest = next(one["message"] for one in _samples() if one["kind"] == "longest answer")
    ts = await run.post(longest["text"], *longest["blocks"])
    run.taken(await run.chat.update(run.channel, ts, OutgoingMessage(text="ü" * 2_000)))
    return "A message may be as long as the app makes it, an edit 4,000 bytes."


async def _set_status(run: LiveRun) -> str:
    run.taken(await run.chat.set_status(run.channel, run.thread, "is trying Slack…"))
    return "A status is shown in a thread."


def _samples() -> Iterator[dict[str, Any]]:
    """Yield a message or a view of each kind, as written by tests/together/test_samples.py."""
    return map(json.loads, Path(__file__).with_name("samples.jsonl").read_text("utf-8").splitlines())


async def _validate(run: LiveRun, *, surface: str) -> str:
    """Have Slack check a sample of each kind of message, or, if `surface` is "view", of each kind of view.

    https://docs.slack.dev/reference/methods/blocks.validate
    """
    client = web_client(None, api_url=run.settings.slack_api_url, ca_bundle=run.settings.ca_bundle)
    made = [one for one in _samples() if surface in one]
    for one in made:
        answer = await client.api_call("blocks.validate", data={surface: json.dumps(one[surface])})
        for error in answer.get("errors") or ():
            found = f"{error.get('code', '')} {error.get('pointer', '')}"
            run.figures[one["kind"]] = re.sub(r"[^\w/ ]", "", found)[:100].strip()
        await run.sleep(1)
    if run.figures:
        raise _Wrong(f"Slack refuses: {', '.join(f'{kind} ({error})' for kind, error in run.figures.items())}.")
    return f"Slack takes a {surface} of each kind ({len(made)})."


async def _wait_for_press(run: LiveRun) -> str:
    button = primary_button("Press", action_id=LIVE_PRESS, value="press")
    ts = await run.post("Press this button.", section("Press this button."), button)

    async def is_gone() -> bool:
        page = await run.reader.read(run.channel, run.thread)
        return isinstance(page, Page) and ts not in [message.get("ts") for message in page.messages]

    if not await run.is_done("Press the button", is_gone):
        raise _NotTried("no press arrived. While you press, the app must run: it deletes the message.")
    return "A press of a button arrives."


async def _wait_for_stop(run: LiveRun) -> str:
    ts = await run.start_stream("Stop this answer with Slack’s own button.")

    async def is_stopped() -> bool:
        grown = await run.streams.append(run.channel, ts, " …")
        return (isinstance(grown, StreamEnded) and grown.stopped_by_person) or not run.taken(grown)

    stopped = await run.is_done("Stop the answer", is_stopped)
    await run.stop_stream(ts)
    if not stopped:
        raise _NotTried("no one stopped the answer.")
    return "Slack says that a person has stopped an answer."


async def _outlast(run: LiveRun) -> str:
    if run.stream is None:
        raise _NotTried("there is no stream.")
    ts, began = run.stream
    await run.sleep(max(0.0, began + ROLL_OVER_SECONDS - run.clock()))
    run.taken(await run.streams.append(run.channel, ts, " It is old."))
    await run.stop_stream(ts)
    return f"A stream lives for {ROLL_OVER_SECONDS:.0f} seconds."


async def _ask(run: LiveRun, provider: Provider, ask: Callable[[LiveRun, Any], Awaitable[float | None]]) -> str:
    """Ask a provider, unless the reply may cost more than is left of `most`.

    A reply without a price counts as the most that a reply may cost.
    """
    if run.spent + _CEILING > run.most:
        raise _NotTried(f"{format_amount(run.most - run.spent)} of --max-usd is left, and it may cost more.")
    run.spent += _CEILING
    if (cost := await ask(run, provider)) is None:
        return "It does what the app expects. It does not say what that cost."
    run.spent += (micros(cost) or 0) - _CEILING
    run.figures["cost_usd"] = cost
    return "It does what the app expects, and says what it cost."


async def _search(run: LiveRun, provider: Provider) -> float | None:
    found = await provider.search(_QUERY)
    if not found.results:
        raise _Wrong("A search finds nothing.")
    return found.cost_usd


async def _answer(run: LiveRun, provider: Provider) -> float | None:
    began, sources, cost = run.clock(), 0, None
    async for event in provider.stream(_QUESTION):
        if isinstance(event, TextDelta):
            run.figures.setdefault("first_text", round(run.clock() - began, 3))
        elif isinstance(event, Done):
            sources, cost = len(event.answer.sources), event.answer.usage.cost_usd
    if not (sources and run.figures):
        raise _Wrong("An answer has no text, or no sources.")
    return cost


async def _cancel(run: LiveRun, provider: PerplexityProvider) -> float | None:
    """Cancel an answer that has begun; only the service's invoice shows whether this answer is billed."""
    cost = None
    with suppress(RunFailed, StreamTruncated):  # One of these errors ends a stream that is cancelled.
        async for event in provider.stream(_QUESTION):
            if isinstance(event, RunStarted):
                # Count two calls: the client itself also cancels a stream that ends without its last event.
                for _ in range(2):
                    await run.requests.record("", "cancel", "")
                await provider.cancel(event.id)
                run.figures["finished"] = 0
            elif isinstance(event, Done):
                run.figures["finished"], cost = 1, event.answer.usage.cost_usd
    if not run.figures:
        raise _NotTried("the answer has no id to cancel it by.")
    return cost


def _checks(providers: Sequence[Provider]) -> Iterator[tuple[str, Check]]:
    yield from (("Token", _try_token), ("Earlier run", _delete_threads), ("Thread", _begin_thread))
    yield from (("Stream", _stream), ("Long message", _post_longest), ("Status", _set_status))
    yield from ((f"Every {one}", partial(_validate, surface=one)) for one in ("message", "view"))
    for provider in providers:
        if "search" in provider.capabilities:
            yield f"{provider.name} search", partial(_ask, provider=provider, ask=_search)
        yield f"{provider.name} answer", partial(_ask, provider=provider, ask=_answer)
        if isinstance(provider, PerplexityProvider):
            yield f"{provider.name} cancel", partial(_ask, provider=provider, ask=_cancel)
    yield from (("Button", _wait_for_press), ("Long stream", _outlast), ("Stop", _wait_for_stop))


async def check_live(run: LiveRun) -> Sequence[Finding]:
    """Run every check and return the findings.

    Unless `run.keep` is set, the posts are deleted at the end, even if the run is cancelled.
    """
    settings = run.settings
    config = replace(provider_config(settings), retry=RetryPolicy(attempts=1))
    async with (
        open_session(SlackConnection(api_url=settings.slack_api_url, ca_bundle=settings.ca_bundle)) as session,
        open_providers(config, order=[*settings.provider_keys] or ["perplexity"]) as providers,
    ):
        run.connect(session)
        try:
            for title, check in _checks(providers):
                await _report(title, check, run)
        finally:
            run.max_calls = MAX_SLACK_CALLS
            if not run.keep:
                await _report("Clear up", _delete_threads, run)
    return run.findings


async def _report(title: str, check: Check, run: LiveRun) -> None:
    began, run.figures, wrong = run.clock(), {}, ""
    try:
        with logged_requests(run.requests):
            finding = ok(await check(run), title=title)
    except (_NotTried, RequestCancelled) as error:
        finding = skipped(f"Not tried: {error}", title=title)
    except _Wrong as error:
        wrong = str(error)
    except (PerplexityError, *FAILURES) as error:
        name = api_error_name(error) if isinstance(error, SlackApiError) else type(error).__name__
        run.figures["error"], wrong = name, f"It failed ({name})."
    if wrong:
        finding = failure(wrong, fix=_FIXES.get(title, _ASSUMED), title=title)
    verdict = "not tried" if finding.severity is Severity.SKIPPED else finding.severity.name.lower()
    line = {"name": title, "verdict": verdict, "seconds": round(run.clock() - began, 3), "figures": run.figures}
    run.file.write(json.dumps(line) + "\n")
    run.findings.append(finding)
    run.show("\n".join(finding_lines(finding, symbols=run.symbols, width=20)))


_ASSUMED = "Please open an issue with acceptance.jsonl: the app relies on this (docs/assumptions.md)."
_READ = "Name your direct message with the app (D…), or a quiet channel if the token has channels:history."
_FIXES = {"Token": "Run `python -m bot doctor`.", "Earlier run": _READ, "Thread": _READ, "Clear up": _READ}
