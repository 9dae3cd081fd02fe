"""The Brave Search API: pages, news, and passages for a model to read. No function here does I/O.

https://api-dashboard.search.brave.com/documentation/resources/codes

https://api-dashboard.search.brave.com/app/documentation
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date

from perplexity.errors import InvalidRequest, MalformedResponse
from perplexity.filters import Filters
from perplexity.scope import say
from perplexity.types import JSON, Query, SearchResults
from perplexity.urls import add_site_operators
from perplexity.wire.json import as_object, as_objects, as_text, as_texts
from perplexity.wire.sources import iso_date, merge

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
    """Return Brave's code for a country (ISO 3166-1 alpha-2): `ANYWHERE` if Brave does not know it, None for None."""
    return country if country is None or country in COUNTRIES else ANYWHERE


def language(languages: Sequence[str]) -> str | None:
    """Return the first of the languages (ISO 639-1) that Brave can search in; None if it can search in none."""
    return next((one for one in languages if _OWN.get(one, one) in LANGUAGES), None)


def language_code(languages: Sequence[str], country: str | None) -> str | None:
    """Return the code that Brave expects for the first usable language; None if it can search in none of them.

    Brave takes one language. For some languages, the code depends on the country.
    """
    one = language(languages)
    return None if one is None else _IN_PLACE.get((one, country or ""), _OWN.get(one, one))


PROVIDER = "Brave"
WEB, NEWS, CONTEXT = "/web/search", "/news/search", "/llm/context"

DOLLARS = 0.005
"""The price of one request in the Search plan: https://brave.com/search/api/"""

MAX_QUERY_LENGTH = 400
MAX_QUERY_WORDS = 50

_FRESHNESS = {"hour": "pd", "day": "pd", "week": "pw", "month": "pm", "year": "py"}
_FIRST_DAY = date(1970, 1, 1)
_TAG = re.compile(r"</?(?:strong|b|em|i)>", re.IGNORECASE)
_DATA = re.compile(r"\s*(?:\{\s*\"|\[\s*[\[{\"])")


def build(query: Query, *, path: str, today: date) -> dict[str, str]:
    """Return the request's parameters for a checked query; `today` is the last day of an open-ended period."""
    filters = query.filters
    wanted = {
        "q": fit_query(query.text, filters.domains),
        "country": country_code(filters.country),
        "search_lang": language_code(filters.languages, filters.country),
        "freshness": _freshness(filters, today=today),
        **_size(query, path=path),
    }
    return {name: value for name, value in wanted.items() if value}


def notes(query: Query) -> tuple[str, ...]:
    """Return sentences for the asker about options that Brave follows only in part."""
    filters, words = query.filters, " ".join(query.text.split())
    complete = fit_query(words, filters.domains).startswith(words)
    cut = "" if complete else say("Brave takes short queries only, so it searched for the beginning of the question.")
    hour = say("Brave knows no hour, so these are from the past day.") if filters.recency == "hour" else ""
    unknown = filters.country is not None and country_code(filters.country) != filters.country
    place = say("Brave cannot search in the country {code}, so it searched everywhere.") if unknown else ""
    return tuple(
        note for note in (cut, hour, place.format(code=filters.country), _about_languages(filters.languages)) if note
    )


def fit_query(words: str, domains: Sequence[str]) -> str:
    """Return a query with its `site:` operators, its words cut so that all fit in 400 characters and 50 words.

    Raises InvalidRequest if the operators leave no room for a word.
    """
    operators = add_site_operators("", domains).strip()
    left = MAX_QUERY_LENGTH - (len(operators) + 1 if operators else 0)
    room = MAX_QUERY_WORDS - len(operators.split())
    if left < 1 or room < 1:
        allowed = say("Brave takes a query of {most} characters, the domains included; name fewer of them")
        raise InvalidRequest.for_field("domain", f"{len(domains)} domains", allowed.format(most=MAX_QUERY_LENGTH))
    kept = " ".join(words.split()[:room])
    if len(kept) > left:
        space = kept.rfind(" ", 0, left + 1)
        kept = kept[:space] if space > 0 else kept[:left]
    return f"{kept} {operators}".strip()


