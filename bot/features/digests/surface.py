"""The form that sets up a digest, the buttons of digests, and the digests on the home tab.

`/pplx watch` without arguments opens the form, and so does a button. The form sets up the same digests as the command.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from slack_bolt.async_app import AsyncApp

from bot.blocks.answer import DIGEST
from bot.blocks.messages import asked_message
from bot.commands.news import NEWS
from bot.commands.parsing import write_arguments
from bot.errors import UsageError
from bot.features.digests.command import ALWAYS, WATCH, ZONE, parse_days, parse_time, write_digest_spec
from bot.features.digests.jobs import DigestStopper
from bot.features.digests.model import (
    Digest,
    DigestAction,
    DigestNotFound,
    DigestResult,
    DigestSpec,
    Owner,
)
from bot.features.digests.rendering import (
    ACTION_PREFIX,
    MAX_OF_WORKSPACE,
    STOP_DIGEST,
    digest_result_message,
    home_blocks,
    workspace_blocks,
    workspace_rows,
)
from bot.features.digests.schedules import format_days, schedule_text
from bot.features.digests.service import DigestService
from bot.listeners.clicks import (
    NOT_YOUR_ANSWER,
    UNKNOWN_ANSWER,
    UNNAMED_CHANNELS,
    Click,
    ClickReply,
    button,
    clicked_question,
    may_see,
    text_reply,
)
from bot.listeners.context import ListenerContext
from bot.model.message import Block
from bot.model.schedule import DAY_NAMES, Schedule, zone_of
from bot.slack.messages import FAILURES
from bot.slack.users import Profiles
from bot.slack.views import View
from bot.translation import N_
from bot.translation import gettext as _
from bot.views.admin_only import AllRows, for_admins
from bot.views.base import (
    Response,
    Submission,
    changes,
    errors,
    modal,
    open_modal,
    shown_problem,
    shows,
    submission,
    update_modal,
)
from bot.views.forms import (
    ask_by_form,
    checkboxes,
    choice,
    input_block,
    menu,
    more_button,
    option_inputs,
    radio_buttons,
    text_input,
    usage_response,
)
from perplexity.news.summary import CATEGORIES

log = logging.getLogger(__name__)

CALLBACK_ID = "digest_modal"

CATEGORY, TOPIC, WHEN, DAYS, TIME, PLACE = "category", "topic", "when", "days", "time", "place"
MORE = "digest_more"
"""The button that shows the rest of the form."""

HERE, DIRECTLY = "here", "directly"
WEEKDAYS, CHOSEN = "weekdays", "chosen"
WHENS = {WEEKDAYS: N_("Every weekday"), "daily": N_("Every day"), CHOSEN: N_("Choose days")}

ZONE_SECONDS = 0.6
"""How long the form waits for the time zone of the person."""

MAX_TOPIC = 1_000


def register(app: AsyncApp, context: ListenerContext, *, profiles: Profiles) -> None:
    """Listen to the button that opens the form, to its changes, and to its submission."""
    button(app, context, DIGEST, partial(open_from_button, profiles=profiles))
    submission(app, context, CALLBACK_ID, create, first_input=TOPIC)
    changes(app, context, (WHEN, MORE), partial(change_form, profiles=profiles))


async def open_from_command(payload: Mapping[str, Any], context: ListenerContext) -> str | None:
    """Open the form for a digest in the channel of the command. Return a problem for the person, if any."""
    url, channel, name = (str(payload.get(key, "")) for key in ("response_url", "channel_id", "channel_name"))
    view = digest_view(metadata=_here(url=url, channel=channel, name=name))
    return await open_modal(context, str(payload.get("trigger_id", "")), view)


def _here(*, url: str, channel: str, name: str) -> dict[str, Any]:
    """Return metadata that names the channel, or no metadata if the digest can be posted only as a direct message."""
    return {"url": url, "channel": channel, "name": name} if url and channel[:1] in {"C", "G"} else {}


async def open_from_button(click: Click, context: ListenerContext, *, profiles: Profiles) -> ClickReply | None:
    """Open the form: empty from the home tab, or, from below news, filled in with the same news on every weekday."""
    if click.id is None:
        problem = await open_modal(context, click.trigger_id, digest_view(metadata={}))
        return await shown_problem(click, context, problem)
    row = await clicked_question(click, context)
    if row is None or row.command != NEWS.name:
        return text_reply(_(UNKNOWN_ANSWER))
    if not may_see(row, click, context.commands):
        return text_reply(_(NOT_YOUR_ANSWER))
    news, name = NEWS.parse(row.text), "" if click.channel_name in UNNAMED_CHANNELS else click.channel_name
    metadata = _here(url=click.response_url or "", channel=click.channel, name=name) | {"more": True}
    entered = {TOPIC: news.topic, CATEGORY: news.category, WHEN: WEEKDAYS}
    view = digest_view(metadata=metadata, entered=entered, zone=await _zone(click.user, profiles))
    problem = await open_modal(context, click.trigger_id, view)
    return None if problem is None else text_reply(problem)


async def change_form(changed: Submission, context: ListenerContext, *, profiles: Profiles) -> None:
    """Show the days to choose from, or the rest of the form; the entered values stay."""
    more = any(one.get("action_id") == MORE for one in changed.body.get("actions", ()))
    zone = await _zone(changed.user, profiles) if more else None
    # If this update fails, submitting the form shows the days.
    await update_modal(context, changed.view_id, _again(changed, zone=zone, more=more), hash=changed.view_hash)


async def _zone(user: str, profiles: Profiles) -> str | None:
    """Return the time zone of a person; None if it is unknown."""
    with suppress(*FAILURES):
        async with asyncio.timeout(ZONE_SECONDS):
            zone = await profiles.timezone(user)
            return zone if zone is not None and zone_of(zone).key == zone else None
    return None


def _again(changed: Submission, *, zone: str | None = None, more: bool = False) -> View:
    """Build the form again with the entered values."""
    more = more or bool(changed.metadata.get("more"))
    entered = {name: str(changed.value(name) or "") for name in (TOPIC, CATEGORY, WHEN)}
    return digest_view(metadata={**changed.metadata, "more": more}, entered=entered, zone=zone)


def digest_view(
    *, metadata: Mapping[str, Any], entered: Mapping[str, str] | None = None, zone: str | None = None
) -> View:
    """Build the form; if the metadata names a channel, the digest can be posted there.

    The form has all fields if `more` is set in the metadata, otherwise few. If the person's `zone` is None, no zone is
    selected; the person's zone is looked up again when the digest is set up.
    """
    given, more = entered or {}, bool(metadata.get("more"))
    when, whens = given.get(WHEN) or WEEKDAYS, {value: _(label) for value, label in WHENS.items()}
    topic = text_input(TOPIC, shown=given.get(TOPIC, ""), max_length=MAX_TOPIC, focus=True)
    blocks = [
        input_block(TOPIC, _("Topic"), topic, hint=_("Such as open source databases"), optional=more),
        input_block(WHEN, _("When"), radio_buttons(WHEN, whens, chosen=when), dispatch=True),
    ]
    if when == CHOSEN:
        days = [choice(name[:3].casefold(), format_days({day})) for day, name in enumerate(DAY_NAMES)]
        blocks.append(input_block(DAYS, _("Days"), checkboxes(DAYS, days)))
    blocks.append(input_block(TIME, _("At"), {"type": "timepicker", "action_id": TIME, "initial_time": "09:00"}))
    if metadata.get("channel"):
        here = _("In #{name}").format(name=name) if (name := metadata.get("name")) else _("In this channel")
        places = {HERE: here, DIRECTLY: _("In our direct messages")}
        blocks.append(input_block(PLACE, _("Where"), radio_buttons(PLACE, places, chosen=HERE)))
    blocks += _more_inputs(given.get(CATEGORY, ""), zone) if more else [more_button(MORE)]
    return modal(CALLBACK_ID, _("Set up a digest"), blocks, submit=_("Set up"), close=_("Cancel"), metadata=metadata)


def _more_inputs(category: str, zone: str | None) -> list[Block]:
    categories = menu(CATEGORY, {name: _(name.capitalize()) for name in CATEGORIES}, chosen=category)
    quiet = checkboxes(ALWAYS.name, [choice("always", _(ALWAYS.title))])
    return [
        input_block(CATEGORY, _("Category"), categories, hint=_("Without a topic, all of its news"), optional=True),
        *option_inputs((ZONE,), {ZONE.name: zone or ""}),
        input_block(ALWAYS.name, _("Quiet days"), quiet, optional=True),
    ]


async def create(submitted: Submission, context: ListenerContext) -> Response | None:
    """Set up the digest, in the channel where the command was typed or the news is, or in the direct message."""
    when, chosen, at = submitted.value(WHEN), submitted.value(DAYS), submitted.value(TIME)
    category, topic = str(submitted.value(CATEGORY) or ""), str(submitted.value(TOPIC) or "")
    if when == CHOSEN and chosen is None:
        return shows(_again(submitted))
    days = ",".join(chosen or ()) if when == CHOSEN else when
    if not days:
        return errors(**({DAYS: _("Choose at least one day.")} if when else {WHEN: _("Choose when.")}))
    if not at:
        return errors(**{TIME: _("Choose a time.")})
    if not (category or topic):
        return errors(**{TOPIC: _("Type a topic, or choose a category.")})
    try:
        schedule = Schedule(days=parse_days(days), at=parse_time(at), zone="")
        spec = DigestSpec(category=category, topic=topic, schedule=schedule)
        options = [(ZONE, zone)] if (zone := submitted.value(ZONE.name)) else []
        options += [(ALWAYS, days)] if submitted.value(ALWAYS.name) else []
        line = write_arguments(options, write_digest_spec(spec))
        WATCH.parse(line)
    except UsageError as error:
        return usage_response(error, WATCH.options, text_block=TOPIC)
    subject = ": ".join(filter(None, (_(spec.category.capitalize()), spec.topic)))
    root = asked_message(f"{subject}, {schedule_text(spec.schedule)}", lead=_("You asked for a digest:"))
    here = bool(submitted.metadata.get("url")) and submitted.value(PLACE) == HERE
    problem = await ask_by_form(submitted, context, command=WATCH, text=line, root=root, here=here)
    return None if problem is None else errors(**{TOPIC: problem})


_ACTIONS = re.compile(rf"{ACTION_PREFIX}(?:{'|'.join(DigestAction)})")


@dataclass(frozen=True, kw_only=True)
class HomeDigests:
    """The digests on the home tab: a person's own, and everyone's on the page for admins."""

    digests: DigestService

    async def own(self, team_id: str, user_id: str) -> Sequence[Block]:
        """Return a person's digests. Raises database errors."""
        return home_blocks((await self.digests.list_digests(Owner(team_id=team_id, user_id=user_id))).digests)

    async def of_workspace(self, team_id: str, __: str) -> Sequence[Block]:
        """Return the digests of a workspace. Raises database errors."""
        digests = await self.digests.list_all(team_id)
        return [*workspace_blocks(digests), *all_digests(self.digests.list_all).buttons(digests)]


