"""Builds the Bolt app, refuses requests that are not for the installation, and records its end."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from slack_bolt.async_app import AsyncApp, AsyncBoltRequest
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient

from bot.blocks.words import moment
from bot.clock import utc_now, wait_for_any
from bot.errors import Undecryptable
from bot.listeners.context import ListenerContext, Register
from bot.model.membership import (
    ACCESS_EVENTS,
    EVENT_SECONDS,
    FOREIGN,
    LIFECYCLE_EVENTS,
    ActiveWorkspace,
    Identity,
    RequestOrigin,
    act_for,
    event_time,
    is_foreign,
    is_in_same_second,
    is_lifecycle,
    user_of,
)
from bot.slack.connection import SlackConnection, TokenUnchecked, silent_logger, takes_token
from bot.slack.messages import FAILURES
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.installation import OPEN, REVOKED, UNINSTALLED, WorkspaceRow, WorkspaceStore
from bot.translation import gettext as _
from bot.translation import speak

if TYPE_CHECKING:
    from bot.workspaces.registry import Workspaces

log = logging.getLogger(__name__)

FindWorkspace = Callable[[Mapping[str, Any]], Coroutine[Any, Any, ActiveWorkspace | None]]
"""Returns the installation that a request is for; None if there is none. Raises database errors, and Undecryptable."""


APP_RATE_LIMITED = "app_rate_limited"
"""Slack's report that it drops events: a workspace sent more than 30,000 in an hour.

https://docs.slack.dev/reference/events/app_rate_limited
"""

TellAdmins = Callable[[str, Callable[[], str], str], Awaitable[bool | None]]
"""The type of `AdminNotices.tell`."""


def bolt_app(
    slack: SlackConnection, client: AsyncWebClient, context: ListenerContext, surfaces: Sequence[Register]
) -> AsyncApp:
    """Build the Bolt app with the listeners of the surfaces; Bolt tries the listeners one after the other.

    Bolt must not verify requests again, must not call Slack for its own identity before the acknowledgement (hence
    `authorize`), and must run a listener before it acknowledges (`process_before_response`).
    """

    async def authorize(enterprise_id: str | None, team_id: str | None) -> AuthorizeResult:
        return AuthorizeResult(enterprise_id=enterprise_id, team_id=team_id, bot_token=slack.bot_token)

    app = AsyncApp(
        name="web-answers",  # without a name, Bolt reads the source files of all callers to find one
        client=client,
        signing_secret=slack.signing_secret,
        authorize=authorize,
        process_before_response=True,
        request_verification_enabled=False,
        logger=silent_logger("slack_bolt"),
    )
    for register in surfaces:
        register(app, context)
    return app


NO_RETRY: dict[str, str | Sequence[str]] = {"x-slack-no-retry": "1"}
"""Keeps Slack from sending a refused event again. https://docs.slack.dev/apis/events-api/#errors"""


def register(
    app: AsyncApp,
    context: ListenerContext,
    *,
    installation: Installation | Workspaces,
    find_workspace: FindWorkspace | None = None,
    tell: TellAdmins,
) -> None:
    """Listen to the installation's end and to reports of dropped events; refuse what `Installation.refusal` refuses.

    `find_workspace` is set if the process has many installations.

    https://docs.slack.dev/reference/events/app_uninstalled https://docs.slack.dev/reference/events/tokens_revoked
    https://docs.slack.dev/reference/events/team_access_revoked
    """

    @app.middleware
    async def refuse(
        body: dict[str, Any], request: AsyncBoltRequest, next: Callable[[], Awaitable[BoltResponse]]
    ) -> BoltResponse | None:
        if find_workspace is not None:
            try:
                act_for(await context.intake.within_ack_deadline(find_workspace(body)))
            except (*DATABASE_UNAVAILABLE, Undecryptable) as error:
                log.error("workspace.unread", extra={"error": type(error).__name__})
                return BoltResponse(status=503)
        reason = installation.refusal(body)
        if reason is None and body.get("type") == APP_RATE_LIMITED:  # it holds no event, so no listener gets it
            return events_limited(body, context, tell)
        if reason is None:
            await next()
            return None
        context.metrics.refused(403)
        log.warning("request.refused", extra={"status": 403, "error": reason})
        return BoltResponse(status=403, body=reason, headers=NO_RETRY)

    @app.middleware
    async def speak_to_person(body: dict[str, Any], next: Callable[[], Awaitable[BoltResponse]]) -> None:
        if person := user_of(body):
            speak(await context.language(person))
        await next()

    _listen(app, context, installation)


