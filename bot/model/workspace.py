"""The workspace that the current task acts for: set for a request or a question, inherited by the tasks they start.

With one bot token for the whole process it is never set.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field

from bot.model.membership import Identity
from perplexity.own_keys import OwnKeys, set_own_keys


@dataclass(frozen=True, kw_only=True)
class ActiveWorkspace:
    """One installation, and the keys for search services that it brings along, if it has any."""

    identity: Identity
    own_keys: OwnKeys | None = field(default=None, repr=False)


_current: ContextVar[Identity | None] = ContextVar("workspace", default=None)


def current_workspace() -> Identity | None:
    """Return the installation that the current task acts for; None if there is none, or the process has only one."""
    return _current.get()


def act_for(workspace: ActiveWorkspace | None) -> None:
    """Say which installation the current task, and the tasks that it starts from now on, act for."""
    _current.set(workspace.identity if workspace is not None else None)
    set_own_keys(workspace.own_keys if workspace is not None else None)


def workspace_key() -> str:
    """Return what keeps the entries of a cache apart by workspace; empty if the process has only one."""
    workspace = _current.get()
    return workspace.id if workspace is not None else ""
