"""What Grok is asked about a topic: the instructions, and the JSON Schema of its reply."""

from __future__ import annotations

from collections.abc import Mapping

from perplexity.types import JSON
from perplexity.x_posts.types import MAX_POSTS, SENTIMENT_LABELS

MAX_SEARCHES = 3

SYSTEM = f"""\
Search X for what people say about the topic. Read at most {MAX_POSTS} posts, in at most {MAX_SEARCHES} searches. \
Take posts of different people and opinions, no advertisements and no copies.
`posts`: each post that you found and used, with its address and the mood of its author towards the topic: positive, \
neutral, negative or mixed. `about`: who says what, in at most ten words.
`summary`: what people say and why, in at most 200 words. After each statement put the numbers of the posts that say \
it in square brackets, such as [1] or [2][3]; the first of `posts` is 1. Do not quote posts word for word.
Where you found no posts, leave `posts` empty and say so in `summary`."""

SCHEMA: Mapping[str, JSON] = {
    "type": "object",
    "properties": {
        "posts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "url": {"type": "string"},
                    "mood": {"type": "string", "enum": [*SENTIMENT_LABELS]},
                    "about": {"type": "string"},
                },
                "required": ["url", "mood", "about"],
                "additionalProperties": False,
            },
        },
        "summary": {"type": "string"},
    },
    "required": ["posts", "summary"],
    "additionalProperties": False,
}


def build_messages(topic: str, *, extra: str = "") -> list[JSON]:
    """Return the two messages; `extra` is an instruction for one service only."""
    system = f"{SYSTEM}\n{extra}" if extra else SYSTEM
    return [{"role": "system", "content": system}, {"role": "user", "content": f"Topic: {topic}"}]
