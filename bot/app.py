"""The composition root: builds every part of the app from the settings and connects them."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import cached_property, partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from aiohttp import web
from slack_bolt.async_app import AsyncApp

from bot.blocks.escaping import sanitize_view
from bot.blocks.examples import PROMPTS
from bot.chain import Meter
from bot.commands import with_built
from bot.commands.ask import ask_command
from bot.commands.base import Command
from bot.commands.routing import first_lane
from bot.commands.status import Health, StatusCommand
from bot.delivery.delivery import Delivery, default_routes, digest_route
from bot.delivery.home_tabs import HomeTabs
from bot.delivery.queue_place import QueuePlaces
from bot.delivery.status_message import ProgressUpdater, StatusMessages
from bot.delivery.withdrawal import AnswerWithdrawal
from bot.feature import Core, Feature, Running, Together, bring_together
from bot.features import FEATURES
from bot.listeners import actions, messages, slash
from bot.listeners import installation as lifecycle
from bot.listeners.context import ListenerContext, Register
from bot.listeners.installation import FindWorkspace, Installation, bolt_app, token_hash
from bot.listeners.intake import ACK_SECONDS, Admission, Intake, record_stop
from bot.listeners.slash import Opening
from bot.model.question import QuestionRow
from bot.process import Application, Periodic, watch
from bot.services import open_limiter, open_search_services, slack_connection
from bot.slack.connection import SocketMode, open_session, web_client
from bot.slack.files import FileReader
from bot.slack.messages import Chat, ResponseUrls
from bot.slack.streams import Streams
from bot.slack.threads import ThreadHistory, ThreadReader
from bot.slack.users import MAX_ADMINS, AdminList, Admins, Profiles, SlackUsers, UserGroups
from bot.slack.views import Views
from bot.storage.audit_chain import AuditStore
from bot.storage.budgets import BudgetStore
from bot.storage.calls import AttemptLog, AttemptStore
from bot.storage.installation import WorkspaceStore
from bot.storage.ledger import Ledger
from bot.storage.preferences import ChoiceStore, PreferenceStore, app_defaults
from bot.storage.questions import DatabaseRetry, QuestionStore, connection_pool, fair_share
from bot.storage.ratings import ratings_of_team
from bot.storage.retention import Retention
from bot.storage.stages import RUN_SECONDS, QuestionStages, StageStore
from bot.storage.streams import StreamLog
from bot.streaming.live import LiveAnswers
from bot.translation import LANGUAGES, catalogue
from bot.views import ask, sent, sources
from bot.web import server
from bot.web.metrics import Metrics
from bot.web.server import Server
from bot.web.signature import RequestVerifier
from bot.worker.admin_notices import AdminNotices, look_at_spending
from bot.worker.background import BackgroundTasks, FileUploader, RunCanceller
from bot.worker.clear_up import ClearUp
from bot.worker.files import QuestionFiles
from bot.worker.runner import CommandRunner, StopWatcher
from bot.worker.worker import QuestionWorker, only_workspace

if TYPE_CHECKING:
    from bot.playground.examples import Pause
    from bot.settings import Settings
    from bot.workspaces.oauth import InstallationFlow
    from bot.workspaces.registry import Workspaces


WORK_CONNECTIONS = 4
ACK_CONNECTIONS = 3
HEALTH_CONNECTIONS = 2
"""The most connections for work, for acknowledgements, and for heartbeats and health checks.

