"""In which form a reply is written."""

from __future__ import annotations

import argparse
from enum import StrEnum

from perplexity.cli.base import World


class Form(StrEnum):
    """For eyes, for pipes, for programs, for models."""

    SCREEN = "screen"
    PLAIN = "plain"
    JSON = "json"
    RAW = "raw"


def add_forms(parser: argparse.ArgumentParser) -> None:
    """Declare the options that choose a form."""
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="one JSON object with everything that is known")
    forms.add_argument("--raw", action="store_true", help="<result> and <references>, as the tools give it to models")
    parser.add_argument("--no-color", action="store_true", help="without colours, as with NO_COLOR")


def form_of(parsed: argparse.Namespace, world: World) -> Form:
    """Return the form that was asked for; otherwise a terminal is for eyes and anything else a pipe."""
    if parsed.json or parsed.raw:
        return Form.JSON if parsed.json else Form.RAW
    return Form.SCREEN if world.stdout.isatty() else Form.PLAIN
