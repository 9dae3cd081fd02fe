"""Calls to Slack's Web API: the connection, messages, streams, threads, views, files, users and scopes."""
