"""Whether a quotation that is in a page is evidence for a verdict on a claim, by rules of ours. Pure.

The model judges what a sentence means; the rules find what it may not overlook: another figure, another name, a
negation, doubt, a page that takes the sentence back, a sentence that is about something else, text that addresses the
model. A rule can only make a verdict unclear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from perplexity.claims.cues import addresses_model, debunks, hedges, is_question, meta_words, negations
from perplexity.claims.figures import missing_figures, read_figures, without_figures
from perplexity.claims.quotes import PageText, Quotation, Token, prepare
from perplexity.claims.types import Verdict
from perplexity.passages import STOP_WORDS

_OTHER_STOP_WORDS = """
    der die das den dem des ein eine einen einem einer eines und oder ist sind war waren wird werden wurde wurden hat
    haben hatte im in am an auf aus bei bis durch für mit nach von vom vor zu zum zur über um unter es er sie wir ihr
    ich man auch als wie so dass sich dort hier seit le la les un une du de et est sont dans el los las una y es
    en il lo gli i e di che per it its very also there here than then after before during since into
"""
_STOP = STOP_WORDS | frozenset(_OTHER_STOP_WORDS.split())

_OPPOSITES_IN_LINES = """
    rose rise rises risen increased increase increases grew grow grows gained up climbed jumped surged stieg steigt \
    gestiegen wuchs gewachsen zugenommen | fell fall falls fallen decreased decrease decreases declined shrank lost \
    down dropped slumped plunged sank sinkt gesunken fiel gefallen abgenommen geschrumpft
    more mehr over above greater | less fewer weniger under below
    higher highest höher höchste höchsten tallest | lower lowest niedriger niedrigste niedrigsten shortest
    larger largest bigger biggest größer größte größten | smaller smallest kleiner kleinste kleinsten
    longest längste längsten | shortest kürzeste kürzesten
    oldest älteste ältesten older | youngest newest jüngste jüngsten younger
    first erste ersten erster erstes | second third last zweite zweiten dritte dritten letzte letzten
    best beste besten | worst schlechteste schlechtesten
    before vor | after nach
    won win wins gewann gewonnen | lost lose loses verlor verloren
    bought acquired kaufte gekauft | sold verkaufte verkauft
    opened opens open eröffnet geöffnet | closed closes close shut geschlossen schließt
    began started starts begins founded begann gegründet | ended ends stopped finished endete aufgelöst
    approved accepted passed adopted allowed legal genehmigt angenommen erlaubt | blocked banned vetoed prohibited \
    forbidden illegal dismissed abgelehnt verboten
    alive lebt living | dead died tot gestorben verstorben
    guilty schuldig convicted | innocent acquitted unschuldig freigesprochen
    north nord norden northern | south süd süden southern
    east ost osten eastern | west westen western
    left links | right rechts
    male man men mann männer he his | female woman women frau frauen she her
    safe sicher | unsafe dangerous unsicher gefährlich
    with mit | without ohne
    hot heiß warm | cold kalt
    import imports imported | export exports exported
    majority mehrheit | minority minderheit
    maximum | minimum
    most meisten | least fewest wenigsten
    hired eingestellt | fired laid entlassen
    joined | left quit resigned
    always immer | never nie
"""
_OPPOSITES = tuple(
    tuple(frozenset(words.split()) for words in line.casefold().split("|"))
    for line in _OPPOSITES_IN_LINES.strip().splitlines()
)
"""Words of which one in the claim and the other in the sentence mean that they differ."""

_WORDS_OF_EXTENT = """
    all every each only always most alle jede jeder jedes nur immer first last largest smallest biggest tallest oldest
    youngest highest lowest longest shortest best worst fastest richest poorest deadliest deepest newest latest both
    entire whole none zero majority minority half unique sole erste ersten letzte größte größten kleinste älteste
    höchste längste einzige einzigen meisten sämtliche
