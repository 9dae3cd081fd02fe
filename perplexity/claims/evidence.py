"""Decides by the words alone whether a sentence supports or contradicts a claim; nothing else gives a verdict.

A sentence supports a claim if it has the claim's words and figures, and nothing that limits, negates, quotes or doubts
them. Names, figures and negations must be in the claim's order, and words in between must not change the meaning. A
sentence contradicts a claim if it says the same except for one negation, opposite, figure or date, and has no other
date or name with which both could be true. Any other sentence decides nothing, however clear it is to a person. No
function here does I/O.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise

from perplexity.claims.lexicon import addresses_model, debunks, hedges, is_question, meta_words, negations
from perplexity.claims.types import Verdict
from perplexity.figures.dates import PartialDate, find_dates
from perplexity.figures.quantities import Quantity, find_quantities
from perplexity.lexicon.folding import plain

MAX_TITLE = 300
"""The most characters of a page's title that count as text next to a sentence."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DROPPED = _words("""
    a an the der die das den dem des ein eine einen einem einer eines le la les un une el los las il lo gli l there
    it he she they we i you this these those such very es er sie wir ich man sich dies diese dieser dieses
    its their his her our my your sein seine seiner seinen ihr ihre ihrer ihren be been being do does did worden
    """)
_PRESENT = _words("is are has have ist sind hat haben est sont es son è sono wird werden")
_PAST = _words("was were had war waren hatte hatten wurde wurden était étaient fue era")
_FORMS = _PRESENT | _PAST
_GERMAN_ONLY = _words("die war hat den am um")
_GERMAN = re.compile(
    r"\b(?:[Dd]er|Die|Am|[Dd]as|dem|ist|und|[Ee]ine?|wurden?|[Ii]m|von|vom|nicht|mit|auf|für|sind|zum|zur|bei|seit)\b"
)
_EVENT = re.compile(
    r"(?:was|were|wurden?|\w{2,}ed|became|began|bought|broke|built|came|cut|fell|flew|fought|found|gave|got|grew|held|hit"
    r"|kept|led|left|lost|made|met|paid|ran|rose|said|sank|saw|sent|set|shot|sold|spent|spoke|stood|stole|swam|threw|told"
    r"|took|went|won|wrote|ge\w+t|fiel|stieg|starb|gewann|verlor|trat|ging|kam|zog|schrieb|erhielt|begann)"
)
"""Verbs of single events.

A phrase that only the sentence has, such as a place, does not limit a claim with such a verb.
"""
_ABOUT = _words("about around approximately roughly circa ca etwa rund ungefähr environ")
_NEGATORS = _words("not no never nicht kein keine keinen keinem keiner keines nie niemals")
_LIMITS = _words("""
    only except always entirely fully least most mostly mainly largely usually often generally typically rarely some
    several certain part half second third fourth fifth can must could may might would should will deputy vice acting
    interim assistant honorary former ex candidate partly originally previously initially temporarily once offered
    planned proposed nur mindestens höchstens knapp fast meist oft häufig manche einige teil hälfte zweite dritte
    vize kann können muss müssen darf dürfen soll sollen will stellvertretende ehemalige ehemaliger frühere
    ursprünglich zunächst
""")
"""Words that change the meaning of a sentence if they are between the words of the claim."""
_EXTENT = _words("all every each only always most first last both whole alle jede jeder nur immer erste letzte einzige")
_SUPERLATIVE = re.compile(r"\w{3,}(?:est|ste[nmrs]?)|best|worst")

_MARKS_IN_LINES = """
    in on at im am ins
    by durch um
    and und et y e & и
    ; but while whereas although aber sondern während obwohl
    that which who whose whom where when how why what if because dass wenn weil ob welche welcher welches qui que
    or nor oder noch ou
    zu zum zur
    von vom
"""
_PREPOSITIONS = """
    of to from with for against before after since until till than as into onto over under above below between among
    during through across along behind beside near off out up down outside inside toward towards per via despite
    without within like unlike auf aus bei beim bis für gegen mit nach ohne seit über unter vor zwischen als wie
    pro de du des à au aux pour contre avec sans sur dans del con por para contra di da
