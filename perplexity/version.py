"""The version and the name of this distribution."""

__version__ = "1.0.0"

DISTRIBUTION = "web-answers-for-slack"
"""The project's name for pip; `bot.__main__` recognizes the package by it."""
