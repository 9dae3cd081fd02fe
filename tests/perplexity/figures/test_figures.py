from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from perplexity.citations import number_citations
from perplexity.figures import CheckedSentence, check_figures
from perplexity.types import Source


def source(number: int, excerpt: str, *, title: str = "", url: str = "", day: str | None = None) -> Source:
    return Source(number=number, title=title, url=url or f"https://a.example/{number}", snippet=excerpt, date=day)


def checked(text: str, *excerpts: str) -> tuple[CheckedSentence, ...]:
    return check_figures(number_citations(text, [source(n, excerpt) for n, excerpt in enumerate(excerpts, 1)]))


def not_found(sentence: str, excerpt: str) -> list[str]:
    return [figure for one in checked(f"{sentence} [1]", excerpt) for figure in one.not_found]


FOUND = [
    # Separators, and digits of other scripts
    ("1,234.5 points", "1.234,5 Punkte"),
    ("1,234,567 people", "1 234 567 Menschen, 1'234"),
    ("1'234.50 Franken", "CHF 1,234.5"),
    ("12\u202f500 employees", "12,500 employees"),
    ("1234 people", "1.234 Menschen"),
    ("12,34,567 rupees", "1,234,567 rupees"),
    ("in 2024", "im Jahr ２０２４"),
    ("45 people", "٤٥ شخصا"),
    # Multipliers
    ("1.2 million euros", "1,2 Mio. Euro"),
    ("€1.2m", "1,200,000 euros"),
    ("$5bn", "5 Milliarden US-Dollar"),
    ("1.2 trillion", "1,2 Billionen"),
    ("10k users", "10,000 users"),
    ("two million", "2,000,000"),
    ("half a million", "500,000"),
    ("$3–5 billion", "between $3 billion and $5 billion"),
    ("10 to 15 million", "10 million and later 15 million"),
    ("3 × 10^8 m/s", "300,000,000 m/s"),
    ("10⁶ cells", "10^6 cells"),
    # Percent and parts
    ("3.5 %", "3,5 Prozent"),
    ("28 percentage points", "28 Prozentpunkte"),
    ("28 v. H.", "28%"),
    ("25 basis points", "a quarter point"),
    ("10–15 %", "between 10 and 15 percent"),
    ("a third of voters", "33.4 percent of voters"),
    ("two thirds of voters", "zwei Drittel der Wähler"),
    ("drei Viertel", "75 %"),
    ("one in five adults", "20% of adults"),
    ("½ cup", "1/2 cup"),
    # Units
    ("1.5 km", "1,500 m"),
    ("4,5 GWh", "4.500 MWh"),
    ("0.5 t", "500 kg"),
    ("330 m high", "its height is 330 metres"),
    ("a 330-metre tower", "330 m"),
    ("28 square kilometres", "28 km²"),
    ("two years", "24 months"),
    ("90 minutes", "1.5 hours"),
    ("-3 °C", "minus 3 degrees Celsius"),
    # Rounding
    ("about 330 m", "329.8 m"),
    ("rund 330 m", "329,8 Meter"),
    ("28 %", "28.4 percent"),
    ("1.2 million", "1,234,567"),
    ("over 12,000 people", "12,034 people"),
    ("knapp 98 Milliarden Euro", "97,9 Milliarden Euro"),
    # Numbers in words, and ordinals
    ("three goals", "3 goals"),
    ("7 Mitglieder", "sieben Mitglieder"),
    ("the 3rd time", "zum dritten Mal"),
    ("twenty-five years", "25 years"),
    ("einundzwanzig Jahre", "21 Jahre"),
    ("two siblings", "both siblings"),
    # Dates
    ("on 3 May 2026", "May 3, 2026"),
    ("on May 3rd, 2026", "03.05.2026"),
    ("am 3. Mai 2026", "2026-05-03"),
    ("am 3.5.2026", "05/03/2026"),
    ("on 3 May 2026", "05/03/2026"),
    ("on 3 May 2026", "03/05/2026"),
    ("in May 2026", "on 3 May 2026"),
    ("in 2026", "03.05.2026"),
    ("on 3 May", "3 May 2026"),
    ("on 4 May 2026", "from 4 to 6 May 2026"),
    ("from 4 to 6 May 2026", "4 May 2026, 6 May 2026"),
    ("on 3 May 2026", "The year 2026 was hot. It was 3 May."),
    ("in the third quarter of 2025", "Q3 2025"),
    ("im 3. Quartal", "Q3"),
    ("in H1 2025", "im ersten Halbjahr 2025"),
    ("in 2023/24", "the 2023-2024 season"),
    ("in the 1990s", "in den 1990er Jahren"),
    # Times and scores
    ("at 14:30", "2:30 p.m."),
    ("um 14 Uhr", "14.00 Uhr"),
    ("from 9 am to 5 pm", "9:00–17:00"),
    ("won 3:1", "won 3-1"),
    ("in 2:01:09", "a time of 2:01:09"),
    # Names and versions
    ("COVID-19", "the Covid 19 pandemic"),
    ("5G networks", "5G-Netze"),
    ("iPhone 17", "the new iPhone 17 Pro"),
    ("Python 3.13", "Python 3.13.1"),
    ("v18.2", "version 18.2"),
    ("ISO 27001", "ISO 27001"),
    ("CO2 emissions", "carbon dioxide emissions"),
    ("call +49 30 1234567", "Tel. +49 (30) 123 45 67"),
    # Words for other numbers, and for shares
    ("12 people", "a dozen people"),
    ("two dozen flights", "24 flights"),
    ("four dozen", "4 dozen"),
    ("350 people", "three hundred and fifty people"),
    ("three hundred and fifty people", "350 people"),
    ("3.000 Menschen", "dreitausend Menschen"),
    ("3.5 hours", "three and a half hours"),
    ("1,5 Millionen", "eineinhalb Millionen"),
    ("20 %", "about a fifth"),
    ("25 %", "jede vierte Person"),
    ("50 %", "half of all voters"),
    ("100 %", "prices doubled"),
    ("a quarter percentage point", "25 basis points"),
    ("one third", "33%"),
    ("a 3–0 win", "won three-nil"),
    ("11-for-19 shooting", "11-of-19 shooting"),
    # Other units of time, money and mass
    ("30 years", "three decades"),
    ("two decades", "20 years"),
    ("48 hours", "two days"),
    ("2 hours, 3 minutes and 17 seconds", "2:03:17"),
    ("105 minutes", "1h 45m"),
    ("under 5 minutes", "4:52"),
    ("35 cents", "$0.35"),
    ("15.4 billion of which", "15.4 Gt"),
    ("300 million years", "300 Ma"),
    ("12 Jahre", "12 J."),
    ("at 12:00", "at noon"),
    ("um 7:30 Uhr", "um halb acht"),
    ("31 miles per gallon", "31 combined mpg"),
    ("around 18:30", "18.27 Uhr"),
    ("30 Minuten", "eine halbe Stunde"),
    ("12 months", "a year"),
    ("34 °C", "34C"),
    ("3,4 Mio. Euro", "3.400 TEUR im Jahr"),
    ("over $3 trillion", "$3.12T in all"),
    ("nearly a billion", "$980 million"),
    ("25 knots", "25 kts"),
    ("35 Wochenstunden", "35-Std.-Woche"),
    ("12 Monate", "12 Mon. Laufzeit"),
    ("2 hours and 35 seconds", "2:00:35"),
    ("kurz nach 15 Uhr", "15.12 Uhr"),
    ("500,000 gazelles", "half a million gazelles"),
    ("four times as many", "has quadrupled"),
    ("knapp 20 Euro", "Jacke, Gr. 48–58, 19,99; Hose"),
    # Short and long forms
    ("3 draws", "14W 3D 2L"),
    ("a 3-point lead", "3 percentage points"),
    ("4.25%", "4-1/4 percent"),
    ("1.5 cups", "1 1/2 cups"),
    ("nine in ten", "90%"),
    ("90 Prozent", "neun von zehn"),
    ("two in three games", "2 games of 3"),
    ("Super Bowl 59", "Super Bowl LIX"),
    ("more than forty", "43"),
    ("over 1,000", "1,349"),
    # Other stretches of time
    ("in H1", "in the first half"),
    ("bis zum 31. März", "bis zum 31.03., also bald"),
    ("am 15. Mai", "zum 15.2., 15.5., 15.8. und 15.11. fällig"),
    ("am 18. September", "ab Do., 18.9.: Jacken"),
    ("June 2025", "06/2025"),
    ("a factor of 3 to 4.5", "a factor of 3 or even 4.5"),
    ("vom 10. bis 12. Mai 2025", "10.-12.05.2025"),
    ("the class of 2025", "the class of '25"),
    ("2026–2027", "2026-27"),
    ("in April–June 2025", "in the three months to June 2025"),
    ("from January to September 2025", "the first nine months of 2025"),
    ("in den ersten neun Monaten", "Januar–September 2025"),
    ("the second quarter of fiscal 2026", "Q2 FY26"),
    ("fiscal year 2025", "FY25"),
    ("2024/2025", "2024/25"),
    ("in the 1800s", "in 1887"),
    ("in the 19th century", "in 1850"),
    # A table whose head says the scale
    ("€8.4 billion in cash", "in millions of euros | Cash 8,412"),
    ("gusts of 110 km/h", "Böen bis 110 Kilometer pro Stunde im Harz"),
    ("265 Kilometer in der Stunde", "Höchstgeschwindigkeit: 265 km/h"),
    ("zwischen 10 und 25 Liter pro Quadratmeter", "10 bis 25 l/m²"),
    ("a dividend of 23 cents", "a dividend of 23c per share"),
    ("35 Franken", "Dividende Fr. 35.00 je Aktie (Vorjahr 33.00)"),
    ("$1 trillion", "More than $1tn has been lost"),
    ("between 45 and 70 years", "aged 45 to 70 across 23 hospitals"),
    ("dreitausend Euro", "(Verheiratete: 3.000 €)"),
    ("210 million tonnes", "(Mt CO2e) | 1990 | 2023 || Buildings | 210 | 103"),
    ("at a quarter past eight", "um 20:15 Uhr"),
    ("um Viertel vor zwölf", "ab 23.45 Uhr"),
    ("zwei Stunden und 41 Minuten", "nach 2:41 Std."),
    ("1:21:08", "in 1:21:08,429 Std."),
    ("the three winners", "the prize goes to John Clarke, Michel H. Devoret and John M. Martinis"),
    ("three goals", "scored a hat-trick"),
    ("until 31 December 2029", "bis Ende 2029 verlängert"),
    ("from January to October", "in the first ten months"),
    ("in the third quarter of 2025", "sales rose in the third quarter"),
    ("die 14- bis 49-Jährigen", "In der Zielgruppe 14–49 siegte RTL"),
    ("after Q1", "3.8 percent in the second quarter, after 0.6 percent in the first"),
    ("am 20. September", "im September; am 20. meldete Lingen"),
    ("90 Liter Regen pro Quadratmeter", "mit 90 l/m²"),
    ("dreieinhalb Jahre", "3 Jahre und 6 Monate"),
    # Units of two systems
    ("8,849 m high", "29,032 ft"),
    ("26.2 miles long", "the distance is 42.195 km"),
    ("2,204 pounds", "weight: 1,000 kg"),
    ("38 °C", "reached 100.4 °F"),
    ("155 mph", "winds of 250 km/h"),
    ("6 ft 4 in tall", "height: 193 cm"),
    ("nearly two years", "about 22 months"),
    # What follows from the excerpt's own numbers
    ("$5 million more", "rose from $10 million to $15 million"),
    ("a total of 30 million", "10 million in the north and 20 million in the south"),
    ("a profit that grew 50%", "rose from $10 million to $15 million"),
    ("10,000 jobs, 4.5% of its staff", "will lay off 10,000 of its 220,000 employees"),
    ("dead at the age of 76", "He was born in 1879 and died in 1955"),
    ("half of the 48 species", "24 of 48 species"),
    # Multiples
    ("doubled", "rose from 5 million to 10 million"),
    ("a price that increased fivefold", "prices are now five times as high"),
    ("more than doubled", "112% more than a year before"),
    ("halved", "fell by 50 percent"),
    # Parts of a million, decades, other forms of a number
    ("three-quarters of a million people", "Population: 750,000"),
    ("a quarter of a million copies", "250,000 copies"),
    ("75 basis points", "three quarters of a point"),
    ("in the 1990s", "in the nineties"),
    ("built in the 1800s", "built in the 19th century"),
    ("a value of .75", "0.75"),
    ("5.97e24 kg", "5.97 × 10^24 kg"),
    ("1:50,000", "Scale 1:50 000"),
    ("1:1,000,000", "Scale 1:1 000 000"),
    # Signs, and words for them
    ("-5 °C", "minus 5 degrees Celsius"),
    ("a loss of $12 million", "net result –$12 million"),
    ("lower by 0.4%", "growth was -0.4%"),
    # What the answer numbers or counts itself
    ("as follows: (1) costs fell, (2) sales rose", "costs fell and sales rose"),
    ("for three reasons: cost, time and quality", "cost, time and quality matter"),
    ("Apollo 11", "The first crewed landing"),
]