def _listen(app: AsyncApp, context: ListenerContext, installation: Installation | Workspaces) -> None:
    for kind in sorted(LIFECYCLE_EVENTS):

        @app.event(kind)
        async def ended(body: dict[str, Any]) -> BoltResponse | None:
            state = closed_state(body)
            return None if state is None else await record(installation.end(state, body), context)

    for kind in sorted(ACCESS_EVENTS):

        @app.event(kind)
        async def access_changed(body: dict[str, Any]) -> BoltResponse | None:
            return await record(installation.change_access(body), context)


async def record(work: Coroutine[Any, Any, None], context: ListenerContext) -> BoltResponse | None:
    """Record an event before it is acknowledged; if that fails, answer 503, so that Slack sends it again."""
    try:
        await context.intake.within_ack_deadline(work)
    except (*DATABASE_UNAVAILABLE, TokenUnchecked) as error:
        log.error("workspace.not_closed", extra={"error": type(error).__name__})
        return BoltResponse(status=503)
    return None


def events_limited(body: dict[str, Any], context: ListenerContext, tell: TellAdmins) -> BoltResponse:
    """Handle the request that Slack sends in each minute in which it drops events: log it, and tell the admins."""
    team_id = RequestOrigin.from_body(body).team_id
    context.metrics.events_limited()
    log.warning("events.limited")
    context.start(_tell_once(team_id, partial(limit_text, utc_now()), context, tell))
    return BoltResponse(status=200)


async def _tell_once(team_id: str, text: Callable[[], str], context: ListenerContext, tell: TellAdmins) -> None:
    """Tell admins about dropped events, at most once an hour from all processes together."""
    try:
        if await context.questions.take_delivery(f"{team_id}:{APP_RATE_LIMITED}") and not await tell(
            team_id, text, "events"
        ):
            log.error("events.not_told")
    except DATABASE_UNAVAILABLE as error:
        log.error("events.not_told", extra={"error": type(error).__name__})


def limit_text(since: datetime) -> str:
    """Return the text that tells admins since when events are dropped, and how to receive fewer."""
    return _(
        "Since {moment} Slack drops some of what is written to me: it sends an app at most 30,000 events an hour. "
        "Mentions and direct messages can stay without an answer until there are fewer; commands and buttons work. "
        "Every message in my channels is an event: remove me from the busiest, or set `FOLLOW_UPS=mention`."
    ).format(moment=moment(since))


START_SECONDS = 3.0
"""How long the start waits for the database and auth.test; without a reply, the app starts anyway."""

REFRESH_SECONDS = 2.0
"""How often a process checks the database for a removal or reinstallation of the app that another process recorded."""

AUTH_SECONDS = 60.0
"""How often auth.test is called while the workspace is unknown or closed."""

CLOSED = "the app is no longer installed"


def token_hash(token: str) -> str:
    """Return a hash that identifies a bot token without revealing it."""
    return hashlib.sha256(token.encode()).hexdigest()


