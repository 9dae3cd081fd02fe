"""On whose behalf the current task works: one value, inherited by the tasks that it starts."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from uuid import UUID

from bot.model.membership import Identity
from perplexity import scope
from perplexity.scope import OwnKeys


@dataclass(frozen=True, kw_only=True)
class Asker:
    """A person in a conversation of a workspace; `question_id` is None while a form asks for something.

    `claim` is that of the worker that answers the question.
    """

    team_id: str
    user_id: str
    channel_id: str
    question_id: UUID | None = None
    claim: int | None = None


@dataclass(frozen=True, kw_only=True)
class ActiveWorkspace:
    """One installation, and its own keys for search services, if it has any."""

    identity: Identity
    own_keys: OwnKeys | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True)
class RequestScope(scope.Scope):
    """The request, workspace and person for which the task works; the library reads the keys, and fills the log.

    `arrived` is when the request arrived, on the monotonic clock, None outside of a request. With one bot token for the
    whole process there is no `workspace`. Without an `asker`, the work is the app's own.
    """

    arrived: float | None = None
    workspace: Identity | None = None
    asker: Asker | None = None


def current_scope() -> RequestScope:
    """Return the scope of the current task."""
    now = scope.current()
    return now if isinstance(now, RequestScope) else RequestScope(keys=now.keys, log=now.log)


def act_for(workspace: ActiveWorkspace | None) -> None:
    """Set the installation for the current task, and for the tasks that it starts from now on."""
    identity, keys = (None, None) if workspace is None else (workspace.identity, workspace.own_keys)
    scope.enter(replace(current_scope(), workspace=identity, keys=keys))


def working_for(asker: Asker) -> AbstractContextManager[None]:
    """Set the asker until the end of the block."""
    return scope.within(replace(current_scope(), asker=asker))


def workspace_key() -> str:
    """Return a prefix that separates the entries of a cache by workspace; empty if the process has only one."""
    workspace = current_scope().workspace
    return workspace.id if workspace is not None else ""