@pytest.mark.parametrize(("sentence", "excerpt"), FOUND)
def test_a_figure_is_found_in_another_form(sentence: str, excerpt: str) -> None:
    assert not_found(f"It was {sentence}.", excerpt) == []


NOT_FOUND = [
    ("29 %", "28 percent on 29 May, and 29 guests", "29 %"),
    ("29 people", "28 people on 29 May", "29"),
    ("19 people", "COVID-19", "19"),
    ("30 people", "at 14:30", "30"),
    ("1.2 billion euros", "1.2 million euros", "1.2 billion euros"),
    ("€5m", "$5m", "€5m"),
    ("1.5 km", "1.5 m", "1.5 km"),
    ("29 %", "28.4 percent", "29 %"),
    ("about 340 m", "329.8 m", "340 m"),
    ("more than 400 people", "329 people", "400"),
    ("330.5 m", "about 330 m", "330.5 m"),
    ("four goals", "three goals and 44 shots", "four"),
    ("sechs Tage", "sechzehn Tage", "sechs Tage"),
    ("a quarter of voters", "a third of voters", "quarter"),
    ("on 4 May 2026", "3 May 2026", "4 May 2026"),
    ("on 3 May 2025", "3 May 2026", "3 May 2025"),
    ("in June 2026", "3 May 2026", "June 2026"),
    ("from 4 to 7 May 2026", "4 May 2026", "4 to 7 May 2026"),
    ("in Q2 2025", "Q3 2025", "Q2 2025"),
    ("at 14:30", "3:30 p.m.", "14:30"),
    ("won 3:2", "won 3-1 in 2 hours", "3:2"),
    ("A350", "the A380 and 350 seats", "A350"),
    ("version 3.13.2", "3.13.1", "3.13.2"),
    ("in 2023/24", "2022/23", "2023/24"),
    ("in the 1980s", "in the 1990s", "1980s"),
    ("$1.12 a share", "$1.21 a share", "$1.12"),
    ("100 points", "1\u202f100 points", "100"),
    ("50 %", "the first half of the year", "50 %"),
    ("four decades", "30 years", "four decades"),
    ("2 hours and 4 minutes", "2:03:17", "2 hours and 4 minutes"),
    ("in May–June 2025", "the three months to June 2025", "May–June 2025"),
    ("in the 18th century", "in 1850", "18th century"),
    ("under 4 minutes", "4:52", "4 minutes"),
    ("around 19:30", "18.27 Uhr", "19:30"),
    ("at 18:30", "18.27 Uhr", "18:30"),
    ("3 losses", "14W 3D 2L", "3"),
    ("nine in ten", "80%", "nine in ten"),
    ("more than forty", "53", "forty"),
    ("over 1,000", "1,649", "1,000"),
    ("2.5 cups", "1 1/2 cups", "2.5"),
    ("in July 2025", "06/2025", "July 2025"),
    ("knapp 30 Euro", "Jacke, Gr. 48–58, 19,99; Hose", "30 Euro"),
    ("three times as many", "has quadrupled", "three"),
    ("about 260,000 cars", "250,133 cars", "260,000"),
    ("at least €69.90", "from €69.99", "€69.90"),
    ("one million cars", "500 000 cars", "one million"),
    ("zweitausend Euro", "(Verheiratete: 3.000 €)", "zweitausend Euro"),
    ("under 9 minutes", "a ninth, dropped", "9 minutes"),
    ("gut zwei Milliarden Euro", "1,56 Milliarden Euro", "zwei Milliarden Euro"),
    ("$57.1 million", "$57.1 billion", "$57.1 million"),
    ("€412.7", "$412.7", "€412.7"),
    ("at a quarter past nine", "um 20:15 Uhr", "quarter past nine"),
    ("in the second quarter of 2025", "sales rose in the third quarter", "second quarter of 2025"),
    ("viereinhalb Jahre", "3 Jahre und 6 Monate", "viereinhalb Jahre"),
    ("am 21. September", "im September; am 20. meldete Lingen", "21. September"),
    ("a sum of 2.4 million dollars", "2.4 million euros", "2.4 million dollars"),
    ("€2.4 million", "CHF 2.4 million", "€2.4 million"),
    ("2.4 million tonnes", "2.4 million barrels", "2.4 million tonnes"),
    ("a profit of 5 million euros", "5 million users", "5 million euros"),
    ("two-thirds of voters", "sales rose in the third quarter of 2023", "two-thirds"),
    ("two-thirds of voters", "one third of voters", "two-thirds"),
    ("more than half", "47% agreed", "half"),
    ("7%", "seven pupils came", "7%"),
    ("4%", "in the fourth quarter", "4%"),
    ("120 kg", "120 guests came", "120 kg"),
    ("$250 million", "250 million users", "$250 million"),
    ("2,024 dogs", "In 2024 there were dogs", "2,024"),
    ("a growth of −0.4 %", "grew by 0.4 %", "0.4 %"),
    ("5 °C", "it was -5 °C", "5 °C"),
    ("1:100", "a ratio of 1:10", "1:100"),
    ("2M tokens", "| Price | $2.50 |", "2M"),
    ("tripled", "the price rose from $2 to $4", "tripled"),
    ("a price that rose fivefold", "rose fourfold", "fivefold"),
    ("halved", "fell by 30 percent", "halved"),
    ("28,032 feet high", "8,849 m", "28,032 feet"),
    ("80 km/h", "winds of 80 knots", "80 km/h"),
    ("$12 a year", "$12 a month", "$12"),
    ("three-quarters of a million people", "Population: 250,000", "three-quarters of a million"),
]


