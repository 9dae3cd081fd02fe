"""The composition root: the only module that knows all the others."""

from __future__ import annotations

import logging
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from aiohttp import ClientSession, ClientTimeout, TCPConnector, web
from pydantic import SecretStr
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_sdk.web.async_client import AsyncWebClient

from bot.addresses import is_loopback
from bot.admins import Admins
from bot.agent import opened_agent
from bot.answering import Answering
from bot.attempt_log import AttemptLog
from bot.commands import COMMANDS
from bot.commands.slash import UMBRELLA, slash_commands
from bot.commands.watch import WATCH
from bot.delivery.announcing import Announcing
from bot.delivery.channel import ToChannel
from bot.delivery.chat import Chat
from bot.delivery.deliver import Delivery, all_ways
from bot.delivery.response_url import ResponseUrls
from bot.delivery.showing import Showing
from bot.digests.desk import Desk
from bot.digests.leaving import Leaving
from bot.digests.running import Running
from bot.digests.runs import COMMAND as DIGEST
from bot.digests.runs import SURFACE as BY_DIGEST
from bot.digests.tick import Ticker
from bot.diving import opened_diver
from bot.filing import Filing
from bot.jobs import STALLED_AFTER_SECONDS, Jobs
from bot.journal import Journal
from bot.listeners import actions, files, messages, slash, stops, watching
from bot.listeners.services import Services
from bot.office import WorkspaceOffice
from bot.people import People
from bot.playground.server import Playground
from bot.process import App, Slack
from bot.settings import Settings
from bot.socket_mode import SocketMode
from bot.stopping import Stopping
from bot.storage.attempts import Attempts
from bot.storage.digests import Digests
from bot.storage.digests import Limits as DigestLimits
from bot.storage.patience import Patience
from bot.storage.questions import Questions, connection_pool
from bot.storage.stages import Stages, StagesOf
from bot.web import health
from bot.web.guard import Guard
from bot.web.metrics import Metrics
from bot.web.server import Server
from perplexity.deadlines import Deadlines
from perplexity.fallback import Fallback
from perplexity.models import Limits
from perplexity.providers import opened
from perplexity.providers.handbook import load_pages
from perplexity.providers.setup import Setup
from perplexity.proxies import proxy_for
from perplexity.retry import RetryPolicy
from perplexity.types import Attempt

log = logging.getLogger(__name__)

ROOT = Path(__file__).parent.parent
"""The project's root, whose Markdown pages are the handbook."""

SURFACES = (slash, messages, actions, stops, watching, files)
"""Where people ask. A new surface is a module in `bot/listeners` with `register`, and a word here."""

DATABASE_PATIENCE_SECONDS = 120.0


@asynccontextmanager
async def compose(settings: Settings, *, conninfo: str, http: bool) -> AsyncIterator[App]:
    """Put the process together over an open database; `http` adds the server. Closes what it opened."""
    async with AsyncExitStack() as stack:
        pool = connection_pool(conninfo)
        await stack.enter_async_context(pool)
        jobs = Jobs(pool)
        await jobs.open()
        questions = Questions(pool, jobs.defer)
        metrics = Metrics()
        slack = _slack(settings)
        session = await stack.enter_async_context(
            ClientSession(
                timeout=ClientTimeout(total=10, sock_connect=5),
                connector=TCPConnector(limit=50),
                proxy=proxy_for(slack.api_url),
            )
        )
        # A retry of the SDK's own would post a message twice, unseen by the delivery that looks for the first.
        client = AsyncWebClient(token=slack.bot_token, base_url=slack.api_url, session=session, retry_handlers=[])
        providers = await stack.enter_async_context(opened(_setup(settings, slack), order=settings.provider_order))
        attempts = Attempts(pool)
        attempt_log = AttemptLog(attempts=attempts)

        def heard(attempt: Attempt) -> None:
            metrics.attempted(attempt)
            attempt_log.note(attempt)

        patience = Patience(seconds=DATABASE_PATIENCE_SECONDS)
        chat, response_urls = Chat(client), ResponseUrls(session)
        announcing = Announcing(
            questions=questions,
            patience=patience,
            chat=chat,
            response_urls=response_urls,
            slack_api_url=slack.api_url,
        )
        chain = Fallback(
            providers,
            deadlines=_deadlines(settings),
            reasoning_effort=settings.reasoning_effort,
            on_attempt=heard,
        )
        digests, people = Digests(pool, jobs.defer), People(client)
        desk = Desk(
            digests=digests,
            zone=people.zone,
            call=f"/{settings.command_prefix}{UMBRELLA} {WATCH.name}",
            limits=DigestLimits(per_user=settings.digests_per_user, per_channel=settings.digests_per_channel),
        )
        stages = Stages(pool)
        diver = await stack.enter_async_context(opened_diver(settings, providers, facts=chain, on_attempt=heard))
        filing = await stack.enter_async_context(
            Filing(client=client, chat=chat, questions=questions, stages=stages, persona=settings.persona_name)
        )
        stopping = await stack.enter_async_context(Stopping(stages=stages, providers=providers))
        leaving = Leaving(digests=digests, chat=chat, patience=patience, call=desk.call)
        running = Running(digests=digests, has_left=people.has_left, leaving=leaving)
        to_channel = ToChannel(chat=chat, surface=BY_DIGEST, on_closed=leaving.closed)
        agent = await stack.enter_async_context(opened_agent(settings, provider=chain, on_attempt=heard))
        answering = Answering(
            questions=questions,
            provider=chain,
            agent=agent,
            office=WorkspaceOffice(admins=Admins(client, named=settings.admins), attempts=attempts, watching=desk),
            delivery=Delivery(
                questions=questions,
                patience=patience,
                ways=(to_channel, *all_ways(chat, response_urls, slack_api_url=slack.api_url)),
            ),
            announcing=announcing,
            diver=diver,
            sends_files=filing.allowed,
            stages=lambda row: StagesOf(stages=stages, row=row, patience=patience),
            showing=lambda row: Showing(
                row=row, questions=questions, chat=chat, response_urls=response_urls, slack_api_url=slack.api_url
            ),
            commands={command.name: command for command in COMMANDS} | {DIGEST: running.command()},
            patience=patience,
            metrics=metrics,
        )
        jobs.on_question(answering.run)
        services = Services(
            journal=Journal(questions=questions),
            questions=questions,
            commands=COMMANDS,
            metrics=metrics,
            tell=announcing.tell,
            say=announcing.say,
            watching=desk,
            replace=announcing.replace,
            end_runs=stopping.begin,
            send_file=filing.begin,
        )
        app = bolt(slack, client, services)
        yield App(
            slack=slack,
            providers=providers,
            questions=questions,
            jobs=jobs,
            attempt_log=attempt_log,
            ticker=Ticker(digests=digests),
            server=_server(settings, slack, app, services, attempts) if http else None,
            socket=SocketMode(app, app_token=slack.app_token, client=client) if http and slack.app_token else None,
        )


