"""Right-to-left answers: what begins with a Latin name, a number or a marker keeps its direction."""

from __future__ import annotations

import unicodedata

import pytest

from bot.blocks.answer import answer_messages
from bot.blocks.escaping import sanitize_message
from bot.blocks.markdown.render import directed
from bot.model.message import Audience
from perplexity.markdown import parse
from perplexity.types import Answer, Source

SOURCES = (Source(number=1, title="عنوان | الصفحة", url="https://a.example/1", date="2026-05-03"),)


def first_strong(text: str) -> str:
    """Return the direction that a renderer takes for a text: https://www.unicode.org/reports/tr9/#P2."""
    strong = (unicodedata.bidirectional(character) for character in text)
    return next(({"L": "left"}.get(kind, "right") for kind in strong if kind in ("L", "R", "AL")), "none")


def rendered(text: str, sources: tuple[Source, ...] = SOURCES) -> list[str]:
    messages = map(
        sanitize_message, answer_messages(Answer(text=text, sources=sources, provider="P"), audience=Audience.ASKER)
    )
    return [str(block["text"]) for message in messages for block in message.blocks if block["type"] == "markdown"]


LIST = "القائمة:\n\n- **OpenAI** أعلنت نموذجا جديدا [1]\n- `pip` أداة\n- [1] نص\n1. 3 كتب\n2. Python 3.14 هي لغة برمجة"
TABLE = (
    "النص هنا طويل جدا\n\n| OpenAI شركة | السعر |\n|-|-|\n| GPT-5 نموذج | 5 [1] |\n| \\(x^2\\) مربع | **Max** أعلى |"
)


@pytest.mark.parametrize("text", [LIST, TABLE, "# Python هي لغة رائعة", "> Rust هي لغة رائعة", "**Go** היא שפה חדשה"])
def test_every_line_and_cell_with_such_letters_keeps_its_direction(text: str) -> None:
    lines = [line for part in rendered(text) for line in part.replace("(https://a.example/1)", "").splitlines()]
    cells = [cell for line in lines for cell in (line.split("|") if line.startswith("|") else [line])]

    assert {"right"} == {first_strong(cell) for cell in cells if any("\u0590" < c < "\u0700" for c in cell)}


@pytest.mark.parametrize("text", ["- Python 3.14", "# Title\n\nThe word سلام is Arabic.", "```py\nprint('سلام')\n```"])
def test_other_lines_and_code_stay(text: str) -> None:
    assert text == directed(parse(text)).text


def test_only_lines_with_such_letters_are_marked() -> None:
    assert directed(parse("هذا نص طويل\n- Python 3.14\n- `a` نص")).text == "هذا نص طويل\n- Python 3.14\n- \u200f`a` نص"


def test_an_exact_formula_is_not_turned_around() -> None:
    assert "الناتج \u200e1 + 2 = 3\u200e هنا" in rendered("الناتج \\(1 + 2 = 3\\) هنا")[0]


def test_the_text_alone_keeps_the_direction_of_its_lines() -> None:
    message = answer_messages(Answer(text="نص [1].", sources=SOURCES, provider="P"), audience=Audience.ASKER)[0]

    assert message.blocks[1]["elements"][0]["text"] == "<https://a.example/1|a.example>"
    assert message.text.startswith("نص [1].\n")
    assert message.text.endswith("\nSources:\n[1] عنوان | الصفحة")
