"""The settings of a person and of a channel: what each is called, what its values are, and what it takes."""

from __future__ import annotations

from collections.abc import Sequence

MODEL = "Model or effort"
MODEL_UNSET = "the app’s default"
VISIBILITY = "Who sees answers to commands"
VISIBILITY_UNSET = "only the person who asks"
ONLY_YOU = "Only you"
WHOLE_CHANNEL = "Everyone in the channel"
LANGUAGE = "Language of answers"
LANGUAGE_UNSET = "that of the question"
LANGUAGE_HINT = "Two letters, such as en or ja"
DOMAINS = "Sites to search"
DOMAINS_UNSET = "the whole web"
DOMAINS_HINT = "Such as a.com, b.com; or each with a - to leave it out"
ALLOW = "Only these sites"
ALLOW_HINT = "Answers here come from these sites only, such as a.com, b.com"
DENY = "Never these sites"
DENY_UNSET = "none"
DENY_HINT = "Answers here never come from these sites"
ASKERS = "Who may ask"
EVERYONE = "Everyone"
ADMINS = "Admins"
FOLLOW_UPS = "Replies without a mention are questions"
HISTORY = "What people wrote in a thread goes along"
EXTERNAL = "Guests and people from elsewhere may ask"
ON = "On"
OFF = "Off"
AS_SET_UP = "as the app is set up"

HOSTS = "it takes host names such as a.com, separated by commas"
HOSTS_WITHOUT_DASH = "it takes host names without a -"


def askers_hint(everyone: str, admins: str) -> str:
    """Return who can be named; both are the words that are typed."""
    return f"{everyone}, {admins}, or user ids"


def one_of(words: Sequence[str]) -> str:
    """Return that a setting takes one of these words, of which there are two or more."""
    return f"it takes {', '.join(words[:-1])} or {words[-1]}"


def at_most(characters: int) -> str:
    """Return that a value is too long."""
    return f"it takes at most {characters} characters"


def askers(everyone: str, admins: str, *, most: int) -> str:
    """Return who can be named, and how many; both are the words that are typed."""
    return f"it takes {everyone}, {admins}, or at most {most} Slack user ids such as U012AB3CD"