def parse_results(body: Mapping[str, JSON], *, path: str, most: int) -> SearchResults:
    """Return at most `most` pages of a response. Raises MalformedResponse if the response has another shape."""
    return SearchResults(results=merge(_PAGES[path](body))[:most], provider=PROVIDER, cost_usd=DOLLARS)


def _web_pages(body: Mapping[str, JSON]) -> Iterable[Mapping[str, JSON]]:
    """Return the pages; Brave leaves the list out if it found nothing."""
    _check_type(body, "search")
    return map(_page, as_objects(as_object(body.get("web")).get("results")))


def _news_pages(body: Mapping[str, JSON]) -> Iterable[Mapping[str, JSON]]:
    _check_type(body, "news")
    return map(_page, as_objects(body.get("results")))


def _context_pages(body: Mapping[str, JSON]) -> Iterable[Mapping[str, JSON]]:
    grounding, sources = body.get("grounding"), as_object(body.get("sources"))
    if not isinstance(grounding, dict):
        raise MalformedResponse("the response has no grounding", provider=PROVIDER)
    return (_context_page(page, sources) for page in as_objects(grounding.get("generic")))


_PAGES: Mapping[str, Callable[[Mapping[str, JSON]], Iterable[Mapping[str, JSON]]]] = {
    WEB: _web_pages,
    NEWS: _news_pages,
    CONTEXT: _context_pages,
}


def _freshness(filters: Filters, *, today: date) -> str | None:
    if not (filters.after or filters.before):
        return _FRESHNESS.get(filters.recency or "")
    first = filters.after or _FIRST_DAY
    # If `after` lies in the future, the period ends on that day, too. Brave finds nothing in it, but would refuse a
    # period that ends before it begins.
    last = filters.before or max(today, first)
    return f"{first.isoformat()}to{last.isoformat()}"


def _about_languages(languages: Sequence[str]) -> str:
    one = language(languages)
    if languages and one is None:
        return say("Brave cannot search in the language {code}, so it searched in any.").format(code=languages[0])
    return (
        say("Brave takes one language, so it searched in {code} only.").format(code=one) if len(languages) > 1 else ""
    )


def _size(query: Query, *, path: str) -> dict[str, str]:
    """Return the parameters that limit the results, under the endpoint's own names.

    For pages and news, they also switch off the bold tags in the texts.
    """
    if path != CONTEXT:
        extra = {"extra_snippets": "true"} if path == WEB else {}
        return {"count": str(query.max_results), "text_decorations": "false", **extra}
    return {
        "count": str(query.max_results),
        "maximum_number_of_urls": str(query.max_results),
        "maximum_number_of_tokens_per_url": str(min(8192, max(512, query.max_tokens_per_page))),
    }


def _check_type(body: Mapping[str, JSON], kind: str) -> None:
    if body.get("type") != kind:
        raise MalformedResponse(f"the response is not of type {kind}", provider=PROVIDER)


def _page(result: Mapping[str, JSON]) -> dict[str, JSON]:
    snippets = [as_text(result.get("description")), *as_texts(result.get("extra_snippets"))]
    return {
        "title": _strip_html(as_text(result.get("title"))),
        "url": result.get("url"),
        "snippet": "\n\n".join(dict.fromkeys(_strip_html(snippet) for snippet in snippets if snippet)),
        "date": result.get("page_age"),
    }


def _context_page(page: Mapping[str, JSON], sources: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return a page with its passages as the snippet; passages that are JSON, such as tables, are left out."""
    ages = filter(None, map(iso_date, as_texts(as_object(sources.get(as_text(page.get("url")))).get("age"))))
    prose = [snippet for snippet in as_texts(page.get("snippets")) if not _DATA.match(snippet)]
    return {
        "title": _strip_html(as_text(page.get("title"))),
        "url": page.get("url"),
        "snippet": "\n\n".join(map(_strip_html, prose)),
        "date": max(ages, key=len, default=None),
    }


def _strip_html(words: str) -> str:
    return html.unescape(_TAG.sub("", words))
