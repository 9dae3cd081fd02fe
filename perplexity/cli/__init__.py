"""The commands of `python -m perplexity`. To add one, add a module and a line in `main.COMMANDS`."""