@pytest.mark.parametrize(("sentence", "excerpt", "figure"), NOT_FOUND)
def test_a_figure_that_is_not_there_is_returned_as_it_is_written(sentence: str, excerpt: str, figure: str) -> None:
    assert not_found(f"It was {sentence}.", excerpt) == [figure]


SILENT = [
    ("2023年公司收入为15.3亿元，同比增长12%。", "2023年公司收入达到15.2亿元，增长11%。"),
    ("東京の人口は約1400万人です。", "人口は約1300万人"),
    ("iPhone 15 Pro售价999美元。", "iPhone 15 Pro售价989美元"),
    ("ประเทศไทยมีประชากร 66 ล้านคน", "ประชากร 67 ล้านคน"),
    ("서울의 인구는 940만 명이다.", "인구 930만 명"),
    ("Выручка составила 5,3 млрд рублей.", "выручка 5,2 млрд рублей"),
    ("Le chiffre d'affaires a atteint 33,8 millions d'euros en mars 2023.", "un chiffre d'affaires de 33,9 millions"),
    ("Il fatturato è di 5 milioni.", "fatturato: 6 milioni"),
    ("De omzet steeg met 12 procent.", "een stijging van 13 procent"),
    ("Firma zatrudnia 5 tysięcy osób.", "Firma zatrudnia 6 tysięcy osób"),
    ("Şirketin geliri 5 milyar lira.", "Şirketin 2023 yılında geliri 6 milyar lira olarak açıklandı"),
    ("Revenue was 33.8 million euros in the year.", "Los ingresos de la empresa fueron de 33,9 millones de euros"),
    ("Der Umsatz lag bei 33,8 Millionen Euro.", "Le chiffre d'affaires est de 33,9 millions d'euros"),
    (
        "Revenue was 33.8 million euros in the year.",
        "Revenue of the year was 33.9 million.\n2023年公司收入达到15.2亿元，增长11%。",
    ),
]


