"""Listeners, which save and acknowledge each of Slack's requests within three seconds; workers do the rest."""
