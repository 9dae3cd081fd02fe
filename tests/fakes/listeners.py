"""What the listeners may use, without Slack and without a database."""

from __future__ import annotations

from typing import Any, cast

from slack_sdk.web.async_client import AsyncWebClient

from bot.blocks.escaping import sanitize_view
from bot.commands import COMMANDS
from bot.listeners.context import ListenerContext
from bot.listeners.intake import Intake
from bot.model.admin import AdminData
from bot.slack.messages import Chat, Sent
from bot.slack.users import Management
from bot.slack.views import Views
from bot.storage.questions import QuestionStore
from bot.web.metrics import Metrics
from perplexity.claims.types import ProposedClaims
from tests.fakes.digest_service import FakeDigests

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


class NoOwnData:
    """Nothing is kept of anyone."""

    async def export(self, team_id: str, user_id: str) -> None:
        """Do nothing."""

    async def erase(self, team_id: str, user_id: str) -> None:
        """Do nothing."""


def listener_context(questions: object, **fields: Any) -> ListenerContext:
    """Return the context of an app in which no one is an admin or an outsider; `questions` is the store's stand-in."""
    store = cast("QuestionStore", questions)
    client = AsyncWebClient(base_url=NOWHERE)
    base: dict[str, Any] = {
        "admin_data": returning(AdminData()),
        "asker_refusal": returning(None),
        "budgets": None,
        "change_access": returning(None),
        "chat": Chat(client),
        "commands": COMMANDS,
        "delete_question": nothing,
        "digests": FakeDigests(),
        "feedback": None,
        "find_workspace": None,
        "follow_ups": False,
        "forget_file": returning(None),
        "home_changed": nothing,
        "home_opened": nothing,
        "intake": Intake(questions=store, metrics=Metrics()),
        "is_admin": returning(False),
        "is_known_outsider": lambda body, user_id: False,
        "keep_choice": returning(None),
        "keep_proposal": returning(None),
        "last_choice": returning(None),
        "limits": None,
        "load_report": returning(None),
        "management": returning(Management.DENIED),
        "metrics": Metrics(),
        "move_proposal": returning(None),
        "name_of": returning(""),
        "own_data": NoOwnData(),
        "post_ephemeral": returning(None),
        "post_in_thread": returning(None),
        "preferences": None,
        "propose_claims": returning(ProposedClaims(claims=())),
        "questions": store,
        "record_change": returning(None),
        "record_end": returning(None),
        "record_sender": returning(None),
        "refusal": lambda body: None,
        "replace_original": unexpected,
        "reply_privately": unexpected,
        "request_file": returning(True),
        "sharing": None,
        "show_place": nothing,
        "start": lambda work: work.close(),
        "stop_digest": returning(None),
        "suggest_prompts": returning(Sent()),
        "timezone": returning(None),
        "upload_file": nothing,
        "verify_admin": returning(False),
        "views": Views(client, sanitize=sanitize_view),
    }
    return ListenerContext(**base | fields)
