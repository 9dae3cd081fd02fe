"""Stories: which of them are one, told by several sites, and which are new. Pure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import chain

from perplexity.news.likeness import other_events, same
from perplexity.news.wording import Telling
from perplexity.types import Source
from perplexity.wire.writing import encode

_MOST_TELLINGS = 4


@dataclass(frozen=True, kw_only=True)
class Story:
    """One story as one site tells it; `others` are further sites that tell the same one.

    `date` is the day of the page, None where nobody says; `sentence` is what happened.
    """

    headline: str
    source: Source
    date: date | None = None
    sentence: str = ""
    others: tuple[Source, ...] = ()


def grouped(stories: Iterable[Story]) -> tuple[Story, ...]:
    """Return each story once, where it stands first; the other sites that tell it become its `others`.

    The stories are those of one answer: a page that several of them cite, such as a round-up, makes them not one.
    """
    stories = tuple(stories)
    shared = _shared(stories)
    kept: list[Story] = []
    for story in stories:
        told = _tellings(story, shared)
        known = (_tellings(earlier, shared) for earlier in kept)
        place = next((place for place, before in enumerate(known) if _alike(told, before, at_once=True)), None)
        if place is None:
            kept.append(story)
        else:
            kept[place] = _merged(kept[place], story)
    return tuple(kept)


def fingerprint(story: Story, *, among: Iterable[Story] = ()) -> str:
    """Return what `new_since` needs to know the story again, in a text of at most some 4,000 characters.

    `among` are all stories of its answer: by a page that several of them cite, none is known again.
    """
    tellings = _tellings(story, _shared(among))
    return encode([telling.kept() for telling in tellings], separators=(",", ":"))


def new_since(stories: Iterable[Story], seen: Iterable[str], *, among: Iterable[Story] = ()) -> tuple[Story, ...]:
    """Return the stories of an answer that are none of those whose fingerprints are `seen`, in order.

    `among` are all stories of the answer, where these are not all. So it can be done in two steps: for those that were
    seen, and then, with what was new, for those that were seen since. It takes 0.1 s for 8 stories and 500 seen ones.
    """
    stories = tuple(stories)
    shared = _shared(tuple(among) or stories)
    known = [[Telling.of_kept(kept) for kept in json.loads(text)] for text in seen]
    told = ((story, _tellings(story, shared)) for story in stories)
    return tuple(story for story, tellings in told if not any(_alike(tellings, before) for before in known))


def _alike(one: Sequence[Telling], other: Sequence[Telling], *, at_once: bool = False) -> bool:
    """Tell whether the first telling of either is among the other's, and they are not of two events.

    Two stories may share a further page that tells of many, such as a round-up: that makes them no single story.
    """
    pairs = chain(((one[0], telling) for telling in other), ((telling, other[0]) for telling in one[1:]))
    found = [(mine, theirs) for mine, theirs in pairs if same(mine, theirs)]
    return bool(found) and (
        any(mine.address == theirs.address for mine, theirs in found)
        or not other_events(one[0], other[0], at_once=at_once)
    )


def _shared(stories: Iterable[Story]) -> frozenset[str]:
    """Return the addresses that more than one of the stories cites."""
    cited = Counter(url for story in stories for url in {story.source.url, *(other.url for other in story.others)})
    return frozenset(url for url, times in cited.items() if times > 1)


def _tellings(story: Story, shared: Collection[str] = ()) -> list[Telling]:
    """Return the story in each site's words, its own first; pages that are `shared` with other stories say nothing."""
    own = Telling(headline=story.headline, sentence=story.sentence, date=story.date, url=story.source.url)
    others = (s for s in story.others if s.url not in shared)
    told = (Telling(headline=s.title, sentence="", date=day(s.date), url=s.url) for s in others)
    return [own, *told][:_MOST_TELLINGS]


def _merged(story: Story, other: Story) -> Story:
    """Return the story with the other's sites, each address once."""
    sources = {source.url: source for source in (*story.others, other.source, *other.others)}
    sources.pop(story.source.url, None)
    return replace(story, others=tuple(sources.values()))


def day(value: str | None) -> date | None:
    """Return the day that an ISO date or timestamp begins with, None for what is none."""
    try:
        return date.fromisoformat((value or "")[:10])
    except ValueError:
        return None
