"""A local stand-in for Slack: a page that looks like a channel, and the Slack methods that the app calls."""
