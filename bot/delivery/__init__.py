"""Delivers answers to Slack: routes, retries, the pending message and progress."""