"""
_MARKS = {word: word for word in _PREPOSITIONS.split()} | {
    word: line.split()[0] for line in _MARKS_IN_LINES.strip().splitlines() for word in line.split()
}
"""Words and signs that link words, each with its mark: the form that `_is_linked_alike` compares."""
_SIGNS = dict.fromkeys(",()[]", ",") | dict.fromkeys(";:—–/!?。；：、，（）", ";") | dict.fromkeys(("'s", "’s"), "'s")

_OPPOSITES_IN_LINES = """
    rose rise risen increase grow grew grown gain climb jump surge improve stieg steigen gestiegen wuchs gewachsen zu \
    | fell fall fallen decrease decline shrink shrank drop slump plunge sink sank worsen sinken gesunken gefallen ab
    more higher highest mehr höher höchste | less fewer lower lowest weniger niedriger niedrigste
    high hoch hohe | low niedrig niedrige
    large larger largest big biggest groß große größer größte | small smaller smallest klein kleine kleinste
    long longer longest lang länger längste tall tallest | short shorter shortest kurz kürzer kürzeste
    old older oldest alt älter älteste | young youngest new newer newest jung jünger jüngste
    best beste | worst schlechteste
    first erste | last second third letzte zweite dritte
    strong stronger strongest stark stärker | weak weaker weakest schwach schwächer
    won win gewann gewonnen | lost lose verlor verloren
    open offen geöffnet | closed geschlossen gesperrt
    approve accept pass adopt genehmigt angenommen | block ban veto reject dismiss abgelehnt
    allowed legal permitted erlaubt | banned illegal prohibited forbidden verboten
    alive living lebt | dead tot
    guilty convicted schuldig verurteilt | innocent acquitted unschuldig freigesprochen
    north northern nord nördlich | south southern süd südlich
    east eastern ost östlich | west western west westlich
    safe harmless sicher harmlos | unsafe dangerous harmful gefährlich schädlich
    majority mehrheit maximum most meisten | minority minderheit minimum least fewest wenigsten
    always immer | never nie
    doubled verdoppelt | halved halbiert
    profit gewinn | loss verlust
    true wahr richtig | false falsch
