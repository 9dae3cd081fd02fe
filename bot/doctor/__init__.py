"""Checks of everything that the app needs, each with a fix."""
