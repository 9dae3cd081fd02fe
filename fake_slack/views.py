"""Modals and home tabs: the views that each person sees, calls that open them, and effects of the app's answers.

https://docs.slack.dev/surfaces/modals https://docs.slack.dev/surfaces/app-home
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fake_slack.inputs import Entered, carry_over, enter, initial_state
from fake_slack.limits import SlackError, check_view
from fake_slack.request_parsing import Block

TRIGGER_SECONDS = 3.0
"""How long a `trigger_id` can open a view. https://docs.slack.dev/surfaces/modals#opening"""

MAX_STACK = 3
"""The most views of a modal, one above the other."""

MAX_TRIGGERS = 1000
"""The most triggers that are kept; the oldest are dropped first."""

FAILURE = "We had some trouble connecting. Try again?"
"""Slack's message in a modal if the app does not answer a submission, or answers it with something invalid."""

Surface = Mapping[str, Any]
"""A view as the app sends it."""


@dataclass(frozen=True, kw_only=True)
class IssuedTrigger:
    """A person's action that can open a view; `issued` is its time in seconds since 1970.

    `view` is the id of the view in which the action took place; None for an action elsewhere. `channel` is the id of
    the conversation; empty if there is none.
    """

    user: str
    issued: float
    view: str | None = None
    channel: str = ""


@dataclass(frozen=True, kw_only=True)
class View:
    """A view that a person sees. `content` is the app's view, with an id for each block.

    `state` has the values of its inputs. `errors` are shown below the inputs, by block, and `failure` below all inputs.
    """

    id: str
    user: str
    content: Surface
    hash: str
    root: str
    previous: str | None = None
    channel: str = ""
    state: Entered = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    failure: str = ""

    @property
    def blocks(self) -> Sequence[Block]:
        """The blocks, each with an id."""
        blocks: Sequence[Block] = self.content["blocks"]
        return blocks

    @property
    def can_be_submitted(self) -> bool:
        """Whether the view has a button to submit it."""
        return self.is_modal and bool(self.content.get("submit"))

    @property
    def is_modal(self) -> bool:
        """Whether the view is a modal and not a home tab."""
        return bool(self.content["type"] == "modal")

    def as_slack(self, owner: Mapping[str, Any]) -> dict[str, Any]:
        """Return the view object of the Web API and of payloads; `owner` has the ids of the workspace and the app."""
        empty = {"private_metadata": "", "callback_id": "", "external_id": "", "title": None, "close": None}
        flags = {"submit": None, "clear_on_close": False, "notify_on_close": False, "submit_disabled": False}
        return {
            "id": self.id,
            **empty,
            **flags,
            **self.content,
            **owner,
            "state": {"values": self.state},
            "hash": self.hash,
            "root_view_id": self.root,
            "previous_view_id": self.previous,
        }

    def as_page(self) -> dict[str, Any]:
        """Return the data from which the page shows the view."""
        shown = {"id": self.id, "hash": self.hash, "view": self.content, "state": self.state}
        return shown | {"errors": dict(self.errors), "failure": self.failure}


