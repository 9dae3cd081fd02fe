"""The app asks for what its features need: exactly, for each combination of them."""

from __future__ import annotations

from itertools import product

import pytest
import yaml

from bot.features import OFFERS
from bot.manifest import as_yaml
from bot.slack.scopes import Features

pytestmark = pytest.mark.trust(1)

ALLOWED = {"app_mentions:read", "chat:write", "commands", "im:history", "assistant:write", "users:read", "im:write"}
"""What a base installation may ask for."""

OPTIONAL = {"canvases:write", "files:read", "usergroups:read"}
"""What the person who installs it may leave out."""

FILES = {"files:write"}
CHANNELS = {"channels:read", "groups:read"}
HISTORY = {"channels:history", "groups:history"}


@pytest.mark.parametrize(
    ("follow_ups", "thread_history", "files", "channels"), list(product([False, True], repeat=4)), ids=str
)
def test_each_combination_of_features_has_its_scopes(
    follow_ups: bool, thread_history: bool, files: bool, channels: bool
) -> None:
    features = Features(follow_ups=follow_ups, thread_history=thread_history, files=files, channels=channels)
    wanted = ALLOWED | OPTIONAL
    wanted |= FILES if files else set()
    wanted |= CHANNELS if channels else set()
    wanted |= HISTORY if follow_ups or thread_history else set()

    scopes = yaml.safe_load(as_yaml(OFFERS, features=features))["oauth_config"]["scopes"]

    assert scopes["bot"] == sorted(wanted)
    assert scopes["bot_optional"] == sorted(wanted & (CHANNELS | OPTIONAL))


def test_a_base_installation_asks_for_no_more_than_is_allowed() -> None:
    scopes = yaml.safe_load(as_yaml(OFFERS))["oauth_config"]["scopes"]
    assert set(scopes["bot"]) - set(scopes["bot_optional"]) <= ALLOWED
    assert set(scopes["bot_optional"]) == OPTIONAL
