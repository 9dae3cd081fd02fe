"""Checks of the installations by OAuth: the workspaces, and whether their tokens and keys can be read and used."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from psycopg import AsyncConnection
from psycopg.rows import DictRow
from pydantic import SecretStr
from slack_sdk.errors import SlackApiError

from bot.doctor.checks import Context, Finding, failure, ok, reading_database, warning
from bot.doctor.slack import CONNECTION_ERRORS, api_error_name, client, granted_scopes, missing_features
from bot.errors import Undecryptable
from bot.manifest import ORGANIZATION_EVENTS
from bot.services import provider_config
from bot.slack.scopes import Features
from bot.workspaces.encryption import KeyRing, place_of
from bot.workspaces.rotation import unreadable
from perplexity.providers import PROVIDERS
from perplexity.providers.base import Diagnosis

LISTED = 10
"""The most workspaces that a finding names."""

TRIED = 20
"""The most tokens that are tried at Slack, and the most of the workspaces' own keys that are tried at services."""

_INSTALLED = """
    SELECT id, enterprise_id, is_enterprise_install, refresh_error, refresh_token IS NOT NULL AS rotates,
        coalesce(expires_at < now(), false) AS expired
    FROM installations ORDER BY id
"""
_TAKEN_OFF = """
    SELECT o.team_id FROM organization_teams o JOIN installations i ON i.id = o.enterprise_id
    WHERE o.revoked AND i.is_enterprise_install ORDER BY 1
"""
_TOKENS = """
    SELECT id, 'bot_token' AS place, bot_token AS secret FROM installations
    WHERE expires_at IS NULL OR expires_at > now() ORDER BY id LIMIT %(most)s
"""
_PROVIDER_KEYS = (
    "SELECT id, provider, provider AS place, secret FROM provider_keys ORDER BY id, provider LIMIT %(most)s"
)


_LOCAL_ONLY = failure(
    "PUBLIC_URL is not set: only a browser on this machine can install the app, and Slack takes only https addresses.",
    fix="Set PUBLIC_URL to the https address under which Slack reaches the app.",
)


async def check_workspaces(context: Context) -> Sequence[Finding]:
    """Check every installation; return nothing without OAuth.

    If the database cannot be read, this check finds nothing, and the check of the database reports it.
    """
    settings = context.settings
    if not settings.oauth_configured:
        return []
    listed = ok(
        f"{len(settings.teams)} may install the app (ALLOWED_TEAMS) at {settings.public_address}/slack/install."
    )
    known = [listed] if settings.public_url else [listed, _LOCAL_ONLY]
    return [*known, *(await _read_installations(context) if settings.key_bytes else [])]


@reading_database
async def _read_installations(context: Context, connection: AsyncConnection[DictRow]) -> Sequence[Finding]:
    settings = context.settings
    rows = await (await connection.execute(_INSTALLED)).fetchall()
    taken_off = [row["team_id"] for row in await (await connection.execute(_TAKEN_OFF)).fetchall()]
    ring = KeyRing.of(settings.key_bytes)
    tokens = await (await connection.execute(_TOKENS, {"most": TRIED})).fetchall()
    keys = await (await connection.execute(_PROVIDER_KEYS, {"most": TRIED})).fetchall()
    return [
        *_installations(rows, settings.teams),
        *_organizations(rows, taken_off),
        *await _secrets(connection, settings.key_bytes),
        *await _try_tokens(context, {row["id"]: secret for row, secret in _decrypted(ring, tokens)}),
        *await _try_keys(context, [*_decrypted(ring, keys)]),
    ]


def _installations(rows: Sequence[DictRow], allowed: frozenset[str]) -> Iterator[Finding]:
    """Yield findings on installations, given as rows of the database: how many there are, and their problems."""
    yield ok(f"{len(rows)} have installed the app.")
    foreign = [
        row["id"]
        for row in rows
        if not {row["id"], None if row["is_enterprise_install"] else row["enterprise_id"]} & allowed
    ]
    if foreign:
        text = f"Refused, because ALLOWED_TEAMS does not list them any more: {_names(foreign)}."
        yield warning(text, fix="Add their ids to ALLOWED_TEAMS, or have them uninstall the app.")
    if expired := [row["id"] for row in rows if row["expired"]]:
        text = f"The tokens of these have expired and could not be refreshed: {_names(expired)}."
        yield failure(text, fix="Have them install the app again.")
    for row in rows:
        if row["refresh_error"] is not None and not row["expired"]:
            yield warning(
                f"Slack did not refresh the token of {row['id']} ({row['refresh_error']}).",
                fix="Check SLACK_OAUTH_CLIENT_SECRET. If it is right, have that workspace install the app again before "
                "its token ends.",
            )


