"""Decides which requests and people belong to the workspace in which the app is installed, and for whom a task works.

The `RequestScope` of a task says for whom the task works. A task inherits the scope of the task that starts it, so no
function takes the scope as an argument.

https://docs.slack.dev/reference/methods/auth.test https://docs.slack.dev/reference/objects/user-object
https://docs.slack.dev/apis/slack-connect
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any
from uuid import UUID

from perplexity import scope
from perplexity.scope import OwnKeys

OUTSIDE_FLAGS = (
    "is_restricted",
    "is_ultra_restricted",
    "is_invited_user",
    "is_stranger",
    "is_bot",
    "is_workflow_bot",
    "is_connector_bot",
)
"""Slack's flags for guests, people from elsewhere and apps; a full member has none of them."""

LIFECYCLE_EVENTS = frozenset({"app_uninstalled", "tokens_revoked"})
"""Events that end an installation. Slack may send both, so they are accepted even after the installation's end."""

GRANTED, ACCESS_REVOKED = "team_access_granted", "team_access_revoked"
ACCESS_EVENTS = frozenset({GRANTED, ACCESS_REVOKED})
"""Events that report that an organization gave the app to workspaces, or removed it from them."""

FOREIGN = "another workspace or app"
"""The reason for refusing a request that is not for an installation of this app."""


@dataclass(frozen=True, kw_only=True)
class Identity:
    """The workspace or the whole organization of an installation; without an organization, `enterprise_id` is None."""

    team_id: str
    enterprise_id: str | None = None
    is_enterprise_install: bool = False
    bot_user_id: str | None = None

    @property
    def id(self) -> str:
        """Return the id under which the installation is saved."""
        return self.enterprise_id if self.is_enterprise_install and self.enterprise_id else self.team_id

    @property
    def ids(self) -> frozenset[str]:
        """Return the installation's own ids: the workspace's and the organization's."""
        return frozenset(filter(None, (self.team_id, self.enterprise_id)))

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Identity:
        """Read a row of a table of installations."""
        return cls(**{name: row[name] for name in ("team_id", "enterprise_id", "is_enterprise_install", "bot_user_id")})

    @classmethod
    def from_auth_test(cls, answer: Mapping[str, Any]) -> Identity | None:
        """Parse the reply of auth.test; None if it names neither a workspace nor an organization."""
        team, enterprise = _text(answer, "team_id"), _text(answer, "enterprise_id") or None
        if not (team or enterprise):
            return None
        return cls(
            team_id=team or enterprise or "",
            enterprise_id=enterprise,
            is_enterprise_install=answer.get("is_enterprise_install") is True,
            bot_user_id=_text(answer, "user_id") or None,
        )


@dataclass(frozen=True, kw_only=True)
class RequestOrigin:
    """The workspace, organization and app that a request names; those that it does not name are empty."""

    team_id: str = ""
    enterprise_id: str = ""
    app_id: str = ""

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> RequestOrigin:
        """Parse a command, an event, a click or a submitted form.

        In a shared channel, an event may have the ids of its sender's workspace, so the ids of the installation come
        from the event's authorization. If the app is installed in a whole organization, `team_id` is the workspace of
        this organization that the event names, or else the organization's id. A form may have the ids of its sender's
        workspace, too; then `view.app_installed_team_id` is the id of the installation.
        """
        team = _text(body, "team_id") or _id(body, "team")
        enterprise = _text(body, "enterprise_id") or _id(body, "enterprise")
        enterprise = enterprise or _text(_part(body, "team"), "enterprise_id")
        authorization = _authorization(body)
        if body.get("is_ext_shared_channel") is True or not (team or enterprise):
            enterprise = _text(authorization, "enterprise_id") or ("" if authorization else enterprise)
            if authorization.get("is_enterprise_install") is True and body.get("is_ext_shared_channel") is True:
                team = _workspace_in(enterprise, body) or enterprise
            team = _text(authorization, "team_id") or team
        installed = _text(_part(body, "view"), "app_installed_team_id")
        if installed and team and installed not in {team, enterprise}:
            # A person of another workspace opened this form in a shared channel.
            team, enterprise = installed, installed if installed.startswith("E") else ""
        return cls(team_id=team, enterprise_id=enterprise, app_id=_text(body, "api_app_id"))


def _workspace_in(enterprise: str, body: Mapping[str, Any]) -> str:
    """Return the workspace that an event names as one of the organization; empty if it names none."""
    for prefix in ("", "context_"):
        if enterprise and _text(body, f"{prefix}enterprise_id") == enterprise:
            return _text(body, f"{prefix}team_id")
    return ""


