"""Checks of the installations by OAuth: who has the app, whether their tokens can be read, and whether they last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from psycopg import AsyncConnection, OperationalError
from psycopg.errors import UndefinedColumn, UndefinedTable
from psycopg.rows import DictRow, dict_row

from bot.doctor.checks import Context, Finding, failure, ok, warning
from bot.manifest import ORGANIZATION_EVENTS

WORKSPACES = "Workspaces"

LISTED = 10
"""The most workspaces that a finding names."""

_INSTALLED = """
    SELECT id, enterprise_id, is_enterprise_install, refresh_error, refresh_token IS NOT NULL AS rotates,
        coalesce(expires_at < now(), false) AS expired
    FROM installations ORDER BY id
"""
_TAKEN_OFF = """
    SELECT o.team_id FROM organization_teams o JOIN installations i ON i.id = o.enterprise_id
    WHERE o.revoked AND i.is_enterprise_install ORDER BY 1
"""


async def check_workspaces(context: Context) -> Sequence[Finding]:
    """Check every installation; none if OAuth is not set up.

    The check of the database reports one that cannot be reached.
    """
    settings = context.settings
    if not settings.oauth_configured:
        return []
    listed = ok(
        WORKSPACES,
        f"{len(settings.teams)} may install the app (ALLOWED_TEAMS) at {settings.public_url}/slack/install.",
    )
    url = settings.database_url
    if url is None or "database_url" in context.invalid or not settings.key_bytes:
        return [listed]
    try:
        async with await AsyncConnection.connect(
            url.get_secret_value(), row_factory=dict_row, prepare_threshold=None
        ) as connection:
            rows = await (await connection.execute(_INSTALLED)).fetchall()
            taken_off = [row["team_id"] for row in await (await connection.execute(_TAKEN_OFF)).fetchall()]
            return [
                listed,
                *_installations(rows, settings.teams),
                *_organizations(rows, taken_off),
                *await _secrets(connection, settings.key_bytes),
            ]
    except (OperationalError, UndefinedTable, UndefinedColumn):
        return [listed]


def _installations(rows: Sequence[DictRow], allowed: frozenset[str]) -> Iterator[Finding]:
    """Return what is wrong with installations, by their rows."""
    yield ok(WORKSPACES, f"{len(rows)} have installed the app.")
    foreign = [
        row["id"]
        for row in rows
        if not {row["id"], None if row["is_enterprise_install"] else row["enterprise_id"]} & allowed
    ]
    if foreign:
        yield warning(
            WORKSPACES,
            f"Refused, because ALLOWED_TEAMS does not list them any more: {_names(foreign)}.",
            fix="Add their ids to ALLOWED_TEAMS, or have them uninstall the app.",
        )
    if expired := [row["id"] for row in rows if row["expired"]]:
        yield failure(
            WORKSPACES,
            f"The tokens of these have expired and could not be refreshed: {_names(expired)}.",
            fix="Have them install the app again.",
        )
    for row in rows:
        if row["refresh_error"] is not None and not row["expired"]:
            yield warning(
                WORKSPACES,
                f"Slack did not refresh the token of {row['id']} ({row['refresh_error']}).",
                fix="Check SLACK_OAUTH_CLIENT_SECRET. If it is right, have that workspace install the app again before "
                "its token ends.",
            )


def _organizations(rows: Sequence[DictRow], taken_off: Sequence[str]) -> Iterator[Finding]:
    """Return what an operator should know about the workspaces of whole organizations."""
    if not any(row["is_enterprise_install"] for row in rows):
        return
    if taken_off:
        yield ok(WORKSPACES, f"Refused, because their organization has taken them off the app: {_names(taken_off)}.")
    yield ok(
        WORKSPACES,
        "Which workspaces of an organization have the app, Slack tells if the manifest subscribes to "
        f"{' and '.join(ORGANIZATION_EVENTS)}, as that of `python -m bot manifest` does.",
    )


async def _secrets(connection: AsyncConnection[DictRow], keys: Sequence[bytes]) -> Sequence[Finding]:
    """Return whether every secret can be decrypted, and whether all keys are still needed."""
    # Encryption takes a while to import, which a doctor without OAuth need not wait for.
    from bot.workspaces.encryption import KeyRing
    from bot.workspaces.rotation import unreadable

    ring = KeyRing.of(keys)
    if lost := await unreadable(connection, ring):
        owners = sorted({place.partition(":")[0] for place in lost})
        return [
            failure(
                WORKSPACES,
                f"The tokens of these cannot be decrypted: {_names(owners)}.",
                fix="Add the key that they were encrypted with to ENCRYPTION_KEYS, or have them install the app again.",
            )
        ]
    if len(keys) > 1 and await unreadable(connection, KeyRing.of(keys[:1])):
        return [
            warning(
                WORKSPACES,
                "Some tokens are encrypted with an older key of ENCRYPTION_KEYS.",
                fix="Run `python -m bot rotate-keys`; then remove the older keys.",
            )
        ]
    return [ok(WORKSPACES, "Every token can be decrypted with the first key of ENCRYPTION_KEYS.")]


def _names(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - LISTED} more" if len(ids) > LISTED else ""
    return f"{', '.join(ids[:LISTED])}{more}"
