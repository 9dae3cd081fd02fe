"""The pages that the installation of the app shows in a browser. `path` is where it begins."""

from __future__ import annotations

INSTALLED = "Installed"
GO_BACK = "The app is installed. Go back to Slack, and ask with /ask or a mention."

NOT_INSTALLED = "Not installed"

NOT_ALLOWED = "Not allowed here"
OTHER_WORKSPACES = (
    "The operator of this app allows other workspaces only, so it has asked Slack to remove it from yours. Ask the "
    "operator to add your workspace’s id to ALLOWED_TEAMS, then install it again."
)


def cancelled(path: str) -> str:
    """Return that the person did not allow the installation."""
    return f"You cancelled the installation. {_again(path)}"


def other_browser(path: str) -> str:
    """Return that the cookie of the installation is not there."""
    return f"This installation was started in another browser, or too long ago. {_again(path)}"


def used_already(path: str) -> str:
    """Return that the installation's state is not known any more."""
    return f"This installation was already completed, or was started too long ago. {_again(path)}"


def no_code(path: str) -> str:
    """Return that Slack's request has no code."""
    return f"Slack sent no code. {_again(path)}"


def not_accepted(path: str) -> str:
    """Return that Slack refused the code."""
    return f"Slack did not accept the installation. {_again(path)}"


def not_completed(path: str) -> str:
    """Return that Slack named another reason."""
    return f"Slack did not complete the installation. {_again(path)}"


def slack_unreachable(path: str) -> str:
    """Return that Slack did not answer."""
    return f"Slack cannot be reached at the moment. {_again(path)}"


def database_unreachable(path: str) -> str:
    """Return that the installation could not be saved."""
    return f"The database cannot be reached at the moment. {_again(path)}"


def _again(path: str) -> str:
    return f"Open {path} again to install the app."
