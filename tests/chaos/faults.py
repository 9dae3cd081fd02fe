"""Every fault: what is done to the app and its services, for how long, under how many questions."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass

from tests.chaos.evidence import visible_text
from tests.chaos.harness import ADMIN, ChaosHarness, Member, killed_at_the_end
from tests.fakes.answers import KEEP_ALIVE, beginning, deltas
from tests.fakes.faults import BRAVE, PERPLEXITY
from tests.fakes.service import Fault as ServiceFault
from tests.fakes.service import RateWindow, stream_reply
from tests.fakes.slack import Fault as SlackFault

HANG = ServiceFault(hang=True)
CUT_AFTER_TEXT = stream_reply(
    *beginning(),
    *deltas("A heat pump costs less to run.[1] It needs a low "),
    *[KEEP_ALIVE] * 12,
    pause=0.06,
    reset=True,
)
ENDLESS = stream_reply(*beginning(), *deltas("It needs a low "), *[KEEP_ALIVE] * 300, pause=0.2)
TWO_HOURS = 7200.0
AT_ONCE = 8


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How long the parts of a fault take: `seconds` is the fault's own length."""

    seconds: float
    rounds: int = 1


Strike = Callable[[ChaosHarness, Scale], Awaitable[None]]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One row. `strike` begins when `before` seconds of load are over, and returns when the fault is over.

    `behind` are seconds of load after it, unless `load_seconds` says how long it is. `n` questions are asked in all;
    `short` is the scale of the short form, None where that leaves the fault out. `own_server`: the database's server is
    not shared with other faults; it has a disk of `disk_megabytes`. `alone`: nothing runs next to it. `refuses` says
    whether questions may be refused; `kills_webs` that requests may get no answer; `back_seconds` how soon requests
    have to be taken again. With `streams_in_channels` answers there are streamed, and the app may read their threads.
    A process works on `questions_at_once`. The first provider takes answers at a `rate`. `look` is called when all is
    settled, and says what is wrong.
    A `storm` has people of its own (`storm.py`), who change their minds; what is left at the end is judged.
    """

    name: str
    about: str
    strike: Strike
    n: int = 500
    full: Scale = Scale(seconds=20)
    short: Scale | None = None
    short_n: int = 80
    before: float = 3.0
    behind: float = 6.0
    load_seconds: float | None = None
    own_server: bool = False
    disk_megabytes: int | None = None
    alone: bool = False
    refuses: bool = True
    kills_webs: bool = False
    back_seconds: float | None = None
    drain_seconds: float = 120.0
    host: str = "127.0.0.1"
    streams_in_channels: bool = False
    questions_at_once: int = 100
    rate: RateWindow | None = None
    look: Callable[[ChaosHarness], Awaitable[None]] | None = None
    storm: bool = False


async def do_nothing(harness: ChaosHarness, scale: Scale) -> None:
    """Let everything be well."""
    await asyncio.sleep(scale.seconds)


async def move_clocks(harness: ChaosHarness, scale: Scale) -> None:
    """Take Slack away, and put the workers' clocks an hour ahead when the questions wait for it."""
    harness.slack.lasting["*"] = SlackFault(status=503)
    await harness.load_over.wait()
    await asyncio.sleep(2)
    for worker in harness.workers:
        worker.send(signal.SIGUSR1)
    await asyncio.sleep(scale.seconds)
    harness.slack.lasting.clear()


def break_slack(fault: SlackFault) -> Strike:
    """Have Slack do this to every call."""

    async def strike(harness: ChaosHarness, scale: Scale) -> None:
        harness.slack.lasting["*"] = fault
        await asyncio.sleep(scale.seconds)
        harness.slack.lasting.clear()

    return strike


def break_providers(first: ServiceFault, second: ServiceFault | None) -> Strike:
    """Have the first provider, and perhaps the second one, do this to every call."""

    async def strike(harness: ChaosHarness, scale: Scale) -> None:
        harness.perplexity.lasting["*"] = first
        if second is not None:
            harness.brave.lasting["*"] = second
        await asyncio.sleep(scale.seconds)
        harness.perplexity.lasting.clear()
        harness.brave.lasting.clear()

    return strike


async def cut_answers(harness: ChaosHarness, scale: Scale) -> None:
    """Have the first provider cut each answer after text that is shown, and each list of pages in the middle."""
    harness.perplexity.lasting |= {"/search": PERPLEXITY["reset mid-body"], "/v1/agent": CUT_AFTER_TEXT}
    await asyncio.sleep(scale.seconds)
    harness.perplexity.lasting.clear()


