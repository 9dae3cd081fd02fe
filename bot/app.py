"""The composition root: builds every part of the app from the settings and connects them."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from aiohttp import ClientSession, web
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_sdk.web.async_client import AsyncWebClient

from bot.audit import AuditWriter
from bot.blocks.escaping import sanitize_view
from bot.commands import available_commands
from bot.commands.routing import APP_NAME, ROOT_COMMAND
from bot.delivery.delivery import Delivery
from bot.delivery.queue_place import QueuePlaces
from bot.delivery.routes import default_routes
from bot.delivery.shares import Sharing
from bot.delivery.status_message import ProgressUpdater, StatusMessages
from bot.delivery.withdrawal import AnswerWithdrawal
from bot.digests.service import DigestComponents
from bot.listeners import actions, answer_actions, installation, messages, slash
from bot.listeners.admission import Admission
from bot.listeners.context import ListenerContext
from bot.listeners.installation import Installation, token_hash
from bot.listeners.intake import ACK_SECONDS, Intake
from bot.listeners.stopping import record_stop
from bot.metering import Meter
from bot.model.workspace import ActiveWorkspace
from bot.process import Application
from bot.services import open_search_services, slack_connection
from bot.slack.connection import SlackConnection, SocketMode, open_session, web_client
from bot.slack.messages import Chat, ResponseUrls
from bot.slack.streams import Streams
from bot.slack.threads import ThreadHistory, ThreadReader
from bot.slack.users import AdminList, Admins, ChannelManagers, Profiles, SlackUsers
from bot.slack.views import Views
from bot.storage.admin import AdminStore
from bot.storage.attempts import AttemptLog, AttemptStore
from bot.storage.audit_chain import AuditStore
from bot.storage.budgets import BudgetStore
from bot.storage.choices import ChoiceStore
from bot.storage.database import DatabaseRetry
from bot.storage.digests import DigestStore
from bot.storage.feedback import FeedbackStore
from bot.storage.homes import HomeStore
from bot.storage.installation import WorkspaceStore
from bot.storage.ledger import Ledger
from bot.storage.limits import LimitStore
from bot.storage.personal_data import PersonalDataStore
from bot.storage.preferences import PreferenceStore
from bot.storage.proposals import ProposalStore
from bot.storage.questions import FairShare, Pool, QuestionStore, connection_pool
from bot.storage.retention import Retention
from bot.storage.shares import ShareStore
from bot.storage.stages import RUN_SECONDS, QuestionStages, StageStore
from bot.storage.streams import StreamLog
from bot.streaming.live import LiveAnswers
from bot.views import OPENED_BY_COMMANDS, VIEWS
from bot.views.admin import AdminHome
from bot.views.home import HomePublisher
from bot.web import server
from bot.web.metrics import Metrics
from bot.web.server import Server
from bot.web.signature import RequestVerifier
from bot.worker.background import BackgroundTasks, FileUploader, RunCanceller, StopWatcher
from bot.worker.budget_watch import BudgetWatch
from bot.worker.clear_up import ClearUp
from bot.worker.own_data import OwnData
from bot.worker.runner import CommandRunner
from bot.worker.worker import QuestionWorker, only_workspace
from perplexity.attempts import Attempt
from perplexity.claims.propose import propose_claims

if TYPE_CHECKING:
    from bot.playground.examples import Pause
    from bot.playground.server import Playground
    from bot.settings import Settings
    from bot.workspaces.oauth import InstallationFlow
    from bot.workspaces.registry import Workspaces

SURFACES = (
    installation.register,
    *OPENED_BY_COMMANDS,
    slash.register,
    messages.register,
    actions.register,
    answer_actions.register,
    *VIEWS,
)
"""The listeners in order: first the check of the installation, then what is asked most. Bolt tries one after the other.

