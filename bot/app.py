"""The composition root: the only module that knows all the others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from aiohttp import web
from slack_bolt.async_app import AsyncApp

from bot.admins import Admins
from bot.answering import Answering
from bot.asking import opened_asked
from bot.attempt_log import AttemptLog
from bot.background import Background
from bot.bolt import bolt_app
from bot.commands import COMMANDS
from bot.delivery.announcing import Announcing
from bot.delivery.chat import Chat
from bot.delivery.deliver import Delivery, all_ways
from bot.delivery.response_url import ResponseUrls
from bot.delivery.showing import Showing
from bot.digests.room import DigestRoom
from bot.filing import Filing
from bot.jobs import STALLED_AFTER_SECONDS, Jobs
from bot.journal import Journal
from bot.listeners.services import Services
from bot.office import WorkspaceOffice
from bot.process import App
from bot.settings import Settings
from bot.socket_mode import SocketMode
from bot.stopping import Stopping
from bot.storage.attempts import Attempts
from bot.storage.digests import Digests
from bot.storage.patience import Patience
from bot.storage.questions import Questions, connection_pool
from bot.storage.stages import Stages, StagesOf
from bot.web import health
from bot.web.guard import Guard
from bot.web.metrics import Metrics
from bot.web.server import Server
from bot.working import Working
from bot.workspace import Slack, client_of, opened_session, slack_of
from perplexity.types import Attempt

DATABASE_PATIENCE_SECONDS = 120.0


@asynccontextmanager
async def compose(settings: Settings, *, conninfo: str, http: bool) -> AsyncIterator[App]:
    """Put the process together over an open database; `http` adds the server. Closes what it opened."""
    async with AsyncExitStack() as stack:
        pool = await stack.enter_async_context(connection_pool(conninfo))
        jobs = Jobs(pool)
        await jobs.open()
        questions, stages, attempts = Questions(pool, jobs.defer), Stages(pool), Attempts(pool)
        patience, metrics = Patience(seconds=DATABASE_PATIENCE_SECONDS), Metrics()
        attempt_log = AttemptLog(attempts=attempts)

        def heard(attempt: Attempt) -> None:
            metrics.attempted(attempt)
            attempt_log.note(attempt)

        slack = slack_of(settings)
        session = await stack.enter_async_context(opened_session(slack))
        client = client_of(slack, session)
        asked = await stack.enter_async_context(opened_asked(settings, slack, on_attempt=heard))
        chat, response_urls = Chat(client), ResponseUrls(session)
        announcing = Announcing(
            questions=questions,
            patience=patience,
            chat=chat,
            response_urls=response_urls,
            slack_api_url=slack.api_url,
        )
        background = await stack.enter_async_context(Background())
        filing = Filing(
            client=client,
            chat=chat,
            questions=questions,
            stages=stages,
            persona=settings.persona_name,
            background=background,
        )
        stopping = Stopping(stages=stages, providers=asked.providers, background=background)
        digests = DigestRoom.of(settings, Digests(pool, jobs.defer), client=client, chat=chat, patience=patience)
        working = Working(
            questions=questions,
            provider=asked.chain,
            office=WorkspaceOffice(
                admins=Admins(client, named=settings.admins), attempts=attempts, watching=digests.desk
            ),
            commands={command.name: command for command in COMMANDS} | digests.commands,
            patience=patience,
            agent=asked.agent,
            diver=asked.diver,
            stages=lambda row: StagesOf(stages=stages, row=row, patience=patience),
            sends_files=filing.allowed,
            end_runs=stopping.begin,
        )
        answering = Answering(
            questions=questions,
            working=working,
            delivery=Delivery(
                questions=questions,
                patience=patience,
                ways=(digests.to_channel, *all_ways(chat, response_urls, slack_api_url=slack.api_url)),
            ),
            announcing=announcing,
            patience=patience,
            metrics=metrics,
            showing=lambda row: Showing(
                row=row, questions=questions, chat=chat, response_urls=response_urls, slack_api_url=slack.api_url
            ),
        )
        jobs.on_question(answering.run)
        services = Services(
            journal=Journal(questions=questions),
            questions=questions,
            commands=COMMANDS,
            metrics=metrics,
            tell=announcing.tell,
            say=announcing.say,
            watching=digests.desk,
            replace=announcing.replace,
            end_runs=stopping.begin,
            report_of=filing.report,
            send_file=filing.begin,
        )
        app = bolt_app(slack, client, services)
        yield App(
            slack=slack,
            providers=asked.providers,
            questions=questions,
            jobs=jobs,
            attempt_log=attempt_log,
            ticker=digests.ticker,
            server=_server(settings, slack, app, services, attempts) if http else None,
            socket=SocketMode(app, app_token=slack.app_token, client=client) if http and slack.app_token else None,
        )


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