def kill(which: Callable[[ChaosHarness], Sequence[Member]], *, pause: float = 0.0) -> Strike:
    """Kill processes at once and start them again, so many times over the seconds."""

    async def strike(harness: ChaosHarness, scale: Scale) -> None:
        for _ in range(scale.rounds):
            began = time.monotonic()
            members = which(harness)
            await asyncio.gather(*(member.kill() for member in members))
            await asyncio.sleep(pause)
            await asyncio.gather(*(member.start() for member in members))
            await asyncio.sleep(max(0.0, began + scale.seconds / scale.rounds - time.monotonic()))

    return strike


async def restart_one_by_one(harness: ChaosHarness, scale: Scale) -> None:
    """Stop and start one process after the other."""
    await _restart(harness.members, pause=scale.seconds / 10)


async def _restart(members: Iterable[Member], *, pause: float = 0.0) -> None:
    for member in members:
        await member.terminate()
        await member.start()
        await asyncio.sleep(pause)


PAUSE_SECONDS = 5.0
"""How soon after a pause no call may begin, and those that have begun must have ended."""

WORKING = "SELECT count(*) FROM questions WHERE state IN ('working', 'delivering')"
PAUSED_NOTICE = "An admin has paused all paid searches"


async def pause_spending(harness: ChaosHarness, scale: Scale) -> None:
    """Let no answer end until each worker has all it takes; then restart one process after the other, and pause."""
    harness.perplexity.lasting["/v1/agent"] = ENDLESS
    async with asyncio.timeout(scale.seconds):
        while int(str((await harness.query(WORKING))[0][0])) < AT_ONCE * len(harness.workers):  # noqa: ASYNC110 - theirs
            await asyncio.sleep(0.1)
    restarting = asyncio.create_task(_restart(reversed(harness.members)))
    await asyncio.sleep(1)  # the first of them drains
    said = await harness.load.command("/pplx pause", user=ADMIN)
    paused = time.monotonic()
    if not said.startswith("Paused."):
        harness.wrong.append(f"the pause was answered with: {said}")
    await restarting
    await asyncio.sleep(max(0.0, paused + 2 * PAUSE_SECONDS - time.monotonic()))
    made = [*harness.perplexity.served, *harness.brave.served]
    if late := [call for call in made if call.began > paused + PAUSE_SECONDS]:
        harness.wrong.append(f"{len(late)} calls begun {max(one.began for one in late) - paused:.1f} s after the pause")
    if left := [call for call in made if (call.ended or math.inf) > paused + PAUSE_SECONDS]:
        harness.wrong.append(f"{len(left)} calls went on after the pause")
    told = sum(PAUSED_NOTICE in visible_text(post.payload) for post in harness.slack.posts)
    if told < AT_ONCE * len(harness.workers):
        harness.wrong.append(f"only {told} were told of the pause")
    harness.perplexity.lasting.clear()
    await harness.load.command("/pplx resume", user=ADMIN)


async def suspend(harness: ChaosHarness, scale: Scale) -> None:
    """Suspend one worker."""
    await harness.workers[0].suspend(scale.seconds)


async def hang_connections(harness: ChaosHarness, scale: Scale) -> None:
    """Forward nothing to the database and nothing back."""
    harness.gateway.hang()
    await asyncio.sleep(scale.seconds)
    harness.gateway.flow()


async def refuse_connections(harness: ChaosHarness, scale: Scale) -> None:
    """Refuse every connection to the database."""
    await harness.gateway.refuse()
    await asyncio.sleep(scale.seconds)
    await harness.gateway.accept()


async def cut_connections(harness: ChaosHarness, scale: Scale) -> None:
    """Cut all connections to the database, again and again."""
    for _ in range(scale.rounds):
        harness.gateway.cut()
        await asyncio.sleep(scale.seconds / scale.rounds)


async def restart_postgres(harness: ChaosHarness, scale: Scale) -> None:
    """Stop the server the fast way and start it again."""
    await harness.postgres.stop()
    await harness.postgres.start()


async def crash_postgres(harness: ChaosHarness, scale: Scale) -> None:
    """Kill the server and all its processes, and start it again."""
    await harness.postgres.kill()
    await asyncio.sleep(1)
    await harness.postgres.start()


