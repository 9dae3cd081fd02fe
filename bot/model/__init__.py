"""The values that the app works with; imports nothing else of the app."""