@pytest.mark.parametrize(("sentence", "excerpt"), SILENT)
def test_a_sentence_or_an_excerpt_in_another_language_is_not_checked(sentence: str, excerpt: str) -> None:
    (one,) = checked(f"{sentence} [1]", excerpt)

    assert (one.not_found, one.is_checked) == ((), False)


def test_a_short_sentence_is_in_the_language_of_the_others() -> None:
    french = "La ville compte 12 écoles et les élèves y sont 5 000 [1]. Budget 2023: 7 euros [1]."
    english = "The town has 12 schools with 5,000 pupils [1]. Budget 2023: 7 euros [1]."

    assert [one.not_found for one in checked(french, "12, 5000, 2023")] == [(), ()]
    assert [one.not_found for one in checked(english, "12, 5000, 2023")] == [(), ("7 euros",)]


@pytest.mark.parametrize("label", ["Third, ", "Reason 2: ", "Step 3: ", "(4) "])
def test_the_number_of_an_answers_own_item_is_no_figure(label: str) -> None:
    assert not_found(f"{label}the company cut 500 jobs.", "The company cut 500 jobs.") == []
    assert not_found(f"{label}the company cut 500 jobs.", "The company cut 600 jobs.") == ["500"]


def test_a_marker_belongs_to_the_sentence_it_is_in_or_right_after() -> None:
    text = "One 1 has none. Two 2 has one [2]. Three 3.[1][2] Four 4 [1] and 5 [3], and so on.\n\nFive 5 has none."

    assert [(one.text, one.sources) for one in checked(text, "a", "b", "c")] == [
        ("Two 2 has one.", (1,)),
        ("Three 3.", (2, 1)),
        ("Four 4 and 5, and so on.", (2, 3)),
    ]