async def suspend_postgres(harness: ChaosHarness, scale: Scale) -> None:
    """Suspend the server and all its processes."""
    await harness.postgres.suspend(scale.seconds)


async def fill_disk(harness: ChaosHarness, scale: Scale) -> None:
    """Fill the database's disk; where it has no disk of its own, let it refuse every write for want of space."""
    if not harness.postgres.small_disk:
        await _refuse_writes(harness, scale)
        return
    ballast = await harness.postgres.fill_disk()
    await asyncio.sleep(scale.seconds)
    await asyncio.to_thread(ballast.unlink)
    await harness.postgres.start_if_ended()


async def _refuse_writes(harness: ChaosHarness, scale: Scale) -> None:
    tables = ("questions", "procrastinate_jobs", "procrastinate_workers", "attempts")
    raising = "BEGIN RAISE EXCEPTION USING ERRCODE = '53100', MESSAGE = 'No space left on device'; END"
    await harness.query(f"CREATE FUNCTION no_space() RETURNS trigger LANGUAGE plpgsql AS $$ {raising} $$")
    for table in tables:
        await harness.query(
            f"CREATE TRIGGER no_space BEFORE INSERT OR UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION no_space()"
        )
    await asyncio.sleep(scale.seconds)
    await harness.query("DROP FUNCTION no_space() CASCADE")


async def stop_workers_for_two_hours(harness: ChaosHarness, scale: Scale) -> None:
    """Let no worker run for two hours: the questions are made older instead of waited for."""
    await asyncio.gather(*(worker.terminate() for worker in harness.workers))
    await harness.load_over.wait()
    for question in harness.load.questions:
        question.late = TWO_HOURS
        harness.slack.expired.add(question.id)
    await harness.query("UPDATE questions SET received_at = received_at - interval '2 hours'")
    await asyncio.gather(*(worker.start() for worker in harness.workers))


async def occupy_processors(harness: ChaosHarness, scale: Scale) -> None:
    """Keep the machine busy with other things."""
    busy = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", "while True: pass")
        for _ in range(3 * (os.cpu_count() or 1))
    ]
    with killed_at_the_end(busy):
        await asyncio.sleep(scale.seconds)


async def break_name_resolution(harness: ChaosHarness, scale: Scale) -> None:
    """Let no name resolve in the workers, and no connection be kept."""
    for service in (harness.slack, harness.perplexity, harness.brave):
        service.closing = True
    for worker in harness.workers:
        worker.send(signal.SIGUSR2)
    await asyncio.sleep(scale.seconds)
    for worker in harness.workers:
        worker.send(signal.SIGUSR2)
    for service in (harness.slack, harness.perplexity, harness.brave):
        service.closing = False


async def halve_limit(harness: ChaosHarness, scale: Scale) -> None:
    """Kill processes while people wait for their turn, and halve what the first provider takes meanwhile."""
    rate = _rate_of(harness)
    for number in range(scale.rounds):
        began = time.monotonic()
        if number == scale.rounds // 2:
            rate.per_second, rate.per_minute = rate.per_second // 2, rate.per_minute // 2
        members = harness.members if number == scale.rounds - 1 else harness.workers
        if not await harness.query(TODO):
            harness.wrong.append("no one waited when processes were killed")
        await asyncio.gather(*(member.kill() for member in members))
        await asyncio.gather(*(member.start() for member in members))
        await asyncio.sleep(max(0.0, began + scale.seconds / scale.rounds - time.monotonic()))


async def find_lost_turns(harness: ChaosHarness) -> None:
    """See that no turn is left over, and that as many calls leave as the first provider takes."""
    rate = _rate_of(harness)
    if lost := await harness.query(PLANNED_TURNS):
        harness.wrong.append(f"turns that no one uses: {lost}")
    if (known := await harness.query(KNOWN_LIMITS)) != [(rate.per_second, rate.per_minute, False)]:
        harness.wrong.append(f"the limits are taken for {known}")
    if harness.brave.served:
        harness.wrong.append(f"another provider was asked {len(harness.brave.served)} times because of the limit")
    if rate.refused > MOST_REFUSED * len(rate.taken):
        harness.wrong.append(f"{rate.refused} calls refused, {len(rate.taken)} taken")
    began, left = rate.clock(), list(rate.taken)
    await asyncio.gather(*(harness.load.ask(harness.load.question(surface="ask")) for _ in range(BURST)))
    for _ in range(BURST):
        ends = [
            left[-rate.per_second] + 1.0,
            *([left[-rate.per_minute] + 60.0] if rate.per_minute <= len(left) else []),
        ]
        left.append(max(began, *ends))
    await harness.wait_until_drained(seconds=60)
    took, least = rate.taken[-1] - began, left[-1] - began
    if took > 1.15 * least + 3:
        harness.wrong.append(f"{BURST} answers left in {took:.1f} s; least possible: {least:.1f} s")


