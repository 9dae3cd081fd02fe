"""Builds the parts that serve many workspaces, from the settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from aiohttp import ClientSession
from slack_sdk.web.async_client import AsyncWebClient

from bot.settings import Settings
from bot.slack.connection import WorkspaceClient, takes_token, web_client
from bot.slack.scopes import Features
from bot.storage.installation import WorkspaceStore
from bot.storage.questions import Pool
from bot.workspaces.encryption import KeyRing
from bot.workspaces.installations import Installations
from bot.workspaces.oauth import InstallationFlow, OAuthClient, OAuthStates
from bot.workspaces.provider_keys import addresses
from bot.workspaces.registry import Workspaces


def connect_workspaces(
    settings: Settings,
    *,
    session: ClientSession,
    reads: Pool,
    work: Pool,
    store: WorkspaceStore,
    cancel_runs: Callable[[Sequence[str]], None],
) -> tuple[Workspaces, AsyncWebClient, InstallationFlow]:
    """Return the registry of installations, the client that acts for them, and the flow that creates new ones.

    `reads` is the pool for requests, `work` the pool for connections that are held during calls to Slack.
    """
    keys = KeyRing.of(settings.key_bytes)
    installations = Installations(reads, calls=work, keys=keys, workspaces=store)
    secret = settings.slack_oauth_client_secret
    untied = web_client(None, api_url=settings.slack_api_url, session=session)
    slack = OAuthClient(
        client=untied,
        client_id=settings.slack_oauth_client_id or "",
        client_secret=secret.get_secret_value() if secret is not None else "",
    )
    registry = Workspaces(
        installations=installations,
        store=store,
        allowed=settings.teams,
        exchange=slack.refresh,
        takes=partial(takes_token, untied),
        services=addresses(settings),
        cancel_runs=cancel_runs,
    )
    flow = InstallationFlow(
        slack,
        installations=installations,
        states=OAuthStates(reads, secret=slack.client_secret),
        scopes=[scope.name for scope in Features.from_settings(settings).scopes],
        public_url=settings.public_address,
        allowed=settings.teams,
        installed=registry.forget,
    )
    client = WorkspaceClient(read_token=registry.token, api_url=settings.slack_api_url, session=session)
    return registry, client, flow
