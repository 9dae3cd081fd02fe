"""Words that say nothing about which story it is, in the languages that news comes in most. Text and nothing else.

A paragraph is a course that stories take, a line of it a state on that course, by the beginnings of the words that tell
it, folded; of several states in one headline the upper one counts. Other languages are told apart by the rest.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from perplexity.urls import site

_WORDS = """
a about according after again ahead all already also among an and any are as at be because been before being but by
can could did do does during for from had has have he her here him his how if in into is it its itself just latest
live may might more most must near new news no not now of off on one only or other our out over own per report
reports said says see set she should since so some still than that the their them then there these they this those
through to today toward tuesday monday wednesday thursday friday saturday sunday under until up update updated us
via was we were what when where which while who why will with would year years you your amid exclusive breaking
watch video opinion analysis
aber als am an auch auf aus bei beim bis das dass dem den der des die doch ein eine einem einen einer es fur gegen
hat haben ihr im in ist jetzt kann mehr mit nach neue neuer neues nicht noch nur ob oder sich sie sind so soll uber
um und vom von vor war was weil wer werden wie wieder will wird wurde zu zum zur zwischen
au aux avec ce ces cette chez comme contre dans de depuis des du elle en est et etre il ils la le les leur leurs
lors mais ne ou par pas plus pour pourquoi qu que quel qui sa sans se selon ses son sont sous sur tout tres un une
vers nouveau nouvelle apres
al con como contra cuando de del desde donde el ella en entre era es esta este fue ha hacia hasta la las lo los mas
muy no o para pero por porque que se sera si sin sobre son su sus tras un una uno y ya nuevo nueva
alla anche che ci col da dal dalla dei del della delle di e ed gli i il nel nella non per piu si sono su sul un una
dopo
ao aos as com da das do dos e em foi mais na nas no nos o os ou para pela pelo por que sao se sem seu sua um uma
apos
aan bij dat de door een en er het in is met na naar niet nog om ook op over te tot uit van voor wil worden zijn
в во и из к ко на не но о об от по под при с со у за до для что как это его её их он она они был была были уже
في من على إلى عن أن إن مع هذا هذه التي الذي بعد قبل بين أو و
"""

STOPWORDS = frozenset(_WORDS.split())


_COURSES = """
sentence jail prison verurteil condamn conden
convict guilty acquit
trial jury
charge indict anklag examen imput
arrest detain custod suspect festgenommen garde deten
wanted manhunt gesucht

found rescu safe gerettet retrouv rescat freed free liberat befreit
taken abduct kidnap trap stuck
missing search vermisst disparu desaparec

appoint hire replac ernannt nomm
sack fire oust dismiss resign stepp quit tritt zuruckgetreten demission dimit
probe investigat ermittl enquet

sign
pass

abandon scrap walk cancel withdraw collaps fail gescheitert scheiter
reject rebuff spurn refus block renvers rechaz ablehn lehnt suspend overturn
approv accept adopt agree deal confirm clear beschlie genehmig aprob approuv acuerd einigt accord
talk explor receiv approach consider weigh propos vote seek plan debat stimm menac negoti berat erwag examin file apply

vote stimm ballot authoriz
strik streik greve huelg

win won wins champion siegt gewinnt gana remport vince
reach advanc qualif

restor fix resolv repair recover reopen
outage down crash disrupt infect

delay postpon scrub halt verschieb verschob reporte aplaza retras out injur
launch releas return liftoff lift resum erschien veroffentlich start

landfall hit hits batter trifft touche
near approach strengthen form warn

end ends ended close conclud over endet
open opens begin began start

kill dead death dies toll tote mort muert mata
missing injur