def all_digests(read: Callable[[str], Awaitable[Sequence[Digest]]]) -> AllRows[Digest]:
    """Return the pages of all digests of a workspace."""
    return AllRows(
        name="digests", title=N_("Everyone’s digests"), shown=MAX_OF_WORKSPACE, read=read, blocks=workspace_rows
    )


def register_buttons(
    app: AsyncApp,
    context: ListenerContext,
    *,
    digests: DigestService,
    stopper: DigestStopper,
    all_rows: AllRows[Digest],
) -> None:
    """Listen to the buttons of digests."""
    button(app, context, _ACTIONS, partial(apply_button, digests=digests))
    button(app, context, STOP_DIGEST, for_admins(partial(stop_digest, stopper=stopper, all_rows=all_rows)))
    all_rows.register(app, context)


async def apply_button(click: Click, __: ListenerContext, *, digests: DigestService) -> ClickReply:
    """Apply a digest's button and reply with the result."""
    result = await _apply(click, digests)
    return ClickReply(message=digest_result_message(result, command=digests.command_label, channel=click.channel))


async def _apply(click: Click, digests: DigestService) -> DigestResult:
    if click.id is None:
        return DigestNotFound()
    action = DigestAction(click.action_id.removeprefix(ACTION_PREFIX))
    by = str(click.action.get("action_ts", ""))
    result = await digests.apply_button(action, click.id, user_id=click.user, teams=click.teams, by=by)
    log.info("digest.clicked", extra={"digest": str(click.id), "state": type(result).__name__})
    return result


async def stop_digest(
    click: Click, context: ListenerContext, *, stopper: DigestStopper, all_rows: AllRows[Digest]
) -> ClickReply:
    """Stop another person's digest, for an admin."""
    digest = await stopper.stop_for_admin(click.id, click.user, click.teams) if click.id is not None else None
    all_rows.show_again(click, context)
    return text_reply(
        _("This digest no longer exists.") if digest is None else _("The digest is stopped, and I’ll tell its owner.")
    )
