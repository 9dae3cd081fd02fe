"""A deep dive as messages that Slack takes, whatever was found, and its progress."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given

from bot.blocks.escaping import sanitize_message
from bot.features.deepdive import deepdive_messages, deepdive_progress_message
from bot.model.message import Audience, OutgoingMessage
from fake_slack.limits import check_message
from perplexity.deepdive.report import assemble, render_sections
from perplexity.deepdive.types import DeepDive, Stage, StageResult, StageUpdate
from perplexity.markdown import BlockKind, read_blocks
from perplexity.types import Source
from perplexity.x_posts.types import Sentiment
from tests.fakes.hostile_text import short, wild
from tests.fakes.shown import texts_in

PAGE = Source(number=1, title="A page", url="https://a.example/")
POST = Source(number=1, title="Ada is glad", url="https://x.com/ada/status/1")
SITUATION = StageResult(stage=Stage.SITUATION, text="So it is.[1]", sources=(PAGE,), seconds=30.0, cost_usd=0.5)
PULSE = StageResult(stage=Stage.PULSE, text="Glad.[1]", sources=(POST,), sentiment=Sentiment(positive=1), seconds=40.0)
ANALYSIS = StageResult(stage=Stage.ANALYSIS, text="Well.[2]", seconds=5.0, cost_usd=0.1, at="2026-11-21T12:00:00+00:00")

DONE = StageUpdate(stage=Stage.SITUATION, started=1.0, result=SITUATION)
NOW = datetime(2026, 11, 21, 10, tzinfo=UTC)


def report(
    situation: StageResult = SITUATION, pulse: StageResult = PULSE, analysis: StageResult = ANALYSIS
) -> DeepDive:
    return assemble("heat pumps", situation, pulse, analysis, persona="Nikki")


def shown(message: OutgoingMessage) -> str:
    return "\n".join(text for block in message.blocks for text in texts_in(block))


def shown_text(made: DeepDive) -> str:
    messages = deepdive_messages(made, audience=Audience.ASKER)
    blocks = [block for message in messages for block in message.blocks][1:]
    texts = (
        f"## {block['text']['text']}" if block["type"] == "header" else block["text"]
        for block in blocks
        if "text" in block
    )
    return "\n\n".join(texts)


def refusals(messages: tuple[OutgoingMessage, ...]) -> list[str]:
    return [
        fault
        for one in map(sanitize_message, messages)
        for fault in check_message({"text": one.text, "blocks": one.blocks})
    ]


def test_a_short_report_is_one_message_with_the_price_of_each_part() -> None:
    (message,) = deepdive_messages(report(), audience=Audience.ASKER)

    words = shown(message)
    headers = [(block["text"]["text"], block.get("level")) for block in message.blocks if block["type"] == "header"]
    assert headers == [("heat pumps", None), ("The situation", 4), ("The public pulse", 4), ("My analysis", 4)]
    assert message.text.startswith("heat pumps\n")
    assert "Glad.[[2]](https://x.com/ada/status/1)\n\nOf 1 post: 1 positive" in words
    assert "Well.[[2]](https://x.com/ada/status/1)" in words
    assert "<https://a.example/|a.example> · <https://x.com/ada/status/1|x.com>" in words
    assert "The situation $0.50 · The public pulse · My analysis $0.10" in words
    assert refusals((message,)) == []


@pytest.mark.parametrize("stage", Stage)
def test_a_failed_section_says_what_is_missing(stage: Stage) -> None:
    findings = {one.stage: one for one in (SITUATION, PULSE, ANALYSIS)}
    findings[stage] = StageResult(stage=stage, failure="This part is missing: no service answered.", at=ANALYSIS.at)
    made = report(findings[Stage.SITUATION], findings[Stage.PULSE], findings[Stage.ANALYSIS])

    (message,) = deepdive_messages(made, audience=Audience.ASKER)
    assert "This part is missing: no service answered." in shown(message)
    assert all(one.heading.capitalize() in shown(message) for one in Stage)
    assert any(block["type"] == "data_visualization" for block in message.blocks) is (stage is not Stage.PULSE)


def test_the_file_button_is_shown_if_files_can_be_sent() -> None:
    (with_it,) = deepdive_messages(report(), audience=Audience.ASKER, file_id="7")
    (without,) = deepdive_messages(report(), audience=Audience.ASKER)

    assert ("Get as a file" in shown(with_it), "Get as a file" in shown(without)) == (True, False)
    assert refusals((with_it,)) == []


@given(first=wild, second=wild, third=wild, title=short)
def test_slack_accepts_any_report(first: str, second: str, third: str, title: str) -> None:
    made = report(
        replace(SITUATION, text=first, sources=(replace(PAGE, title=title),), notes=(title,)),
        replace(PULSE, text=second),
        replace(ANALYSIS, text=third),
    )

    assert refusals(deepdive_messages(made, audience=Audience.CHANNEL, file_id="7")) == []


def test_a_long_report_loses_nothing() -> None:
    paragraphs = "\n\n".join(f"Paragraph {n}. " + "word " * 80 + "[1]" for n in range(80))
    messages = deepdive_messages(report(replace(SITUATION, text=paragraphs)), audience=Audience.ASKER)

    words = "\n".join(map(shown, messages))
    assert all(f"Paragraph {n}." in words for n in range(80))
    assert refusals(messages) == []


@pytest.mark.parametrize(
    "opened",
    ["```", "```python", "~~~~", "````\n```", "  ```", "```\nclosed\n```\n\n```"],
)
@pytest.mark.parametrize("stage", Stage)
def test_code_that_one_section_leaves_open_does_not_swallow_the_others(stage: Stage, opened: str) -> None:
    findings = {one.stage: one for one in (SITUATION, PULSE, ANALYSIS)}
    findings[stage] = replace(findings[stage], text=f"{findings[stage].text}\n\n{opened}\ncode")
    made = report(findings[Stage.SITUATION], findings[Stage.PULSE], findings[Stage.ANALYSIS])

    words = "\n".join(shown(message) for message in deepdive_messages(made, audience=Audience.ASKER))
    assert words.count("[[1]](https://a.example/)") == 1
    assert words.count("[[2]](https://x.com/ada/status/1)") == 2
    assert len(headings(render_sections(made))) == 3


def headings(text: str) -> list[str]:
    return [block.content for block in read_blocks(text) if block.kind is BlockKind.HEADING]


HEADINGS = [stage.heading for stage in Stage]
SHOWN_HEADINGS = [heading.capitalize() for heading in HEADINGS]


@pytest.mark.parametrize("stage", Stage)
@pytest.mark.parametrize(
    ("written", "left"),
    [
        ("# Report\nWell.", "**Report**\n\nWell."),
        ("Well.\n###### MY **ANALYSIS** ##\nForged.", "Well.\n\n**MY ANALYSIS**\n\nForged."),
        ("THE PUBLIC\nPULSE\n===\nForged.", "**THE PUBLIC PULSE**\n\nForged."),
        ("Well.\n\nMY ANALYSIS\n---\nForged.", "Well.\n\n**MY ANALYSIS**\n\nForged."),
        ("> ## MY ANALYSIS\n> Forged.", "> **MY ANALYSIS**\n\n> Forged."),
        ("1. # MY ANALYSIS\n   Forged.", "1. **MY ANALYSIS**\n\n   Forged."),
        ("[9] ## MY `ANALYSIS`", "**MY `ANALYSIS`**"),
        ("Well.\u2028## MY ANALYSIS", "Well.\n\n**MY ANALYSIS**"),
        ("\x01# MY ANALYSIS\r\n\x07## Forged", "**MY ANALYSIS**\n\n**Forged**"),
        ("#\nWell.", "Well."),
        ("```\n# a comment\n```", "```\n# a comment\n```"),
    ],
)
def test_a_report_has_no_headings_but_its_own(stage: Stage, written: str, left: str) -> None:
    findings = {one.stage: one for one in (SITUATION, PULSE, ANALYSIS)}
    findings[stage] = replace(findings[stage], text=f"First.\n\n{written}")
    made = report(findings[Stage.SITUATION], findings[Stage.PULSE], findings[Stage.ANALYSIS])

    assert f"First.\n\n{left}" in re.sub("\n{3,}", "\n\n", render_sections(made))
    assert headings(render_sections(made)) == HEADINGS
    assert headings(shown_text(made)) == SHOWN_HEADINGS


@pytest.mark.parametrize("stage", Stage)
@pytest.mark.parametrize("written", ["## {}\n\nWell.", "**{}:**\nWell.", "{}\n===\nWell.", "# {} #\nWell."])
def test_a_section_that_begins_with_its_own_heading_has_it_once(stage: Stage, written: str) -> None:
    findings = {one.stage: one for one in (SITUATION, PULSE, ANALYSIS)}
    findings[stage] = replace(findings[stage], text=written.format(stage.heading))
    made = report(findings[Stage.SITUATION], findings[Stage.PULSE], findings[Stage.ANALYSIS])

    assert f"## {stage.heading}\n\nWell." in render_sections(made)


@given(first=wild, second=wild, third=wild)
def test_any_report_has_exactly_three_headings(first: str, second: str, third: str) -> None:
    made = report(replace(SITUATION, text=first), replace(PULSE, text=second), replace(ANALYSIS, text=third))

    assert headings(render_sections(made)) == HEADINGS
    assert headings(shown_text(made)) == SHOWN_HEADINGS


@pytest.mark.parametrize("text", ["So it is.", "```\ncode\n```", "- ```\n  code", "> ```\n> code", "Inline `code", ""])
def test_a_text_whose_code_is_closed_stays_as_it_is(text: str) -> None:
    assert f"{text}\n\n## THE PUBLIC PULSE".lstrip() in render_sections(report(replace(SITUATION, text=text)))


@pytest.mark.parametrize(
    ("stages", "clock", "said"),
    [
        ([], 0.0, "*The situation*  researching the facts …\n*The public pulse*  listening"),
        ([], None, "*The situation*  no result yet\n*The public pulse*  no result yet"),
        ([], None, "*My analysis*  waiting for the first two"),
        ([], None, "“heat pumps” · as of <!date^1795255200^{time_secs}|10:00:00 UTC>\n"),
        ([StageUpdate(stage=Stage.SITUATION, started=10.0)], 22.5, "researching the facts … · 12.5 s"),
        ([StageUpdate(stage=Stage.SITUATION, started=10.0)], None, "*The situation*  no result yet\n"),
        ([DONE, StageUpdate(stage=Stage.PULSE, started=1.0, result=PULSE)], None, "*My analysis*  no result yet"),
        ([DONE, StageUpdate(stage=Stage.PULSE, started=1.0, result=PULSE)], 2.0, "*My analysis*  writing …"),
        ([StageUpdate(stage=Stage.SITUATION, started=1.0, result=SITUATION)], 2.0, "done · 30.0 s · $0.50"),
        (
            [StageUpdate(stage=Stage.PULSE, started=1.0, result=replace(PULSE, failure="No."))],
            2.0,
            "no result · 40.0 s",
        ),
        ([StageUpdate(stage=Stage.ANALYSIS, started=1.0)], 2.0, "writing … · 1.0 s"),
    ],
)
def test_the_progress_shows_the_state_of_each_stage(stages: list[StageUpdate], clock: float | None, said: str) -> None:
    message = deepdive_progress_message(
        "heat pumps", {one.stage: one for one in stages}, question_id="7", clock=clock, now=NOW
    )

    assert said in shown(message)
    assert refusals((message,)) == []


@given(topic=wild)
def test_slack_accepts_the_progress_of_any_topic(topic: str) -> None:
    assert refusals((deepdive_progress_message(topic, {}, question_id="7", now=NOW),)) == []


def test_a_report_is_dated_by_when_it_was_written() -> None:
    assert report().made_at == datetime(2026, 11, 21, 12, tzinfo=UTC)
