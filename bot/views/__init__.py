"""Modals: `ask`, `sent` and `sources` build them and handle actions in them; the other modules have shared parts."""