def is_foreign(named: RequestOrigin, *, ours: Identity, app_id: str | None) -> bool:
    """Return whether a request names another app than ours, or a workspace or organization other than ours.

    If our app is installed in a whole organization, every workspace of that organization is ours.
    """
    if named.app_id and app_id and named.app_id != app_id:
        return True
    if named.enterprise_id and named.enterprise_id != ours.enterprise_id:
        return True
    if ours.is_enterprise_install:
        return bool(named.team_id) and not named.enterprise_id and named.team_id not in ours.ids
    return bool(named.team_id) and named.team_id != ours.team_id


def is_lifecycle(body: Mapping[str, Any]) -> bool:
    """Return whether a request is an event that ends an installation, or says which workspaces have the app."""
    return _text(_part(body, "event"), "type") in LIFECYCLE_EVENTS | ACCESS_EVENTS


def ended_installation(body: Mapping[str, Any]) -> str:
    """Return the id of the installation that an event ends; empty if it names none.

    If an event names no workspace, or is for an app that is installed in a whole organization, the organization's
    installation ends. Otherwise, the installation in the named workspace ends.
    https://docs.slack.dev/reference/events/app_uninstalled
    """
    named = RequestOrigin.from_body(body)
    if of_organization(body) or not named.team_id:
        return named.enterprise_id
    return named.team_id


@dataclass(frozen=True, kw_only=True)
class AccessChange:
    """The workspaces to which an organization gives its app, or from which it removes the app; `at` is Slack's time."""

    enterprise_id: str
    team_ids: Sequence[str]
    granted: bool
    at: datetime

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> AccessChange | None:
        """Parse an event; None for an event of another type, or one that names no organization or no workspaces.

        https://docs.slack.dev/reference/events/team_access_granted
        https://docs.slack.dev/reference/events/team_access_revoked
        """
        event = _part(body, "event")
        kind, named = _text(event, "type"), event.get("team_ids")
        enterprise = _text(body, "enterprise_id") or _text(_authorization(body), "enterprise_id")
        teams = {one for one in named if isinstance(one, str) and one} if isinstance(named, list) else set()
        if kind not in ACCESS_EVENTS or not enterprise or not teams:
            return None
        return cls(enterprise_id=enterprise, team_ids=sorted(teams), granted=kind == GRANTED, at=event_time(body))


def of_organization(body: Mapping[str, Any]) -> bool:
    """Return whether a request is for an app that is installed in a whole organization.

    `is_enterprise_install` says this: in the authorization of an event, as text in a command, as a boolean in a click.
    """
    said = _authorization(body).get("is_enterprise_install", body.get("is_enterprise_install"))
    return said is True or said == "true"


