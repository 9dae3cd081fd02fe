"""What the installed commands `web-answers` and `pplx` start.

Both are here and not in `perplexity`, which another package may have replaced: that is checked before it is imported.
"""

from __future__ import annotations

import sys

from bot.import_check import wrong_package


def web_answers() -> int:
    """Run the app's command line, as `python -m bot` does."""
    from bot.__main__ import main

    return main(program="web-answers")


def pplx() -> int:
    """Run the command line of the library, as `python -m perplexity` does."""
    if (fault := wrong_package()) is not None:
        sys.stderr.write(f"pplx: {fault}\n")
        return 1
    from perplexity.__main__ import run

    return run()
