"""Delivers answers to Slack with retries, shows progress and waiting times, and withdraws answers."""
