"""What a click on a button of a message is answered with, if the answer is not a message of its own."""

from __future__ import annotations

UNKNOWN_QUESTION = "I no longer have this question. Please ask it again."
UNKNOWN_ANSWER = "I no longer have this answer. Please ask the question again."
UNKNOWN_REPORT = "I no longer have this report."
TEXT_DELETED = "I no longer keep the text of this question and its answer. Please ask it again."
DATABASE_DOWN = "I can’t reach my database just now. Please click again in a minute."
FORM_DATABASE_DOWN = "I can’t reach my database just now. Please submit again in a minute."

NOT_YOUR_ANSWER = "Only the person who asked can use this button."
NOT_YOUR_QUESTION = "Only the person who asked can try this again."
NOT_YOUR_REPORT = "Only the person who asked can get this report as a file."

NO_LONGER_OFFERED = "I no longer offer this for that question. Please ask it again."
ALREADY_ASKED = "I’m already working on this, or it’s answered. Look below that answer."
TRYING_AGAIN = "I’ll try again. The answer will appear below."

NOT_YOURS_TO_STOP = "Only the person who asked, or an admin, can stop this."
UNKNOWN_TO_STOP = "I no longer have this question."
ADMIN_UNKNOWN = "Slack is slow just now, so I couldn’t check whether you are an admin. Please click again."
ALREADY_STOPPED = "This is already stopped."
ALREADY_FINISHED = "There’s nothing left to stop: the answer is on its way, or I’ve given up on it."

REPORT_FILE_COMES = "I’ll send you the report as a file, in our direct messages."
ANSWER_FILE_COMES = "I’ll send you the answer as a file, in our direct messages."
PRESS_ARRIVED = "Your press has arrived."

FILE_REQUESTED = "You asked for this file a moment ago. Look for it in our direct messages."
FILE_REJECTED = (
    "Slack rejected the file. Your admin can run `python -m bot doctor` to check my `files:write` permission."
)


def thinking_longer(question: str) -> str:
    """Return that a question is answered again with more thought; `question` is quoted."""
    return f"I’ll think longer about {question}. The answer will appear below."


def finding_more(question: str) -> str:
    """Return that more pages are searched for; `question` is quoted."""
    return f"I’ll look for more pages on {question}. They will appear below."


def answering(question: str) -> str:
    """Return that a question is answered; it is quoted."""
    return f"I’ll answer {question}. The answer will appear below."


def answering_again(question: str) -> str:
    """Return that a question is answered again; it is quoted."""
    return f"I’ll answer {question} again. The answer will appear below."


def answering_from_pages(question: str) -> str:
    """Return that a question about listed pages is answered; it is quoted."""
    return f"I’ll answer {question} from these pages. The answer will appear below."