def _organizations(rows: Sequence[DictRow], taken_off: Sequence[str]) -> Iterator[Finding]:
    """Yield facts about the workspaces of organizations; nothing if no organization as a whole has the app."""
    if not any(row["is_enterprise_install"] for row in rows):
        return
    if taken_off:
        yield ok(f"Refused, because their organization has taken them off the app: {_names(taken_off)}.")
    yield ok(
        "Which workspaces of an organization have the app, Slack tells if the manifest subscribes to "
        f"{' and '.join(ORGANIZATION_EVENTS)}, as that of `python -m bot manifest` does."
    )


async def _secrets(connection: AsyncConnection[DictRow], keys: Sequence[bytes]) -> Sequence[Finding]:
    """Return a finding that says whether `keys` decrypt every secret, and whether the first key alone does."""
    ring = KeyRing.of(keys)
    if lost := await unreadable(connection, ring):
        owners = sorted({place.partition(":")[0] for place in lost})
        fix = "Add the key that they were encrypted with to ENCRYPTION_KEYS, or have them install the app again."
        return [failure(f"The tokens of these cannot be decrypted: {_names(owners)}.", fix=fix)]
    if len(keys) > 1 and await unreadable(connection, KeyRing.of(keys[:1])):
        text = "Some tokens are encrypted with a later key of ENCRYPTION_KEYS, not with the first."
        fix = "Put the newest key first. Then run `python -m bot rotate-keys`, and remove the others."
        return [warning(text, fix=fix)]
    return [ok("Every token can be decrypted with the first key of ENCRYPTION_KEYS.")]


def _decrypted(ring: KeyRing, rows: Sequence[DictRow]) -> Iterator[tuple[DictRow, str]]:
    """Yield each row with its decrypted secret. Skip secrets that cannot be decrypted: another finding reports them."""
    for row in rows:
        with suppress(Undecryptable):
            yield row, ring.decrypt(row["secret"], place=place_of(row["id"], row["place"]))


async def _try_tokens(context: Context, tokens: Mapping[str, str]) -> Sequence[Finding]:
    """Return findings on tokens that Slack refuses or that lack scopes; tokens that could not be tried are left out."""
    granted = await asyncio.gather(*(_ask_for_scopes(context, token) for token in tokens.values()))
    refused: dict[str, list[str]] = defaultdict(list)
    lacking: dict[str, list[str]] = defaultdict(list)
    wanted = [scope for scope in Features.from_settings(context.settings).scopes if not scope.optional]
    for team, known in zip(tokens, granted, strict=True):
        if isinstance(known, str):
            refused[known].append(team)
        elif known is not None and (missing := [scope for scope in wanted if scope.name not in known]):
            lacking[missing_features(missing)].append(team)
    again = f"have them install the app again at {context.settings.public_address}/slack/install."
    return [
        *(
            failure(f"Slack refuses the tokens of these ({error}): {_names(teams)}.", fix=again.capitalize())
            for error, teams in sorted(refused.items())
        ),
        *(
            warning(
                f"The tokens of these lack scopes: {_names(teams)}. {features}",
                fix=f"Replace the app's manifest by what `python -m bot manifest` prints, then {again}",
            )
            for features, teams in sorted(lacking.items())
        ),
    ]


async def _ask_for_scopes(context: Context, token: str) -> frozenset[str] | str | None:
    """Return a token's scopes, Slack's error if it refuses the token, None if neither is known."""
    try:
        response = await client(context, SecretStr(token)).auth_test()
    except SlackApiError as error:
        name = api_error_name(error)
        return None if name == "ratelimited" or name.startswith("status") else name
    except CONNECTION_ERRORS:
        return None
    return granted_scopes(response.headers)


async def _try_keys(context: Context, keys: Sequence[tuple[DictRow, str]]) -> Sequence[Finding]:
    """Return a warning for each of the workspaces' own keys that its service refuses."""
    found = await asyncio.gather(*(_try_key(context, row["provider"], key) for row, key in keys))
    return [
        warning(
            f"The key that {row['id']} brought for {row['provider']} cannot be used: {diagnosis.text}",
            fix=f"Set another with `python -m bot provider-key set {row['id']} {row['provider']}`, or use the app's: "
            f"`python -m bot provider-key delete {row['id']} {row['provider']}`.",
        )
        for (row, _), diagnoses in zip(keys, found, strict=True)
        for diagnosis in diagnoses
        if diagnosis.key_refused
    ]


async def _try_key(context: Context, provider: str, key: str) -> Sequence[Diagnosis]:
    spec = PROVIDERS.get(provider)
    if spec is None or spec.check is None:
        return ()
    return await spec.check(replace(provider_config(context.settings), keys={provider: key}))


def _names(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - LISTED} more" if len(ids) > LISTED else ""
    return f"{', '.join(ids[:LISTED])}{more}"
