"""What is said when a digest cannot be posted where it belongs, or nobody is left whose it is."""

from __future__ import annotations

from bot.blocks.base import OutgoingMessage
from bot.blocks.elements import context, section
from bot.blocks.escaping import code, escape
from bot.blocks.watching import named, title
from bot.digests.base import Digest


def orphaned_message(subject: str, *, call: str) -> OutgoingMessage:
    """Tell a channel that a digest is deleted, since its owner's account is closed; `subject` is what it is about."""
    text = f"*The digest “{title(subject)}” has ended.* The account of whoever set it up is closed."
    on = context(f"{code(call)} sets up a new one.")
    return OutgoingMessage(text=text, blocks=(section(text), on))


def diverted_message(digest: Digest, *, because: str) -> OutgoingMessage:
    """Tell the owner why a digest comes as a direct message this time; `because` is a sentence."""
    text = f"*{named(digest)} could not be posted in its channel*, so you get it here. {escape(because)}"
    return OutgoingMessage(text=text, blocks=(section(text),))


def unmade_message(digest: Digest, *, because: str) -> OutgoingMessage:
    """Tell the owner why a digest that they wanted now was not made; `because` is a sentence."""
    text = f"*{named(digest)} was not made.* {escape(because)}"
    return OutgoingMessage(text=text, blocks=(section(text),))


def unnamed_message(*, because: str, reference: str) -> OutgoingMessage:
    """Tell the owner that some digest cannot be posted, where it could not even be looked up which."""
    text = f"One of your digests could not be posted in its channel. {escape(because)}"
    blocks = (section(text), context(f"Reference {code(reference)}"))
    return OutgoingMessage(text=f"{text} Reference {code(reference)}", blocks=blocks)
