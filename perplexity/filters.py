"""The filters of a search, validated before anything is sent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Literal, TypeVar, get_args

import idna

from perplexity import scope
from perplexity.errors import InvalidRequest
from perplexity.formatting import did_you_mean, format_date
from perplexity.scope import N_, say

_LANGUAGES = (
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee "
    "el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is "
    "it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms "
    "mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk "
    "sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi "
    "yo za zh zu"
)
LANGUAGES = frozenset(_LANGUAGES.split())
"""The codes of ISO 639-1: https://www.loc.gov/standards/iso639-2/php/code_list.php"""

_COUNTRIES = (
    "AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY "
    "BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK "
    "FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR "
    "IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK "
    "ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM "
    "PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF "
    "TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW"
)
COUNTRIES = frozenset(_COUNTRIES.split())
"""The codes of ISO 3166-1 alpha-2: https://www.iso.org/obp/ui/#search/code/"""


Recency = Literal["hour", "day", "week", "month", "year"]
Mode = Literal["web", "academic", "sec"]

RECENCIES: tuple[Recency, ...] = get_args(Recency)
MODES: tuple[Mode, ...] = get_args(Mode)
MAX_DOMAINS = 20
MAX_LANGUAGES = 10
MAX_HOST_LENGTH = 253
"""The most characters of a host name, without a final point: https://www.rfc-editor.org/rfc/rfc1035#section-2.3.4"""

_MODES: Mapping[Mode, str] = {"academic": N_("academic papers"), "sec": N_("SEC filings")}
_Word = TypeVar("_Word", bound=str)
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_DOMAINS = N_("it takes at most {most} host names such as a.com, all to search or all with a leading - to leave out")
_DOMAIN = N_("it takes a host name such as example.com, without https://, path or port; a leading - leaves it out")
_PAST = {
    "hour": N_("past hour"),
    "day": N_("past day"),
    "week": N_("past week"),
    "month": N_("past month"),
    "year": N_("past year"),
}


@dataclass(frozen=True, kw_only=True)
class Filters:
    """The filters of a search, independent of any service.

    `domains`: at most 20 host names without scheme, all allowed or all denied (leading `-`). `languages`: ISO 639-1,
    lower case. `country`: ISO 3166-1 alpha-2, upper case. `after`, `before`: days; they cannot be combined with
    `recency`. `excluded`: host names whose pages are never shown, whatever `domains` are; they are not sent.
    """

    recency: Recency | None = None
    domains: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    country: str | None = None
    after: date | None = None
    before: date | None = None
    mode: Mode | None = None
    excluded: tuple[str, ...] = ()

    @property
    def enforced(self) -> tuple[str, ...]:
        """The domains that results must respect: `domains`, and the `excluded` ones with a leading `-`."""
        return (*self.domains, *(f"-{domain}" for domain in self.excluded))


NO_FILTERS = Filters()


def validate(filters: Filters) -> Filters:
    """Return the filters as they are sent. Raises InvalidRequest for the first invalid one."""
    checked = Filters(
        recency=None if filters.recency is None else parse_recency(filters.recency),
        domains=parse_domains(filters.domains),
        languages=parse_languages(filters.languages),
        country=None if filters.country is None else parse_country(filters.country),
        after=filters.after,
        before=filters.before,
        mode=None if filters.mode is None else parse_mode(filters.mode),
        excluded=tuple(map(parse_domain, filters.excluded)),
    )
    _check_days(checked)
    return checked


def in_words(filters: Filters) -> list[str]:
    """Return each filter in words, such as "past week" or "only a.example"."""
    return list(_in_words(filters))


def _in_words(filters: Filters) -> Iterator[str]:
    if filters.recency:
        yield say(_PAST[filters.recency])
    if filters.after:
        yield say("after {day}").format(day=scope.current().day(format_date(filters.after)))
    if filters.before:
        yield say("before {day}").format(day=scope.current().day(format_date(filters.before)))
    if only := [domain for domain in filters.domains if not domain.startswith("-")]:
        yield say("only {sites}").format(sites=", ".join(only))
    if denied := [domain[1:] for domain in filters.enforced if domain.startswith("-")]:
        yield say("without {sites}").format(sites=", ".join(denied))
    if filters.languages:
        yield say("language {codes}").format(codes=", ".join(filters.languages))
    if filters.country:
        yield say("country {code}").format(code=filters.country)
    if filters.mode is not None and filters.mode in _MODES:
        yield say(_MODES[filters.mode])


def parse_recency(value: str) -> Recency:
    """Return the recency that `value` names. Raises InvalidRequest, which lists the valid words."""
    return _one_of("recency", value, RECENCIES)


def parse_mode(value: str) -> Mode:
    """Return the mode that `value` names: the kind of pages. Raises InvalidRequest, which lists the valid words."""
    return _one_of("mode", value, MODES)