def test_points_of_abbreviations_and_ordinals_end_no_sentence() -> None:
    text = "Am 3. Mai zahlte Dr. Ott ca. 30 Mio. Euro für den 2. Platz. Es waren 28. Danach kam z. B. Rom. [1]"

    assert [one.text for one in checked(text, "x")] == ["Danach kam z. B. Rom."]
    assert checked(text.replace(" Es", " [1] Es"), "x")[0].text.startswith("Am 3. Mai")


def test_headings_items_rows_and_quotations_are_sentences_without_their_markup() -> None:
    text = (
        "## Growth of **5** % [1]\n\n- *One* item of 6 [1]\n- 7 without\n\n"
        "> Quoted 8 &amp; [a link](https://b.example/9) [1]\n\n"
        "| City | People |\n|---|---|\n| Ulm | 10 [1] |\n| Köln | 11 |\n\n```\n12 [1]\n```"
    )

    assert [(one.text, one.not_found) for one in checked(text, "nothing")] == [
        ("Growth of 5 %", ("5 %",)),
        ("One item of 6", ("6",)),
        ("Quoted 8 & a link", ("8",)),
        ("Ulm | 10", ("10",)),
    ]


def test_code_and_formulas_are_checked_only_if_they_are_numbers() -> None:
    sentence = "Use `3.14` or `f(x, 2)`, since \\(e^{7} = y_8\\) and \\(28\\%\\)."

    assert not_found(sentence, "nothing") == ["3.14", "28%"]


