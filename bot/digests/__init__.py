"""Digests: news on a schedule, posted only if something is new."""
