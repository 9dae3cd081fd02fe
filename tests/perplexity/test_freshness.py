"""When an answer begins with the date of its newest source: a table of questions, and a table of dates."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from perplexity.filters import Recency
from perplexity.freshness import add_newest_source_line, cited_sources, max_age_days, newest_source_line
from perplexity.types import Answer, AnswerKind, Message, Passage, Question, Source

TODAY = date(2026, 11, 22)

ASKED: tuple[tuple[str, int | None], ...] = (
    ("What is the latest Python version?", 7),
    ("latest", 7),
    ("What's the LATEST on the strike?", 7),
    ("newest iPhone", 7),
    ("the most recent release of Postgres", 7),
    ("Who is the current chancellor of Germany?", 7),
    ("current price of copper", 7),
    ("What's the current weather in Bonn", 7),
    ("What are current electricity prices?", 7),
    ("who currently owns Twitter", 7),
    ("an up-to-date list of EU members", 7),
    ("What does gold cost at the moment?", 7),
    ("What happened today?", 1),
    ("today's exchange rate", 1),
    ("Is it raining in Paris right now?", 1),
    ("what's on TV tonight", 1),
    ("the latest news today", 1),
    ("what happened yesterday", 2),
    ("What changed this week?", 7),
    ("this month's inflation", 31),
    ("best films this year", 366),
    ("news of the past week", 7),
    ("what did they release last week", 14),
    ("layoffs in the last 3 weeks", 21),
    ("earthquakes in the past 24 hours", 1),
    ("Was ist die neueste Version von Python?", 7),
    ("das Neueste zum Streik", 7),
    ("aktueller Stand der Verhandlungen", 7),
    ("aktuell", 7),
    ("Wer ist derzeit Bundeskanzler?", 7),
    ("Wie hoch ist der Leitzins momentan?", 7),
    ("gegenwa\u0308rtige Regierung von Belgien", 7),
    ("Wie wird das Wetter heute in Bonn?", 1),
    ("die heutigen Schlagzeilen", 1),
    ("Was war diese Woche wichtig?", 7),
    ("Was geschah in dieser Woche?", 7),
    ("Inflation in diesem Monat", 31),
    ("Filme dieses Jahres", 366),
    ("Erdbeben der letzten 2 Wochen", 14),
    ("todays headlines", 1),
    ("“What is the latest Python version?”", 7),
    ("der jetzige Papst", 7),
    ("Wer regiert zur Zeit in Frankreich?", 7),
    ("die jüngsten Entwicklungen in Syrien", 7),
    ("news about OpenAI", 7),
    ("bitcoin price", 7),
    ("recent papers on batteries", 7),
    ("is github down?", 7),
    ("Was gibt es Neues bei VW?", 7),
    ("weather in Lisbon", 7),
    # What does not ask for what is new.
    ("How does an electric current flow?", None),
    ("What is electric current?", None),
    ("difference between alternating current and direct current", None),
    ("How do I measure current with a clamp meter", None),
    ("current density in a copper wire", None),
    ("What is a current account?", None),
    ("why do ocean currents turn", None),
    ("Is the Gulf Stream a warm current?", None),
    ("the current in the circuit doubles", None),
    ("Who founded USA Today?", None),
    ("who hosts the today show", None),
    ("problems of today's society", None),
    ("What does `latest` mean for a docker tag?", None),
    ("docker run nginx:latest fails", None),
    ('what does "current" mean in grammar', None),
    ("answer by Friday at the latest", None),
    ("What happened in the last week of the war?", None),
    ("Why did Rome fall?", None),
    ("get current time in python", None),
    ("Who wrote Yesterday?", None),
    ("latest common ancestor", None),
    ("select the rows of the last 7 days", None),
    ("define last year's tax basis", None),
    ("Who owns Fox News?", None),
    ("newsletter templates", None),
    ("price elasticity of demand", None),
    ("history of heat pumps", None),
    ("Wie funktioniert elektrischer Strom?", None),
    ("Was ist Latein?", None),
    ("Wie lebte man zur Zeit der Römer?", None),
    ("Wie alt ist die jüngste Tochter von Trump?", None),
    ("Wer hat den Buchdruck erfunden?", None),
    ("undercurrent and concurrent programming", None),
    ("translate latestness", None),
    ("", None),
)


def page(day: str | None, number: int = 1, updated: str | None = None) -> Source:
    return Source(number=number, title="A", url=f"https://a.example/{number}", date=day, last_updated=updated)


def test_the_table_has_sixty_cases() -> None:
    assert len(ASKED) >= 60


@pytest.mark.parametrize(("question", "days"), ASKED)
def test_a_question_asks_for_what_is_new(question: str, days: int | None) -> None:
    assert max_age_days(question) == days


@pytest.mark.parametrize(("question", "days"), ASKED)
def test_the_age_of_an_old_source_is_shown_only_for_questions_about_something_new(
    question: str, days: int | None
) -> None:
    told = newest_source_line(question, [page("2015-05-03")], today=TODAY)
    fresh = newest_source_line(question, [page("2015-05-03"), page("2026-11-21", 2)], today=TODAY)

    assert (told, fresh) == ("Newest source: 3 May 2015." if days else "", "")


@pytest.mark.parametrize(
    ("recency", "day", "told"),
    [
        ("hour", "2026-11-22", ""),
        ("day", "2026-11-21", ""),
        ("day", "2026-11-20", "Newest source: 20 Nov 2026."),
        ("week", "2026-11-15", ""),
        ("week", "2026-11-13", "Newest source: 13 Nov 2026."),
        ("month", "2026-10-25", ""),
        ("month", "2026-10-01", "Newest source: 1 Oct 2026."),
        ("year", "2026-01-01", ""),
        ("year", "2025-05-03T10:00:00Z", "Newest source: 3 May 2025."),
        ("week", "2026-11", ""),
        ("week", "2026-05", "Newest source: May 2026."),
        ("week", "2025", "Newest source: 2025."),
        ("week", "Jan 5, 2024", "Newest source: 5 Jan 2024."),
        ("week", "5 January 2024", "Newest source: 5 Jan 2024."),
        ("week", None, "Newest source: undated."),
        ("week", "soon", "Newest source: undated."),
        ("week", "2026-02-31", "Newest source: undated."),
        ("week", "2031-01-01", "Newest source: undated."),
        ("day", "2026-11-23", ""),
    ],
)
def test_the_newest_date_is_measured_by_the_recency(recency: Recency, day: str | None, told: str) -> None:
    other = page("2014", 2) if told and "undated" not in told else page(None, 2)
    assert newest_source_line("why", [page(day), other], today=TODAY,
                 recency=recency) == told  # fmt: skip


def test_a_recency_counts_before_the_words() -> None:
    assert newest_source_line("the latest today", [page("2026-01-05")], today=TODAY, recency="year") == ""


def test_a_page_counts_by_the_date_that_is_shown_with_it() -> None:
    assert newest_source_line("latest", [page(None, updated="2026-11-20")], today=TODAY) == "Newest source: undated."
    assert (
        newest_source_line("latest", [page("2015-05-03", updated="2026-11-20")], today=TODAY)
        == "Newest source: 3 May 2015."
    )


def as_of_line(text: str, answer: Answer) -> str:
    question = Question(messages=(Message(role="user", content=text),))
    return add_newest_source_line(answer, question, now=datetime(2026, 11, 22, 12, tzinfo=UTC).timestamp()).as_of


def test_only_sources_that_are_cited_count() -> None:
    old, new = page("2015-05-03"), page("2026-11-21", 2)
    answer = Answer(text="So it is. [1]", sources=(old, new), provider="P")

    assert as_of_line("latest", answer) == "Newest source: 3 May 2015."
    assert as_of_line("why", answer) == ""
    assert as_of_line("latest", Answer(text="So.", sources=(old, new), provider="P")) == ""
    assert as_of_line("latest", Answer(text="So.", sources=(), provider="P")) == ""


def test_of_passages_those_that_are_quoted_count() -> None:
    sources = (page("2015-05-03"), page("2026-11-21", 2))
    answer = Answer(
        text="x [1]", sources=sources, provider="P", kind=AnswerKind.PASSAGES, passages=(Passage(text="x", source=1),)
    )

    assert cited_sources(answer) == sources[:1]
