"""The texts that people read in Slack are in `bot/texts`, so a translation has one place to go."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.docs.pages import ROOT

NOT_FOR_SLACK = {
    "bot/texts/": "the texts",
    "bot/__main__.py": "the command line",
    "bot/audit.py": "the command line",
    "bot/conversations/memory.py": "prompts for models",
    "bot/conversations/next_questions.py": "prompts for models",
    "bot/conversations/pages.py": "prompts for models",
    "bot/conversations/recheck.py": "prompts for models",
    "bot/data_requests.py": "the command line",
    "bot/doctor/": "the command line",
    "bot/manifest.py": "what Slack shows of the app, with the manifest's golden file",
    "bot/playground/": "the local page",
    "bot/privacy/shapes.py": "regular expressions",
    "bot/privacy/tables.py": "the table of what is kept, and SQL",
    "bot/settings.py": "what is wrong with an environment variable",
    "bot/slack/scopes.py": "what doctor says of scopes",
    "bot/storage/": "SQL, and what is wrong with a database",
    "bot/web/": "HTTP and metrics",
    "bot/workspaces/": "HTTP, the command line, SQL",
}
"""Packages and modules that write nothing that is read in Slack, each with what their strings are."""

NOT_TEXTS = {
    ("bot/commands/routing.py", "Web Answers"): "the app's name",
    ("bot/listeners/installation.py", "the app is no longer installed"): "why a request is refused, for the log",
    ("bot/model/membership.py", "another workspace or app"): "why a request is refused, for the log",
    ("bot/privacy/redaction.py", "a site that must not leave"): "an error, for the log",
    ("bot/services.py", "Agent"): "the name of the agent in the table of what is sent",
    ("bot/slack/connection.py", "Bearer {}"): "a header",
    ("bot/slack/connection.py", "status {}"): "why Slack refused a connection, for the log",
    ("bot/slack/messages.py", "there is no token for the workspace"): "an error, for the log",
}
"""Strings that look like texts, each with its module and what it is."""

SENTENCE = re.compile(r"[^\W\d_].*\s|\s.*[^\W\d_]", re.DOTALL)
"""A letter and a space: words, or one word next to a value."""
LABEL = re.compile(r"[A-Z][a-z]{2,}…?")
"""One word with a capital, such as "Share"."""
SQL = re.compile(r"\s*(?:ALTER|CREATE|DELETE|INSERT|LOCK|SELECT|SET|UPDATE|WITH)\b")
ZONES = re.compile(r"\s*(?:(?:UTC|\w+(?:/\w+)+)\s+)+")
"""Names of time zones."""
SHOWN = frozenset({"close", "confirm", "deny", "hint", "label", "placeholder", "submit", "text", "title", "y_label"})
"""Arguments and keys of blocks whose values are shown, even one small word."""
PLAIN = frozenset(
    {"context", "header", "markdown", "mrkdwn", "plain", "pluralize", "section", "text_message", "text_reply"}
)
"""Functions whose arguments are shown, even one small word."""
NO_READER = frozenset({"compile", "getLogger", "LookupError", "RuntimeError", "TypeError", "TypeVar", "ValueError"}) | {
    "AgentNotSetUp", "Message", "RequestCancelled", "SlackClientError",
}  # fmt: skip
"""Functions and errors whose strings no one reads in Slack: those of the second line are for the log, or for models."""
TABLES = frozenset({"Command", "CommandForm", "Option", "free_subcommand"})
"""Rows of the tables that the parser, the help, the manifest and the forms read: their texts are in them."""


def texts_of(source: str) -> Iterator[tuple[int, str]]:
    """Yield the strings of a module that look like texts for people, with their lines; a value in a string is `{}`."""
    yield from _texts(ast.parse(source), is_shown=False)


def _texts(node: ast.AST, *, is_shown: bool) -> Iterator[tuple[int, str]]:
    match node:
        case ast.Constant(value=str(text), lineno=line):
            pieces = [text]
        case ast.JoinedStr(values=values, lineno=line):
            pieces = [str(value.value) if isinstance(value, ast.Constant) else "{}" for value in values]
        case _:
            pieces, line = [], 0
    if _is_text("".join(pieces), is_shown=is_shown):
        yield line, "".join(pieces)
    if not _has_no_reader(node):
        for child, child_is_shown in _children(node):
            yield from _texts(child, is_shown=child_is_shown)


def _has_no_reader(node: ast.AST) -> bool:
    """Return whether a node has nothing to move: a docstring, a log record, a programming error, a row of a table."""
    match node:
        case ast.Expr(value=ast.Constant()) | ast.Call(func=ast.Attribute(value=ast.Name(id="log"))):
            return True
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in NO_READER | TABLES
    return False


def _children(node: ast.AST) -> Iterator[tuple[ast.AST, bool]]:
    """Yield what is in a node, each with whether its text is shown in a message or a view."""
    match node:
        case ast.JoinedStr(values=values):
            yield from ((value.value, False) for value in values if isinstance(value, ast.FormattedValue))
        case ast.Call(func=function, args=arguments, keywords=keywords):
            name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
            yield function, False
            yield from ((argument, name in PLAIN) for argument in arguments)
            yield from ((keyword.value, keyword.arg in SHOWN) for keyword in keywords)
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                yield value, isinstance(key, ast.Constant) and key.value in SHOWN
        case _:
            yield from ((child, False) for child in ast.iter_child_nodes(node))


def _is_text(text: str, *, is_shown: bool) -> bool:
    if SQL.match(text) or ZONES.fullmatch(text):
        return False
    return bool(SENTENCE.search(text) or LABEL.fullmatch(text) or (is_shown and re.search(r"[^\W\d_]", text)))


def modules() -> list[str]:
    """Return the modules of the app that may write what is read in Slack."""
    paths = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("bot/**/*.py"))
    return [path for path in paths if not path.startswith(tuple(NOT_FOR_SLACK))]


def texts_in(module: str) -> list[str]:
    """Return the texts of a module as `line: text`."""
    found = texts_of((ROOT / module).read_text("utf-8"))
    return [f"{line}: {text}" for line, text in found if (module, text) not in NOT_TEXTS]


def test_texts_are_in_their_package_alone() -> None:
    found = {module: texts_in(module) for module in modules()}
    assert {module: texts for module, texts in found.items() if texts} == {}


def test_each_exception_is_needed() -> None:
    assert [path for path in NOT_FOR_SLACK if not (ROOT / path).exists()] == []
    found = {(path, text) for path, _ in NOT_TEXTS for _, text in texts_of((ROOT / path).read_text("utf-8"))}
    assert set(NOT_TEXTS) - found == set()


def test_every_text_is_used() -> None:
    modules = {path: ast.parse(path.read_text("utf-8")) for path in ROOT.glob("bot/**/*.py")}
    texts = {path.stem: tree for path, tree in modules.items() if path.parent.name == "texts"}
    defined = {(module, name) for module, tree in texts.items() for name in _defined(tree)}
    used = {one for tree in modules.values() for one in _used(tree)}
    used |= {
        (module, node.id)
        for module, tree in texts.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    assert len(defined) > 400
    assert defined - used == set()


def _defined(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def _used(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the texts that a module uses, each with its own module."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module="bot.texts", names=imported):
                names |= {one.asname or one.name: one.name for one in imported}
            case ast.ImportFrom(module=str(module), names=imported) if module.startswith("bot.texts."):
                yield from ((module.removeprefix("bot.texts."), one.name) for one in imported)
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=text) if name in names:
                yield names[name], text


@pytest.mark.parametrize(
    ("line", "is_text"),
    [
        ('section("Nothing yet.")', True),
        ('section(f"*{count}*")', False),
        ('section("none")', True),
        ('button("Share", action_id="share")', True),
        ('static_select(label="days")', True),
        ('{"type": "plain_text", "text": "days"}', True),
        ('{"type": "section", "text": {"type": "mrkdwn"}}', False),
        ('f"Sources ({count})"', True),
        ('f"by {name}"', True),
        ('" · ".join(parts)', False),
        ('log.warning("view.not_opened", extra={"why": "too old"})', False),
        ('raise ValueError("a size has no unit")', False),
        ('raise UsageError("Add a question.")', True),
        ('re.compile(r"[a-z] +")', False),
        ('"SELECT id FROM questions"', False),
        ('f"{day:%d %B}"', False),
        ('"""What this is."""', False),
        ('ZONES = "Europe/Berlin UTC "', False),
        ('Option(name="--n", help="How many pages")', False),
    ],
)
def test_a_text_is_found(line: str, is_text: bool) -> None:
    assert bool(list(texts_of(line))) == is_text
