"""A stand-in for Slack, with its Web API, payloads and limits; it imports nothing else from the project."""
