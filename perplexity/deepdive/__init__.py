"""Deep dives into a topic: the facts, public posts about it, and an analysis of both."""