@pytest.mark.parametrize(
    ("formula", "text", "missing"),
    [
        (r"\(I \propto \lambda^{-4}\)", "I ∝ λ⁻⁴", ()),
        (r"\[ E = m c^2 \]", "E = m c²", ()),
        (r"\(4 \times 10^{6}\)", "4 × 10^6", ("4 × 10^6",)),
        (r"\(\foo_{9} x\)", r"\foo_9 x", ()),
    ],
)
def test_a_formula_is_shown_in_unicode_if_that_is_exact(formula: str, text: str, missing: tuple[str, ...]) -> None:
    (one,) = checked(f"{formula} [1]", "nothing")

    assert (one.text, one.not_found) == (text, missing)


def test_a_figure_may_be_in_any_of_the_cited_sources_and_in_no_other() -> None:
    text = "It has 14 sites [1][2]. It has 15 sites [1]."

    first, second = checked(text, "no number", "14 sites, 15 sites")

    assert (first.sources, first.not_found) == ((1, 2), ())
    assert (second.sources, second.not_found) == ((1,), ("15",))


def test_the_numbers_of_sources_are_those_that_the_reader_sees() -> None:
    sources = [source(7, "nothing"), source(9, "28 people")]

    (one,) = check_figures(number_citations("There were 28 people [9].", sources))

    assert (one.sources, one.not_found) == ((1,), ())


