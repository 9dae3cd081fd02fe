"""The settings of a person and of a channel: the form, the list, and what each is called and takes."""

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
HISTORY = "Questions in a thread include what others wrote there"
EXTERNAL = "Guests and people from other organizations may ask"
ON = "On"
OFF = "Off"
AS_SET_UP = "as the app is set up"

HOSTS = "it takes host names such as a.com, separated by commas"
HOSTS_WITHOUT_DASH = "it takes host names without a -"

TITLE = "Settings"
YOURS = "Yours"
OF_THIS_CHANNEL = "Of this channel"
SAVE = "Save"
CANCEL = "Cancel"
NAMED_ASKERS = "The people who may ask"
NAMED_PEOPLE = "Only people I name"

YOUR_SETTINGS = "Your settings"
CHANNEL_SETTINGS = "Settings of this channel"
CHANGE = "Change settings"

SAVED = "Saved."
CHANGED_AT_ONCE = "Someone else changed this at the same moment, so I saved nothing. Check it below, then try again."
CHANGED_MEANWHILE = "These settings changed while the form was open. Open it again."
NO_ONE_NAMED = "Name at least one person, or choose another answer above."
NO_CHANNEL = "A direct message has no channel settings. Type this in a channel."
NOT_MANAGER = "Only the person who created this channel, and admins, can change its settings."
NOT_CHECKED = "Slack is slow just now, so I couldn’t check if you may change this channel’s settings. Please try again."
CREATOR_UNKNOWN = (
    "Slack doesn’t let me read who created this channel, so only admins can change its settings. "
    "An admin can give me the scope `channels:read`, or `groups:read` for private channels."
)
RULES = "A channel’s sites outrank yours. What you type with a question outranks your settings."
NEEDS_SCOPES = (
    "Follow-ups and history work only if the app receives the messages of channels. An admin sets that up with "
    "FOLLOW_UPS and THREAD_HISTORY."
)


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


def heading(title: str) -> str:
    """Return a title as the first line of a list."""
    return f"*{title}*"


def example(slash: str) -> str:
    """Return an example to type; `slash` is the command for settings."""
    return f"For example: `{slash} effort high`"


def channel_example(slash: str) -> str:
    """Return a second example, for a channel, after the first."""
    return f"or `{slash} channel allow docs.python.org`"


def default(value: str) -> str:
    """Return the choice that leaves a setting as it is without one."""
    return f"Default: {value}"


def not_taken(value: str, allowed: str) -> str:
    """Return that a value cannot be used, and what is allowed."""
    return f"{value} cannot be used: {allowed}."
