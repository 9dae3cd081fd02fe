"""DuckDuckGo's regions: a country and a language each.

https://duckduckgo.com/duckduckgo-help-pages/settings/params (parameter `kl`)
"""

from __future__ import annotations

from collections.abc import Sequence

ANYWHERE = "wt-wt"
_PLAIN = (
    "us-en de-de fr-fr es-es pt-pt it-it nl-nl ar-es at-de au-en be-fr be-nl bg-bg br-pt ca-en ca-fr ch-de ch-fr ch-it "
    "cl-es co-es dk-da ee-et fi-fi gr-el hr-hr hu-hu id-id ie-en il-he in-en lt-lt lv-lv mx-es my-en no-no nz-en pe-es "
    "ph-en pl-pl ro-ro ru-ru se-sv sg-en sk-sk th-th tr-tr vn-vi za-en"
)
_ODD = {
    ("GB", "en"): "uk-en",
    ("UA", "uk"): "ua-uk",
    ("JP", "ja"): "jp-jp",
    ("KR", "ko"): "kr-kr",
    ("CN", "zh"): "cn-zh",
    ("TW", "zh"): "tw-tzh",
    ("HK", "zh"): "hk-tzh",
    ("CZ", "cs"): "cz-cs",
    ("SI", "sl"): "sl-sl",
}
REGIONS = {(code[:2].upper(), code[3:]): code for code in _PLAIN.split()} | _ODD
"""The code of each region by country (ISO 3166-1 alpha-2) and language (ISO 639-1), the main one of either first."""


def region(country: str | None, languages: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the code of the region that fits best, and notes for the user where it is not all that was asked for."""
    if country is None and not languages:
        return ANYWHERE, ()
    for (place, language), code in REGIONS.items():
        if country in {None, place} and (not languages or language in languages):
            return code, _one_language(languages)
    code = next((code for (place, _), code in REGIONS.items() if place == country), ANYWHERE)
    return code, (f"DuckDuckGo has no region for {_asked(country, languages)}; it searched {_place(code)}.",)


def _one_language(languages: Sequence[str]) -> tuple[str, ...]:
    return ("DuckDuckGo searches in one language at a time.",) if len(languages) > 1 else ()


def _asked(country: str | None, languages: Sequence[str]) -> str:
    return " with ".join(
        [*([f"country {country}"] if country else []), *([f"language {languages[0]}"] if languages else [])]
    )


def _place(code: str) -> str:
    return "everywhere" if code == ANYWHERE else f"the region {code}"