def test_a_source_without_an_excerpt_cannot_be_checked() -> None:
    assert [one.not_found for one in checked("It has 14 sites [1][2].", " \n", "no number")] == [()]


@pytest.mark.parametrize(
    "known",
    [
        source(1, "Nothing.", title="Opened on 3 May 2026"),
        source(1, "Nothing.", day="2026-05-03"),
        source(1, "It opened on 3 May.", day="2026-07-01"),
        source(1, "Nothing.", url="https://a.example/news/2026/05/03/opened"),
    ],
)
def test_the_title_the_date_and_the_address_of_a_source_count(known: Source) -> None:
    (one,) = check_figures(number_citations("It opened on 3 May 2026 [1].", [known]))

    assert one.not_found == ()


def test_other_numbers_of_an_address_do_not_count() -> None:
    (one,) = check_figures(number_citations("28 people came [1].", [source(1, "x", url="https://a.example/28-people")]))

    assert one.not_found == ("28",)


def test_a_figure_is_named_once_a_sentence() -> None:
    assert not_found("Of 28 people, 28 stayed.", "nothing") == ["28"]


def test_a_text_without_markers_has_no_sentences() -> None:
    assert checked("Only 5 words.", "x") == ()


GROUPS = {
    "en": (",", "."),
    "de": (".", ","),
    "fr": ("\u202f", ","),
    "ch": ("'", "."),
    "si": ("\u00a0", "."),
    "": ("", "."),
}


def formatted(value: Decimal, style: str) -> str:
    group, point = GROUPS[style]
    whole, _, part = f"{value:,}".partition(".")
    return whole.replace(",", group) + (point + part if part else "")


# A number such as 1.234 with three decimals can be read in two ways, so it is written with two at most.
VALUES = st.decimals(min_value=100, max_value=10**11, places=2) | st.integers(100, 10**12).map(Decimal)


@given(VALUES, st.sampled_from(sorted(GROUPS)), st.sampled_from(sorted(GROUPS)))
def test_a_number_is_itself_in_every_style(value: Decimal, one: str, other: str) -> None:
    assert not_found(f"Es waren {formatted(value, one)} Punkte.", f"It was {formatted(value, other)} points.") == []