fall fell drop lower down declin slid cut reduc eas sink sank plung lose lost minus verlier baiss bajan cae recul
rise rose climb jump gain higher up surg increas grow soar plus steig stieg hauss sube alza
hold held keep kept steady unchang unverandert maintien mantien
"""

EVENT_STATES: tuple[tuple[tuple[str, ...], ...], ...] = tuple(
    tuple(tuple(state.split()) for state in course.splitlines()) for course in _COURSES.strip().split("\n\n")
)

_SHORTEST_BEGINNING, _LONGEST_ENDING = 4, 4


def event_states(words: Iterable[str]) -> dict[int, int]:
    """Return the state on each course that these words, folded, tell of, by the places of both in `EVENT_STATES`."""
    found: dict[int, int] = {}
    for course, place in (told for word in words for told in states_of(word)):
        found[course] = min(place, found.get(course, place))
    return found


@lru_cache(maxsize=16384)
def states_of(word: str) -> tuple[tuple[int, int], ...]:
    """Return each course that a folded word belongs to, and the state on it."""
    shortest = max(_SHORTEST_BEGINNING, len(word) - _LONGEST_ENDING)
    beginnings = [word[:length] for length in range(shortest, len(word) + 1)]
    short = {word, word.removesuffix("s")}
    beginnings += [beginning for beginning in short if len(beginning) < _SHORTEST_BEGINNING]
    return tuple(sorted({turn for beginning in beginnings for turn in _PLACES.get(beginning, ())}))


def _places() -> dict[str, list[tuple[int, int]]]:
    """Return where each beginning stands: its course, and the state on it."""
    places: dict[str, list[tuple[int, int]]] = {}
    for course, steps in enumerate(EVENT_STATES):
        for place, beginning in ((place, beginning) for place, line in enumerate(steps) for beginning in line):
            places.setdefault(beginning, []).append((course, place))
    return places


_PLACES = _places()


MAX_LENGTH = 300
"""Characters of a text that are looked at."""
PREFIX_LENGTH = 4
"""So many letters of two stems must be the same, for one to be the beginning of the other."""
NAME_WEIGHT, NUMBER_WEIGHT = 2.0, 1.5
"""What a name and a number weigh; another word weighs 1."""

_NUMBER = r"\d+(?:[.,:-]\d+)*(?:\s?(?:billions?|bn|millions?|mio|mrd|b|m|k)\b|\s?%)?"
# Scripts that write no spaces; their runs of characters are compared by pairs.
_CLOSE = "\u0e00-\u0eff\u3005\u30a0-\u30ff\u3400-\u9fff\uf900-\ufaff"
_HIRAGANA = "\u3040-\u309f"
_TOKEN = re.compile(rf"({_NUMBER})|([{_CLOSE}]+)|([^\W_{_CLOSE}{_HIRAGANA}]+)", re.IGNORECASE)
_BEHIND = re.compile(r"\s*[（(][^()（）]{1,20}[）)]\s*$")
_POSSESSIVE = re.compile(r"['’]s\b")
_ELISION = re.compile(r"\b(?:[cdjlmnst]|qu)['’](?=\w)", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
_GROUPED = re.compile(r"(?<=\d)[.,  ](?=\d{3}\b)")
_ENDINGS = ("ing", "ies", "ed", "es", "s", "en", "e")
_UNITS = {"billion": "b", "billions": "b", "bn": "b", "mrd": "b", "million": "m", "millions": "m", "mio": "m"}
_COUNTED = {
    word: str(number)
    for number, words in {
        2: "two zwei deux dos due",
        3: "three third drei trois tres tre",
        4: "four fourth vier quatre cuatro quattro",
        5: "five fifth funf cinq cinco cinque",
        6: "six sixth sechs seis sei",
        7: "seven seventh sieben sept siete sette",
        8: "eight eighth acht huit ocho otto",
        9: "nine ninth neun neuf nueve nove",
        10: "ten tenth zehn dix diez dieci",
        11: "eleven elf onze once undici",
        12: "twelve zwolf douze doce dodici",
        24: "dozens dutzende dizaines decenas",
        100: "hundreds hunderte centaines cientos centinaia",
        1000: "thousands tausende milliers miles migliaia",
        1000000: "millions millionen millones milioni",
    }.items()
    for word in words.split()
}


@dataclass(frozen=True, kw_only=True)
class Keywords:
    """What a text is about: its stems, its numbers, those stems that it writes as names, and those in lower case."""

    stems: frozenset[str]
    numbers: frozenset[str]
    names: frozenset[str]
    lowercase: frozenset[str]


def keywords_of(text: str) -> Keywords:
    """Return a text's words, those that say nothing left out."""
    stems, numbers, names, plain = set[str](), set[str](), set[str](), set[str]()
    for number, run, word in _TOKEN.findall(_prepared(text)):
        if number:
            numbers.add(_numbered(number))
        elif run:
            stems.update(_pairs(run))
        else:
            counted, meant = _read(word)
            if counted:
                numbers.add(counted)
            elif meant:
                stems.add(meant)
                (plain if word.islower() else names).add(meant)
    names = set[str]() if _all_capitals(names, plain) else names - plain
    return Keywords(
        stems=frozenset(stems),
        numbers=frozenset(numbers),
        names=frozenset(names),
        lowercase=frozenset(plain),
    )


