"""Check: compares claims, typed or found in a message, with quotations from web pages."""

from __future__ import annotations

from bot.feature import Core, Feature, Running
from bot.features.checking.command import CHECK, CHECK_THIS, TITLE, ClaimFinder, ProposalStore


def start(core: Core) -> Running:
    """Listen to the shortcut and to the form."""
    finder = ClaimFinder(
        model=core.chain.within().model, proposals=ProposalStore(core.acks), profiles=core.users.profiles
    )
    return Running(listeners=(finder.register,))


FEATURE = Feature(
    name="checking",
    start=start,
    commands=(CHECK,),
    shortcuts=(("message", TITLE, CHECK_THIS, "Check the claims of this message"),),
)
