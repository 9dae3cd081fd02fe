"""A workspace's own keys for search services: saved encrypted, and used instead of the app's."""

from __future__ import annotations

from collections.abc import Mapping

from bot.settings import Settings
from perplexity.providers import PROVIDERS
from perplexity.scope import OwnKeys

AGENT, AGENT_MODEL = "agent", "Agent"
"""The name and the display name of the service of the agent's model."""


def addresses(settings: Settings) -> Mapping[str, str]:
    """Return, by name, the addresses of the services with a key in `settings`; workspaces may set own keys for these.

    The service of the agent's model is included as `AGENT` if the agent is set up. If a search service has the same
    address, `AGENT` is left out, and the agent uses the key for that search service.
    """
    found = {
        name: settings.provider_base_urls[name].rstrip("/")
        for name in settings.provider_keys
        if name in settings.provider_base_urls
    }
    agent = settings.agent_base_url.rstrip("/")
    if settings.missing_agent_setting is None and settings.agent_key is not None and agent not in found.values():
        found[AGENT] = agent
    return found


def own_keys(owner: str, secrets: Mapping[str, str], *, services: Mapping[str, str]) -> OwnKeys | None:
    """Return the own keys of `owner`, by the addresses of their services; None if there are no keys for `services`."""
    keys = {services[name]: secret for name, secret in secrets.items() if name in services}
    titles = {name: PROVIDERS[name].title if name in PROVIDERS else AGENT_MODEL for name in services}
    names = frozenset(title for name, title in titles.items() if services[name] in keys)
    return OwnKeys(owner=owner, names=names, keys=keys) if keys else None
