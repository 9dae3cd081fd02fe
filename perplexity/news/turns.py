"""Words that say how far a story has come: two headlines that differ in one have an event between them. Pure.

A paragraph is a course that stories take, a line of it a state on that course, by the beginnings of the words that tell
it, folded; of several states in one headline the upper one counts. Other languages are told apart by the rest.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

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

TURNS: tuple[tuple[tuple[str, ...], ...], ...] = tuple(
    tuple(tuple(state.split()) for state in course.splitlines()) for course in _COURSES.strip().split("\n\n")
)

_SHORTEST_BEGINNING, _LONGEST_ENDING = 4, 4


def states(words: Iterable[str]) -> dict[int, int]:
    """Return the state on each course that these words, folded, tell of, by the places of both in `TURNS`."""
    found: dict[int, int] = {}
    for course, place in (told for word in words for told in turns_of(word)):
        found[course] = min(place, found.get(course, place))
    return found


@lru_cache(maxsize=16384)
def turns_of(word: str) -> tuple[tuple[int, int], ...]:
    """Return each course that a folded word belongs to, and the state on it."""
    shortest = max(_SHORTEST_BEGINNING, len(word) - _LONGEST_ENDING)
    beginnings = [word[:length] for length in range(shortest, len(word) + 1)]
    short = {word, word.removesuffix("s")}
    beginnings += [beginning for beginning in short if len(beginning) < _SHORTEST_BEGINNING]
    return tuple(sorted({turn for beginning in beginnings for turn in _PLACES.get(beginning, ())}))


def _places() -> dict[str, list[tuple[int, int]]]:
    """Return where each beginning stands: its course, and the state on it."""
    places: dict[str, list[tuple[int, int]]] = {}
    for course, steps in enumerate(TURNS):
        for place, beginning in ((place, beginning) for place, line in enumerate(steps) for beginning in line):
            places.setdefault(beginning, []).append((course, place))
    return places


_PLACES = _places()
