"""An answer without a model: the passages of the results that fit the question best, word for word."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from math import log

from perplexity.errors import NothingFound, cost_with_failures
from perplexity.lexicon.common_words import ENGLISH
from perplexity.scope import N_, say
from perplexity.types import (
    Answer,
    AnswerKind,
    Passage,
    SearchResults,
    Source,
    Usage,
)

# In a script without spaces, each letter is a word.
_WORD = re.compile(
    r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W_\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]+"
)
_ENDINGS = ("ing", "ies", "ed", "es", "s")


def words(text: str) -> list[str]:
    """Return the words of a text, lower case and without the commonest English endings, in order."""
    return [_stem(word) for word in _WORD.findall(text.casefold())]


def bm25_scores(question: str, texts: Sequence[str]) -> list[float]:
    """Return a score for each text: 0 if the text shares no word with the question, and higher if the text fits better.

    Words such as "the" count only if no text shares any other word with the question. The formula is BM25 with k1 = 1.2
    and b = 0.75: https://en.wikipedia.org/wiki/Okapi_BM25
    """
    bags = [Counter(words(text)) for text in texts]
    wanted = set(words(question))
    scores = _bm25(wanted - ENGLISH, bags)
    return scores if any(scores) else _bm25(wanted, bags)


def _stem(word: str) -> str:
    ending = next((e for e in _ENDINGS if word.endswith(e) and len(word) - len(e) >= 3), "")
    return word[: len(word) - len(ending)]


def _bm25(wanted: set[str], bags: Sequence[Counter[str]]) -> list[float]:
    average = sum(bag.total() for bag in bags) / max(len(bags), 1) or 1.0
    # A long question has many words, but most texts share few of them, so only the shared words are scored.
    shared = [wanted & bag.keys() for bag in bags]
    holders = Counter(word for words in shared for word in words)
    rarity = {word: log(1 + (len(bags) - count + 0.5) / (count + 0.5)) for word, count in holders.items()}
    return [
        sum(rarity[word] * _weight(bag[word], bag.total() / average) for word in words)
        for bag, words in zip(bags, shared, strict=True)
    ]


def _weight(count: int, length: float) -> float:
    return count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length))


MAX_PASSAGES = 5
MAX_PASSAGE_LENGTH = 400
_MOST_OF_ONE_SOURCE = 2
# The point after a list's number does not end a sentence.
_SENTENCE_END = re.compile(r"(?<=[.!?…])(?<!\s\d\.)(?<!\s\d\d\.)[\"'”’)\]]*\s+|(?<=[。！？])|\n\s*\n")


def best_passages(results: Sequence[Source], question: str) -> tuple[Passage, ...]:
    """Return at most 5 passages of at most 400 characters, best first, each a slice of a snippet or a title.

    At most two come from one source. If no passage shares a word with the question, the first passage of each result is
    returned, in the service's order.
    """
    candidates = [Passage(text=piece, source=source.number) for source in results for piece in split_sentences(source)]
    titles = {source.number: source.title[:MAX_PASSAGE_LENGTH] for source in reversed(results)}
    fits = bm25_scores(question, [f"{passage.text} {titles[passage.source]}" for passage in candidates])
    ranked = [p for _, p in sorted(zip(fits, candidates, strict=True), key=lambda pair: -pair[0])]
    matching = ranked[: sum(fit > 0 for fit in fits)]
    return tuple(islice(_spread(matching or candidates, _MOST_OF_ONE_SOURCE if matching else 1), MAX_PASSAGES))


def split_sentences(source: Source) -> list[str]:
    """Cut a snippet, or the title if there is no snippet, into pieces of at most 400 characters.

    A piece consists of whole sentences; only a longer sentence is cut.
    """
    text = source.snippet.strip() or source.title.strip()
    cuts: list[str] = []
    start = end = 0
    for stop in [*(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]:
        if stop - start > MAX_PASSAGE_LENGTH and end > start:
            cuts.append(text[start:end])
            start = end
        end = stop
    return [piece for cut in [*cuts, text[start:]] for piece in _short(cut.strip()) if piece]


JOINED_QUESTIONS = N_("Your last two questions were searched for together: this service can’t follow a conversation.")


def passages_answer(results: SearchResults, question: str, *, joined: bool = False) -> Answer:
    """Return an answer of kind `PASSAGES`; `text` has each passage followed by its source's number in brackets.

    `joined` is True if the question was combined from two. Raises NothingFound if the results contain no text at all.
    If there are no results, the error has their notes, which may give the reason.
    """
    chosen = best_passages(results.results, question)
    if not chosen:
        cost_usd = cost_with_failures(results.cost_usd, results.failed)
        nothing = NothingFound("the results hold no text", provider=results.provider, cost_usd=cost_usd)
        raise nothing if results.results else nothing.with_notes(results.notes)
    return Answer(
        text="\n\n".join(f"{passage.text} [{passage.source}]" for passage in chosen),
        sources=results.results,
        provider=results.provider,
        kind=AnswerKind.PASSAGES,
        passages=chosen,
        usage=Usage(searches=1, cost_usd=results.cost_usd),
        seconds=results.seconds,
        notes=(*results.notes, say(JOINED_QUESTIONS)) if joined else results.notes,
        failed=results.failed,
    )


def _spread(ranked: Sequence[Passage], most: int) -> Iterator[Passage]:
    seen: dict[int, int] = {}
    for passage in ranked:
        seen[passage.source] = seen.get(passage.source, 0) + 1
        if seen[passage.source] <= most:
            yield passage


def _short(text: str) -> Iterator[str]:
    """Yield a text in pieces of at most 400 characters, cut between words, or inside a word that is longer."""
    start = 0
    while len(text) - start > MAX_PASSAGE_LENGTH:
        space = text.rfind(" ", start + 1, start + MAX_PASSAGE_LENGTH)
        cut = space if space > 0 else start + MAX_PASSAGE_LENGTH
        yield text[start:cut].rstrip()
        start = cut
        while start < len(text) and text[start].isspace():
            start += 1
    yield text[start:]