def _rate_of(harness: ChaosHarness) -> RateWindow:
    assert harness.perplexity.rate is not None
    return harness.perplexity.rate


TODO = "SELECT 1 FROM procrastinate_jobs WHERE status = 'todo'"
PLANNED_TURNS = "SELECT lane, at - now() FROM provider_turns WHERE left_at IS NULL AND at > now()"
KNOWN_LIMITS = """
    SELECT per_second, per_minute, stopped_until IS NOT NULL FROM provider_limits WHERE lane LIKE 'perplexity.answer:%'
"""
MOST_REFUSED = 0.1
BURST = 10

RATE_LIMITED = SlackFault(status=429, body='{"ok": false, "error": "ratelimited"}', headers={"Retry-After": "2"})

FAULTS = (
    Fault(name="none", about="Nothing is wrong.", strike=do_nothing, full=Scale(seconds=20), refuses=False),
    Fault(
        name="clock",
        about="Slack is unavailable; while the questions wait for it, the workers' clocks jump an hour ahead.",
        strike=move_clocks, n=100, before=0.5, behind=8.0, full=Scale(seconds=25), short=Scale(seconds=15),
        refuses=False, load_seconds=8.0,
    ),
    Fault(
        name="slack-slow",
        about="Slack takes 6 s for every call, for 40 s.",
        strike=break_slack(SlackFault(status=200, seconds=6, serve_first=True)),
        n=300, full=Scale(seconds=40), refuses=False, load_seconds=15.0,
    ),
    Fault(
        name="slack-mute",
        about="Slack takes what is posted and answers nothing, for 40 s.",
        strike=break_slack(SlackFault(status=200, seconds=60, serve_first=True)),
        n=100, full=Scale(seconds=40), short=Scale(seconds=14), short_n=60, refuses=False, drain_seconds=180,
    ),
    Fault(
        name="slack-reset",
        about="Slack takes what is posted and then resets the connection, for 10 s.",
        strike=break_slack(SlackFault(status=0, serve_first=True)), full=Scale(seconds=10), refuses=False,
    ),
    Fault(
        name="slack-429",
        about="Slack answers 429 with Retry-After, for 20 s.",
        strike=break_slack(RATE_LIMITED), n=150, short=Scale(seconds=14), refuses=False,
    ),
    Fault(
        name="slack-500", about="Slack answers 500, for 20 s.", strike=break_slack(SlackFault(status=500)),
        short=Scale(seconds=12), refuses=False,
    ),
    Fault(
        name="workers-killed",
        about="Both workers are killed 8 times and started again.",
        strike=kill(lambda harness: harness.workers), full=Scale(seconds=64, rounds=8),
        short=Scale(seconds=15, rounds=3), refuses=False,
    ),
    Fault(
        name="streams-killed",
        about="Both workers are killed 6 times while they stream, in channels too (CHANNEL_STREAMING=true).",
        strike=kill(lambda harness: harness.workers), full=Scale(seconds=48, rounds=6), refuses=False,
        streams_in_channels=True,
    ),
    Fault(
        name="worker-killed", about="One worker is killed; another is started after 10 s.",
        strike=kill(lambda harness: harness.workers[:1], pause=10), refuses=False,
    ),
    Fault(
        name="web-killed", about="One web process is killed; another is started after 5 s.",
        strike=kill(lambda harness: harness.webs[:1], pause=5), kills_webs=True,
    ),
    Fault(
        name="all-killed", about="All four processes are killed at once; they are started again after 5 s.",
        strike=kill(lambda harness: harness.members, pause=5), kills_webs=True, short=Scale(seconds=8),
    ),
    Fault(
        name="rolling", about="SIGTERM to one process after the other, each started again.", strike=restart_one_by_one,
        kills_webs=True,
    ),
    Fault(
        name="paused",
        about="An admin pauses all spending while every place is taken and one process after the other is restarted.",
        strike=pause_spending, n=150, full=Scale(seconds=30), kills_webs=True, questions_at_once=AT_ONCE,
    ),
    Fault(
        name="worker-suspended", about="One worker is suspended for 20 s (SIGSTOP, SIGCONT).", strike=suspend,
        refuses=False, short=Scale(seconds=16),
    ),
    Fault(
        name="worker-2h", about="No worker runs for two hours.", strike=stop_workers_for_two_hours, n=150, before=0.0,
        load_seconds=10.0, full=Scale(seconds=0), short=Scale(seconds=0), refuses=False,
    ),
    Fault(
        name="database-hangs", about="The database takes connections and answers nothing, for 20 s.",
        strike=hang_connections, back_seconds=2.0, short=Scale(seconds=15),
    ),
    Fault(
        name="database-30", about="The database is gone for 30 s.", strike=refuse_connections, full=Scale(seconds=30),
        back_seconds=2.0, short=Scale(seconds=26),
    ),
    Fault(
        name="database-40", about="The database is gone for 40 s.", strike=refuse_connections, full=Scale(seconds=40),
        back_seconds=2.0,
    ),
    Fault(
        name="database-150", about="The database is gone for 150 s.", strike=refuse_connections, n=103,
        full=Scale(seconds=150), back_seconds=2.0, behind=10,
    ),
    Fault(
        name="database-cut", about="All connections to the database are cut, 10 times in 20 s.", strike=cut_connections,
        full=Scale(seconds=20, rounds=10), back_seconds=2.0,
    ),
    Fault(
        name="postgres-restart", about="Postgres is restarted (fast).", strike=restart_postgres, own_server=True,
        back_seconds=2.0,
    ),
    Fault(
        name="postgres-crash", about="Postgres is killed with all its processes, and started again.",
        strike=crash_postgres, own_server=True, back_seconds=2.0,
    ),
    Fault(
        name="disk-refused", about="Postgres refuses every write with disk_full, for 15 s.", strike=_refuse_writes,
        full=Scale(seconds=15), back_seconds=2.0,
    ),
    Fault(
        name="disk-full", about="The disk of the database is full, for 15 s.", strike=fill_disk, own_server=True,
        full=Scale(seconds=15), back_seconds=2.0, disk_megabytes=400,
    ),
    Fault(
        name="starved", about="Three busy programs for each core run next to it, for 20 s.",
        strike=occupy_processors, alone=True, refuses=False,
    ),
    Fault(
        name="provider-hangs", about="The first provider hangs for 15 s.", strike=break_providers(HANG, None),
        full=Scale(seconds=15), refuses=False,
    ),
    Fault(
        name="limit-halved",
        about="The first provider takes six answers a second and 300 a minute, and half of that after a while; workers,"
        " at last all processes, are killed while people wait for their turn.",
        strike=halve_limit, n=300, full=Scale(seconds=48, rounds=6), short=Scale(seconds=10, rounds=2), short_n=100,
        before=4.0, load_seconds=12.0, kills_webs=True, drain_seconds=240,
        rate=RateWindow(per_second=6, per_minute=300), look=find_lost_turns,
    ),
    Fault(
        name="provider-500", about="The first provider answers 500 for 15 s.",
        strike=break_providers(PERPLEXITY["500"], None), full=Scale(seconds=15), refuses=False,
    ),
    Fault(
        name="providers-500", about="Every provider answers 500 for 15 s.",
        strike=break_providers(PERPLEXITY["500"], BRAVE["500"]), full=Scale(seconds=15), refuses=False,
    ),
    Fault(
        name="streams-cut", about="The first provider cuts its answers in the middle of their text, for 15 s.",
        strike=cut_answers, full=Scale(seconds=15), refuses=False,
    ),
    Fault(
        name="dns", about="No name resolves in the workers, for 15 s.", strike=break_name_resolution, host="localhost",
        full=Scale(seconds=15), refuses=False,
    ),
    Fault(
        name="storm",
        about="60 people ask, edit, delete, stop, click and erase for 40 s, while Slack refuses 20 % of calls and"
        " processes are killed and replaced, also by a build with one more migration and one more command.",
        strike=do_nothing, full=Scale(seconds=40), short=Scale(seconds=15), streams_in_channels=True, storm=True,
    ),
)  # fmt: skip
