"""Checks of everything the app needs, each with a fix."""
