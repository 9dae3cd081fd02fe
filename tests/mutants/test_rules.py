"""Each rule that `make mutants` disables is where its table says."""

from __future__ import annotations

import pytest

from tests.mutants.__main__ import ROOT, mutated
from tests.mutants.rules import RULES, Rule


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_is_where_its_table_says(rule: Rule) -> None:
    source = (ROOT / rule.path).read_text(encoding="utf-8")

    compile(mutated(source, rule), rule.path, "exec")
    assert all((ROOT / test).exists() for test in rule.tests)


def test_no_name_is_used_twice() -> None:
    names = [rule.name for rule in RULES]

    assert len(set(names)) == len(names)
