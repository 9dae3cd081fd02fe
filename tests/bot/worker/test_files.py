"""A question with files: its answer's first line says what became of them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.driver import Driver
from tests.fakes.answers import completed
from tests.fakes.perplexity import json_reply


def shared(*names: str, **more: Any) -> dict[str, Any]:
    """Return the fields of a message with these files."""
    files = [{"id": f"F{place}", "name": name} for place, name in enumerate(names, 1)]
    return {"files": files, "subtype": "file_share"} | more


def first_line(message: dict[str, Any]) -> str:
    text: str = message["blocks"][0]["elements"][0]["text"]
    assert message["text"].replace("\u2060", "").startswith(text)
    return text


def script(harness: Driver) -> None:
    harness.perplexity.script("/v1/agent", json_reply(completed("It is [1].")))


async def test_a_mention_with_a_file_says_first_what_became_of_it(harness: Driver) -> None:
    script(harness)
    answer = await harness.answered_mention("what is it", **shared("report.pdf", "a <b> & c.png"))

    assert first_line(answer) == "I don’t read files, so I left out report.pdf and a &lt;b&gt; &amp; c.png."


async def test_a_command_by_mention_says_it_too(harness: Driver) -> None:
    harness.script_pages(2)
    answer = await harness.answered_mention("search what is it", **shared("report.pdf"))

    assert "left out report.pdf" in first_line(answer)


async def test_a_direct_message_with_a_file_says_it_and_keeps_its_name_only(harness: Driver) -> None:
    script(harness)
    files = [{"id": "F1", "name": "x" * 300, "url_private": "https://files.slack.com/x"}, {"id": "F2"}, {"id": "../x"}]
    await harness.send_direct_message("what is it", ts="1795255200.000200", files=files, subtype="file_share")
    await harness.settle()

    assert "a file" in first_line(harness.last_in("DU1", "1795255200.000200"))
    assert await harness.rows("SELECT files FROM questions") == [
        ([{"id": "F1", "name": "x" * 200}, {"id": "F2", "name": ""}],)
    ]


@pytest.mark.parametrize("files", [None, "x", [None], [{"id": 1}], [{"name": "no id"}]])
async def test_an_answer_without_files_has_no_such_line(harness: Driver, files: object) -> None:
    harness.script_answer("It is [1].")
    answer = await harness.answered_mention("what is it", files=files)

    assert answer["blocks"][0]["type"] != "context"
