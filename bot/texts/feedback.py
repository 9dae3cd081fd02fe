"""Thumbs: the reply to one, and the form that asks what was wrong with an answer."""

from __future__ import annotations

NOT_YOURS_TO_RATE = "Only people who see this answer can rate it."
THANKS = "Thanks, I noted that this answer is good."
NOTED = "Thanks, I noted that this answer is bad, but Slack didn’t open the form for the reason. Click again to add it."
UNKNOWN_RATING = "I no longer have this answer, so there is nothing to add. Close this window."

TITLE = "A bad answer"
SEND = "Send"
SKIP = "Skip"
WHAT_WAS_WRONG = "What was wrong?"
WRONG = "It is wrong"
NOT_IN_SOURCES = "The sources don’t say that"
OUTDATED = "It is out of date"
INCOMPLETE = "Something is missing"
OTHER = "Something else"
OWN_WORDS = "In your own words"
MAY_OTHERS_READ = "May others read it?"
ADMINS_MAY_READ = "The admins of this app may read my question"
