"""Web search and sourced answers for any program; knows nothing of Slack."""
