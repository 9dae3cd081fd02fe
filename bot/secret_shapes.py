"""What secrets look like, so that one in the wrong variable is recognised before anybody is refused."""

from __future__ import annotations

STARTS = {"SLACK_BOT_TOKEN": "xoxb-", "SLACK_APP_TOKEN": "xapp-", "PERPLEXITY_API_KEY": "pplx-"}
"""How the values of a variable begin: https://docs.slack.dev/authentication/tokens"""

FOUND = {
    "SLACK_BOT_TOKEN": "the bot token starts with xoxb- and stands under OAuth & Permissions",
    "SLACK_APP_TOKEN": "the app-level token starts with xapp- and stands under Basic Information, App-Level Tokens",
    "SLACK_SIGNING_SECRET": "the signing secret stands under Basic Information, App Credentials",
    "PERPLEXITY_API_KEY": "a key starts with pplx-",
}
"""Where the right value is, on the app's pages at https://api.slack.com/apps."""

_MUST = frozenset({"SLACK_BOT_TOKEN", "SLACK_APP_TOKEN"})
"""The variables whose values always begin so; other services that speak like Perplexity have other keys."""

_USER_TOKEN = "xoxp-"  # noqa: S105 - how one begins


def one_word(value: str) -> str:
    """Return the value without the spaces around a copied one. Raises ValueError, which never holds it."""
    value = value.strip()
    if not all("!" <= sign <= "~" for sign in value):
        raise ValueError("must be one word of ASCII letters, digits and signs, without spaces")
    return value


def checked_secret(variable: str, value: str) -> str:
    """Return the value without the spaces around a copied one. Raises ValueError, which never holds it."""
    value = one_word(value)
    if belongs := next((name for name, start in STARTS.items() if value.startswith(start)), None):
        if belongs != variable:
            raise ValueError(f"this looks like the value of {belongs}; {FOUND[variable]}")
    elif value.startswith(_USER_TOKEN):
        raise ValueError(f"this looks like a user token, which the app does not use; {FOUND[variable]}")
    elif variable in _MUST:
        raise ValueError(f"must start with {STARTS[variable]}; {FOUND[variable]}")
    return value
