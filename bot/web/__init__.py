"""The HTTP server: verification of Slack's requests, health pages, metrics, limits on connections."""