@lru_cache(maxsize=16384)
def _read(word: str) -> tuple[str, str]:
    """Return the number that a word stands for, or else its stem; neither of one that says nothing."""
    if (folded := fold(word)) in _COUNTED:
        return _COUNTED[folded], ""
    if folded in _SAYING_NOTHING or len(folded) < 2:
        return "", ""
    return "", concept(folded) if word[1:].islower() else stem(folded)


def fold(word: str) -> str:
    """Return a word as it is compared: without case and accents."""
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return "".join(character for character in decomposed if not unicodedata.combining(character))


_SAYING_NOTHING = frozenset(map(fold, STOPWORDS))


def stem(folded: str) -> str:
    """Return a word without its commonest endings."""
    ending = next((e for e in _ENDINGS if folded.endswith(e) and len(folded) - len(e) >= 3), "")
    return folded[: len(folded) - len(ending)]


def concept(folded: str) -> str:
    """Return one stem for all words that tell the same turn, such as "holds" and "keeps", else the word's own."""
    course, place = next(iter(states_of(folded)), (None, None))
    return stem(folded) if course is None else f"{course}>{place}"


def matching_stems(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    """Return which stems of one stand in the other too, or are the beginning of one there, or begin with one."""
    both, apart = one & other, dict[str, list[str]]()
    for theirs in other:
        apart.setdefault(theirs[:PREFIX_LENGTH], []).append(theirs)
    return both | {mine for mine in one - both if any(_alike(mine, t) for t in apart.get(mine[:PREFIX_LENGTH], ()))}


def weight(words: Keywords, names: frozenset[str]) -> float:
    """Return what the words weigh: the more, the more they tell which story it is."""
    return len(words.stems) + (NAME_WEIGHT - 1) * len(words.stems & names) + NUMBER_WEIGHT * len(words.numbers)


def _alike(one: str, other: str) -> bool:
    """Tell whether one of two stems is the beginning of the other."""
    short, long = (one, other) if len(one) < len(other) else (other, one)
    return len(short) >= PREFIX_LENGTH and len(long) - len(short) <= 4 and long.startswith(short)


def _prepared(text: str) -> str:
    text = _BEHIND.sub("", text[:MAX_LENGTH]) if ")" in text or "）" in text else text[:MAX_LENGTH]
    text = text if text.isascii() else unicodedata.normalize("NFKC", text)
    if "'" in text or "’" in text:
        text = _ELISION.sub("", _POSSESSIVE.sub("", text))
    return _GROUPED.sub("", text)


def _numbered(number: str) -> str:
    """Return a number as it is compared: `$2 billion` and `$2B` are one, and so are 2:1 and 2-1."""
    digits = _DIGITS.findall(number)
    unit = _DIGITS.sub("", number.casefold()).strip(" .,:-%")
    return ".".join(digits) + _UNITS.get(unit, unit)


def _pairs(run: str) -> Iterator[str]:
    yield from (run[i : i + 2] for i in range(len(run) - 1)) if len(run) > 1 else (run,)


def _all_capitals(names: set[str], plain: set[str]) -> bool:
    """Tell whether a headline writes every word with a capital, so that none of them is known for a name."""
    return len(names) > 3 and len(names) > 4 * len(plain)


_SITE = re.compile(r"^(.{8,}\S)(?:\s+[-–—|·»•:]\s+|：|\s*[|｜]\s*|(?<=\w)-)([^-–—|·»•：]{2,40})$")
_LETTERS = re.compile(r"[\W_]+")
_SHORTEST_NAME = 3


def strip_site_name(title: str, url: str) -> str:
    """Return a title without the name of its site behind it, such as " - BBC News" of bbc.co.uk."""
    title = " ".join(title.split())
    while len(title) <= MAX_LENGTH and (match := _SITE.fullmatch(title)) and _names(match[2], url):
        title = match[1]
    return title


def _names(ending: str, url: str) -> bool:
    """Tell whether the ending is what the site is called: its letters, its initials or a word of it are the host's."""
    host = _LETTERS.sub("", site(url).rpartition(".")[0]).casefold()
    words = [_LETTERS.sub("", word).casefold() for word in ending.split()]
    said, initials = "".join(words), "".join(word[:1] for word in words)
    telling = [word for word in words if len(word) >= _SHORTEST_NAME and word not in STOPWORDS]
    return bool(host) and (
        said in host
        or host in said
        or (len(initials) >= _SHORTEST_NAME and initials in host)
        or any(word in host for word in telling)
    )
