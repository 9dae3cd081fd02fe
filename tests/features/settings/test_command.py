"""What can be typed as a setting, and what is read back: every value, wrong ones, and JSON of any kind."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.errors import UsageError
from bot.features.settings.surface import SettingsRequest, parse
from bot.model.question import ChannelSettings, PersonSettings
from bot.preferences import CHANNEL, PERSON, changes, load_channel, load_person
from tests.fakes.hostile_text import short


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", SettingsRequest()),
        ("effort high", SettingsRequest(field="model", value="high")),
        ("Effort HIGH", SettingsRequest(field="model", value="high")),
        ("model openai/gpt-6-luna", SettingsRequest(field="model", value="openai/gpt-6-luna")),
        ("visibility public", SettingsRequest(field="visibility", value="public")),
        ("language JA", SettingsRequest(field="language", value="ja")),
        ("domains a.com, -b.com".replace("-b", "b"), SettingsRequest(field="domains", value=("a.com", "b.com"))),
        ("domains -a.com -b.com", SettingsRequest(field="domains", value=("-a.com", "-b.com"))),
        ("follow-ups off", SettingsRequest(field="follow_ups", value=False)),
        ("effort reset", SettingsRequest(field="model")),
        ("reset", SettingsRequest(reset=True)),
        ("channel", SettingsRequest(part="channel")),
        ("channel reset", SettingsRequest(part="channel", reset=True)),
        (
            "channel allow docs.python.org",
            SettingsRequest(part="channel", field="allow", value=("docs.python.org",)),
        ),
        ("channel askers ADMINS", SettingsRequest(part="channel", field="askers", value="admins")),
        ("channel askers <@U111|bob>, U222", SettingsRequest(part="channel", field="askers", value="U111 U222")),
        ("workspace", SettingsRequest(part="workspace")),
        ("Workspace deny b.com", SettingsRequest(part="workspace", field="deny", value=("b.com",))),
        ("workspace max-effort medium", SettingsRequest(part="workspace", field="max_effort", value="medium")),
        ("channel MODELS a/b, c/d", SettingsRequest(part="channel", field="models", value=("a/b", "c/d"))),
        ("workspace models none", SettingsRequest(part="workspace", field="models", value=("none",))),
        ("workspace store_nothing on", SettingsRequest(part="workspace", field="store_nothing", value=True)),
        ("channel instructions Be kind.", SettingsRequest(part="channel", field="instructions", value="Be kind.")),
        ("workspace reset", SettingsRequest(part="workspace", reset=True)),
        ("channel history on", SettingsRequest(part="channel", field="history", value=True)),
    ],
)
def test_words(text: str, expected: SettingsRequest) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("effort", "Add a value for `effort`"),
        ("effort huge", "`effort` cannot be `huge`. It takes fast, low, medium, high or xhigh."),
        ("effort sonar", "`effort` cannot be `sonar`"),
        ("model gtp", "`model` cannot be `gtp`"),
        ("model " + "a/" + "b" * 80, "at most 75 characters"),
        ("language german", "`language` cannot be `german`. It takes a two-letter language code"),
        ("visibility maybe", "It takes private or public"),
        ("domains https://", "`domains` cannot be"),
        ("domains ,", "It takes host names"),
        ("channel allow -a.com", "host names without a -"),
        ("channel allow " + ",".join(f"d{n}.com" for n in range(21)), "at most 20"),
        ("channel askers bob", "U012AB3CD"),
        ("channel askers " + " ".join(f"U{n:05}" for n in range(51)), "at most 50"),
        ("efort high", "Did you mean `effort`?"),
        ("allow a.com", "is a channel setting: add `channel`"),
        ("channel domains a.com", "is a personal setting: leave out `channel`"),
        ("channel models high", "names such as openai/gpt-6-luna"),
        ("channel models none, a/b", "names such as openai/gpt-6-luna"),
        ("channel max-effort sonar", "It takes fast, low, medium, high or xhigh."),
        ("channel instructions \u200b", "must hold some text"),
        ("channel store-nothing on", "is a workspace setting: add `workspace`"),
        ("workspace askers admins", "is a channel setting: add `channel`"),
        ("x" * 9_000, "Shorten it"),
    ],
)
def test_wrong_words_name_the_setting_the_value_and_what_is_allowed(text: str, problem: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse(text)
    assert problem in raised.value.problem


@given(name=st.sampled_from([one.name for one in PERSON]), words=short, of_channel=st.booleans())
def test_any_words_are_taken_or_explained(name: str, words: str, of_channel: bool) -> None:
    try:
        request = parse(f"{'channel ' if of_channel else ''}{name} {words}")
    except UsageError as error:
        problem, request = error.problem, None
    else:
        problem = ""
    assert bool(problem) is (request is None)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | short, lambda inner: st.lists(inner, max_size=3), max_leaves=4
)


@given(saved=st.dictionaries(st.sampled_from([one.field for one in (*PERSON, *CHANNEL)]), _json) | _json)
def test_any_json_is_read(saved: Any) -> None:
    assert isinstance(load_person(saved), PersonSettings)
    assert isinstance(load_channel(saved), ChannelSettings)


def test_what_is_saved_is_read_back() -> None:
    person = PersonSettings(
        model="high", visibility="public", language="ja", domains=("-a.com", "-b.com"), follow_ups=False
    )
    channel = ChannelSettings(
        model="sonar", allow=("a.com",), deny=("x.a.com", "b.com"), askers="U111 U222", history=True, follow_ups=False
    )

    assert load_person(json.loads(json.dumps(changes(PersonSettings(), person)))) == person
    assert load_channel(json.loads(json.dumps(changes(ChannelSettings(), channel)))) == channel
    assert changes(person, PersonSettings()) == dict.fromkeys(vars(person))
    assert changes(person, person) == {}
