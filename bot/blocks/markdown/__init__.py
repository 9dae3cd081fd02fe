"""Markdown as Slack blocks: read once, split at the limits, rendered."""