def require_web(filters: Filters, *, service: str) -> None:
    """Raise InvalidRequest for any mode except "web", because no note could make up for ignoring this filter."""
    if filters.mode not in {None, "web"}:
        raise InvalidRequest.for_field("mode", filters.mode, f"{service} searches the open web only (mode web)")


def parse_domains(values: Iterable[str]) -> tuple[str, ...]:
    """Return host names in ASCII and lower case, each once.

    Raises InvalidRequest for an invalid name, for too many names, or if allowed and denied names are mixed.
    """
    typed = tuple(dict.fromkeys(value.strip().lower() for value in values))
    domains: dict[str, None] = {}
    for left, value in zip(range(len(typed) - 1, -1, -1), typed, strict=True):
        domains[parse_domain(value)] = None
        # The remaining values are only counted, because parsing thousands of them would take long.
        if len(domains) > MAX_DOMAINS:
            raise InvalidRequest.for_field("domain", f"{len(domains) + left} domains", _too_many_domains())
    if len({domain.startswith("-") for domain in domains}) > 1:
        raise InvalidRequest.for_field("domain", ", ".join(domains), _too_many_domains())
    return tuple(domains)


def _too_many_domains() -> str:
    return say(_DOMAINS).format(most=MAX_DOMAINS)


def punycode(name: str) -> str:
    """Return a host name as browsers look it up (IDNA 2008, UTS 46), so that ß differs from ss. Raises UnicodeError."""
    return idna.encode(name, uts46=True).decode("ascii")


def parse_domain(value: str) -> str:
    """Return a host name in lower case and punycode, with a leading `-` if `value` has one. Raises InvalidRequest."""
    typed = value.strip()
    denied, host = typed.startswith("-"), typed.removeprefix("-").lower().rstrip(".")
    if len(host) > MAX_HOST_LENGTH:
        raise InvalidRequest.for_field("domain", value, say(_DOMAIN))
    try:
        host = host if host.isascii() else punycode(host)
    except UnicodeError:
        raise InvalidRequest.for_field("domain", value, say(_DOMAIN)) from None
    labels = host.split(".")
    if len(labels) < 2 or len(host) + denied > MAX_HOST_LENGTH or not all(map(_LABEL.fullmatch, labels)):
        raise InvalidRequest.for_field("domain", value, say(_DOMAIN))
    return f"-{host}" if denied else host


def parse_languages(values: Iterable[str], *, name: str = "languages") -> tuple[str, ...]:
    """Return language codes, each once.

    Raises InvalidRequest for an unknown code or more than ten codes; `name` is the name of the field in the error.
    """
    languages = tuple(dict.fromkeys(parse_language(value, name=name) for value in values))
    if len(languages) > MAX_LANGUAGES:
        raise InvalidRequest.for_field(
            name, f"{len(languages)} languages", say("it takes at most {most}").format(most=MAX_LANGUAGES)
        )
    return languages


def parse_language(value: str, *, name: str = "languages") -> str:
    """Return an ISO 639-1 code in lower case. Raises InvalidRequest, with `name` as the name of the field."""
    code = value.strip().lower()
    if code not in LANGUAGES:
        raise InvalidRequest.for_field(
            name, value, say("it takes a two-letter language code (ISO 639-1), such as en, de or ja")
        )
    return code


def parse_country(value: str) -> str:
    """Return an ISO 3166-1 alpha-2 code in upper case. Raises InvalidRequest."""
    code = value.strip().upper()
    if code not in COUNTRIES:
        hint = say("did you mean {meant}? ").format(meant="GB") if code == "UK" else ""
        allowed = say("it takes a two-letter country code (ISO 3166-1), such as US, DE or JP")
        raise InvalidRequest.for_field("country", value, f"{hint}{allowed}")
    return code


def parse_day(field: Literal["after", "before"], value: str) -> date:
    """Return the day that is written as YYYY-MM-DD. Raises InvalidRequest, which names the field."""
    try:
        if _DAY.fullmatch(value.strip()):
            return date.fromisoformat(value.strip())
    except ValueError:  # For example, a 30th of February.
        pass
    raise InvalidRequest.for_field(field, value, say("it takes a day as YYYY-MM-DD, such as 2026-11-21"))


def _check_days(filters: Filters) -> None:
    if filters.recency and (filters.after or filters.before):
        raise InvalidRequest.for_field("recency", filters.recency, say("it cannot be combined with after or before"))
    if filters.after and filters.before and filters.before < filters.after:
        allowed = say("it must not lie before after, {day}").format(day=filters.after)
        raise InvalidRequest.for_field("before", filters.before, allowed)


def _one_of(field: str, value: str, words: tuple[_Word, ...]) -> _Word:
    typed = value.strip().lower()
    for word in words:
        if typed == word:
            return word
    hint = did_you_mean(typed, words)
    allowed = say("it takes {first} or {last}").format(first=", ".join(words[:-1]), last=words[-1])
    raise InvalidRequest.for_field(field, value, f"{hint}{allowed}")
