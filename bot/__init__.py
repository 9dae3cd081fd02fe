"""The Slack app: questions in, sourced answers out."""
