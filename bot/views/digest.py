"""The form for a digest, opened by `/pplx watch` alone and by a button; what it sets up is what the command can."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from slack_bolt.async_app import AsyncAck, AsyncApp

from bot.blocks.messages import asked_message
from bot.commands.parsing import write_arguments
from bot.commands.watch import WATCH, ZONE
from bot.commands.watch_syntax import parse_days, parse_time, write_digest_spec
from bot.errors import UsageError
from bot.listeners.asking import ask_by_response_url, ask_in_direct_message
from bot.listeners.clicks import Click, Reply, button
from bot.listeners.context import ListenerContext
from bot.listeners.slash import ANY_COMMAND, bare_command
from bot.model.digest import DigestSpec
from bot.model.schedule import Schedule, zone_of
from bot.slack.messages import FAILURES
from bot.slack.users import Profiles
from bot.slack.views import View
from bot.views.base import Response, Submission, errors, modal, open_modal, submission
from bot.views.forms import day_boxes, entered_options, input_block, menu, option_inputs, usage_response
from bot.views.opening import open_by_command, person_of, shown_problem
from perplexity.news.summary import CATEGORIES

CALLBACK_ID = "digest_modal"
OPEN = "digest_modal"
CATEGORY, TOPIC, DAYS, TIME, PLACE = "category", "topic", "days", "time", "place"
HERE, DIRECTLY = "here", "directly"

ZONE_SECONDS = 0.6
"""How long opening waits for the time zone of the person."""

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri")
MAX_TOPIC = 1_000


def register_command(app: AsyncApp, context: ListenerContext, *, profiles: Profiles) -> None:
    """Listen to the command that opens the form."""

    async def is_alone(command: dict[str, Any]) -> bool:
        return bare_command(command, context) == WATCH.name

    @app.command(ANY_COMMAND, matchers=[is_alone])
    async def on_command(ack: AsyncAck, command: dict[str, Any]) -> None:
        await open_by_command(ack, command, context, partial(open_from_command, profiles=profiles))


def register(app: AsyncApp, context: ListenerContext, *, profiles: Profiles) -> None:
    """Listen to the button that opens the form, and to its submission."""
    button(app, context, OPEN, partial(open_from_button, profiles=profiles))
    submission(app, context, CALLBACK_ID, create, first_input=TOPIC)


async def open_from_command(payload: Mapping[str, Any], context: ListenerContext, *, profiles: Profiles) -> str | None:
    """Open the form for a digest in the channel of the command. Return a problem for the person."""
    channel = str(payload.get("channel_id", ""))
    name = str(payload.get("channel_name", ""))
    return await _open(payload, context, profiles, url=str(payload.get("response_url", "")), channel=channel, name=name)


async def open_from_button(click: Click, context: ListenerContext, *, profiles: Profiles) -> Reply | None:
    """Open the form for a digest in the direct message."""
    problem = await _open(click.body, context, profiles)
    return await shown_problem(click, context, problem)


async def _open(
    body: Mapping[str, Any],
    context: ListenerContext,
    profiles: Profiles,
    *,
    url: str = "",
    channel: str = "",
    name: str = "",
) -> str | None:
    _, user = person_of(body)
    zone: str | None = None
    with suppress(*FAILURES):
        async with asyncio.timeout(ZONE_SECONDS):
            zone = await profiles.timezone(user)
    if zone is not None and zone_of(zone).key != zone:
        zone = None
    # Elsewhere than in a channel only the direct message takes a digest.
    metadata = {"url": url, "channel": channel, "name": name} if url and channel[:1] in {"C", "G"} else {}
    view = digest_view(zone=zone, metadata=metadata)
    return await open_modal(context, str(body.get("trigger_id", "")), view)


def digest_view(*, zone: str | None, metadata: Mapping[str, str]) -> View:
    """Build the form; with a channel in the metadata, the digest can be posted there.

    If the person's `zone` is unknown, none is chosen: it is looked up again when the digest is set up.
    """
    topic = {"type": "plain_text_input", "action_id": TOPIC, "max_length": MAX_TOPIC, "focus_on_load": True}
    categories = {name: name.capitalize() for name in CATEGORIES}
    blocks = [
        input_block(CATEGORY, "Category", menu(CATEGORY, categories, chosen=next(iter(categories)))),
        input_block(TOPIC, "Topic", topic, hint="Leave it empty for all news of the category.", optional=True),
        input_block(DAYS, "Days", day_boxes(DAYS, chosen=WEEKDAYS)),
        input_block(TIME, "Time", {"type": "timepicker", "action_id": TIME, "initial_time": "09:00"}),
    ]
    blocks += option_inputs(
        (ZONE, *(option for option in WATCH.options if option is not ZONE)), {ZONE.name: zone or ""}
    )
    if metadata:
        name = metadata.get("name")
        places = {
            HERE: f"In #{name}" if name else "In this channel",
            DIRECTLY: "In our direct messages",
        }
        blocks.append(input_block(PLACE, "Where to post", menu(PLACE, places, chosen=HERE)))
    return modal(
        CALLBACK_ID,
        "News on a schedule",
        blocks,
        submit="Set up",
        close="Cancel",
        metadata=metadata,
    )


async def create(submitted: Submission, context: ListenerContext) -> Response | None:
    """Set up the digest: in the channel in which the command was typed, or in the direct message."""
    days, at = submitted.value(DAYS), submitted.value(TIME)
    if not days or not at:
        return errors(**({TIME: "Choose a time."} if days else {DAYS: "Choose at least one day."}))
    try:
        spec = DigestSpec(
            category=str(submitted.value(CATEGORY) or ""),
            topic=str(submitted.value(TOPIC) or ""),
            schedule=Schedule(days=parse_days(",".join(days)), at=parse_time(at), zone=""),
        )
        line = write_arguments(entered_options(submitted, WATCH.options), write_digest_spec(spec))
        WATCH.parse(line)
    except UsageError as error:
        return usage_response(error, WATCH.options, text_block=TOPIC)
    problem = await _submit(submitted, context, line=line, spec=spec)
    return None if problem is None else errors(**{TOPIC: problem})


async def _submit(submitted: Submission, context: ListenerContext, *, line: str, spec: DigestSpec) -> str | None:
    metadata, key = submitted.metadata, f"view:{submitted.view_id}"
    team, user = person_of(submitted.body)
    if metadata.get("url") and submitted.value(PLACE) == HERE:
        return await ask_by_response_url(
            context,
            user=user,
            team=team,
            channel=str(metadata.get("channel", "")),
            key=key,
            command=WATCH,
            text=line,
            response_url=str(metadata["url"]),
        )
    subject = ": ".join(filter(None, (spec.category.capitalize(), spec.topic)))
    root = asked_message(f"{subject}, {spec.schedule.text}", lead="You asked for a digest:")
    return await ask_in_direct_message(context, user=user, team=team, key=key, command=WATCH, text=line, root=root)
