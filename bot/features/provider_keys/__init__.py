"""Provider keys: the operator stores a workspace's own keys for search services, by `python -m bot provider-key`."""

from __future__ import annotations

import asyncio
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Coroutine
from getpass import getpass
from typing import Any

from bot.command_line import NO_OAUTH, Subcommand, fail, open_database, say
from bot.feature import Feature
from bot.settings import Settings, validate_secret
from bot.storage.audit import record_command
from bot.storage.database import connect
from bot.workspaces.encryption import KeyRing, place_of
from bot.workspaces.provider_keys import addresses

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


def add_arguments(parser: ArgumentParser) -> None:
    """Add the subcommands for keys."""
    own = parser.add_subparsers(dest="do", required=True)
    for do, does in (("set", "keep the key that is read from the standard input"), ("delete", "delete the key")):
        one = own.add_parser(do, help=does)
        one.add_argument("workspace", metavar="TEAM", help="the id of the workspace or organization")
        one.add_argument("provider", help="the service, such as perplexity")
    own.add_parser("list", help="list which workspaces have keys of their own")


def run(settings: Settings, parsed: Namespace) -> int:
    """Set, delete or list keys; return 1 if this failed, 2 without OAuth or for a service that the app does not use."""
    if not settings.oauth_configured:
        return fail(NO_OAUTH.format(what="There are no workspaces with keys of their own"), code=2)
    services = addresses(settings)
    if parsed.do != "list" and parsed.provider not in services:
        allowed = ", ".join(services) or "none, because the app itself has no key"
        return fail(f"provider cannot be {parsed.provider!r}: must be a service that the app uses: {allowed}", code=2)
    with open_database(settings) as (conninfo, _):
        try:
            say(asyncio.run(_done(settings, parsed, conninfo)))
        except NotKept as error:
            return fail(str(error), code=1)
    return 0


def _done(settings: Settings, parsed: Namespace, conninfo: str) -> Coroutine[Any, Any, str]:
    match parsed.do:
        case "list":
            return list_keys(conninfo)
        case "delete":
            return delete_key(conninfo, parsed.workspace, parsed.provider)
    key = getpass("Key: ") if sys.stdin.isatty() else sys.stdin.readline()
    return set_key(conninfo, parsed.workspace, parsed.provider, key, keys=KeyRing.of(settings.key_bytes))


class NotKept(Exception):
    """A key could not be stored or deleted; the message says why, and never contains the key."""


async def set_key(conninfo: str, owner: str, provider: str, key: str, *, keys: KeyRing) -> str:
    """Store a workspace's key; return what was done. Raises NotKept, and database errors."""
    try:
        key = validate_secret(f"{provider.upper()}_API_KEY", key)
    except ValueError as error:
        raise NotKept(f"The key cannot be used: {error}.") from None
    if not key:
        raise NotKept("There is no key in the input.")
    secret = keys.encrypt(key, place=place_of(owner, provider))
    async with await connect(conninfo) as connection:
        values = {"id": owner, "provider": provider, "secret": secret}
        if await (await connection.execute(_SET, values)).fetchone() is None:
            raise NotKept(f"The app is not installed in {owner}.")
        await record_command(connection, "provider_key.set", [owner], provider)
    return f"Kept. {owner} uses its own key for {provider} within half a minute."


async def delete_key(conninfo: str, owner: str, provider: str) -> str:
    """Delete a workspace's key; return what was done. Raises NotKept if there was none, and database errors."""
    async with await connect(conninfo) as connection:
        found = await connection.execute(_DELETE, {"id": owner, "provider": provider})
        if await found.fetchone() is None:
            raise NotKept(f"{owner} has no key of its own for {provider}.")
        await record_command(connection, "provider_key.delete", [owner], provider)
    return f"Deleted. {owner} uses the app's key for {provider} within half a minute."


async def list_keys(conninfo: str) -> str:
    """Return a line for each key: the workspace, the service, and the day it was set. Raises database errors."""
    async with await connect(conninfo) as connection:
        rows = await (await connection.execute(_LIST)).fetchall()
    lines = [f"{row['id']}  {row['provider']}  since {row['day']}" for row in rows]
    return "\n".join(lines) or "No workspace has a key of its own."


FEATURE = Feature(
    name="provider_keys",
    cli=(
        Subcommand(
            name="provider-key",
            help="a workspace's own key for a search service",
            add_arguments=add_arguments,
            run=run,
        ),
    ),
)