"""
_EXTENT = frozenset(_WORDS_OF_EXTENT.casefold().split())
"""Words of a claim that the sentence must have, too: without them it says less."""
_SYNONYMS = tuple(
    frozenset(line.casefold().split())
    for line in ("largest biggest größte größten", "only sole unique", "all every each entire", "tallest highest")
)

_MONTHS = {
    name: number
    for number, names in enumerate((
        "january jan januar", "february feb februar", "march mar märz", "april apr", "may mai", "june jun juni",
        "july jul juli", "august aug", "september sep sept", "october oct oktober okt", "november nov",
        "december dec dezember dez",
    ))
    for name in names.split()
}  # fmt: skip
_MIN_OTHER_PART = 4
_ENDINGS = frozenset(("", "s", "es", "n", "en", "e", "er", "ern", "em", "'s"))
_ASIDE = re.compile(r"\([^()]{0,300}\)|, (?:which|who|whose|whom|where)\b[^,.;:]{0,200},")

MAX_TITLE = 300
"""Characters of a page's title that count as text next to a quotation."""
MIN_SHARE, MIN_SHARE_PLAIN = 0.5, 0.75
"""The part of a claim's words that a page must have around a quotation: of a claim with names, and of one without."""
MIN_SHARE_IN_SENTENCE, MIN_SHARE_WITH_FIGURE = 0.4, 0.25
"""The part that the sentence itself must have: the second if the claim has figures, which it must have anyway."""
MIN_SHARE_BESIDES_NAMES = 0.3
"""The part that there must be of the words that are no names."""
MIN_SHARE_CONTRADICTED = 0.3
"""The part that there must be around a sentence that contradicts a claim."""

QUESTION = "The sentence that the model quoted is a question."
ABOUT_CLAIMS = "The sentence that the model quoted is about claims or instructions, not about the matter."
NEGATION = "The claim and the quotation differ in a negation."
CALLED_INTO_DOUBT = "The page calls the quotation into doubt."
OFF_TOPIC = "The quotation has few words in common with the claim."
SAME_WORDS = "The quotation says the same as the claim."


def objection(claim: str, verdict: Verdict, quotation: Quotation, *, title: str) -> str | None:
    """Return why a quotation is no evidence for a verdict on a claim, as a sentence for the reader; None if it may be.

    `title` is that of the page.
    """
    title = title[:MAX_TITLE]
    if is_question(quotation.sentence):
        return QUESTION
    if addresses_model(quotation.sentence) or meta_words(quotation.sentence) - meta_words(claim):
        return ABOUT_CLAIMS
    if doubts := hedges(quotation.sentence) - hedges(claim):
        return f"The quotation is not certain of it, or limits it: “{min(doubts)}”."
    if verdict is Verdict.CONTRADICTED:
        return _against(claim, quotation, title)
    return next(_doubts(claim, quotation, title), None)


def _against(claim: str, quotation: Quotation, title: str) -> str | None:
    """Return why a sentence does not contradict a claim."""
    near = f"{title}\n{quotation.previous}\n{quotation.sentence}"
    if shared_terms(claim, near) < MIN_SHARE_CONTRADICTED:
        return OFF_TOPIC
    denied = negations(quotation.sentence) != negations(claim) or debunks(f"{title}\n{quotation.around}")
    return SAME_WORDS if not denied and _repeats(claim, quotation.sentence) else None


def _doubts(claim: str, quotation: Quotation, title: str) -> Iterator[str]:
    """Yield why a sentence does not support a claim."""
    sentence = quotation.sentence
    near = f"{title}\n{quotation.previous}\n{sentence}"
    if missing := missing_figures(claim, sentence, f"{near}\n{quotation.following}"):
        yield f"The quotation does not say “{missing[0]}”."
    if negations(_without_asides(sentence, claim)) != negations(claim):
        yield NEGATION
    if not debunks(claim) and debunks(f"{title}\n{quotation.around}"):
        yield CALLED_INTO_DOUBT
    words, here = _words(claim), _words(sentence)
    if opposite := _opposite(words, here):
        yield f"The claim and the quotation differ in “{opposite}”."
    if name := _missing_name(claim, near):
        yield f"The quotation does not mention “{name}”."
    if extent := _missing_extent(words, _words(near)):
        yield f"The quotation does not say “{extent}”."
    least = MIN_SHARE if any(_names(claim, near)) else MIN_SHARE_PLAIN
    here_least = MIN_SHARE_WITH_FIGURE if read_figures(claim) else MIN_SHARE_IN_SENTENCE
    if shared_terms(claim, near) < least or shared_terms(claim, sentence) < here_least:
        yield OFF_TOPIC
    if _says_only_names(claim, near):
        yield OFF_TOPIC


def _says_only_names(claim: str, near: str) -> bool:
    """Return whether a text has the names of a claim, and next to nothing of what the claim says of them."""
    names = {name.casefold() for name in _names(claim, near)}
    rest = [term for term in _terms(claim) if term not in names]
    found, figures = set(_terms(near)), bool(read_figures(claim))
    shared = sum(any(_alike(term, one) for one in found) for term in rest)
    return not figures and len(rest) >= 2 and shared < len(rest) * MIN_SHARE_BESIDES_NAMES