@example(Decimal(332), "", "", 14, 8)  # 330, which is 332 rounded
@given(VALUES, st.sampled_from(sorted(GROUPS)), st.sampled_from(sorted(GROUPS)), st.integers(0, 20), st.integers(1, 9))
def test_a_number_with_another_digit_is_not_found(value: Decimal, one: str, other: str, place: int, shift: int) -> None:
    digits = [*f"{value:f}"]
    places = [index for index, digit in enumerate(digits) if digit.isdecimal()]
    chosen = places[place % len(places)]
    digits[chosen] = str((int(digits[chosen]) + shift) % 10)
    wrong = Decimal("".join(digits))
    is_rounded = any(wrong == Decimal(f"{value:.{kept}e}") for kept in range(len(digits)))
    if wrong < 100 or is_rounded or 2 * abs(wrong - value) * 100 < value:
        return

    assert not_found(f"Es waren {formatted(wrong, one)} Punkte.", f"It was {formatted(value, other)} points.") != []


MONTHS = [f"{date(2026, month, 1):%B}" for month in range(1, 13)]
MONATE = [
    *("Januar", "Februar", "März", "April", "Mai", "Juni", "Juli"),
    "August",
    "September",
    "Oktober",
    "November",
    "Dezember",
]
DATES: dict[str, Callable[[date], str]] = {
    "iso": lambda d: d.isoformat(),
    "british": lambda d: f"{d.day} {MONTHS[d.month - 1]} {d.year}",
    "american": lambda d: f"{MONTHS[d.month - 1]} {d.day}, {d.year}",
    "short": lambda d: f"{MONTHS[d.month - 1][:3]} {d.day}, {d.year}",
    "german": lambda d: f"{d.day}. {MONATE[d.month - 1]} {d.year}",
    "dotted": lambda d: f"{d:%d.%m.%Y}",
    "slashed": lambda d: f"{d:%m/%d/%Y}",
}


@given(st.dates(date(1500, 1, 1), date(2150, 1, 1)), st.sampled_from(sorted(DATES)), st.sampled_from(sorted(DATES)))
def test_a_date_is_itself_in_every_style(day: date, one: str, other: str) -> None:
    assert not_found(f"It opened on {DATES[one](day)}.", f"Opened: {DATES[other](day)}") == []


@given(
    st.dates(date(1500, 1, 1), date(2150, 1, 1)),
    st.dates(date(1500, 1, 1), date(2150, 1, 1)),
    st.sampled_from(sorted(DATES)),
    st.sampled_from(sorted(DATES.keys() - {"slashed"})),
)
def test_another_date_is_not_found(day: date, wrong: date, one: str, other: str) -> None:
    if day == wrong or (one == "slashed" and (wrong.year, wrong.month, wrong.day) == (day.year, day.day, day.month)):
        return

    assert not_found(f"It opened on {DATES[one](wrong)}.", f"Opened: {DATES[other](day)}") != []


@pytest.mark.parametrize("number", ["1E40", "1.5E40", "-1E40", "10^99"])
@pytest.mark.parametrize("unit", ["years", "months", "hours", "%", "million"])
def test_what_is_very_large_is_looked_for(number: str, unit: str) -> None:
    assert not_found(f"It lasted {number} {unit}.", "It lasted 2 years and 6 months.") != []


PIECES_WORDS = (
    "0 00 1 5 12 0:30,5 300 2024 1.5 1,000 0/5 1/2 ½ ٣ 9999999999999999999999999999 10^99 1E40 % $ € million mg h min "
    "Trillionen dozen hundred half third in of and a to years ’25 FY Q3 May Mai - – / : . , × hours cents İ ß zwölf"
)
PIECES = st.sampled_from(PIECES_WORDS.split(" "))


@given(st.lists(PIECES, max_size=30), st.lists(PIECES, max_size=30), st.sampled_from(["", " "]))
def test_any_text_can_be_checked(sentence: list[str], excerpt: list[str], joint: str) -> None:
    text = joint.join(sentence)

    assert all(figure.strip() for figure in not_found(f"x {text} y.", f"x {joint.join(excerpt)}"))