@dataclass(kw_only=True)
class Installation:
    """The installation of one bot token. `cancel_runs` cancels background runs; `clock` is monotonic.

    auth.test names the workspace, the first verified request names the app, and events report the end of the
    installation; Slack may send several such events, in any order and more than once. `row` is the last state that was
    read; None until auth.test has answered once in some process with this token.
    https://docs.slack.dev/reference/methods/auth.test
    """

    client: AsyncWebClient
    workspaces: WorkspaceStore
    token_hash: str
    cancel_runs: Callable[[Sequence[str]], None] = lambda run_ids: None
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    row: WorkspaceRow | None = None
    _app_id: str | None = None
    _asked_at: float | None = None
    _finished: str | None = None
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def identity(self) -> Identity | None:
        """Return the workspace in which the app is installed; None while it is unknown."""
        return self.row.identity if self.row is not None else None

    @property
    def closed(self) -> bool:
        """Return whether the app was uninstalled, or its token revoked, as far as this process knows."""
        return self.row is not None and self.row.state != OPEN

    def refusal(self, body: Mapping[str, Any]) -> str | None:
        """Return the reason for refusing a verified request; None if it is not refused. Makes no call.

        While the workspace is unknown, nothing is refused. The first request with an app id sets the id of our app.
        """
        if self.row is None:
            return None
        named = RequestOrigin.from_body(body)
        if is_foreign(named, ours=self.row.identity, app_id=self.row.app_id or self._app_id):
            return FOREIGN
        self._app_id = self._app_id or named.app_id or None
        return CLOSED if self.closed and not is_lifecycle(body) else None

    async def start(self) -> None:
        """Try for a moment to read the workspace; if that fails, `run` keeps trying."""
        try:
            async with asyncio.timeout(START_SECONDS):
                await self._refresh()
        except TimeoutError:
            log.warning("workspace.unknown", extra={"error": "TimeoutError"})

    async def run(self) -> None:
        """Read the state that other processes record, and clean up after the installation's end, until cancelled."""
        while True:
            self._changed.clear()
            await self._refresh()
            await wait_for_any(self.sleep(REFRESH_SECONDS), self._changed.wait())

    async def end(self, state: str, body: Mapping[str, Any]) -> None:
        """Record that the app was uninstalled or its token revoked, before Slack's event is acknowledged.

        If the event is from the same second as a new installation, it counts only if Slack no longer accepts the token.
        After an event that counts, `run` cleans up. Raises database errors, and TokenUnchecked.
        """
        identity = self.identity or Identity(team_id=RequestOrigin.from_body(body).team_id)
        known, at = await self.workspaces.get(identity.id), event_time(body)
        if known is not None and is_in_same_second(at, known.opened_at) and not await takes_token(self.client):
            at += timedelta(seconds=EVENT_SECONDS)
        closed = await self.workspaces.close(identity, state=state, token_hash=self.token_hash, event_at=at)
        if closed is None:
            log.info("workspace.late_event", extra={"state": state})
            return
        log.warning("workspace.closed", extra={"state": closed.state})
        self.row, self._finished = closed, None
        self._changed.set()

    async def change_access(self, body: Mapping[str, Any]) -> None:
        """Do nothing: a bot token is for one workspace, so changes of an organization's workspaces do not matter."""

    async def _refresh(self) -> None:
        try:
            known = self.row
            self.row = await self._read()
            if self._asked_at is None or self.row is None or self.closed:
                await self._call_auth_test()
            if self.row is not None and known is None:
                log.info("workspace.known", extra={"state": self.row.state})
            if self.row is not None and self.row.state != self._finished:
                await self._clean_up(self.row)
        except DATABASE_UNAVAILABLE as error:
            log.warning("workspace.unread", extra={"error": type(error).__name__})

    async def _read(self) -> WorkspaceRow | None:
        if self.row is None:
            # The token identifies the workspace until its id is known: a token always belongs to the same workspace.
            known = await self.workspaces.get_by_token(self.token_hash)
        else:
            known = await self.workspaces.get(self.row.identity.id)
        if known is not None and known.app_id is None and self._app_id is not None:
            known = await self.workspaces.bind(known.identity.id, self._app_id)
        return known or self.row

    async def _call_auth_test(self) -> None:
        """Call auth.test, at most once in `AUTH_SECONDS`. A new token opens a closed workspace again.

        If the workspace stays closed, it is cleaned up again.
        """
        if self._asked_at is not None and self.clock() - self._asked_at < AUTH_SECONDS:
            return
        self._asked_at, self._finished = self.clock(), None
        try:
            answer = (await self.client.auth_test()).data
        except FAILURES as error:
            log.warning("workspace.unknown", extra={"error": type(error).__name__})
            return
        identity = Identity.from_auth_test(answer) if isinstance(answer, dict) else None
        if identity is None:
            return
        self.row = await self.workspaces.save(identity, token_hash=self.token_hash)

    async def _clean_up(self, row: WorkspaceRow) -> None:
        """Stop work after the installation's end, and delete texts if the app was uninstalled.

        While the workspace is closed, `run` repeats the clean-up each minute, since questions may still be saved late.
        """
        runs = await self.workspaces.stop_work(row.identity) if row.state != OPEN else ()
        if runs:
            self.cancel_runs(runs)
        if row.state == UNINSTALLED and (deleted := await self.workspaces.delete_texts(row.identity)):
            log.warning("workspace.deleted", extra={"count": deleted})
        else:  # After a deletion it is not finished: what was locked is deleted the next time.
            self._finished = row.state


def closed_state(body: Mapping[str, Any]) -> str | None:
    """Return the state of the workspace after one of Slack's events; None if the event changes nothing.

    Among revoked tokens, only a bot token counts, since the app has no tokens of users.
    """
    event = body.get("event")
    kind = event.get("type") if isinstance(event, Mapping) else None
    if kind == "app_uninstalled":
        return UNINSTALLED
    tokens = event.get("tokens") if isinstance(event, Mapping) and kind == "tokens_revoked" else None
    return REVOKED if isinstance(tokens, Mapping) and tokens.get("bot") else None
