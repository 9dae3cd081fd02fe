from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perplexity.errors import InvalidRequest
from perplexity.models import EFFORTS, Effort, Target, Timeouts, check_schema, resolve


@pytest.mark.parametrize(
    ("model", "reasoning", "effort"),
    [
        (None, False, "fast"),
        (None, True, "medium"),
        ("sonar", False, "fast"),
        ("sonar-pro", False, "fast"),
        ("sonar-reasoning", False, "medium"),
        ("sonar-reasoning-pro", False, "medium"),
        ("sonar-deep-research", False, "high"),
        ("sonar", True, "fast"),
        (" Sonar-Pro ", False, "fast"),
        ("perplexity/sonar-pro", False, "fast"),
        ("perplexity/sonar-deep-research", False, "high"),
        *((effort, False, effort) for effort in EFFORTS),
    ],
)
def test_every_model_name_means_an_effort(model: str | None, reasoning: bool, effort: Effort) -> None:
    target = resolve(model, reasoning=reasoning)

    assert (effort, None) == (target.effort, target.model)


def test_the_effort_of_reasoning_is_a_setting() -> None:
    efforts = [
        resolve(model, reasoning=True, reasoning_effort="low").effort
        for model in (None, "sonar-reasoning", "sonar-reasoning-pro", "sonar", "high")
    ]

    assert efforts == ["low", "low", "low", "fast", "high"]


@pytest.mark.parametrize("reasoning", [False, True])
def test_a_vendors_model_is_pinned(reasoning: bool) -> None:
    target = resolve("OpenAI/gpt-6-luna", reasoning=reasoning)

    expected = Target(effort="medium", model="openai/gpt-6-luna", reasons=reasoning, name="openai/gpt-6-luna")
    assert expected == target


def test_of_the_sonar_models_one_can_be_pinned() -> None:
    assert resolve("perplexity/sonar").model == "perplexity/sonar"


@pytest.mark.parametrize(
    ("model", "near"),
    [
        ("sonar-por", "sonar-pro"),
        ("sonnar", "sonar"),
        ("meduim", "medium"),
        ("sonar-resoning-pro", "sonar-reasoning-pro"),
    ],
)
def test_a_misspelt_name_gets_the_nearest_right_one(model: str, near: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        resolve(model)

    assert ("model", model) == (caught.value.field, caught.value.value)
    assert f"did you mean {near}?" in (caught.value.allowed or "")
    assert "vendor/model" in str(caught.value)


@pytest.mark.parametrize(
    "model", ["", "gpt", "a/b/c", "/x", "x/", "../etc", "openai/gpt 6", "openai/\n", "é/b", "x" * 999]
)
def test_any_other_name_is_refused(model: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        resolve(model)

    assert caught.value.field == "model"


@given(st.text(max_size=40))
def test_any_text_is_a_target_or_refused(model: str) -> None:
    with suppress(InvalidRequest):
        assert resolve(model).effort in EFFORTS


@pytest.mark.parametrize("model", ["sonar", "sonar-reasoning", "sonar-deep-research"])
def test_models_without_schema_are_refused_one(model: str) -> None:
    with pytest.raises(InvalidRequest, match="JSON schema"):
        check_schema(resolve(model))


@pytest.mark.parametrize("model", [None, "sonar-pro", "sonar-reasoning-pro", "fast", "high", "openai/gpt-6-luna"])
def test_the_others_take_a_schema(model: str | None) -> None:
    check_schema(resolve(model))


def test_the_time_depends_on_the_effort() -> None:
    assert [Timeouts().for_effort(effort) for effort in EFFORTS] == [30, 30, 60, 600, 600]


def test_what_is_slow_and_what_runs_in_the_background() -> None:
    targets = [resolve(effort) for effort in EFFORTS]

    assert [target.slow for target in targets] == [False, False, True, True, True]
    assert [target.background for target in targets] == [False, False, False, True, True]


@pytest.mark.parametrize("vendor", ["", "perplexity/"])
def test_sonar_s_first_names_mean_sonar(vendor: str) -> None:
    assert resolve(f"{vendor}llama-3.1-sonar-small-128k-online").name == "sonar"