A new surface is a function in `bot/listeners`, and a line here; a new view is one in `bot/views`.
"""


def bolt_app(slack: SlackConnection, client: AsyncWebClient, services: ListenerContext) -> AsyncApp:
    """Build the Bolt app with every surface's listeners.

    Bolt must not verify requests again, must not call Slack for its own identity before the acknowledgement (hence
    `authorize`), and must run a listener before it acknowledges (`process_before_response`).
    """

    async def authorize(enterprise_id: str | None, team_id: str | None) -> AuthorizeResult:
        return AuthorizeResult(enterprise_id=enterprise_id, team_id=team_id, bot_token=slack.bot_token)

    app = AsyncApp(
        name="web-answers",  # without one, Bolt reads the source files of all callers to find one
        client=client,
        signing_secret=slack.signing_secret,
        authorize=authorize,
        process_before_response=True,
        request_verification_enabled=False,
        logger=_bolt_logger(),
    )
    for register in SURFACES:
        register(app, services)
    return app


def _bolt_logger() -> logging.Logger:
    """Return a logger for Bolt that is silent below ERROR: its warnings quote requests."""
    logger = logging.getLogger("slack_bolt")
    logger.setLevel(logging.ERROR)
    return logger


WORK_CONNECTIONS = 4
ACK_CONNECTIONS = 3
HEALTH_CONNECTIONS = 2
"""Acknowledgements, and heartbeats with health checks, have connections of their own, so that they never wait for work.

