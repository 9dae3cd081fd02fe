"""Renders answers, results, failures and help as Block Kit messages; pure."""
