"""What Grok is asked, by whichever service it is reached: the words, and the shape of the answer. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from perplexity.social.pulse import MOODS, MOST_POSTS
from perplexity.types import JSON

MOST_SEARCHES = 3

SYSTEM = f"""\
Search X for what people say about the topic. Read at most {MOST_POSTS} posts, in at most {MOST_SEARCHES} searches. \
Take posts of different people and opinions, no advertisements and no copies.
`posts`: each post that you found and used, with its address and the mood of its author towards the topic: positive, \
neutral, negative or mixed. `about`: who says what, in at most ten words.
`summary`: what people say and why, in at most 200 words. Behind each statement put the numbers of the posts that say \
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
                    "mood": {"type": "string", "enum": [*MOODS]},
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


def messages(topic: str, *, more: str = "") -> list[JSON]:
    """Return the two messages; `more` is what one service has to be told besides."""
    system = f"{SYSTEM}\n{more}" if more else SYSTEM
    return [{"role": "system", "content": system}, {"role": "user", "content": f"Topic: {topic}"}]
