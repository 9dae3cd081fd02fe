"""Calls to Slack's Web API: the connection, messages, users, scopes."""
