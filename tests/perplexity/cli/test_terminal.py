"""The command in a terminal of its own."""

from __future__ import annotations

import re
import signal

import pytest

from tests.fakes import brave, openrouter
from tests.fakes.brave import FakeBrave
from tests.fakes.openrouter import FakeOpenRouter
from tests.fakes.perplexity import FakePerplexity, fixture, sse, stream_reply
from tests.fakes.terminal import Terminal, terminal

RUN = "resp_00000000-0000-4000-8000-000000000001"
CREATED = sse({"type": "response.created", "response": {"id": RUN}})
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\]8;[^\x1b]*\x1b\\")
COLOURS = re.compile(r"\x1b\[(?:[0-9]+;)*(?:3[0-7]|9[0-7]|38|4[0-7])[0-9;]*m")


def delta(text: str) -> bytes:
    return sse({"type": "response.output_text.delta", "delta": text, "item_id": "m"})


def completed_event(text: str, title: str = "Example A") -> bytes:
    results = [{"id": 1, "title": title, "url": "https://a.example/1", "snippet": "First snippet."}]
    message = {"type": "message", "id": "m", "content": [{"type": "output_text", "text": text, "annotations": []}]}
    output = [{"type": "search_results", "queries": ["q"], "results": results}, message]
    return sse({"type": "response.completed", "response": {"id": RUN, "status": "completed", "output": output}})


def visible_text(screen: Terminal) -> str:
    """Return what a reader sees, more or less: the text without the commands, one space between words."""
    return " ".join(ESCAPES.sub("", screen.shown).split())


async def test_an_answer_is_shown_as_it_comes_with_its_sources_as_links(
    fake: FakePerplexity, settings: dict[str, str]
) -> None:
    pieces = [delta("# Heading\n\nA **bold** claim [1]"), delta(".\n\n"), delta("- one\n"), delta("- two\n")]
    text = "# Heading\n\nA **bold** claim [1].\n\n- one\n- two\n"
    fake.script("/v1/agent", stream_reply(CREATED, *pieces, completed_event(text), pause=0.15))

    async with terminal("ask", "why", settings=settings) as screen:
        await screen.wait_until(lambda shown: "claim" in shown)
        assert "Sources" not in screen.shown
        code, err = await screen.wait()

    assert (code, err) == (0, "")
    assert "\x1b[1mbold\x1b[0m" in screen.shown
    assert "\x1b]8;" in screen.shown
    assert ";https://a.example/1\x1b\\" in screen.shown
    shown = visible_text(screen)
    assert "**" not in shown
    assert re.search(
        r"• one • two Sources 1\. Example A · a\.example https://a\.example/1 Perplexity · fast · \d\.\d s$", shown
    )


async def test_a_link_to_another_domain_is_never_on_the_screen(fake: FakePerplexity, settings: dict[str, str]) -> None:
    text = "First [1] [b](https://b.example/p).\n\nSecond https://b.example/q and more.\n\nThird.\n"
    pieces = [delta(text[start : start + 7]) for start in range(0, len(text), 7)]
    fake.script("/v1/agent", stream_reply(CREATED, *pieces, completed_event(text), pause=0.05))

    async with terminal("ask", "--domain", "a.example", "why", settings=settings) as screen:
        await screen.wait_until(lambda shown: "Second" in shown)
        assert "Sources" not in screen.shown
        code, _ = await screen.wait()

    assert code == 0
    assert "b.example" not in screen.shown
    assert "Second and more." in visible_text(screen)
    assert "2 links outside a.example removed." in visible_text(screen)


async def test_what_was_shown_stays_and_is_not_shown_again(fake: FakePerplexity, settings: dict[str, str]) -> None:
    paragraphs = [f"Paragraph number {n} is here.\n\n" for n in range(40)]
    fake.script(
        "/v1/agent",
        stream_reply(CREATED, *map(delta, paragraphs), completed_event("".join(paragraphs).strip()), pause=0.03),
    )

    async with terminal("ask", "why", settings=settings) as screen:
        await screen.wait()

    lines = [line for line in _final(screen.shown).splitlines() if line.startswith("Paragraph number")]
    assert lines == [f"Paragraph number {n} is here." for n in range(40)]


