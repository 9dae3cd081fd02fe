"""The command line: `python -m bot run | worker | migrate | doctor | manifest`."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from psycopg import OperationalError

from bot import logs
from bot.addresses import is_safe
from bot.environment import SettingsError, load, read
from bot.errors import SocketRefused
from bot.manifest import EXAMPLE, as_json, as_yaml
from bot.settings import Settings
from bot.storage.embedded import NoEmbeddedServer, embedded_server, require
from bot.storage.migrations import migrate
from perplexity.errors import ConnectionFailed


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the process's exit code: 0 well, 1 could not run, 2 wrong settings or arguments."""
    parsed = _parser().parse_args(arguments)
    try:
        return _doctor() if parsed.command == "doctor" else _commanded(parsed)
    except (SettingsError, NoEmbeddedServer) as error:
        return _fail(f"Settings:\n{error}", code=2)
    except OperationalError as error:
        return _fail(f"The database cannot be reached: {_first_line(error)}\nCheck DATABASE_URL.", code=1)
    except SocketRefused as error:
        return _fail(f"Slack refuses SLACK_APP_TOKEN ({error}). `python -m bot doctor` says what to do.", code=1)
    except OSError as error:
        return _fail(f"{error.strerror or error}. Is PORT or HOST taken or not allowed?", code=1)
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bot", description="Answers questions in Slack from the live web.")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="serve HTTP and work on questions")
    run.add_argument("--no-worker", action="store_true", help="serve HTTP only; workers run elsewhere")
    commands.add_parser("worker", help="work on questions only")
    commands.add_parser("migrate", help="bring the database up to date and exit")
    commands.add_parser("doctor", help="check everything the app needs, and say how to mend what is wrong")
    manifest = commands.add_parser("manifest", help="print the manifest that Slack makes the app from")
    manifest.add_argument("--url", type=_https, metavar="https://…", help="the app's public address")
    manifest.add_argument("--json", action="store_true", help="as JSON, which Slack's command line reads")
    return parser


def _https(url: str) -> str:
    if not (url.startswith("https://") and is_safe(url)):
        raise argparse.ArgumentTypeError("must be an https address, such as https://answers.example.com")
    return url


def _commanded(parsed: argparse.Namespace) -> int:
    settings = load()
    logs.configure(settings.log_level, sys.stderr)
    return _manifest(settings, parsed) if parsed.command == "manifest" else _run(settings, parsed)


def _doctor() -> int:
    from bot.doctor import diagnose, leaving, report

    logs.configure("ERROR", sys.stderr)
    settings, faults = read()
    findings = leaving.run(diagnose(settings, faults, now=time.time))
    # https://no-color.org, which asks for the environment and for nothing else
    signs = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    sys.stdout.write(report.render(findings, signs=signs))
    return report.exit_code(findings)


def _manifest(settings: Settings, parsed: argparse.Namespace) -> int:
    if parsed.url is not None and settings.slack_app_token is not None:
        return _fail("--url: with SLACK_APP_TOKEN the app uses Socket Mode and has no address; unset one.", code=2)
    url = None if settings.slack_app_token is not None else parsed.url or EXAMPLE
    sys.stdout.write((as_json if parsed.json else as_yaml)(prefix=settings.command_prefix, url=url))
    return 0


def _run(settings: Settings, parsed: argparse.Namespace) -> int:
    if parsed.command == "worker" and not settings.slack_configured:
        raise SettingsError(
            "SLACK_BOT_TOKEN and SLACK_SIGNING_SECRET are missing; without them the playground runs inside "
            "`python -m bot run`, and a worker of its own has nowhere to answer"
        )
    with _database(settings) as (conninfo, described):
        applied = asyncio.run(migrate(conninfo))
        if parsed.command == "migrate":
            _say(f"Database  {described}\nMigrated  {applied} applied")
            return 0
        try:
            asyncio.run(_serve(settings, parsed, conninfo=conninfo, described=described))
        except ConnectionFailed as error:  # a proxy in the environment that nothing can be reached by
            raise SettingsError(error.message) from None
    return 0


@contextmanager
def _database(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield the connection address and what to call it."""
    if settings.database_url is not None:
        yield settings.database_url.get_secret_value(), "Postgres at DATABASE_URL"
        return
    require(dyno=settings.dyno)
    with embedded_server(Path(settings.data_dir)) as conninfo:
        yield conninfo, f"embedded Postgres in {settings.data_dir}"


async def _serve(settings: Settings, parsed: argparse.Namespace, *, conninfo: str, described: str) -> None:
    from bot.app import compose

    stop = asyncio.Event()
    _stop_on_signals(stop)
    async with compose(settings, conninfo=conninfo, http=parsed.command == "run") as app:
        _say(f"Database  {described}")
        _say(f"Providers {', '.join(provider.name for provider in app.providers) or 'none'}")
        _say(f"Slack     {_slack(settings)}")
        await app.serve(stop, work=not getattr(parsed, "no_worker", False), ready=lambda: _ready(settings, parsed))


def _slack(settings: Settings) -> str:
    if not settings.slack_configured:
        return "playground (no Slack token is set)"
    return "a real workspace" + (
        ", by Socket Mode: for development; in production set SLACK_SIGNING_SECRET and unset SLACK_APP_TOKEN"
        if settings.slack_app_token is not None
        else ""
    )


def _ready(settings: Settings, parsed: argparse.Namespace) -> None:
    if parsed.command == "worker":
        _say("Working   on questions; Ctrl-C stops")
    elif settings.slack_signing_secret is not None:
        _say(f"Listening on {settings.bind_host}:{settings.port}; Slack's request URL ends in /slack/events")
    elif settings.slack_configured:
        _say(f"Listening on {settings.bind_host}:{settings.port}; requests come by Socket Mode")
    else:
        _say(f"Open      http://127.0.0.1:{settings.port}/playground  (Ctrl-C stops)")


def _stop_on_signals(stop: asyncio.Event) -> None:
    """Stop gently at the first signal, at once at the second."""

    def on_signal() -> None:
        if stop.is_set():
            os._exit(130)
        _say("\nStopping  (once more to stop at once; nothing is lost either way)")
        stop.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, on_signal)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _fail(text: str, *, code: int) -> int:
    sys.stderr.write(text + "\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