@lru_cache(maxsize=64)
def _tokens(text: str) -> tuple[Token, ...]:
    return tuple(token for token in PageText(prepare(text)).tokens if token.is_word)


def _words(text: str) -> list[str]:
    """Return the words of a text, case folded."""
    return [token.text.casefold() for token in _tokens(text)]


@lru_cache(maxsize=64)
def _terms(text: str) -> tuple[str, ...]:
    """Return what a text speaks of: its words without the commonest; of scripts without spaces, pairs of letters."""
    tokens = _tokens(without_figures(text))
    wide = [len(token.text) == 1 and ord(token.text) >= 0x0E00 for token in tokens]
    terms = [
        token.text
        for token, is_wide in zip(tokens, wide, strict=True)
        if not is_wide and len(token.text) > 1 and token.text not in _STOP
    ]
    pairs = zip(pairwise(tokens), pairwise(wide), strict=True)
    return (*terms, *(one.text + next_.text for (one, next_), both in pairs if all(both) and one.end == next_.start))


def shared_terms(claim: str, text: str) -> float:
    """Return the part of a claim's words and figures that a text has, too, from 0 to 1; 1 for a claim without any."""
    terms, found = dict.fromkeys(_terms(claim)), set(_terms(text))
    figures, given = read_figures(claim), read_figures(text)
    shared = sum(any(_alike(term, one) for one in found) for term in terms)
    shared += sum(any(figure.equals(one) for one in given) for figure in figures)
    return shared / (len(terms) + len(figures)) if terms or figures else 1.0


def _alike(one: str, other: str) -> bool:
    """Return whether two words may be forms of one, or one a part of the other, as in German compounds."""
    if one == other or _is_same_month(one, other):
        return True
    if min(len(one), len(other)) < 4 or one[0].isdecimal() or other[0].isdecimal():
        return False
    if len(one) >= 5 and len(other) >= 5 and (one in other or other in one):
        return True
    common = next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    return common >= 4 and common >= 0.6 * max(len(one), len(other))


def _is_same_name(one: str, other: str) -> bool:
    """Return whether two words are one name, perhaps in another case."""
    if one == other or _is_same_month(one, other):
        return True
    short, long = sorted((one, other), key=len)
    return len(short) >= 3 and long.startswith(short) and long[len(short) :] in _ENDINGS


def _is_same_month(one: str, other: str) -> bool:
    return one in _MONTHS and _MONTHS[one] == _MONTHS.get(other)


def _names(claim: str, near: str) -> Iterator[str]:
    """Yield the words of a claim with a capital. The first one counts unless the page writes it small."""
    tokens = _tokens(claim)
    outside = set(_words(without_figures(claim)))
    written_small = {token.text for token in _tokens(near)}
    for place, token in enumerate(tokens):
        small = token.text.casefold()
        if not token.text[0].isupper() or small in _STOP | _EXTENT or len(small) < 2 or small not in outside:
            continue
        if place or not any(_alike(small, other) for other in written_small if other.islower()):
            yield token.text


def _missing_name(claim: str, near: str) -> str | None:
    known = _words(near)
    for name in _names(claim, near):
        small = name.casefold()
        if not any(_is_same_name(small, word) or _is_part(small, word) for word in known):
            return name
    return None


def _is_part(name: str, word: str) -> bool:
    """Return whether a name is a part of a compound, as in "Eiffelturm"; "Niger" is none of "Nigeria"."""
    return len(name) >= 5 and len(word) >= len(name) + _MIN_OTHER_PART and name in word


def _opposite(words: list[str], here: list[str]) -> str | None:
    """Return a word of the sentence that is the opposite of one of the claim."""
    said, found = set(words), set(here)
    for one, other in _OPPOSITES:
        for mine, theirs in ((one, other), (other, one)):
            if said & mine and not said & theirs and found & theirs and not found & mine:
                return min(found & theirs)
    return None


def _missing_extent(words: list[str], near: list[str]) -> str | None:
    found = set(near)
    for word in words:
        same = next((group for group in _SYNONYMS if word in group), {word})
        if word in _EXTENT and not same & found:
            return word
    return None


def _without_asides(sentence: str, claim: str) -> str:
    """Return a sentence without its asides, in which a negation denies nothing else, unless the claim is in one."""
    wanted = set(_terms(claim))
    return _ASIDE.sub(lambda match: match[0] if wanted & set(_terms(match[0])) else " ", sentence)


def _repeats(claim: str, sentence: str) -> bool:
    """Return whether a sentence has all words of a claim in their order, without others between them."""
    said = "\n".join(["", *_words(sentence), ""])
    return "\n".join(["", *_words(claim), ""]) in said