def _final(shown: str) -> str:
    """Return what stays in a terminal: the cursor goes up and erases, and nothing else moves it."""
    lines = [""]
    for piece in re.findall(rf"{ESCAPES.pattern}|\r|\n|[^\x1b\r\n]+", shown):
        if piece == "\n":
            lines.append("")
        elif piece.endswith("A") and piece.startswith("\x1b["):
            del lines[len(lines) - int(piece[2:-1] or 1) :]
        elif piece == "\x1b[2K":
            lines[-1] = ""
        elif not piece.startswith("\x1b") and piece != "\r":
            lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)


@pytest.mark.parametrize(
    ("arguments", "changed"),
    [(["ask", "--no-color", "why"], {}), (["search", "--no-color", "why"], {}), (["ask", "why"], {"NO_COLOR": "1"})],
)
async def test_colours_can_be_left_out(arguments: list[str], changed: dict[str, str], settings: dict[str, str]) -> None:
    async with terminal(*arguments, settings=settings | changed) as screen:
        code, _ = await screen.wait()

    assert code == 0
    assert "Example A" in screen.shown
    assert not COLOURS.search(screen.shown)


async def test_pages_are_listed_with_colours_and_links(settings: dict[str, str]) -> None:
    async with terminal("search", "why", settings=settings) as screen:
        await screen.wait()

    assert COLOURS.search(screen.shown)
    assert re.search(
        r"^1\. Example A · a\.example · 1 Nov 2026 https://a\.example/1 First snippet\. "
        r"2\. Example B · b\.example https://b\.example/2 Second — snippet ü\. "
        r"Perplexity Search · \d\.\d s · \$0\.005$",
        visible_text(screen),
    )


@pytest.mark.parametrize("asked", ["ask", "search"])
async def test_what_tries_to_command_the_terminal_does_nothing(
    asked: str, fake: FakePerplexity, settings: dict[str, str]
) -> None:
    attack = "\x1b]0;owned\x07\x1b[2Jred\x9b31m \x1b]8;;https://evil.example\x1b\\words\u202eevil\rgone"
    fake.script(
        "/v1/agent",
        stream_reply(CREATED, delta(attack), delta(" [1]"), completed_event(attack + " [1]", attack), pause=0.2),
    )
    pages = [{"title": attack, "url": "https://a.example/" + attack, "snippet": attack}]
    fake.fail("/search", status=200, body={"results": pages})

    async with terminal(asked, "why", settings=settings) as screen:
        await screen.wait()

    assert "red" in screen.shown
    for command in ("\x1b]0;", "\x07", "\x1b[2J", "\x9b", "\u202e", "https://evil.example\x1b"):
        assert command not in screen.shown


async def test_text_that_looks_like_html_or_a_link_definition_is_not_hidden(
    fake: FakePerplexity, settings: dict[str, str]
) -> None:
    text = "A List<int> and <b>more</b>.\n\n[label]: https://hidden.example\n\n[words](https://shown.example/x)"
    text += "\n\n![picture](https://image.example/i.png) ![](https://image.example/j.png)"
    fake.script("/v1/agent", stream_reply(CREATED, delta(text), completed_event(text)))

    async with terminal("ask", "why", settings=settings) as screen:
        await screen.wait()

    for shown in (
        "List<int>",
        "<b>more</b>",
        "https://hidden.example",
        "words (https://shown.example/x)",
        "picture (https://image.example/i.png)",
        "(https://image.example/j.png)",
    ):
        assert shown in visible_text(screen)


async def test_formulas_are_readable_and_half_of_one_is_never_shown(
    fake: FakePerplexity, settings: dict[str, str]
) -> None:
    text = "It is \\(x_i \\leq \\alpha\\), $5 each.\n\n\\[\n\\int_0^1 x\\,dx\n- y\n\\]\n\nSo $e^{i\\pi}$ [1]."
    pieces = [text[place : place + 7] for place in range(0, len(text), 7)]
    fake.script("/v1/agent", stream_reply(CREATED, *map(delta, pieces), completed_event(text), pause=0.12))

    async with terminal("ask", "why", settings=settings) as screen:
        await screen.wait()

    lines = [line.strip() for line in _final(screen.shown).splitlines() if line.strip()]
    assert lines[:4] == ["It is xᵢ ≤ α, $5 each.", "\\int_0^1 x\\,dx", "- y", "So e^{i\\pi} [1]."]
    assert not any(half in screen.shown for half in ("\\leq", "(x_i", "\\alpha", "[\n", "• y", "latex"))


