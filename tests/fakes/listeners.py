"""What the listeners may use, without Slack and without a database."""

from __future__ import annotations

from typing import Any, cast

from slack_sdk.web.async_client import AsyncWebClient

from bot.blocks.escaping import sanitize_view
from bot.features import COMMANDS
from bot.listeners.context import ListenerContext
from bot.listeners.intake import Intake
from bot.slack.messages import Chat
from bot.slack.views import Views
from bot.storage.questions import QuestionStore
from bot.web.metrics import Metrics

NOWHERE = "http://127.0.0.1:9/"
"""An address at which no server listens."""


def returning(result: Any) -> Any:
    """Return an async function that takes anything and returns `result`."""

    async def function(*_: object, **__: object) -> Any:
        return result

    return function


def nothing(*_: object, **__: object) -> None:
    """Do nothing."""


def unexpected(*given: object, **named: object) -> Any:
    """Fail: the test uses what it did not name."""
    raise AssertionError(given, named)


class NoReplies:
    """Replies that no test expects."""

    reply_privately = replace_original = post_in_thread = post_ephemeral = staticmethod(unexpected)


class NoAdmins:
    """A workspace in which no one is an admin."""

    is_admin = verify_admin = staticmethod(returning(False))


class Everyone:
    """An admission that knows of no outsider."""

    is_known_outsider = staticmethod(lambda body, user_id: False)
    refuses = staticmethod(returning(False))


def listener_context(questions: object, **fields: Any) -> ListenerContext:
    """Return the context of an app in which no one is an admin or an outsider; `questions` is the store's stand-in."""
    store = cast("QuestionStore", questions)
    client = AsyncWebClient(base_url=NOWHERE)
    base: dict[str, Any] = {
        "admins": NoAdmins(),
        "admission": Everyone(),
        "chat": Chat(client),
        "commands": COMMANDS,
        "home_changed": nothing,
        "home_opened": nothing,
        "language": returning("en"),
        "intake": Intake(questions=store, metrics=Metrics(), record_sender=returning(None)),
        "metrics": Metrics(),
        "preferences": None,
        "questions": store,
        "replies": NoReplies(),
        "start": lambda work: work.close(),
        "views": Views(client, sanitize=sanitize_view),
    }
    return ListenerContext(**base | fields)
