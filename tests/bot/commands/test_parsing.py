from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.commands.base import Option
from bot.commands.parsing import (
    DOUBLE_QUOTES,
    Arguments,
    OptionParser,
    is_help_request,
    parse_options,
    tokenize,
    write_arguments,
)
from bot.errors import UsageError

OPTIONS = (
    Option(name="--n", short="-n", value="1-20", help="How many"),
    Option(name="--recency", value="day|week", help="How new"),
    Option(name="--domain", value="a.com,-b.com", help="Where"),
    Option(name="--reasoning", short="-r", help="Think"),
    Option(name="--public", help="Show all"),
)


def parse(text: str) -> Arguments:
    return parse_options(text, OptionParser(options=OPTIONS, unsupported={"--mode": "`--mode` is for others."}))


@pytest.mark.parametrize(
    ("typed", "text", "options"),
    [
        ("python asyncio", "python asyncio", {}),
        ("--n 5 python", "python", {"--n": "5"}),
        ("python --n 5", "python", {"--n": "5"}),
        ("python --n=5", "python", {"--n": "5"}),
        ("python --n 5 asyncio", "python asyncio", {"--n": "5"}),
        ("python -n 5", "python", {"--n": "5"}),
        ("python —n 5", "python", {"--n": "5"}),
        ("python –n 5", "python", {"--n": "5"}),
        ("python ――n 5", "python", {"--n": "5"}),
        ("python −−n=5", "python", {"--n": "5"}),
        ("python ‑n 5", "python", {"--n": "5"}),
        ("python --N 5", "python", {"--n": "5"}),
        ("—Public python", "python", {"--public": ""}),
        ("-r why is the sky blue", "why is the sky blue", {"--reasoning": ""}),
        ("why is the sky blue -r", "why is the sky blue", {"--reasoning": ""}),
        ("why is the sky blue —r", "why is the sky blue", {"--reasoning": ""}),
        ("--r why", "why", {"--reasoning": ""}),
        ("-r -n 3 why", "why", {"--reasoning": "", "--n": "3"}),
        ("what does chmod -r do", "what does chmod -r do", {}),
        ("what does head -n 5 do", "what does head -n 5 do", {}),
        ("--public what does chmod -r do -r", "what does chmod -r do", {"--public": "", "--reasoning": ""}),
        ("python -snake -5 +3", "python -snake -5 +3", {}),
        ("--domain -b.com python", "python", {"--domain": "-b.com"}),
        ("--domain “a.com, b.com” python", "python", {"--domain": "a.com, b.com"}),
        ("--domain=‘a.com, b.com’ python", "python", {"--domain": "a.com, b.com"}),
        ("--domain 'a.com, b.com' python", "python", {"--domain": "a.com, b.com"}),
        ("--domain «a.com» python", "python", {"--domain": "a.com"}),
        ("--domain `a.com` python", "python", {"--domain": "a.com"}),
        ("--domain a.com, b.com python", "python", {"--domain": "a.com,b.com"}),
        ("--domain <http://a.com|a.com> python", "python", {"--domain": "a.com"}),
        ("--n\u00a05 python", "python", {"--n": "5"}),
        ("python --public", "python", {"--public": ""}),
        ("--public --public python", "python", {"--public": ""}),
        ("-- what does --force do", "what does --force do", {}),
        ("— what does —force do", "what does —force do", {}),
        ("--n 3 -- --public", "--public", {"--n": "3"}),
        ("git -- what is it", "git -- what is it", {}),
        ("what does `--force` do", "what does `--force` do", {}),
        ("what does `git push --force` do", "what does `git push --force` do", {}),
        ("what does “git push --force” do", "what does “git push --force” do", {}),
        ('what does "git push --force" do --n 2', 'what does "git push --force" do', {"--n": "2"}),
        ("what does '--force' do", "what does '--force' do", {}),
        ("(“a --force b”) --n 2", "(“a --force b”)", {"--n": "2"}),
        ("```\ngit --force\n``` --n 2", "```\ngit --force\n```", {"--n": "2"}),
        ("what's O’Reilly's 'best --n 5 book", "what's O’Reilly's 'best book", {"--n": "5"}),
        ("rock 'n' roll --n 5", "rock 'n' roll", {"--n": "5"}),
        ('a 5" disk and 6" tape --n 5', 'a 5" disk and 6" tape', {"--n": "5"}),
        ('open " quote --n 5', 'open " quote', {"--n": "5"}),
        ("tick ` here --n 5", "tick ` here", {"--n": "5"}),
        ("Paris – the city — in 2019—2020", "Paris – the city — in 2019—2020", {}),
        ("he said —whatever— and left", "he said —whatever— and left", {}),
        ("it was —a surprise —I know", "it was —a surprise —I know", {}),
        ("state-of-the-art -5 °C", "state-of-the-art -5 °C", {}),
        ("<!-- a comment -->", "<!-- a comment -->", {}),
        ("two --- dashes ---three --5", "two --- dashes ---three --5", {}),
        ("line one\n\n  line two --n 5", "line one\n\n  line two", {"--n": "5"}),
        ("“exact phrase” here", "“exact phrase” here", {}),
        ("a &lt;b&gt; &amp;&amp; &amp;lt;", "a <b> && &lt;", {}),
        ("<https://x.org/a?b=1&amp;c=2>", "https://x.org/a?b=1&c=2", {}),
        ("read <https://x.org/page|this page>", "read this page (https://x.org/page)", {}),
        ("ask <mailto:a@b.com|a@b.com>", "ask a@b.com", {}),
        ("ask <@U1|ann> in <#C1|general> <!here> <!subteam^S1|@ops>", "ask @ann in #general @here @ops", {}),
        ("ask <@U1> or <!subteam^S1> in <#C1|> <!here>", "ask @someone or @group in #channel @here", {}),
        ("on <!date^1^{date}|1 Jan>", "on 1 Jan", {}),
        ("x <y> <!DOCTYPE> <#include> z", "x <y> <!DOCTYPE> <#include> z", {}),
        ("<!channel> <!everyone|everyone>", "@channel @everyone", {}),
        ("--`x` y", "--`x` y", {}),
        ('a 5" disk --n 5 and 6" tape', 'a 5" disk and 6" tape', {"--n": "5"}),
        ("100\u00a0km or 5\u202f000", "100 km or 5 000", {}),
        ("", "", {}),
    ],
)
def test_options_and_text_are_separated(typed: str, text: str, options: dict[str, str]) -> None:
    arguments = parse(typed)

    assert (text, options) == (arguments.text, {name: values[0] for name, values in arguments.options.items()})


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        ("--recenty week x", "I don’t know the option `--recenty`. Did you mean `--recency`?"),
        ("x —recenty week", "I don’t know the option `--recenty`. Did you mean `--recency`?"),
        ("--rea x", "I don’t know the option `--rea`. Did you mean `--reasoning`?"),
        ("--n5 x", "I don’t know the option `--n5`. Did you mean `--n`?"),
        (
            "what does --force do",
            "I don’t know the option `--force`. If it belongs to your text, put it in quotes, or type ` -- ` before",
        ),
        ("—zzz x", "I don’t know the option `--zzz`."),
        ("--mode web x", "`--mode` is for others."),
        ("--x`y z", "I don’t know the option `--x'y`."),
        ("x --n", "`--n` needs a value: `1-20`."),
        ("--n --public x", "`--n` needs a value: `1-20`."),
        ("--n —public x", "`--n` needs a value: `1-20`."),
        ("--n -r x", "`--n` needs a value: `1-20`."),
        ("--n -- x", "`--n` needs a value: `1-20`."),
        ("--n= 5 x", "`--n` needs a value: `1-20`."),
        ('--n "" x', "`--n` needs a value: `1-20`."),
        ("--public=yes x", "`--public` takes no value."),
    ],
)
def test_a_wrong_option_is_named(typed: str, problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(typed)

    assert caught.value.problem.startswith(problem)


def test_an_option_given_twice_with_different_values_is_an_error() -> None:
    with pytest.raises(UsageError) as caught:
        parse("--n 3 x --n 4").one("--n")

    assert caught.value.problem == "`--n` is given twice."


def test_an_option_given_twice_with_one_value_counts_once() -> None:
    assert parse("--n 3 x --n 3").one("--n") == "3"


def test_an_option_that_takes_a_list_may_be_repeated() -> None:
    assert parse("--domain a.com,b.com x --domain c.com").many("--domain") == ("a.com", "b.com", "c.com")


def test_an_option_that_was_not_given_has_no_value() -> None:
    arguments = parse("x")

    assert (arguments.one("--n"), arguments.many("--domain")) == (None, ())


@pytest.mark.parametrize("typed", ["", "  \n", "help", "HELP", "--help", "—help", "-h", "–h", "?"])
def test_help_alone_asks_for_help(typed: str) -> None:
    assert is_help_request(typed)


@pytest.mark.parametrize("typed", ["help me", "what?", "-x", "--", '"help"'])
def test_help_in_a_sentence_is_a_question(typed: str) -> None:
    assert not is_help_request(typed)


PIECES = st.sampled_from(
    [
        *"-–—−‑\"“”‘’'`«»=, \n\u00a0<>&|#@!?",
        "--",
        "n",
        "public",
        "domain",
        "-r",
        "help",
        "5",
        "a.com",
        "<@U1|x>",
        "&amp;",
    ]
)
WILD = st.one_of(st.text(), st.lists(PIECES).map("".join), st.lists(PIECES).map(" ".join))


@given(WILD)
def test_any_text_parses_or_is_a_usage_error(text: str) -> None:
    outcome: Arguments | UsageError
    try:
        outcome = parse(text)
    except UsageError as error:
        outcome = error

    shown = outcome.problem if isinstance(outcome, UsageError) else ""
    assert shown.count("`") % 2 == 0


WORD = st.text(alphabet="abc '’\"-", min_size=1, max_size=8).filter(
    lambda w: not re.search(r"(^|\s)-|\"", w) and w.strip()
)
GIVEN = st.lists(
    st.sampled_from(["--n 5", "--n=5", "--public", "--recency week", "--domain a.com,-b.com", "--reasoning"]),
    unique_by=lambda option: option[:5],
)


@given(before=GIVEN, text=WORD, after=GIVEN, dash=st.sampled_from("—–―"))
def test_a_clients_dashes_change_nothing(before: list[str], text: str, after: list[str], dash: str) -> None:
    ascii_typed = " ".join([*before, text, *after])
    unicode_typed = " ".join(
        [*(o.replace("--", dash, 1) for o in before), text, *(o.replace("--", dash, 1) for o in after)]
    )

    assert parse(ascii_typed) == parse(unicode_typed)


@given(st.text(alphabet=st.characters(exclude_characters='-‐‑‒–—―−﹣－<>&"“”„‟«»＂`\u00a0\u2007\u202f'), max_size=60))
def test_text_without_dashes_stays_as_typed(text: str) -> None:
    assert text.strip() == parse(text).text


@given(st.text(st.characters(exclude_characters="`\"“”„‟«»＂'‘’‚‛＇")))
def test_a_text_without_quotes_is_tokenized_as_one_with_quotes(text: str) -> None:
    assert tokenize(text) == tokenize(f"{text} `")[:-1]


VALUED, FLAG = Option(name="--lang", value="en,de", help="x"), Option(name="--public", help="x")


@given(
    st.text(alphabet=st.sampled_from("ab -—\"'`,=<>&;#@\n\u00a0“”"), max_size=30), st.text(max_size=12), st.booleans()
)
@example("why; —la", "", False)  # which is the beginning of an option that is not given
def test_what_is_written_is_parsed_as_the_same_options_and_text(text: str, value: str, public: bool) -> None:
    given_options = [(VALUED, value)] * bool(value.split()) + [(FLAG, "")] * public
    if "`" in value and set(DOUBLE_QUOTES) & set(value):
        with pytest.raises(UsageError) as caught:
            write_arguments(given_options, text)
        assert caught.value.option == "--lang"
        return
    line = write_arguments(given_options, text)
    parsed = parse_options(line, OptionParser(options=(VALUED, FLAG)))

    assert parsed.text == text.replace("\u00a0", " ").strip()
    assert parsed.options == {option.name: (" ".join(value.split()),) for option, value in given_options}


@pytest.mark.parametrize("text", ["help", "--help", "?", "-h"])
def test_a_text_that_asks_for_help_is_written_as_text(text: str) -> None:
    line = write_arguments([], text)

    assert (is_help_request(line), parse_options(line, OptionParser(options=())).text) == (False, text)
