"""Answers that are shown while they are made."""