The pools are separate so that acknowledgements, heartbeats and health checks never wait for work. With the connection
that listens for new jobs, a process has at most ten; small databases allow twenty.
"""

POOL_SECONDS = 10.0
"""How long work waits for a connection before the database counts as unavailable."""


class _Parts:
    """The parts of a process; most are built when another part, or the application, first uses them.

    `work`, `acks` and `health` are connection pools: for the work on questions, for acknowledgements, and for
    heartbeats and the public health pages.
    """

    database_retry = DatabaseRetry(seconds=math.inf)
    """Retries without a time limit, so that a paid answer is kept for as long as the database is unavailable."""

    def __init__(self, settings: Settings, *, features: Sequence[Feature], pause: Pause) -> None:
        self.settings, self.features, self.pause = settings, features, pause
        self.brought, self.metrics = bring_together(features), Metrics()
        self.slack, self.playground = slack_connection(settings, self.brought.offers)

    async def open(self, conninfo: str, stack: AsyncExitStack) -> None:
        """Open what must be closed at the end, such as the pools, and build the stores and the parts for Slack.

        `stack` closes everything that is opened here.
        """
        from bot.worker.queue import JobQueue

        settings, opened = self.settings, stack.enter_async_context
        self.work = await opened(connection_pool(conninfo, size=WORK_CONNECTIONS, seconds=POOL_SECONDS))
        self.acks = await opened(connection_pool(conninfo, size=ACK_CONNECTIONS, seconds=ACK_SECONDS))
        self.health = await opened(connection_pool(conninfo, size=HEALTH_CONNECTIONS))
        self.jobs = JobQueue(self.work, beats=self.health, at_once=settings.questions_at_once)
        await self.jobs.open()
        self.attempts = AttemptStore(self.work)
        self.attempt_log = AttemptLog(attempts=self.attempts, on_attempt=self.metrics.attempted)
        self.session = await opened(open_session(self.slack))
        self.meter = Meter(ledger=await opened(Ledger(self.work, budgets=settings.budgets)))
        self.limiter = replace(open_limiter(settings, self.work), on_refused=self.metrics.call_refused)
        self.providers, self.chain = await opened(
            open_search_services(settings, on_attempt=self.attempt_log.record, meter=self.meter, limiter=self.limiter)
        )
        self.background = await opened(BackgroundTasks())
        self._open_stores()
        self._connect_slack()
        self._read_people()
        self._show_in_slack()

    def _open_stores(self) -> None:
        settings, work, acks, many = self.settings, self.work, self.acks, self.settings.oauth_configured
        share = fair_share(settings)
        key = settings.audit_key
        stores = partial(
            QuestionStore,
            share=share,
            lanes=self.limiter.lanes,
            lane=partial(
                first_lane,
                providers=self.providers,
                lanes=self.limiter.lanes,
                shares=settings.retention_days > 0,
            ),
            wait_seconds=settings.wait_seconds,
        )
        self.questions = stores(work, keeps_text=settings.retention_days > 0, many=many)
        self.received = stores(acks)
        self.stages = StageStore(work)
        self.audit = AuditStore(work, key=None if key is None else key.get_secret_value())
        self.budgets = BudgetStore(work, budgets=settings.budgets)
        defaults = app_defaults(settings)
        self.preferences, self.preferences_before_ack = (PreferenceStore(one, defaults) for one in (work, acks))
        self.workspaces, self.before_ack = (WorkspaceStore(one, many=many) for one in (work, acks))
        self.stopping = RunCanceller(
            questions=self.questions,
            stages=self.stages,
            providers=self.providers,
            background=self.background,
        )

    def _connect_slack(self) -> None:
        """Set the parts that depend on whether there is one workspace with a token, or many that install by OAuth."""
        settings, slack, cancel_runs = self.settings, self.slack, self.stopping.start_runs
        self.installation: Installation | Workspaces
        self.read_token: Callable[[], Awaitable[str]]
        self.enter_team: Callable[[str], Awaitable[bool]] = only_workspace
        self.find_workspace: FindWorkspace | None = None
        self.flow: InstallationFlow | None = None
        if not settings.oauth_configured:

            async def read_token() -> str:
                return slack.bot_token or ""

            self.client = web_client(
                slack.bot_token, api_url=slack.api_url, session=self.session, ca_bundle=slack.ca_bundle
            )
            self.read_token = read_token
            self.installation = Installation(
                client=self.client,
                workspaces=self.workspaces,
                token_hash=token_hash(slack.bot_token or ""),
                cancel_runs=cancel_runs,
            )
            return
        # Encryption takes a while to import; a single workspace with its own token does not need it.
        from bot.workspaces.connection import connect_workspaces

        registry, self.client, self.flow = connect_workspaces(
            settings,
            session=self.session,
            reads=self.acks,
            work=self.work,
            store=self.workspaces,
            cancel_runs=cancel_runs,
        )
        self.installation, self.read_token = registry, registry.token
        self.enter_team, self.find_workspace = registry.enter_team, registry.of_request

    def _read_people(self) -> None:
        client = self.client
        self.profiles = Profiles(client)
        self.language = self.profiles.language
        self.admins = Admins(
            profiles=self.profiles,
            groups=UserGroups(client),
            named=self.settings.named_admins,
            ours=lambda: self.installation.identity,
        )
        self.users = SlackUsers(client, profiles=self.profiles)

    def _show_in_slack(self) -> None:
        """Set the parts that post, change, read and delete messages, files and home tabs."""
        client, settings = self.client, self.settings
        self.chat = chat = Chat(client)
        self.views, self.response_urls = Views(client, sanitize=sanitize_view), ResponseUrls(self.session)
        self.stream_log = StreamLog(self.work)
        self.status_messages = StatusMessages(
            questions=self.questions,
            database_retry=self.database_retry,
            chat=chat,
            response_urls=self.response_urls,
            slack_api_url=self.slack.api_url,
        )
        self.thread_reader = ThreadReader(
            client=client,
            capped=settings.thread_history == "capped",
            may_read=lambda: self.database_retry(self.workspaces.record_thread_read),
        )
        self.withdrawal = AnswerWithdrawal(questions=self.questions, chat=chat, reader=self.thread_reader)
        self.notices = AdminNotices(
            chat=chat,
            admins=self.told,
            other_admins=AdminList(client).read,
            enter=self.enter_team,
            language=self.language,
        )
        self.home_tabs = HomeTabs(views=self.views, withdrawal=self.withdrawal, language=self.language)
        self.live = LiveAnswers(
            questions=self.questions,
            streams=Streams(client),
            chat=chat,
            calls=self.stream_log,
            stop=partial(record_stop, questions=self.questions, metrics=self.metrics),
            replace_original=self.status_messages.replace_original,
            in_channels=settings.channel_streaming,
        )
        self.places = QueuePlaces(
            questions=self.questions,
            chat=chat,
            replace_original=self.status_messages.replace_original,
            start=self.background.start,
            clock=monotonic,
        )
        self.admission = Admission(
            chat=chat,
            installation=self.installation,
            workspaces=self.workspaces,
            preferences=self.preferences_before_ack,
            profiles=self.profiles,
            database_retry=self.database_retry,
            external=settings.allow_external_users,
        )
        self.files = FileUploader(client=client, chat=chat, admits=self.admission.admits, requests=self.before_ack)

    # Commands and features.

    @cached_property
    def commands(self) -> Sequence[Command[Any, Any]]:
        commands = with_built(self.brought.commands, (*self.built_commands, *self.feature_commands))
        if not self.replays:
            return commands
        from bot.playground.examples import with_examples

        return with_examples(commands, plain=self.brought.commands, pause=self.pause)

    @property
    def replays(self) -> bool:
        """Whether this process answers the examples from recordings: in the playground, if no key is set."""
        return self.playground is not None and self.settings.keyless

    @property
    def feature_commands(self) -> Iterator[Command[Any, Any]]:
        """Yield the features' commands, including those that only the app itself runs."""
        return (command for one in self.running for command in one.commands)

    @property
    def built_commands(self) -> Iterator[Command[Any, Any]]:
        """Yield the core's commands that need stores or other parts, in addition to the context of a question."""
        settings, admins = self.settings, self.admins
        yield ask_command(
            agent=settings.missing_agent_setting is None,
            next_questions=settings.next_questions,
            preferences=self.preferences,
        )
        yield StatusCommand(
            admins=admins,
            attempts=self.attempts,
            feedback=partial(ratings_of_team, self.work),
            health=self.troubles,
            budgets=self.budgets,
            limits=self.limiter.uses,
        ).command()

    @cached_property
    def troubles(self) -> Health:
        from bot.worker.queue import STALLED_AFTER_SECONDS

        return Health(
            services=[one.name for one in self.providers],
            free=self.settings.keyless,
            attempts=self.attempts,
            defaults=self.settings.budgets,
            audit=self.audit,
            workers_alive=partial(self.questions.workers_alive, seconds=STALLED_AFTER_SECONDS),
            found_by=[one.problems for one in self.running if one.problems is not None],
        )

    @cached_property
    def core(self) -> Core:
        return Core(
            settings=self.settings,
            work=self.work,
            acks=self.acks,
            chat=self.chat,
            replies=self.status_messages,
            admins=self.admins,
            admission=self.admission,
            users=self.users,
            questions=self.received,
            home=self.home_tabs,
            together=lambda: self.together,
            chain=self.chain,
            metrics=self.metrics,
            files=self.files,
            notices=self.notices,
            service_limits=self.limiter.uses,
            reply_listeners=self.meter.listeners,
            cancel_runs=self.stopping.start_runs,
            start=self.background.start,
        )

    @cached_property
    def running(self) -> Sequence[Running]:
        return [feature.start(self.core) for feature in self.features]

    @property
    def together(self) -> Together:
        return Together(
            commands=self.commands,
            home_sections=[section for one in self.running for section in one.home_sections],
            problems=self.troubles.problems,
        )

    @property
    def periodic(self) -> Sequence[Periodic]:
        spending = partial(look_at_spending, self.meter.ledger, self.limiter, self.notices)
        return (
            Periodic(name="installation", run=self.installation.run),
            Periodic(name="retention", run=Retention(pool=self.work, days=self.settings.retention_days).run),
            Periodic(name="spending", run=partial(watch, spending)),
            Periodic(name="places", run=self.places.run),
            *(work for one in self.running for work in one.periodic),
        )

    # The worker.

    @cached_property
    def runner(self) -> CommandRunner:
        settings = self.settings
        thread_history = ThreadHistory(
            reader=self.thread_reader,
            is_member=self.admission.is_member,
            by_default=settings.thread_history != "off",
            bot_user=lambda: None if (ours := self.installation.identity) is None else ours.bot_user_id,
        )
        return CommandRunner(
            questions=self.questions,
            chain=self.chain,
            admins=self.admins,
            commands={command.name: command for command in (*self.feature_commands, *self.commands)},
            database_retry=DatabaseRetry(seconds=RUN_SECONDS),
            stops=StopWatcher(questions=self.questions),
            umbrella=self.core.slash,
            reasoning_effort=settings.reasoning_effort,
            thread_history=thread_history.before,
            stages=partial(QuestionStages, stages=self.stages, database_retry=self.database_retry),
            answer_parts=self.brought.answer_parts,
            files=QuestionFiles(
                reader=FileReader(
                    client=self.client,
                    session=self.session,
                    read_token=self.read_token,
                    api_url=self.slack.api_url,
                )
            ),
            saves_files=settings.saves_files,
            keeps_text=settings.retention_days > 0,
            before_sending=self.meter.keep,
            shared_answers=self.work if settings.retention_days > 0 else None,
            cancel_runs=self.stopping.start,
            language=self.language,
        )

    async def channel_closed(self, row: QuestionRow, error: str) -> None:
        """Tell a question's command that the app may not post in the question's channel; `error` is Slack's error."""
        command = self.runner.commands.get(row.command)
        if command is not None and command.on_closed is not None:
            await command.on_closed(row, error)

    @cached_property
    def question_worker(self) -> QuestionWorker:
        routes = default_routes(
            self.chat,
            self.live.streams,
            self.response_urls,
            slack_api_url=self.slack.api_url,
            delete_pending=self.status_messages.delete_pending,
        )
        return QuestionWorker(
            questions=self.questions,
            runner=self.runner,
            delivery=Delivery(
                questions=self.questions,
                database_retry=self.database_retry,
                routes=(digest_route(self.chat, on_closed=self.channel_closed), *routes),
            ),
            status_messages=self.status_messages,
            live=self.live,
            clear_up=ClearUp(
                questions=self.questions,
                live=self.live,
                chat=self.chat,
                status_messages=self.status_messages,
                withdrawal=self.withdrawal,
                cancel_runs=self.stopping.cancel,
                render_stopped=self.runner.stopped_message,
            ).clear_up,
            database_retry=self.database_retry,
            metrics=self.metrics,
            admission=self.admission,
            home_changed=self.home_tabs.changed,
            enter=self.enter_team,
            progress_of=partial(ProgressUpdater, shared=self.status_messages),
            take_edit=self.stream_log.edit_progress,
        )

    async def told(self, team_id: str) -> list[str]:
        """Return the admins who are told of a workspace's notices first; others are told only if none of them can be.

        They are the people in ADMIN_USER_IDS, at most `MAX_ADMINS` members of its user groups, and the people who have
        set budgets. A person who has set a budget is left out if Slack says that this person is no longer an admin.
        """
        setters = await self.budgets.setters(team_id)
        still = [one for one in setters if await self.admins.verify_admin(one) is not False]
        groups = [one for one in self.settings.named_admins if one not in self.settings.admins]
        members = {one for group in groups for one in await self.admins.groups.members(group) or ()}
        return list(dict.fromkeys([*self.settings.admins, *sorted(members)[:MAX_ADMINS], *still]))

    # The listeners.

    @cached_property
    def app(self) -> AsyncApp:
        context = ListenerContext(
            intake=Intake(
                questions=self.received,
                metrics=self.metrics,
                follow_ups=self.settings.follow_ups == "always",
                record_sender=replace(self.admission, workspaces=self.before_ack).record_sender,
                show_place=self.places.watch,
            ),
            questions=self.received,
            commands=self.commands,
            metrics=self.metrics,
            preferences=self.preferences_before_ack,
            chat=self.chat,
            views=self.views,
            replies=self.status_messages,
            admins=self.admins,
            admission=self.admission,
            language=self.language,
            start=self.background.start,
            home_opened=self.home_tabs.opened,
            home_changed=self.home_tabs.changed,
        )
        return bolt_app(self.slack, self.client, context, self.surfaces)

    @property
    def surfaces(self) -> Sequence[Register]:
        """The functions that register listeners, in order.

        The check of the installation is first, then come the features' listeners, then the core's, roughly in the order
        of their use.
        """
        acks = self.acks
        choices = ChoiceStore(acks)
        return (
            partial(
                lifecycle.register,
                installation=self.installation,
                find_workspace=self.find_workspace,
                tell=self.notices.tell,
            ),
            *(register for one in self.running for register in one.listeners),
            partial(slash.register, forms=self.forms(choices)),
            partial(messages.register, examples=PROMPTS) if self.replays else messages.register,
            actions.register,
            partial(ask.register, choices=choices),
            sent.register,
            sources.register,
        )

    def forms(self, choices: ChoiceStore) -> Mapping[str | None, Opening]:
        """Return the functions that open a form when a command is typed without arguments, by the command's name.

        The name of the umbrella command is "" here.
        """
        asks = ["", *(command.name for command in self.commands if command.form is not None)]
        forms: dict[str | None, Opening] = dict.fromkeys(asks, partial(ask.open_from_command, choices=choices))
        for one in self.running:
            forms.update(one.forms)
        return forms

    # The server.

    @property
    def server(self) -> Server:
        from bot.worker.queue import STALLED_AFTER_SECONDS

        settings = self.settings
        look = server.HealthCheck(
            workers_alive=partial(QuestionStore(self.health).workers_alive, seconds=STALLED_AFTER_SECONDS),
            admin_issues=AttemptStore(self.health).admin_issues,
            audit=AuditStore(self.health).health,
        )
        waiting = replace(self.limiter, pool=self.health).waiting
        routes = server.routes(look, metrics=self.metrics, waiting=waiting)
        if settings.security_contact:
            routes.append(server.security_txt(settings.security_contact))
        if self.slack.signing_secret is not None:
            guard = RequestVerifier(self.app, signing_secret=self.slack.signing_secret, metrics=self.metrics)
            routes.append(web.post("/slack/events", guard.handle))
        if self.flow is not None:
            from bot.workspaces import oauth

            routes += oauth.routes(self.flow)
        if self.playground is not None:
            routes += self.playground.routes()
        return Server(routes, host=settings.bind_host, port=settings.port)

    @property
    def socket(self) -> SocketMode | None:
        token = self.slack.app_token
        return SocketMode(self.app, app_token=token, client=self.client) if token else None


@asynccontextmanager
async def compose(
    settings: Settings,
    *,
    conninfo: str,
    http: bool,
    pause: Pause = asyncio.sleep,
    features: Sequence[Feature] = FEATURES,
) -> AsyncIterator[Application]:
    """Build the process on an open database, and close everything at the end.

    `http` adds the server and the connection for Socket Mode. `pause` waits between the events of a recorded example.
    """
    async with AsyncExitStack() as stack:
        parts = _Parts(settings, features=features, pause=pause)
        await parts.open(conninfo, stack)
        await asyncio.to_thread(lambda: [catalogue(one) for one in LANGUAGES])
        parts.jobs.register_handler(parts.question_worker.process)
        yield Application(
            playground=parts.playground,
            providers=parts.providers,
            questions=parts.questions,
            jobs=parts.jobs,
            periodic=parts.periodic,
            written=(
                Periodic(name="attempts", run=parts.attempt_log.run),
                Periodic(name="audit", run=parts.audit.run),
            ),
            installation=parts.installation,
            server=parts.server if http else None,
            socket=parts.socket if http else None,
        )
