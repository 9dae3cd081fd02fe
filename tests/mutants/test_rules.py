"""Each rule that `make mutants` disables is where its table says."""

from __future__ import annotations

import re

import pytest

from tests.mutants.__main__ import ROOT, mutated
from tests.mutants.rules import CALLS, LEFT_OUT, LINKS, NEEDED, RULES, Rule


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_is_where_its_table_says(rule: Rule) -> None:
    source = (ROOT / rule.path).read_text(encoding="utf-8")

    compile(mutated(source, rule), rule.path, "exec")
    assert all((ROOT / test).exists() for test in rule.tests)


@pytest.mark.parametrize("path", [CALLS, LINKS])
def test_a_copy_leaves_out_the_rules_whose_tests_it_has_left_out(path: str) -> None:
    file = ROOT / path
    marked = re.search(r"mark\.features\(([^)]*)\)", file.read_text(encoding="utf-8")) if file.exists() else None

    assert (path in LEFT_OUT) == (marked is None)
    assert marked is None or set(re.findall(r"\w+", marked[1])) == NEEDED


def test_no_name_is_used_twice() -> None:
    names = [rule.name for rule in RULES]

    assert len(set(names)) == len(names)
