"""The countries and languages that Brave knows, by its own codes; it refuses any other. Pure.

https://api-dashboard.search.brave.com/documentation/resources/codes
"""

from __future__ import annotations

from collections.abc import Sequence

ANYWHERE = "ALL"

_COUNTRIES = (
    "AR AT AU BE BR CA CH CL CN DE DK ES FI FR GB HK ID IN IT JP KR MX MY NL NO NZ PH PL PT RU SA SE TR TW US ZA"
)
_LANGUAGES = (
    "ar bg bn ca cs da de en en-gb es et eu fi fr gl gu he hi hr hu is it jp kn ko lt lv ml mr ms nb nl pa pl pt-br "
    "pt-pt ro ru sk sl sr sv ta te th tr uk vi zh-hans zh-hant"
)
COUNTRIES, LANGUAGES = frozenset(_COUNTRIES.split()), frozenset(_LANGUAGES.split())

_OWN = {"ja": "jp", "no": "nb", "pt": "pt-pt", "zh": "zh-hans"}
_IN_PLACE = {("pt", "BR"): "pt-br", ("zh", "HK"): "zh-hant", ("zh", "TW"): "zh-hant"}


def country_code(country: str | None) -> str | None:
    """Return what to send for a country (ISO 3166-1 alpha-2): everywhere for one that Brave does not know."""
    return country if country is None or country in COUNTRIES else ANYWHERE


def language(languages: Sequence[str]) -> str | None:
    """Return the first of the languages (ISO 639-1) in which Brave can search, None where it can in none."""
    return next((one for one in languages if _OWN.get(one, one) in LANGUAGES), None)


def language_code(languages: Sequence[str], country: str | None) -> str | None:
    """Return what to send for languages, of which Brave takes one; some have a code of their own in a country."""
    one = language(languages)
    return None if one is None else _IN_PLACE.get((one, country or ""), _OWN.get(one, one))