"""
_PAIRS = [[_words(words) for words in line.split("|")] for line in _OPPOSITES_IN_LINES.strip().splitlines()]
_OPPOSITES = [*_PAIRS, *(pair[::-1] for pair in _PAIRS)]
"""Pairs of sets: a word of the first in the claim and a word of the second in the sentence contradict each other."""
_NEGATIVE_PREFIXES = ("un", "in", "im", "ir", "il", "non", "dis", "nicht")

_ENDINGS = tuple(
    frozenset(line.split("/"))
    for line in (
        "/s/es/ed/d/ing",
        "/e/es/en/em/n/s/ern",
        "e/ed/es/ing",
        "y/ies/ied/ying",
        "e/er/es/en/em",
        "t/te/ten/en/e",
    )
)
"""Groups of endings: two words are forms of one word if they differ only in endings of the same group."""

_NOT = re.compile(r"\bcan['’]t\b|\bcannot\b|n['’]t\b", re.IGNORECASE)
_PIECE = re.compile(
    r"['’]s\b|(?<=\w)['’]|(?<=\w)-(?=\w)|[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\d_]+|\d+|[^\w\s]"
)
_QUOTED = re.compile(r"[\"“”„«»「」『』]")
_DENIAL = re.compile(
    r"(?:It is|It’s|It's|Es ist) (?:a |an |ein )?(?:common |widespread |popular |weit verbreiteter )?"
    r"(?:myth|false|untrue|not true|wrong|incorrect|misconception|falsch|unwahr|nicht wahr|Irrtum|Mythos)"
    r",? (?:that|dass) "
)
_TURN = re.compile(
    r"\W*(?:but|however|yet|instead|actually|in (?:fact|reality|truth)|doch|aber|jedoch|allerdings|tatsächlich"
    r"|(?P<back>this|that|these|dies\w*|das))\b",
    re.IGNORECASE,
)


_ROLES = _words("""
    by than from to against without until till before after over under above below not 's als gegen ohne bis vor nach
    über unter von zu auf aus
    """)
"""Marks that say who does what to whom, or how much: they must be the same in a claim and a sentence."""
_LOOSE = frozenset(("in", "and", "or", ";", "that", "as"))
"""Marks that may stand in place of any mark that is not in `_ROLES`."""


@dataclass(frozen=True)
class _Word:
    """A content word, with the marks and small words that stand between it and the previous content word.

    `value` is the figure or date, None for any other word. `marks` are the prepositions, conjunctions and signs before
    the word, `forms` the forms of "be" and "have" before it. `glued` is True if the word follows the previous one
    directly. `about` is True after a word such as "about". `in_phrase` is True in a phrase that begins with a
    preposition.
    """

    text: str
    marks: tuple[str, ...] = ()
    forms: frozenset[str] = frozenset()
    glued: bool = False
    capital: bool = False
    about: bool = False
    value: Quantity | PartialDate | None = None
    in_phrase: bool = False

    @property
    def is_negator(self) -> bool:
        return self.text in _NEGATORS

    @property
    def links(self) -> tuple[str, ...]:
        """The marks without commas; a date without other marks gets "in", as if this preposition stood before it."""
        links = tuple(mark for mark in self.marks if mark != ",")
        return links or (("in",) if isinstance(self.value, PartialDate) else ())


def decide(claim: str, sentence: str, title: str = "", before: str = "", after: str = "") -> Verdict:
    """Return whether a sentence of a page supports or contradicts a claim; `UNCLEAR` if its words do neither.

    `title` is the title of the page. `before` and `after` are the neighbouring sentences, which may withdraw what the
    sentence says.
    """
    title = title[:MAX_TITLE]
    denial = _DENIAL.match(sentence)
    said = sentence[denial.end() :] if denial else sentence
    if _is_doubtful(claim, said) or _is_taken_back(claim, title, before, after):
        return Verdict.UNCLEAR
    verdict = _compare(claim, said, title)
    if denial:
        return Verdict.CONTRADICTED if verdict is Verdict.SUPPORTED else Verdict.UNCLEAR
    return verdict


def opposes(claim: str, verdict: Verdict, sentence: str, *around: str) -> bool:
    """Return whether a sentence gives the opposite of `verdict`.

    If the sentence has as many negations as the claim, `decide` must return the opposite verdict. Otherwise only the
    claim's words are compared, so that a sentence that doubts or reports them counts, too. `around` is the title and
    the neighbouring sentences, as in `decide`.
    """
    other = Verdict.CONTRADICTED if verdict is Verdict.SUPPORTED else Verdict.SUPPORTED
    loosely = _compare(claim, sentence, strict=False)
    if loosely is Verdict.UNCLEAR or is_question(sentence):
        return False
    if negations(sentence) == negations(claim):
        return loosely is other and decide(claim, sentence, *around) is other
    hidden = _hidden_negations(sentence) != _hidden_negations(claim)
    return loosely is (verdict if hidden else other)


def is_about_claims(claim: str, sentence: str) -> bool:
    """Return whether a sentence addresses a model, or speaks of claims and instructions where the claim does not."""
    return addresses_model(sentence) or bool(meta_words(sentence) - meta_words(claim))


def shared_words(claim: str, text: str) -> float:
    """Return the share of a claim's words and figures that a text also has, from 0 to 1; 1 for a claim without any."""
    words, found = _read(claim), _read(text)
    shared = sum(any(_is_same(word, one) for one in found) for word in words)
    return shared / len(words) if words else 1.0


def _is_doubtful(claim: str, sentence: str) -> bool:
    """Return whether a sentence is a question, addresses a model, or has anything doubtful that the claim lacks.

    Doubtful are hedges, quotation marks, words about claims, and a different number of hidden negations.
    """
    return (
        is_question(sentence)
        or is_about_claims(claim, sentence)
        or bool(hedges(sentence) - hedges(claim))
        or bool(_QUOTED.search(sentence)) > bool(_QUOTED.search(claim))
        or _hidden_negations(sentence) != _hidden_negations(claim)
    )


def _hidden_negations(text: str) -> int:
    """Return the number of negations in a text that are not in `_NEGATORS`, such as "without" and "failed"."""
    return negations(text) - sum(word.is_negator for word in _read(text))


def _is_taken_back(claim: str, title: str, before: str, after: str) -> bool:
    turn = _TURN.match(after)
    turned = turn is not None and (not turn["back"] or negations(after) > 0 or bool(hedges(after)))
    return turned or (debunks(f"{title}\n{before}\n{after}") and not debunks(claim))


