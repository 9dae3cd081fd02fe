"""A stand-in for Slack on this machine, for an app that runs beside it."""

from __future__ import annotations

import argparse
import signal
import sys
from threading import Event
from urllib.parse import urlsplit

READY = """\
API address     {slack.api_url}
Bot token       {slack.bot_token}
Signing secret  {slack.signing_secret}
Requests go to  {app}

Talk to your app, and see what it shows and what Slack would not take:
  curl -d text=hello {slack.origin}/say            a direct message; /mention is in #general
  curl -d 'line=/ask why' {slack.origin}/command
  curl -d action_id=approve {slack.origin}/click
  curl {slack.origin}/

Stop with Ctrl-C.
"""


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} must be a port, from 1 to 65535")
    return int(text)


def _address(text: str) -> str:
    if not urlsplit(text).hostname or not text.startswith(("http://", "https://")):
        raise argparse.ArgumentTypeError(f"{text!r} must be an address such as http://127.0.0.1:3000/slack/events")
    return text


def _tell(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def main() -> int:
    """Serve until a signal comes; return the exit code."""
    parser = argparse.ArgumentParser("fake-slack", description=__doc__, allow_abbrev=False)
    parser.add_argument("--port", type=_port, default=8765, help="where it listens on this machine: %(default)s")
    app = "http://127.0.0.1:3000/slack/events"
    parser.add_argument("--app", type=_address, default=app, help="where your app takes requests: %(default)s")
    given = parser.parse_args()
    stopped = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    # This import takes long, so the handlers of the signals are set before it.
    from fake_slack.stand_in import Slack

    try:
        slack = Slack(app_url=given.app, port=given.port, tell=lambda mistake: _tell(f"Mistake: {mistake}\n"))
    except OSError as error:
        sys.stderr.write(f"fake-slack: --port {given.port}: {error.strerror}; choose another port\n")
        return 1
    with slack:
        _tell(READY.format(slack=slack, app=given.app))
        stopped.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
