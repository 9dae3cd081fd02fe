"""The command line: `python -m perplexity search | ask | tools | mcp`."""

from __future__ import annotations

import sys

from perplexity.cli.base import World
from perplexity.cli.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], World.of_this_process()))
