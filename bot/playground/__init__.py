"""A local stand-in for Slack: a page that looks like a channel, and behind it the few Slack methods the app calls."""