@pytest.mark.parametrize(("number", "ends"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
async def test_a_signal_while_it_writes_cancels_the_run_and_says_so(
    number: signal.Signals, ends: int, fake: FakePerplexity, settings: dict[str, str]
) -> None:
    fake.script("/v1/agent", stream_reply(CREATED, delta("Half an "), delta("answer"), hang=True, pause=0.2))

    async with terminal("ask", "why", settings=settings) as screen:
        await screen.wait_until(lambda shown: "Half" in shown)
        screen.process.send_signal(number)
        code, err = await screen.wait()

    assert (code, err) == (ends, "\nCancelled.\n")
    assert fake.cancelled == [RUN]
    assert "Half an answer".startswith(_final(screen.shown).strip() or "nothing")
    assert screen.shown.count("\x1b[?25l") == screen.shown.count("\x1b[?25h")


async def test_an_answer_that_breaks_off_is_a_failure(fake: FakePerplexity, settings: dict[str, str]) -> None:
    pieces = [delta("Half **an** "), delta("answer"), delta(", it"), delta(" seems")]
    fake.script("/v1/agent", stream_reply(CREATED, *pieces, reset=True, pause=0.15))

    async with terminal("ask", "--providers", "perplexity", "why", settings=settings) as screen:
        code, err = await screen.wait()

    assert code == 1
    assert [line for line in _final(screen.shown).splitlines() if line] == ["Half an answer, it seems"]
    assert err.startswith("python -m perplexity ask: Perplexity ")
    assert "Sources" not in screen.shown


async def test_a_terminal_that_can_do_nothing_is_shown_the_whole(
    fake: FakePerplexity, settings: dict[str, str]
) -> None:
    recorded = fixture("agent.stream.completed.sse")
    fake.script("/v1/agent", stream_reply(*(recorded[n : n + 400] for n in range(0, len(recorded), 400))))

    async with terminal("ask", "why", settings=settings | {"TERM": "dumb"}) as screen:
        await screen.wait()

    assert visible_text(screen).count("Example answer with a claim.[1] Another claim — ü.[2]") == 1
    assert "\x1b" not in screen.shown


async def test_an_answer_whose_sources_come_last_is_shown_once() -> None:
    async with FakeOpenRouter() as routed:
        settings = {"OPENROUTER_API_KEY": openrouter.KEY, "OPENROUTER_BASE_URL": routed.base_url}
        chunks = ["One [1].\n\n", "Two [2].\n\n", "Three [1]."]
        notes = [
            {"type": "url_citation", "url_citation": {"url": f"https://{n}.example/", "title": n}} for n in ("a", "b")
        ]
        told = [openrouter.chunk(text) for text in chunks]
        told += [openrouter.chunk("", annotations=notes), openrouter.chunk(finish="stop")]
        stream = [sse(chunk) for chunk in told]
        routed.script("/chat/completions", stream_reply(*stream, openrouter.END, pause=0.15))
        async with terminal("ask", "why", settings=settings) as screen:
            code, err = await screen.wait()

    lines = [line for line in _final(screen.shown).splitlines() if line]
    assert (code, err) == (0, "")
    first = "PERPLEXITY_API_KEY is not set; this answer is from OpenRouter."
    assert lines[:5] == [first, "One [1].", "Two [2].", "Three [1].", "Sources"]


async def test_passages_are_quoted_and_never_taken_for_markdown(fake: FakePerplexity, settings: dict[str, str]) -> None:
    async with FakeBrave() as searched:
        keys = {"BRAVE_API_KEY": brave.KEY, "BRAVE_BASE_URL": searched.base_url}
        grounding = {"generic": [{"url": "https://a.example/", "title": "A", "snippets": ["Why **this** is # so.[2]"]}]}
        searched.fail("/llm/context", status=200, body={"grounding": grounding, "sources": {}})
        async with terminal("ask", "--providers", "brave", "why", settings=settings | keys) as screen:
            await screen.wait()

    assert "“Why **this** is # so.‹2›” [1]" in visible_text(screen)
    assert "No model wrote this" in visible_text(screen)
