"""What people read of commands, settings and budgets, in German."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bot.budgets import over_budget_sentence, too_fast_sentence
from bot.commands import COMMANDS
from bot.commands.help import help_overview, options_of
from bot.errors import UsageError
from bot.model.question import Choice
from bot.model.spending import OverBudget
from bot.preferences import CHANNEL, find_setting, parse_setting
from bot.privacy.redaction import Redactor
from bot.privacy.sent_requests import left_out_text
from bot.translation import speaking
from bot.views.ask import ask_view
from perplexity.errors import InvalidRequest
from perplexity.filters import Filters


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("search --n 50 x", "`--n` muss zwischen 1 und 20 liegen."),
        ("search --recency dayy x", "`--recency` kann nicht `dayy` sein. Meinst du day? Möglich sind hour, day,"),
        ("ask --effort hi x", "`--effort` kann nicht `hi` sein. Meinst du high? Möglich sind fast, low, medium, high"),
        ("ask --model what x", "`--model` kann nicht `what` sein. Möglich sind sonar, sonar-pro"),
        ("ask --public --private x", "`--public` und `--private` widersprechen sich."),
        ("ask --agent -r x", "`--agent` und `--reasoning` widersprechen sich: der Agent hat ein eigenes Modell."),
        ("ask --foo x", "Ich kenne die Option `--foo` nicht. Gehört sie zu deinem Text"),
        ("ask --mode web x", "`--mode` geht nur bei Suchen: Eine Antwort kommt immer aus dem offenen Web."),
        ("news sprots", "„sprots“ ist keine Kategorie. Meinst du sports? Zur Wahl stehen world, business"),
        ("search " + "x" * 4_500, "Das sind 4.500 Zeichen; für eine Suche sind bis zu 4.000 möglich."),
    ],
)
def test_a_usage_error_is_in_the_language_of_its_reader(line: str, problem: str) -> None:
    name, _, rest = line.partition(" ")
    command = next(one for one in COMMANDS if one.name == name)
    for _again in range(2):  # A command remembers what it has parsed.
        with speaking("de"), pytest.raises(UsageError) as raised:
            command.parse(rest)
        assert raised.value.problem.startswith(problem)
        with pytest.raises(UsageError) as raised:
            command.parse(rest)
        assert not raised.value.problem.startswith(problem)


def _budget(**values: int) -> OverBudget:
    known = {"amount": 2_000_000, "allowed": 1_500_000, "remaining": 200_000} | values
    return OverBudget(scope="user", resets=200_000, **known)


def _setting(name: str, words: str) -> str:
    setting = find_setting(CHANNEL, name)
    assert setting is not None
    with pytest.raises(InvalidRequest) as raised:
        parse_setting(setting, name, words)
    return str(raised.value.allowed)


def _kept_from_services() -> str:
    with pytest.raises(InvalidRequest) as raised:
        Redactor(kinds=("key",)).filters(Filters(domains=("akiaabcdefghijklmnop.com",)))
    return f"{raised.value.field}: {raised.value.allowed}"


@pytest.mark.parametrize(
    ("say", "words"),
    [
        (lambda: over_budget_sentence(_budget(), effort="high"), "0,20 $ von 1,50 $, und dies kann bis zu 2,00 $"),
        (lambda: over_budget_sentence(_budget(), effort="fast", fits="fast"), "`fast` passt noch"),
        (lambda: over_budget_sentence(_budget(remaining=0), effort="fast"), "(1,50 $) ist aufgebraucht. Es beginnt in"),
        (lambda: over_budget_sentence(_budget(remaining=0), effort="fast"), "in etwa 2 Tagen neu"),
        (lambda: over_budget_sentence(_budget(allowed=0), effort="fast"), "Dein Budget für heute beträgt 0,00 $"),
        (lambda: too_fast_sentence(None), "Frag in einer Minute noch einmal."),
        (lambda: left_out_text({"email": 2, "key": 1}), "2 E-Mail-Adressen und 1 Schlüssel wurden aus dem weggelassen"),
        (lambda: left_out_text({"iban": 1}), "1 Bankkonto wurde aus dem weggelassen"),
        (lambda: _setting("instructions", "x" * 2_000), "möglich sind höchstens 1.500 Zeichen"),
        (lambda: _setting("visibility", "x"), "möglich sind private oder public"),
        (_kept_from_services, "zu durchsuchende Website: dein Admin hält diesen Namen von Suchdiensten fern"),
        (lambda: help_overview(COMMANDS, slash="/pplx").text, "/search listet Seiten auf, /news zeigt die"),
        (lambda: "\n".join(options_of(COMMANDS, "search /search", admin=False)), "Wie viele Seiten; 5, wenn du"),
        (lambda: str(ask_view(COMMANDS, Choice(command="search"), metadata={"more": True})), "'text': 'Woche'"),
    ],
)
def test_sentences_are_in_the_language_of_their_reader(say: Callable[[], str], words: str) -> None:
    with speaking("de"):
        assert words in say().replace("\xa0", " ")
    assert words not in say().replace("\xa0", " ")
