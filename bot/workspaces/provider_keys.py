"""Keys for search services that a workspace brings along: kept encrypted, and used instead of the app's own."""

from __future__ import annotations

from collections.abc import Mapping

from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row

from bot.settings import Settings, validate_secret
from bot.storage.audit import record_command
from bot.workspaces.encryption import KeyRing, place_of
from perplexity.key_overrides import OwnKeys
from perplexity.providers import PROVIDERS

AGENT, AGENT_MODEL = "agent", "Agent"
"""The name of the agent's model among the services, and that of its runs."""

_SET = """
    INSERT INTO provider_keys (id, provider, secret)
    SELECT id, %(provider)s, %(secret)s FROM installations WHERE id = %(id)s
    ON CONFLICT (id, provider) DO UPDATE SET secret = excluded.secret, at = now()
    RETURNING id
"""
_DELETE = "DELETE FROM provider_keys WHERE id = %(id)s AND provider = %(provider)s RETURNING id"
_LIST = (
    "SELECT id, provider, to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day FROM provider_keys ORDER BY id, provider"
)


def addresses(settings: Settings) -> Mapping[str, str]:
    """Return the addresses of the services that take a workspace's own key, by name: those with a key of the app's.

    That of the agent's model is among them if no search service is at the same address, whose key it takes then.
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
    """Return a workspace's keys by the addresses of their services, None if it has none."""
    keys = {services[name]: secret for name, secret in secrets.items() if name in services}
    titles = {name: PROVIDERS[name].title if name in PROVIDERS else AGENT_MODEL for name in services}
    names = frozenset(title for name, title in titles.items() if services[name] in keys)
    return OwnKeys(owner=owner, names=names, keys=keys) if keys else None


class NotKept(Exception):
    """A key was not kept; the message says why, and never contains it."""


async def set_key(conninfo: str, owner: str, provider: str, key: str, *, keys: KeyRing) -> str:
    """Keep a workspace's key; return what was done. Raises NotKept, and database errors."""
    try:
        key = validate_secret(f"{provider.upper()}_API_KEY", key)
    except ValueError as error:
        raise NotKept(f"The key cannot be used: {error}.") from None
    if not key:
        raise NotKept("There is no key in the input.")
    secret = keys.encrypt(key, place=place_of(owner, provider))
    async with await _connect(conninfo) as connection:
        values = {"id": owner, "provider": provider, "secret": secret}
        if await (await connection.execute(_SET, values)).fetchone() is None:
            raise NotKept(f"The app is not installed in {owner}.")
        await record_command(connection, "provider_key.set", [owner], provider)
    return f"Kept. {owner} uses its own key for {provider} within half a minute."


async def delete_key(conninfo: str, owner: str, provider: str) -> str:
    """Delete a workspace's key; return what was done. Raises NotKept if there was none, and database errors."""
    async with await _connect(conninfo) as connection:
        found = await connection.execute(_DELETE, {"id": owner, "provider": provider})
        if await found.fetchone() is None:
            raise NotKept(f"{owner} has no key of its own for {provider}.")
        await record_command(connection, "provider_key.delete", [owner], provider)
    return f"Deleted. {owner} uses the app's key for {provider} within half a minute."


async def list_keys(conninfo: str) -> str:
    """Return a line for each key: the workspace, the service, and since when. Raises database errors."""
    async with await _connect(conninfo) as connection:
        rows = await (await connection.execute(_LIST)).fetchall()
    lines = [f"{row['id']}  {row['provider']}  since {row['day']}" for row in rows]
    return "\n".join(lines) or "No workspace has a key of its own."


async def _connect(conninfo: str) -> AsyncConnection[DictRow]:
    return await AsyncConnection.connect(conninfo, row_factory=dict_row, prepare_threshold=None)
