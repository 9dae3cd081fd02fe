"""Share: an asker posts a private answer in the channel of the question, after a preview."""

from __future__ import annotations

from functools import partial
from operator import attrgetter

from bot.blocks.answer import SHARE, AnswerPart
from bot.feature import Core, Feature, Running
from bot.features.sharing import preview
from bot.features.sharing.posting import ShareStore, Sharing
from bot.storage.questions import DatabaseRetry
from bot.translation import N_

SHARE_SECONDS = 20.0
"""How long recording the result of a share is retried while the database is unavailable."""


def start(core: Core) -> Running:
    """Listen to the button and to the preview."""
    shares = Sharing(
        store=ShareStore(core.acks),
        chat=core.chat,
        response_urls=core.replies.response_urls,
        slack_api_url=core.replies.slack_api_url,
        database_retry=DatabaseRetry(seconds=SHARE_SECONDS),
        is_in_channel=core.users.is_in_channel,
    )
    return Running(listeners=(partial(preview.register, shares=shares),))


FEATURE = Feature(
    name="sharing",
    start=start,
    answer_parts=(AnswerPart(name=SHARE, label=N_("Share"), primary=True, offered=attrgetter("private")),),
)