def bolt(slack: Slack, client: AsyncWebClient, services: Services) -> AsyncApp:
    """Build the Bolt app with every surface's listeners.

    Bolt must not verify (the guard did), must not ask Slack who it is within a person's three seconds (hence
    `authorize`), and must run a listener before it acknowledges (`process_before_response`).
    """

    async def authorize(enterprise_id: str | None, team_id: str | None) -> AuthorizeResult:
        return AuthorizeResult(enterprise_id=enterprise_id, team_id=team_id, bot_token=slack.bot_token)

    app = AsyncApp(
        client=client,
        signing_secret=slack.signing_secret,
        authorize=authorize,
        process_before_response=True,
        request_verification_enabled=False,
        logger=_bolt_logger(),
    )
    for surface in SURFACES:
        surface.register(app, services)
    return app


def _bolt_logger() -> logging.Logger:
    """Return a logger for Bolt that stays silent below ERROR: its warnings quote requests."""
    logger = logging.getLogger("slack_bolt")
    logger.setLevel(logging.ERROR)
    return logger


def _server(settings: Settings, slack: Slack, app: AsyncApp, services: Services, attempts: Attempts) -> Server:
    async def workers_alive() -> int:
        return await services.questions.workers_alive(seconds=STALLED_AFTER_SECONDS)

    routes = health.routes(workers_alive=workers_alive, troubles=attempts.troubles, metrics=services.metrics)
    if slack.signing_secret is not None:
        guard = Guard(app, signing_secret=slack.signing_secret, metrics=services.metrics)
        routes.append(web.post("/slack/events", guard.handle))
    if slack.playground is not None:
        routes += slack.playground.routes()
    return Server(routes, host=settings.bind_host, port=settings.port)


def _slack(settings: Settings) -> Slack:
    """Describe the real Slack, or make up a playground with secrets of its own."""
    if settings.slack_bot_token is not None:
        return Slack(
            bot_token=settings.slack_bot_token.get_secret_value(),
            signing_secret=_revealed(settings.slack_signing_secret),
            app_token=_revealed(settings.slack_app_token),
            api_url=settings.slack_api_url,
        )
    origin = f"http://127.0.0.1:{settings.port}"
    bot_token, signing_secret = f"xoxb-{secrets.token_hex(16)}", secrets.token_hex(16)
    playground = Playground(
        signing_secret=signing_secret,
        bot_token=bot_token,
        origin=origin,
        commands=slash_commands(COMMANDS, prefix=settings.command_prefix),
        pages=load_pages(ROOT),
        allow_any_host=not is_loopback(settings.bind_host),
    )
    return Slack(
        bot_token=bot_token,
        signing_secret=signing_secret,
        api_url=f"{origin}/playground/api/",
        playground=playground,
    )


def _revealed(secret: SecretStr | None) -> str | None:
    return secret.get_secret_value() if secret is not None else None


def _deadlines(settings: Settings) -> Deadlines:
    return Deadlines(
        search=settings.search_chain_seconds,
        answer=settings.answer_chain_seconds,
        reasoning=settings.reasoning_chain_seconds,
        deep=settings.deep_chain_seconds,
    )


def _setup(settings: Settings, slack: Slack) -> Setup:
    """Say what the providers are made of; the handbook is the playground's alone."""
    return Setup(
        keys=settings.provider_keys,
        base_urls=settings.provider_base_urls,
        api=settings.perplexity_api,
        reasoning_effort=settings.reasoning_effort,
        limits=Limits(
            search=settings.search_provider_seconds,
            answer=settings.answer_provider_seconds,
            reasoning=settings.reasoning_provider_seconds,
            deep=settings.deep_provider_seconds,
        ),
        retry=RetryPolicy(
            attempts=settings.retry_attempts, base=settings.retry_base_seconds, cap=settings.retry_cap_seconds
        ),
        pages=ROOT if slack.playground is not None else None,
        pages_url=slack.api_url.replace("/api/", "/docs"),
    )
