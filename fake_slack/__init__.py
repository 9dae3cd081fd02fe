"""A stand-in for Slack, with its Web API, payloads and limits; this package imports no other of the project."""
