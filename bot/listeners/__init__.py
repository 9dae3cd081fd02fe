"""Slack in: acknowledge and write down; no logic."""
