"""A stand-in for Slack: its Web API, its payloads and its limits. It imports nothing of this project but itself."""