def event_time(body: Mapping[str, Any]) -> datetime:
    """Return an event's time by Slack's clock; the current time if it has none."""
    at = body.get("event_time")
    try:
        return datetime.fromtimestamp(float(at), UTC) if isinstance(at, int | float) else datetime.now(UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.now(UTC)


EVENT_SECONDS = 1
"""The precision of Slack's `event_time`: whole seconds."""


def is_in_same_second(event_at: datetime, began: datetime | None) -> bool:
    """Return whether an event and a moment are too close to tell which came first."""
    return began is not None and event_at <= began < event_at + timedelta(seconds=EVENT_SECONDS)


def click_team_ids(body: Mapping[str, Any]) -> frozenset[str]:
    """Return the ids of the workspace in which a person clicked.

    For an app of a whole organization Slack names no workspace; then return the person's workspace and the
    organization.
    """
    if team := _id(body, "team"):
        return frozenset({team})
    return frozenset({_text(_part(body, "user"), "team_id"), _id(body, "enterprise")}) - {""}


def team_of(body: Mapping[str, Any]) -> str:
    """Return the workspace under which a person's rows are saved, from a command, a shortcut, a click or a submission.

    If the app is installed in a whole organization, a click names no workspace; then return the person's workspace,
    which is also the one that a command names.
    """
    origin = RequestOrigin.from_body(body)
    return origin.team_id or user_team_of(body) or origin.enterprise_id


def user_team_of(body: Mapping[str, Any]) -> str:
    """Return the workspace of the person in an event or a click; empty if the request names none."""
    event = _part(body, "event")
    return _text(event, "user_team") or _text(_part(body, "user"), "team_id")


def user_of(body: Mapping[str, Any]) -> str:
    """Return the person who sent a command, an event, a click or a submission; empty if the request names none."""
    event = _part(body, "event")
    found = _text(body, "user_id") or _id(body, "user") or _text(event, "user")
    return found or _text(_part(event, "message"), "user")


@dataclass(frozen=True, kw_only=True)
class Profile:
    """The parts of a profile that the app uses; `outside` is whether Slack calls the person a guest, stranger or bot.

    `zone` is None if the profile has no time zone; other missing texts are empty.
    """

    team_id: str = ""
    enterprise_id: str = ""
    outside: bool = False
    deleted: bool = False
    admin: bool = False
    zone: str | None = None
    locale: str = ""
    name: str = ""

    @classmethod
    def from_user(cls, user: Mapping[str, Any]) -> Profile:
        """Parse the `user` in a reply of users.info."""
        outside, deleted = any(user.get(flag) for flag in OUTSIDE_FLAGS), bool(user.get("deleted"))
        return cls(
            team_id=_text(user, "team_id"),
            enterprise_id=_text(user, "enterprise_id") or _text(_part(user, "enterprise_user"), "enterprise_id"),
            outside=outside,
            deleted=deleted,
            admin=bool(user.get("is_admin") or user.get("is_owner")) and not (deleted or outside),
            zone=_text(user, "tz") or None,
            locale=_text(user, "locale"),
            name=_text(_part(user, "profile"), "display_name") or _text(user, "real_name") or _text(user, "name"),
        )

    def is_admin_of(self, ours: Identity | None) -> bool:
        """Return whether the person is an admin of our workspace or organization.

        An admin of another workspace is no admin here. While `ours` is None, an admin of any workspace counts.
        """
        return self.admin and (ours is None or bool({self.team_id, self.enterprise_id} & ours.ids))


class Affiliation(Enum):
    """Whether a person is a full member."""

    INTERNAL = "internal"
    EXTERNAL = "external"


def affiliation_of(profile: Profile | None, *, user_team: str, ours: Identity) -> Affiliation | None:
    """Return whether a person is a full member of our workspace or organization; None if this is unknown.

    `user_team` is the person's workspace according to an event, empty if no event named one. Without a `profile`,
    `user_team` can show that a person is an outsider, but not that the person is a full member, since people of our own
    workspace may be guests. A profile that names neither our workspace nor our organization belongs to an outsider.
    """
    theirs = {profile.team_id, profile.enterprise_id} - {""} if profile is not None else set()
    if profile is not None and (profile.outside or not theirs & ours.ids):
        return Affiliation.EXTERNAL
    of_organization = bool(ours.enterprise_id) and ours.enterprise_id in theirs
    if is_other_workspace(user_team, ours=ours) and not of_organization:
        return Affiliation.EXTERNAL
    return Affiliation.INTERNAL if profile is not None else None


def is_other_workspace(user_team: str, *, ours: Identity) -> bool:
    """Return whether an event's `user_team` is not our workspace or organization; False if it is empty."""
    return bool(user_team) and user_team not in ours.ids


def _authorization(body: Mapping[str, Any]) -> Mapping[str, Any]:
    found = body.get("authorizations")
    first = found[0] if isinstance(found, list) and found else None
    return first if isinstance(first, Mapping) else {}


def _part(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = body.get(name)
    return value if isinstance(value, Mapping) else {}


def _id(body: Mapping[str, Any], name: str) -> str:
    return _text(_part(body, name), "id")


def _text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    return value if isinstance(value, str) else ""


@dataclass(frozen=True, kw_only=True)
class Asker:
    """A person in a conversation of a workspace. `question_id` is None for calls that a form makes before asking.

    `claim` is the claim of the worker that answers the question; None without a question.
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
    """The request, workspace and person for which a task works.

    The package `perplexity` reads the scope's keys and adds requests to the scope's log.

    `language` is the language of texts, as in `bot.translation`. `arrived` is when the request arrived, on the
    monotonic clock, or None outside of a request. `workspace` is None if the process has only one bot token. `asker` is
    None for work of the app itself.
    """

    arrived: float | None = None
    workspace: Identity | None = None
    asker: Asker | None = None
    language: str = "en"


def current_scope() -> RequestScope:
    """Return the scope of the current task."""
    now = scope.current()
    return now if isinstance(now, RequestScope) else RequestScope(keys=now.keys, log=now.log)


def act_for(workspace: ActiveWorkspace | None) -> None:
    """Set the installation for the current task, and for the tasks that it starts from now on."""
    identity, keys = (None, None) if workspace is None else (workspace.identity, workspace.own_keys)
    scope.enter(replace(current_scope(), workspace=identity, keys=keys))


def working_for(asker: Asker) -> AbstractContextManager[None]:
    """Return a context manager that sets the asker for the current task until the end of its block."""
    return scope.within(replace(current_scope(), asker=asker))


def workspace_key() -> str:
    """Return a prefix that separates the entries of a cache by workspace; empty if the process has one workspace."""
    workspace = current_scope().workspace
    return workspace.id if workspace is not None else ""
