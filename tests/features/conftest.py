"""What the tests of features share: the whole app, in this process or in others, as in tests/end_to_end."""

from __future__ import annotations

from tests.end_to_end.conftest import harness, perplexity, session, settings, slack, workspace

__all__ = ["harness", "perplexity", "session", "settings", "slack", "workspace"]
