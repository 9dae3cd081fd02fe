"""A reply for the playground's app that behaves like the real one: an ack at once, the answer by response_url."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web

SEARCHING = "Searching…"

SEARCH_BLOCKS: list[dict[str, Any]] = [
    {
        "type": "context",
        "elements": [{"type": "mrkdwn", "text": "“python 3.14 free threading”"}],
    },
    {
        "type": "section",
        "text": {
            "type": "mrkdwn",
            "text": "*1.  <https://docs.python.org/3.14/whatsnew/3.14.html|What’s New In Python 3.14>*\n"
            "docs.python.org · 7 Oct 2025\nFree-threaded Python is officially supported. The free-threaded build is "
            "no longer experimental and the specializing adaptive interpreter is enabled in it …",
        },
    },
    {
        "type": "section",
        "text": {
            "type": "mrkdwn",
            "text": "*2.  <https://peps.python.org/pep-0779/|PEP 779 – Criteria for supported status>*\n"
            "peps.python.org · 13 Mar 2025\n# A heading, --- and [text](parens) stay as they are; so does &lt;b&gt;.",
        },
    },
    {
        "type": "context",
        "elements": [{"type": "mrkdwn", "text": "Perplexity Search · 0.4 s · $0.005 · only visible to you"}],
    },
]

ANSWER_BLOCKS: list[dict[str, Any]] = [
    {
        "type": "markdown",
        "text": "**Python 3.14 is the current stable release**, out since 7 October 2025 "
        "[[1]](https://docs.python.org/3.14/whatsnew/3.14.html).\n\n"
        "## What changed\n\n"
        "- **Free-threaded builds are officially supported** (PEP 779) "
        "[[1]](https://docs.python.org/3.14/whatsnew/3.14.html)[[2]](https://peps.python.org/pep-0779/)\n"
        '- **Template strings** `t"…"` for safe interpolation\n  - nested, too\n'
        "- Deferred annotations by default\n\n"
        "| Build | Single thread | 8 threads |\n|---|---|---:|\n| with GIL | 1.00× | 1.0× |\n"
        "| free-threaded | 0.93× | 6.8× |\n\n"
        "To try it:\n\n```bash\nuv python install 3.14t\n  python3.14t -X gil=0\n```\n\n"
        "1. first\n2. second\n\n> A quoted line",
    },
    {
        "type": "context",
        "elements": [
            {
                "type": "mrkdwn",
                "text": "*Sources*  1 <https://docs.python.org/3.14/whatsnew/3.14.html|What’s new in Python 3.14> · "
                "docs.python.org · 7 Oct 2025\n2 <https://peps.python.org/pep-0779/|PEP 779> · peps.python.org",
            }
        ],
    },
    {
        "type": "context",
        "elements": [{"type": "mrkdwn", "text": "Perplexity · fast · 3.4 s · $0.0014 · only visible to you"}],
    },
]

FAILURE_BLOCKS: list[dict[str, Any]] = [
    {
        "type": "section",
        "text": {"type": "mrkdwn", "text": "Sorry, no search service answered in time."},
    },
    {
        "type": "actions",
        "elements": [
            {
                "type": "button",
                "text": {"type": "plain_text", "text": "Try again"},
                "style": "primary",
                "action_id": "retry",
                "value": "q1",
            }
        ],
    },
    {
        "type": "context",
        "elements": [{"type": "mrkdwn", "text": "Reference `a7f3-19c2` · tried Perplexity, DuckDuckGo in 60 s"}],
    },
]

PASSAGES_BLOCKS: list[dict[str, Any]] = [
    {
        "type": "context",
        "elements": [{"type": "mrkdwn", "text": ":warning: No answer model is configured, so these are passages."}],
    },
    {"type": "header", "text": {"type": "plain_text", "text": "Passages :mag:"}},
    {
        "type": "rich_text",
        "elements": [
            {
                "type": "rich_text_quote",
                "elements": [
                    {"type": "text", "text": "Free-threaded Python is officially supported. "},
                    {"type": "link", "url": "https://docs.python.org/3.14/whatsnew/3.14.html", "text": "[1]"},
                ],
            }
        ],
    },
    {"type": "divider"},
    {"type": "context", "elements": [{"type": "mrkdwn", "text": "DuckDuckGo · 0.9 s · free"}]},
]

HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
HOSTILE_BLOCKS: list[dict[str, Any]] = [
    {
        "type": "markdown",
        "text": f"{HOSTILE} [click](javascript:alert(1)) ![i](https://evil.example/i.png) `{HOSTILE}`",
    },
    {
        "type": "section",
        "text": {"type": "mrkdwn", "text": f"{HOSTILE} <javascript:alert(1)|click> &lt;https://e.co&gt;"},
    },
    {"type": "header", "text": {"type": "plain_text", "text": HOSTILE}},
    {"type": "context", "elements": [{"type": "image", "image_url": "https://evil.example/x.png", "alt_text": "pic"}]},
    {
        "type": "rich_text",
        "elements": [
            {
                "type": "rich_text_section",
                "elements": [
                    {"type": "text", "text": HOSTILE},
                    {"type": "link", "url": "javascript:alert(1)", "text": "bad"},
                ],
            }
        ],
    },
]

BY_TEXT = {"fail": FAILURE_BLOCKS, "hostile": HOSTILE_BLOCKS, "passages": PASSAGES_BLOCKS}


@dataclass
class ScriptedSearch:
    """Acknowledges with a private line and answers a moment later; `/ask fail` fails until Try again is pressed."""

    posts: set[asyncio.Task[None]] = field(default_factory=set)

    async def reply(self, fields: dict[str, Any]) -> web.Response:
        """Answer one request of the playground."""
        words = str(fields.get("text", "")).split()
        blocks = SEARCH_BLOCKS if fields.get("command") == "/search" else ANSWER_BLOCKS
        blocks = next((BY_TEXT[word] for word in words if word in BY_TEXT), blocks)
        if "silent" in words:
            return web.Response(status=500)
        kind = "in_channel" if "--public" in words else "ephemeral"
        answer = {"text": "An answer", "blocks": blocks, "response_type": kind, "replace_original": kind == "ephemeral"}
        self._later(str(fields["response_url"]), answer)
        is_click = fields.get("type") == "block_actions"
        return web.Response() if is_click else web.json_response({"text": SEARCHING, "response_type": "ephemeral"})

    def _later(self, url: str, answer: dict[str, Any]) -> None:
        task = asyncio.create_task(self._post(url, answer))
        self.posts.add(task)
        task.add_done_callback(self.posts.discard)

    async def _post(self, url: str, answer: dict[str, Any]) -> None:
        async with aiohttp.ClientSession() as session, session.post(url, json=answer) as response:
            await response.read()