class OpenViews:
    """The views of all people. `clock` returns seconds since 1970; `on_change` is called after each change."""

    def __init__(self, *, clock: Callable[[], float], on_change: Callable[[], None] = lambda: None) -> None:
        self._clock = clock
        self._on_change = on_change
        self._triggers: dict[str, IssuedTrigger] = {}
        self._exchanged: set[str] = set()
        self._stacks: dict[str, list[View]] = {}
        self._homes: dict[str, View] = {}

    def issue_trigger(self, user: str, *, view: str | None = None, channel: str = "", id: str | None = None) -> str:
        """Record a person's action; return its `trigger_id`: `id` or a new one. A known `id` keeps its first action."""
        now = self._clock()
        trigger_id = id or f"{int(now * 1000)}.{secrets.randbelow(10**10)}.{secrets.token_hex(16)}"
        self._triggers.setdefault(trigger_id, IssuedTrigger(user=user, issued=now, view=view, channel=channel))
        if len(self._triggers) > MAX_TRIGGERS:
            oldest = next(iter(self._triggers))
            del self._triggers[oldest]
            self._exchanged.discard(oldest)
        return trigger_id

    def expire_triggers(self) -> None:
        """Make every trigger too old to open a view."""
        for trigger_id, trigger in self._triggers.items():
            self._triggers[trigger_id] = replace(trigger, issued=-TRIGGER_SECONDS)

    def stack(self, user: str) -> tuple[View, ...]:
        """Return the views of a person's modal, the visible one last; empty without a modal."""
        return tuple(self._stacks.get(user, ()))

    def home(self, user: str) -> View | None:
        """Return a person's home tab; None if the app has published none."""
        return self._homes.get(user)

    def find(self, view_id: str) -> View | None:
        """Return an open view or a home tab; None if there is none with this id."""
        return next((view for view in self._all() if view.id == view_id), None)

    def open(self, trigger_id: str, content: Surface) -> View:
        """Open a modal in place of the person's current one. Raises `SlackError`."""
        self._refuse_unless(content, "modal")
        trigger = self._valid_trigger(trigger_id)
        self._refuse_external_id(content, replacing=None)
        self._exchanged.add(trigger_id)
        view = self._new(trigger, content)
        self._stacks[trigger.user] = [view]
        self._on_change()
        return view

    def push(self, trigger_id: str, content: Surface) -> View:
        """Put a view on top of the modal in which the person acted. Raises `SlackError`."""
        self._refuse_unless(content, "modal")
        trigger = self._valid_trigger(trigger_id)
        below = self._stacks.get(trigger.user, [])
        if trigger.view is None or all(view.id != trigger.view for view in below):
            raise SlackError("not_found")
        view = self._pushed(below, content)
        self._exchanged.add(trigger_id)
        return view

    def update(self, content: Surface, *, view_id: str = "", external_id: str = "", hash: str = "") -> View:
        """Replace the content of a view; inputs that still offer their values keep them. Raises `SlackError`."""
        by_id = (view for view in self._all() if view_id and view.id == view_id)
        by_name = (view for view in self._all() if external_id and view.content.get("external_id") == external_id)
        view = next(by_id if view_id else by_name, None)
        if view is None:
            raise SlackError("not_found")
        self._refuse_unless(content, str(view.content["type"]))
        return self._replace(view, content, hash=hash)

    def publish(self, user: str, content: Surface, *, hash: str = "") -> View:
        """Show a home tab to a person. Raises `SlackError`."""
        self._refuse_unless(content, "home")
        view = self._homes.get(user)
        if view is not None:
            return self._replace(view, content, hash=hash)
        self._refuse_external_id(content, replacing=None)
        view = self._homes[user] = self._new(IssuedTrigger(user=user, issued=self._clock()), content)
        self._on_change()
        return view

    def enter(self, view: View, raw: Entered) -> View:
        """Store a person's input. Raises BadInput for values that the view does not offer."""
        return self._put(replace(view, state=enter(view.blocks, view.state, raw), errors={}, failure=""))

    def complain(self, view_id: str, errors: Mapping[str, str], *, failure: str = "") -> None:
        """Show errors below the inputs of a view, by block, or a failure below all inputs."""
        view = self.find(view_id)
        if view is not None:
            self._put(replace(view, errors=errors, failure=failure))

    def close(self, view_id: str, *, clear: bool = False) -> tuple[View, ...]:
        """Close a view and the views above it; return the closed views, top first.

        With `clear`, or if the view sets `clear_on_close`, the whole modal is closed.
        """
        view = self.find(view_id)
        if view is None or not view.is_modal:
            return ()
        stack = self._stacks[view.user]
        first = 0 if clear or view.content.get("clear_on_close") else stack.index(view)
        kept, closed = stack[:first], stack[first:]
        self._stacks[view.user] = kept
        self._on_change()
        return tuple(reversed(closed))

    def answer(self, view_id: str, answer: Mapping[str, Any]) -> None:
        """Apply the answer to a submission; if Slack would not accept the answer, show a failure.

        https://docs.slack.dev/surfaces/modals#response_actions
        """
        view = self.find(view_id)
        if view is None:  # Closed in the meantime.
            return
        try:
            self._answer(view, answer)
        except SlackError:
            self.complain(view_id, {}, failure=FAILURE)

    def as_page(self, user: str) -> dict[str, Any]:
        """Return the data from which the page shows a person's views."""
        home = self._homes.get(user)
        stack = [view.as_page() for view in self.stack(user)]
        return {"stack": stack, "home": None if home is None else home.as_page()}

    def _answer(self, view: View, answer: Mapping[str, Any]) -> None:
        action = str(answer.get("response_action"))
        if not answer:
            self.close(view.id)
        elif action == "clear":
            self.close(view.id, clear=True)
        elif action == "errors":
            errors, inputs = answer.get("errors"), {b["block_id"] for b in view.blocks if b["type"] == "input"}
            if not isinstance(errors, dict) or not errors or not set(errors) <= inputs:
                raise SlackError("invalid_arguments")
            self.complain(view.id, {block_id: str(error) for block_id, error in errors.items()})
        elif action in {"update", "push"}:
            content = answer.get("view")
            if not isinstance(content, dict) or check_view(content):
                raise SlackError("invalid_arguments")
            self._refuse_unless(content, "modal")
            if action == "update":
                self._replace(view, content)
            else:
                self._pushed(self._stacks[view.user], content)
        else:
            raise SlackError("invalid_arguments")

    def _all(self) -> list[View]:
        return [*self._homes.values(), *(view for stack in self._stacks.values() for view in stack)]

    def _valid_trigger(self, trigger_id: str) -> IssuedTrigger:
        trigger = self._triggers.get(trigger_id)
        if trigger is None:
            raise SlackError("invalid_trigger_id")
        if trigger_id in self._exchanged:
            raise SlackError("exchanged_trigger_id")
        if self._clock() - trigger.issued > TRIGGER_SECONDS:
            raise SlackError("expired_trigger_id")
        return trigger

    def _refuse_unless(self, content: Surface, kind: str) -> None:
        if content["type"] != kind:
            raise SlackError("invalid_arguments", response_metadata={"messages": [f"/view/type must be {kind}"]})

    def _refuse_external_id(self, content: Surface, *, replacing: View | None) -> None:
        name = content.get("external_id")
        if name and any(view.content.get("external_id") == name for view in self._all() if view is not replacing):
            raise SlackError("duplicate_external_id")

    def _new(self, trigger: IssuedTrigger, content: Surface, *, below: View | None = None) -> View:
        content, view_id = with_block_ids(content), f"V{secrets.token_hex(5).upper()}"
        return View(
            id=view_id,
            user=trigger.user,
            content=content,
            hash=self._next_hash(),
            root=view_id if below is None else below.root,
            previous=None if below is None else below.id,
            channel=trigger.channel,
            state=initial_state(content["blocks"], channel=trigger.channel),
        )

    def _pushed(self, stack: list[View], content: Surface) -> View:
        if len(stack) >= MAX_STACK:
            raise SlackError("push_limit_reached")
        self._refuse_external_id(content, replacing=None)
        below = stack[-1]
        trigger = IssuedTrigger(user=below.user, issued=self._clock(), channel=below.channel)
        view = self._new(trigger, content, below=below)
        stack.append(view)
        self._on_change()
        return view

    def _replace(self, view: View, content: Surface, *, hash: str = "") -> View:
        if hash and hash != view.hash:
            raise SlackError("hash_conflict")
        self._refuse_external_id(content, replacing=view)
        content = with_block_ids(content)
        state = carry_over(content["blocks"], view.state, channel=view.channel)
        changed = replace(view, content=content, hash=self._next_hash(), state=state, errors={}, failure="")
        return self._put(changed)

    def _put(self, view: View) -> View:
        if view.is_modal:
            stack = self._stacks[view.user]
            stack[[one.id for one in stack].index(view.id)] = view
        else:
            self._homes[view.user] = view
        self._on_change()
        return view

    def _next_hash(self) -> str:
        return f"{int(self._clock())}.{secrets.token_hex(4)}"


def with_block_ids(content: Surface) -> dict[str, Any]:
    """Return a view in which each block has an id; Slack adds missing ids, too."""
    blocks = [
        block if block.get("block_id") else {**block, "block_id": secrets.token_hex(8)} for block in content["blocks"]
    ]
    return {**content, "blocks": blocks}
