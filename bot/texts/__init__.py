"""The texts that people read in Slack: one module for each surface, so that a translation has one place to go.

A surface is what its readers would name: an answer, the home tab, the form of a digest, the pages of the installation.
Rules:

- A fixed text is a constant in capitals. A text with values is a function, which also decides between one and many.
- Values arrive ready to be shown. Who calls has escaped what is from outside (`bot/blocks/escaping.py`): no text is
  escaped here. Numbers, days and amounts arrive as values if the text depends on them.
- Nothing is looked up by a string, and there are no templates: types are checked.
- This package imports nothing else of the app, so every package can import it.

Elsewhere are texts that are part of something else: what commands and options are for, in the tables that the parser,
the help, the manifest and the forms read (`Command` and `Option` in `bot/commands`), what the library says of services
and answers (`perplexity/notes.py`, `perplexity/errors.py`), prompts for models (`bot/conversations`), the command line
(`bot/__main__.py`, `bot/doctor`), and the playground's page. `tests/docs/test_texts.py` lists them.
"""