@lru_cache(maxsize=256)
def _read(text: str) -> tuple[_Word, ...]:
    """Return the content words of a text, in order."""
    text = plain(_NOT.sub(lambda match: "can not" if match[0][0] in "cC" else " not", text))
    others = frozenset() if _GERMAN.search(text) else _GERMAN_ONLY
    words: list[_Word] = []
    marks: list[str] = []
    forms: set[str] = set()
    glued, about = True, False
    for piece, value in _pieces(text):
        small = piece.casefold()
        known = value is None and small not in others
        if known and (mark := _MARKS.get(small) or _SIGNS.get(piece)):
            marks.append(mark)
        elif known and small in _FORMS:
            forms.add(small)
            glued = False
        elif known and small in _DROPPED:
            glued = False
        elif known and small in _ABOUT:
            about = True
        elif value is not None or piece.isalnum():
            last = words[-1] if words else _Word("")
            glued, capital = glued and not marks, piece[0].isupper()
            follows = glued and last.in_phrase and last.value is None and last.capital == capital
            in_phrase = follows or any(mark not in (",", ";", "and", "or", "that") for mark in marks)
            word = _Word(small, tuple(marks), frozenset(forms), glued, capital, about, value, in_phrase)
            words.append(word)
            marks, forms, glued, about = [], set(), not word.is_negator, False
    # A preposition at the end is a particle of the verb ("nahm zu") and counts as a word.
    return (*words, *(_Word(mark) for mark in marks[:1] if mark.isalpha()))


def _pieces(text: str) -> Iterator[tuple[str, Quantity | PartialDate | None]]:
    """Yield the words and signs of a text, and its figures and dates with their values."""
    found: list[tuple[int, int, Quantity | PartialDate]] = [
        (date.start, date.end, date.readings[0])
        for date in find_dates(text, bare_months=True)
        if len(date.readings) == 1
    ]
    for one in find_quantities(text):
        value = PartialDate(int(text[one.start : one.end])) if one.is_year else one
        found.append((one.start, one.end, value))
    place = 0
    for start, end, value in sorted(found, key=lambda each: (each[0], -each[1])):
        if start >= place:
            yield from ((match[0], None) for match in _PIECE.finditer(text, place, start))
            yield text[start:end], value
            place = end
    yield from ((match[0], None) for match in _PIECE.finditer(text, place))


def _is_same(word: _Word, other: _Word) -> bool:
    """Return whether a sentence's word means the same as the claim's."""
    one, two = word.value, other.value
    if one is None and two is None:
        return (word.is_negator and other.is_negator) or _is_inflected(word.text, other.text)
    if isinstance(one, PartialDate) and isinstance(two, PartialDate):
        return one.is_said_by(two)
    return isinstance(one, Quantity) and isinstance(two, Quantity) and (one.value, one.unit) == (two.value, two.unit)


@lru_cache(maxsize=4_096)
def _is_inflected(one: str, other: str) -> bool:
    """Return whether two words are forms of one word."""
    if one == other:
        return True
    common = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    if common > 2 and {one[common:], other[common:]} <= {"", f"{one[common - 1]}ed", f"{one[common - 1]}ing"}:
        return True
    return any(
        {one[at:], other[at:]} <= endings for at in range(common, max(2, common - 3), -1) for endings in _ENDINGS
    )


def _is_opposite(word: _Word, other: _Word) -> bool:
    """Return whether a sentence's word cannot be true together with the claim's."""
    one, two = word.value, other.value
    if isinstance(one, PartialDate) and isinstance(two, PartialDate):
        return not one.is_said_by(two) and not two.is_said_by(one)
    if isinstance(one, Quantity) and isinstance(two, Quantity):
        return one.unit == two.unit and not _is_rounded(one, two, about=word.about or other.about)
    if one is not None or two is not None:
        return False
    short, long = sorted((word.text, other.text), key=len)
    if len(short) >= 4 and any(_is_inflected(prefix + short, long) for prefix in _NEGATIVE_PREFIXES):
        return True
    return any(_is_among(word, mine) and _is_among(other, theirs) for mine, theirs in _OPPOSITES)


def _is_among(word: _Word, words: frozenset[str]) -> bool:
    return any(_is_inflected(word.text, one) for one in words)


def _is_rounded(one: Quantity, two: Quantity, *, about: bool) -> bool:
    """Return whether two figures may be the same, rounded.

    With `about`, they may differ by a fifth of `two`. The result is always True if either value is a text, such as a
    version.
    """
    if not isinstance(one.value, Decimal) or not isinstance(two.value, Decimal):
        return True
    step = max(Decimal(1).scaleb(int(value.normalize().as_tuple().exponent)) for value in (one.value, two.value))
    difference = abs(one.value - two.value)
    return difference <= step / 2 or (about and difference <= abs(two.value) / 5)


