"""What a person reads who deleted a question of theirs, if not all of it is deleted."""

from __future__ import annotations

MESSAGES_LATER = "Slack didn’t delete my messages just now, so I kept the question. Please delete it again in a minute."
MESSAGES_STAY = "I deleted the question, but Slack doesn’t let me delete my messages in its thread: they stay."
DATABASE_DOWN = "I can’t reach my database just now, so I kept the question. Please delete it again in a minute."
