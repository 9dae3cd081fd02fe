"""The plugin's own fixture, in place of the one with which this project's app is tested."""

from __future__ import annotations

from fake_slack.pytest import slack

__all__ = ["slack"]