def _compare(claim: str, sentence: str, title: str = "", *, strict: bool = True) -> Verdict:
    words, found = _read(claim), _read(sentence)
    names = [word for word in _read(title) if word.value is None]
    missing = [word for word in words if not any(_is_same(word, one) for one in found)]
    # A page may name its subject in the title alone, so that "the tower" means the Eiffel Tower.
    named = [word for word in missing if word.capital and any(_is_same(word, one) for one in names)]
    words = tuple(word for word in words if not any(word is one for one in named))
    for differing in (False, True):
        if _agrees(words, found, differing=differing, strict=strict):
            return Verdict.CONTRADICTED if differing else Verdict.SUPPORTED
    return Verdict.UNCLEAR


def _agrees(claim: Sequence[_Word], found: Sequence[_Word], *, differing: bool, strict: bool) -> bool:
    """Return whether a sentence says the same as a claim or, if `differing`, the same except for one thing.

    Unless `strict`, only the claim's own words are compared, not the tense or the words between and around them.
    """
    denied = [at for at, word in enumerate(found) if word.is_negator]
    turned = len(denied) != sum(word.is_negator for word in claim)
    if differing and not turned and sum(word.value is not None for word in claim):
        more = [one for before, one in pairwise(claim) if not _may_be_said_otherwise(one, before, found)]
        claim = [claim[0], *more]
    if turned:
        claim = [word for word in claim if not word.is_negator]
        if not differing or len(denied) > 1:
            return False
    return any(
        not strict
        or (
            (not turned or not denied or min(places) - 1 <= denied[0] <= max(places))
            and _same_time(claim, found, places)
            and _is_whole(claim, found, places)
            and _adds_little(found, places)
            and (not differing or _is_alone(found, places))
        )
        for places in _alignments(claim, found, differing=differing and not turned)
    )


def _alignments(claim: Sequence[_Word], found: Sequence[_Word], *, differing: bool) -> Iterator[list[int]]:
    """Yield lists of the places at which a sentence has the claim's words.

    The claim's first word and its names, figures and negations keep their order. Other words, among them names and
    figures after a preposition, may be anywhere. If `differing`, exactly one word is the opposite of the claim's.
    """
    wanted = [(word, at == 0 or _has_a_part(word)) for at, word in enumerate(claim)]
    wanted.sort(key=lambda one: not one[1])
    for start in range(len(found) if wanted else 0):
        places: list[int] = []
        last, left = start - 1, differing
        for word, in_order in wanted:
            free = [
                at
                for at, other in enumerate(found)
                if at not in places and (at > last or not in_order) and _is_linked_alike(word, other, first=not places)
            ]
            at = min((at for at in free if _is_same(word, found[at])), key=lambda at: abs(at - start), default=None)
            if at is None and left and not _is_part_of_name(word, claim):
                at = next((at for at in free if _is_opposite(word, found[at])), None)
                left = at is None
            if at is None or (not places and at != start):
                break
            places.append(at)
            last = at if in_order else last
        if len(places) == len(wanted) and not left:
            yield places


def _has_a_part(word: _Word) -> bool:
    """Return whether a word may say who acts, who is acted on, or how much: a name, a number or a negation."""
    return ((word.capital or isinstance(word.value, Quantity)) and not word.in_phrase) or word.is_negator


def _may_be_said_otherwise(word: _Word, before: _Word, found: Sequence[_Word]) -> bool:
    """Return whether a word of a claim is probably a verb for which the sentence uses another word.

    `before` is the previous word of the claim. After a figure or a date, no word is taken for a verb.
    """
    small = not (word.capital or word.in_phrase or word.is_negator or word.value or before.value)
    return small and not any(_is_same(word, one) or _is_opposite(word, one) for one in found)


def _is_linked_alike(word: _Word, other: _Word, *, first: bool) -> bool:
    """Return whether the prepositions before a claim's word and before a sentence's word agree.

    Their marks must be the same; or neither word has a mark in `_ROLES`, and one of them has no marks except those in
    `_LOOSE`. Before the claim's `first` word, the sentence may have no preposition that the claim lacks.
    """
    mine, theirs = set(word.links), set(other.links)
    alike = mine & _ROLES == theirs & _ROLES and (mine == theirs or not (mine - _LOOSE and theirs - _LOOSE))
    return alike and not (first and theirs - mine - {";", "and", "that"})


