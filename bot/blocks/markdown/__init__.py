"""Markdown as Slack blocks: parsed once, split at the limits, rendered."""
