"""Answers out: which way they go, and how Slack's clocks, sizes and refusals are met."""