def _same_time(claim: Sequence[_Word], found: Sequence[_Word], places: Sequence[int]) -> bool:
    """Return False if one of claim and sentence is in the present and the other in the past; otherwise True."""
    forms = frozenset[str]().union(*(found[at].forms for at in range(min(places), max(places) + 1)))
    wanted = frozenset[str]().union(*(word.forms for word in claim))
    return not any(
        wanted & mine and forms & theirs and not wanted & theirs and not forms & mine
        for mine, theirs in ((_PRESENT, _PAST), (_PAST, _PRESENT))
    )


def _is_whole(claim: Sequence[_Word], found: Sequence[_Word], places: Sequence[int]) -> bool:
    """Return whether the text before and after the claim's words leaves their meaning unchanged."""
    first, after = min(places), found[max(places) + 1 :]
    head = [word for word in found[:first] if not _is_day(word)]
    marks = set(found[first].marks)
    if head and ("that" in marks or _narrows(head[0], claim) or not (marks & {",", ";", "and"} or _is_title(head))):
        return False
    ends = not after or after[0].marks[:1] in ((",",), (";",), ("and",), ("by",), ("as",)) or _is_day(after[0])
    return ends or not _narrows(after[0], claim)


def _narrows(word: _Word, claim: Sequence[_Word]) -> bool:
    """Return whether a phrase that begins with `word` limits a claim; it never limits the report of a single event."""
    return bool(word.links) and not _is_event(claim)


def _is_title(head: Sequence[_Word]) -> bool:
    """Return whether words describe the name that follows them, as in "the physicist Marie Curie"."""
    return not any(word.marks for word in head) and not head[-1].capital


def _is_event(claim: Sequence[_Word]) -> bool:
    """Return whether a claim reports a single event, and contains neither a superlative nor a word such as "all"."""
    measured = any(word.text in _EXTENT or _SUPERLATIVE.fullmatch(word.text) for word in claim)
    return not measured and any(_EVENT.fullmatch(form) for word in claim for form in (word.text, *word.forms))


def _is_day(word: _Word) -> bool:
    return isinstance(word.value, PartialDate) and word.links == ("in",)


def _adds_little(found: Sequence[_Word], places: Sequence[int]) -> bool:
    """Return whether the sentence's additional words, between those of the claim, leave its meaning unchanged."""
    ordered = sorted(places)
    for one, other in pairwise(ordered):
        more = [word for word in found[one + 1 : other] if not _is_day(word)]
        if more and not _is_harmless(more, found[one], found[other], is_first=one == ordered[0]):
            return False
    return True


def _is_harmless(more: Sequence[_Word], before: _Word, after: _Word, *, is_first: bool) -> bool:
    if any(word.text in _LIMITS for word in more):
        return False
    if more[0].marks[:1] == (",",) and after.marks[:1] == (",",):  # An aside.
        return True
    marks = {mark for word in more for mark in word.marks}
    if marks & {"that", "'s"} or (marks & {",", ";", "and", "or"} and any(map(_has_a_part, more))):
        return False
    # A phrase with a preposition may narrow the word before it: "exports of cars" are not all exports.
    if more[0].links:
        return not is_first or bool(more[0].forms)
    # A word right after a figure or a name may change it: "50 electric cars" are not 50 cars.
    counted, named = isinstance(before.value, Quantity), before.capital and any(map(_has_a_part, more))
    return not more[0].glued or not (counted or named)


def _is_part_of_name(word: _Word, claim: Sequence[_Word]) -> bool:
    """Return whether a figure belongs to a name, as in "Apollo 11"."""
    at = next(at for at, one in enumerate(claim) if one is word)
    return isinstance(word.value, Quantity) and not word.value.unit and word.glued and at > 0 and claim[at - 1].capital


def _is_alone(found: Sequence[_Word], places: Sequence[int]) -> bool:
    """Return whether a sentence has no further date, and no further name between the words of the claim.

    With a further date or name, the sentence could be true together with the claim.
    """
    more = [(at, word) for at, word in enumerate(found) if at not in places]
    return not any(
        isinstance(word.value, PartialDate) or (word.capital and min(places) < at < max(places)) for at, word in more
    )
