"""Slack's requests: each is saved and acknowledged within three seconds; workers do the rest."""
