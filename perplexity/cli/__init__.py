"""The commands of `python -m perplexity`. A new one is a file beside this and a line in `main.COMMANDS`."""
