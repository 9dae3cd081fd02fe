"""A local stand-in for Slack: a page that looks like a channel, and behind it the few Slack methods the app calls."""

from __future__ import annotations

from bot.playground.conversation import SlashCommand
from bot.playground.server import Playground

__all__ = ["Playground", "SlashCommand"]
