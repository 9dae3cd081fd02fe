"""Digests: news on a schedule, of which only what is new is posted. What decides is here; tables and posts are not."""
