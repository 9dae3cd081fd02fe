"""Slack's Web API: the connection, messages, people, scopes."""
