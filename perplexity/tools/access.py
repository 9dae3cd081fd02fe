"""The services whose keys the environment holds; one whose variable is malformed is left out, and named."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace

from perplexity.environment import BASE_URL, KEYS, api_of, first, open_timeout_of
from perplexity.errors import InvalidRequest
from perplexity.providers import configured
from perplexity.providers.setup import Setup
from perplexity.transport import OPEN_SECONDS

log: logging.Logger = logging.getLogger(__name__)

VARIABLES: Mapping[str, tuple[tuple[str, ...], str]] = {
    "perplexity": (KEYS, BASE_URL),
    "openrouter": (("OPENROUTER_API_KEY",), "OPENROUTER_BASE_URL"),
    "brave": (("BRAVE_API_KEY",), "BRAVE_BASE_URL"),
}
"""The variables of each provider's key, the first that is set counts, and of its address."""


def setup_from(environ: Mapping[str, str]) -> Setup:
    """Return what the providers need whose keys the environment holds.

    Raises InvalidRequest for a PERPLEXITY_API or an OPEN_TIMEOUT whose value is not allowed.
    """
    return replace(_setup(environ), api=api_of(environ), open_timeout=open_timeout_of(environ))


@dataclass(frozen=True, kw_only=True)
class Usable:
    """The setup without the providers whose variables are malformed; `notes` are sentences that name these."""

    setup: Setup
    notes: tuple[str, ...] = ()


def usable_setup(environ: Mapping[str, str]) -> Usable:
    """Return what is right in the environment, each malformed variable left out, named in a note and in the log."""
    usable = Usable(setup=_setup(environ))
    try:
        usable = replace(usable, setup=replace(usable.setup, open_timeout=open_timeout_of(environ)))
    except InvalidRequest as error:
        usable = _noted(f"{error}; {OPEN_SECONDS:g} seconds were taken.", usable)
    for name, (keys, address) in VARIABLES.items():
        if name not in usable.setup.keys:
            continue
        try:
            if name == "perplexity":
                usable = replace(usable, setup=replace(usable.setup, api=api_of(environ)))
            configured(usable.setup, order=[name])
        except InvalidRequest as error:
            usable = without(name, wrong_variable(error, environ, keys=keys, address=address), usable)
    return usable


def without(name: str, why: str, usable: Usable) -> Usable:
    """Return the setup without the service of that name; `why` names the variable that is malformed."""
    keys = {other: key for other, key in usable.setup.keys.items() if other != name}
    return _noted(f"{why}; {name} was left out.", replace(usable, setup=replace(usable.setup, keys=keys)))


def _noted(note: str, usable: Usable) -> Usable:
    log.warning("environment.malformed", extra={"setting": note.partition(":")[0]})
    return replace(usable, notes=(*usable.notes, note))


def wrong_variable(error: InvalidRequest, environ: Mapping[str, str], *, keys: tuple[str, ...], address: str) -> str:
    """Return what is wrong with a key or an address, by its variable, and what is allowed; never a value."""
    if error.field == "base_url":
        return f"{address}: its value is not allowed; {error.allowed}"
    if error.field == "api_key":
        key = next((key for key in keys if environ.get(key, "").strip()), keys[0])
        return f"{key}: {error.message.removeprefix('api_key: ')}"
    return str(error)


def _setup(environ: Mapping[str, str]) -> Setup:
    return Setup(
        keys={name: key for name, (keys, _) in VARIABLES.items() if (key := first(environ, *keys))},
        base_urls={name: url for name, (_, variable) in VARIABLES.items() if (url := first(environ, variable))},
    )