With the one that listens for new jobs, there are at most ten; small databases allow twenty.
"""

POOL_SECONDS = 10.0
"""How long work waits for a connection before the database counts as unavailable."""

SHARE_SECONDS = 20.0
"""How long the end of a share waits for the database to record it."""

SAME_FILE_SECONDS = 60.0
"""Clicks of one user on one file within this time count as one."""


@dataclass(frozen=True, kw_only=True)
class _SlackAccess:
    """How this process calls Slack, and which requests and questions are its own; `flow` installs the app."""

    client: AsyncWebClient
    installation: Installation | Workspaces
    enter_team: Callable[[str], Awaitable[bool]] = only_workspace
    find_workspace: Callable[[Mapping[str, Any]], Coroutine[Any, Any, ActiveWorkspace | None]] | None = None
    flow: InstallationFlow | None = None


def _slack_access(
    settings: Settings,
    slack: SlackConnection,
    *,
    session: ClientSession,
    reads: Pool,
    work: Pool,
    workspaces: WorkspaceStore,
    cancel_runs: Callable[[Sequence[str]], None],
) -> _SlackAccess:
    if not settings.oauth_configured:
        client = web_client(slack.bot_token, api_url=slack.api_url, session=session)
        installation = Installation(
            client=client, workspaces=workspaces, token_hash=token_hash(slack.bot_token or ""), cancel_runs=cancel_runs
        )
        return _SlackAccess(client=client, installation=installation)
    # Encryption takes a while to import, which one workspace with its own token need not wait for.
    from bot.workspaces.connection import connect_workspaces

    many = connect_workspaces(
        settings, session=session, reads=reads, work=work, store=workspaces, cancel_runs=cancel_runs
    )
    return _SlackAccess(
        client=many.client,
        installation=many.registry,
        enter_team=many.registry.enter_team,
        find_workspace=many.registry.of_request,
        flow=many.flow,
    )


@asynccontextmanager
async def compose(
    settings: Settings, *, conninfo: str, http: bool, pause: Pause = asyncio.sleep
) -> AsyncIterator[Application]:
    """Build the process on an open database, and close everything at the end; `http` adds the server.

    `pause` waits between the events of a recorded example.
    """
    from bot.worker.queue import STALLED_AFTER_SECONDS, JobQueue

    async with AsyncExitStack() as stack:
        pool = await stack.enter_async_context(connection_pool(conninfo, size=WORK_CONNECTIONS, seconds=POOL_SECONDS))
        acks = await stack.enter_async_context(connection_pool(conninfo, size=ACK_CONNECTIONS, seconds=ACK_SECONDS))
        apart = await stack.enter_async_context(connection_pool(conninfo, size=HEALTH_CONNECTIONS))
        jobs = JobQueue(pool, beats=apart, at_once=settings.questions_at_once)
        await jobs.open()
        share = FairShare(
            open_per_person=settings.open_questions_per_user,
            thread_per_minute=settings.thread_answers_per_minute,
            per_workspace=_workspace_limit(settings),
            user_per_minute=settings.user_questions_per_minute,
            channel_per_minute=settings.channel_questions_per_minute,
            bounded=settings.oauth_configured,
        )
        questions, stages, attempts = (
            QuestionStore(pool, share=share, keeps_text=settings.retention_days > 0, many=settings.oauth_configured),
            StageStore(pool),
            AttemptStore(pool),
        )
        received, choices = QuestionStore(acks, share=share), ChoiceStore(acks)
        # A paid answer is kept for as long as the database is unavailable.
        database_retry, metrics, attempt_log = DatabaseRetry(seconds=math.inf), Metrics(), AttemptLog(attempts=attempts)
        audit, budgets, limits = (
            _audit_store(settings, pool),
            BudgetStore(pool, budgets=settings.budgets),
            LimitStore(pool, share=share),
        )

        def on_attempt(attempt: Attempt) -> None:
            metrics.attempted(attempt)
            attempt_log.record(attempt)

        slack, playground = slack_connection(settings)
        commands = available_commands(agent=settings.missing_agent_setting is None)
        if playground is not None and settings.keyless:
            from bot.playground.examples import with_examples

            commands = with_examples(commands, prefix=settings.command_prefix, pause=pause)
        session = await stack.enter_async_context(open_session(slack))
        workspaces, before_ack = (WorkspaceStore(one, many=settings.oauth_configured) for one in (pool, acks))
        meter = Meter(ledger=await stack.enter_async_context(Ledger(pool, budgets=budgets.budgets)))
        search_services = await stack.enter_async_context(
            open_search_services(settings, on_attempt=on_attempt, meter=meter)
        )
        background = await stack.enter_async_context(BackgroundTasks())
        stopping = RunCanceller(
            questions=questions, stages=stages, providers=search_services.providers, background=background
        )
        access = _slack_access(
            settings,
            slack,
            session=session,
            reads=acks,
            work=pool,
            workspaces=workspaces,
            cancel_runs=stopping.start_runs,
        )
        client, installation = access.client, access.installation
        chat, streams, response_urls, stream_log = Chat(client), Streams(client), ResponseUrls(session), StreamLog(pool)
        status_messages = StatusMessages(
            questions=questions,
            database_retry=database_retry,
            chat=chat,
            response_urls=response_urls,
            slack_api_url=slack.api_url,
        )
        profiles = Profiles(client)
        admission = Admission(
            client=client,
            installation=installation,
            workspaces=workspaces,
            profiles=profiles,
            database_retry=database_retry,
            external=settings.allow_external_users,
        )
        thread_reader = ThreadReader(
            client=client,
            capped=settings.thread_history == "capped",
            may_read=lambda: database_retry(workspaces.record_thread_read),
        )
        withdrawal, live = (
            AnswerWithdrawal(questions=questions, chat=chat, reader=thread_reader),
            LiveAnswers(
                questions=questions,
                streams=streams,
                chat=chat,
                calls=stream_log,
                stop=partial(record_stop, questions=questions, metrics=metrics),
                in_channels=settings.channel_streaming,
            ),
        )
        thread_history = ThreadHistory(
            reader=thread_reader,
            is_member=admission.is_member,
            bot_user=lambda: installation.identity.bot_user_id if installation.identity is not None else None,
        )
        file_uploader = FileUploader(
            client=client,
            chat=chat,
            questions=questions,
            stages=stages,
            persona=settings.persona_name,
            admits=admission.admits,
        )
        digests = DigestComponents.from_settings(
            settings,
            DigestStore(pool, many=settings.oauth_configured),
            client=client,
            chat=chat,
            database_retry=database_retry,
            profiles=profiles,
            installed=lambda: admission.installed,
        )
        admins = Admins(client, named=settings.admins, profiles=profiles, ours=lambda: installation.identity)
        managers = ChannelManagers(client, admins=admins)
        runner = CommandRunner(
            questions=questions,
            provider=search_services.chain,
            admins=admins,
            provider_stats=attempts.stats,
            audit=audit.health,
            feedback=FeedbackStore(pool).of_team,
            preferences=PreferenceStore(pool),
            budgets=budgets,
            limits=limits,
            management=managers.management,
            digests=digests.service,
            commands={command.name: command for command in commands} | digests.commands,
            database_retry=DatabaseRetry(seconds=RUN_SECONDS),
            stops=StopWatcher(questions=questions),
            agent=search_services.agent,
            model=search_services.model,
            deepdives=search_services.deepdives,
            thread_history=thread_history.before,
            reads_threads=settings.thread_history != "off",
            stages=lambda row: QuestionStages(stages=stages, row=row, database_retry=database_retry),
            can_upload=file_uploader.can_upload,
            saves_files=settings.send_files or not settings.slack_configured,
            next_questions=settings.next_questions,
            keeps_text=settings.retention_days > 0,
            before_sending=meter.keep,
            cancel_runs=stopping.start,
        )
        home = HomePublisher(
            store=HomeStore(pool),
            digests=digests.service,
            views=Views(client, sanitize=sanitize_view),
            commands=commands,
            slash=settings.command_prefix,
            admin=AdminHome(
                admins=admins,
                store=AdminStore(pool),
                digests=digests.service.list_all,
                admin_issues=attempts.admin_issues,
                audit=audit.health,
                workers_alive=partial(questions.workers_alive, seconds=STALLED_AFTER_SECONDS),
                budgets=budgets,
                limits=limits,
                fixed_limits=_fixed_limits(settings),
            ),
            start=background.start,
            retention_days=settings.retention_days,
            budgets=budgets,
        )
        question_worker = QuestionWorker(
            questions=questions,
            runner=runner,
            delivery=Delivery(
                questions=questions,
                database_retry=database_retry,
                routes=(
                    digests.channel_route,
                    *default_routes(chat, streams, response_urls, slack_api_url=slack.api_url),
                ),
            ),
            status_messages=status_messages,
            live=live,
            clear_up=ClearUp(
                questions=questions,
                live=live,
                chat=chat,
                status_messages=status_messages,
                withdrawal=withdrawal,
                cancel_runs=stopping.cancel,
                render_stopped=runner.stopped_message,
            ).clear_up,
            database_retry=database_retry,
            metrics=metrics,
            admission=admission,
            home_changed=home.changed,
            enter=access.enter_team,
            progress_of=lambda row: ProgressUpdater(
                row=row,
                questions=questions,
                chat=chat,
                response_urls=response_urls,
                slack_api_url=slack.api_url,
                take_edit=None if runner.shows_text(row) else stream_log.edit_progress,
            ),
        )
        jobs.register_handler(question_worker.process)

        services = ListenerContext(
            intake=Intake(questions=received, metrics=metrics, added=jobs.added),
            questions=received,
            commands=commands,
            metrics=metrics,
            reply_privately=status_messages.reply_privately,
            post_in_thread=status_messages.post_in_thread,
            post_ephemeral=status_messages.post_ephemeral,
            digests=replace(digests.service, digests=DigestStore(acks, many=settings.oauth_configured)),
            follow_ups=settings.follow_ups == "always",
            replace_original=status_messages.replace_original,
            load_report=file_uploader.load_report,
            upload_file=file_uploader.send,
            chat=chat,
            propose_claims=partial(propose_claims, model=search_services.model),
            name_of=profiles.name_of,
            asker_refusal=admission.asker_refusal,
            keep_proposal=ProposalStore(acks).record,
            move_proposal=ProposalStore(acks).move,
            views=Views(client, sanitize=sanitize_view),
            feedback=FeedbackStore(acks),
            sharing=Sharing(
                shares=ShareStore(acks),
                chat=chat,
                response_urls=response_urls,
                slack_api_url=slack.api_url,
                app=APP_NAME,
                database_retry=DatabaseRetry(seconds=SHARE_SECONDS),
                is_in_channel=SlackUsers(client, profiles=profiles).is_in_channel,
            ),
            preferences=PreferenceStore(acks),
            management=managers.management,
            budgets=BudgetStore(acks, budgets=settings.budgets),
            limits=LimitStore(acks, share=share),
            start=background.start,
            find_workspace=access.find_workspace,
            refusal=installation.refusal,
            record_end=installation.end,
            change_access=installation.change_access,
            delete_question=lambda row: background.start(home.after(withdrawal.delete(row), row)),
            show_place=QueuePlaces(questions=questions, chat=chat, start=background.start, clock=monotonic).watch,
            home_opened=home.opened,
            home_changed=home.changed,
            suggest_prompts=chat.suggest_prompts,
            is_admin=admins.is_admin,
            verify_admin=admins.verify_admin,
            stop_digest=digests.stopper.stop_for_admin,
            admin_data=home.admin.data,
            record_change=AuditStore(acks).record,
            is_known_outsider=admission.is_known_outsider,
            record_sender=replace(admission, workspaces=before_ack).record_sender,
            request_file=partial(before_ack.request_file, seconds=SAME_FILE_SECONDS),
            forget_file=before_ack.cancel_file_request,
            timezone=profiles.timezone,
            last_choice=choices.last,
            keep_choice=choices.keep,
            own_data=OwnData(
                store=PersonalDataStore(pool),
                files=file_uploader,
                cancel_runs=stopping.start_runs,
                tell=home.tell,
            ),
        )
        app = bolt_app(slack, client, services)
        server = None
        if http:
            # The health pages are public, so they must not use the connections for questions.
            server = _server(
                settings,
                slack,
                app,
                services,
                playground=playground,
                flow=access.flow,
                questions=QuestionStore(apart),
                attempts=AttemptStore(apart),
                audit=AuditStore(apart),
            )
        yield Application(
            playground=playground,
            providers=search_services.providers,
            questions=questions,
            jobs=jobs,
            attempt_log=attempt_log,
            audit=AuditWriter(audit=audit),
            retention=Retention(pool=pool, days=settings.retention_days),
            budget_watch=_budget_watch(
                settings, ledger=meter.ledger, budgets=budgets, chat=chat, access=access, admins=admins
            ),
            scheduler=digests.scheduler,
            installation=installation,
            server=server,
            socket=SocketMode(app, app_token=slack.app_token, client=client) if http and slack.app_token else None,
        )


WORKSPACE_PART = 0.8
"""Of the questions that one process works on at once, those of one workspace if there may be others."""


def _workspace_limit(settings: Settings) -> int:
    if settings.workspace_questions_at_once is not None:
        return settings.workspace_questions_at_once
    return math.ceil(WORKSPACE_PART * settings.questions_at_once) if settings.oauth_configured else 0


def _fixed_limits(settings: Settings) -> dict[str, str]:
    """Return the limits that only the settings change, by their labels."""
    return {
        "Digests of a person": str(settings.digests_per_user),
        "Digests in a channel": str(settings.digests_per_channel),
    }


def _audit_store(settings: Settings, pool: Pool) -> AuditStore:
    return AuditStore(pool, key=settings.audit_key.get_secret_value() if settings.audit_key is not None else None)


def _budget_watch(
    settings: Settings, *, ledger: Ledger, budgets: BudgetStore, chat: Chat, access: _SlackAccess, admins: Admins
) -> BudgetWatch:
    async def told(team_id: str) -> list[str]:
        # Those who have set budgets, unless they are no admins any more.
        setters = [one for one in await budgets.setters(team_id) if await admins.verify_admin(one) is not False]
        return list(dict.fromkeys([*settings.admins, *setters]))

    return BudgetWatch(
        ledger=ledger,
        chat=chat,
        admins=told,
        other_admins=AdminList(access.client).read,
        slash=f"/{settings.command_prefix}{ROOT_COMMAND}",
        enter=access.enter_team,
    )


def _server(
    settings: Settings,
    slack: SlackConnection,
    app: AsyncApp,
    services: ListenerContext,
    *,
    playground: Playground | None,
    flow: InstallationFlow | None,
    questions: QuestionStore,
    attempts: AttemptStore,
    audit: AuditStore,
) -> Server:
    from bot.worker.queue import STALLED_AFTER_SECONDS

    async def workers_alive() -> int:
        return await questions.workers_alive(seconds=STALLED_AFTER_SECONDS)

    routes = server.routes(
        workers_alive=workers_alive,
        admin_issues=attempts.admin_issues,
        audit=audit.health,
        metrics=services.metrics,
    )
    if settings.security_contact:
        routes.append(server.security_txt(settings.security_contact))
    if slack.signing_secret is not None:
        guard = RequestVerifier(app, signing_secret=slack.signing_secret, metrics=services.metrics)
        routes.append(web.post("/slack/events", guard.handle))
    if flow is not None:
        from bot.workspaces import oauth

        routes += oauth.routes(flow)
    if playground is not None:
        routes += playground.routes()
    return Server(routes, host=settings.bind_host, port=settings.port)
