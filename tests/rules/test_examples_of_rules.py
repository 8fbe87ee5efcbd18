"""Every Bad example of every rule gives exactly that rule at the marked line; every Good one gives nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from example import BASES, Example, whole
from sentences import faults

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import builtin_pack, lint
from fabriclint.report.model import ReportOptions
from fabriclint.rule import Rule
from fabriclint.rule_page import page

EXAMPLES = [
    (rule, number, kind, title, block)
    for rule in builtin_pack().load()
    for number, (kind, title, block) in enumerate(page(rule).examples_as_written)
]
#: Codes whose examples are still fragments for reading; a code is taken off when its examples are whole, never put on.
FRAGMENTS = frozenset((Path(__file__).parent / "fragments.txt").read_text().split())


def findings(example: Example, code: str) -> list[tuple[str, int]]:
    """(code, line) of every error and warning, and of this rule's notes."""
    given: dict[str, Any] = {k.replace("-", "_"): (("*", v),) for k, v in example.options.items()}
    snapshot = given.pop("snapshot", None)
    if snapshot is not None:
        given["cluster"] = (("*", str(BASES / snapshot[0][1])),)
    settings = Settings(isolated=True, extend_select=(code,), **given)
    result = lint([], settings, stdin=(example.name, example.text.encode()))
    assert not [n for n in result.notes if n.code == "internal-error"], result.notes
    report = assemble(result, settings, ReportOptions())
    assert [fault for f in report.findings for fault in faults(f.message, f.help)] == []
    return [
        (f.code, f.region.line)
        for f in report.findings
        if f.suppressed is None and (f.severity != "note" or f.code == code)
    ]


@pytest.mark.parametrize(
    ("rule", "kind", "title", "block"),
    [pytest.param(r, k, t, b, id=f"{r.code}-{n}-{k}") for r, n, k, t, b in EXAMPLES],
)
def test_an_example_is_what_its_rule_says(rule: Rule, kind: str, title: str, block: str) -> None:
    if rule.code in FRAGMENTS:
        pytest.skip("a fragment for reading")
    example = whole(title, block)
    found = findings(example, rule.code)
    if kind == "Good":
        assert found == []
        assert example.marked == []
    else:
        assert example.marked, "a Bad example marks the line of its finding"
        assert sorted(found) == sorted((rule.code, line) for line in example.marked)


@pytest.mark.parametrize("base", sorted(BASES.glob("*.yaml")), ids=lambda p: p.stem)
def test_a_base_gives_nothing_by_itself(base: Any) -> None:
    if base.stem.startswith("snapshot"):
        pytest.skip("a snapshot is not linted")
    assert findings(Example(base.read_text()), "NONE") == []


#: Rules over any kind show it on more of them.
THREE = ("RUN", "DEV", "POD014", "POD015", "POD016", "POD017", "POD018", "POD019")


@pytest.mark.parametrize("rule", builtin_pack().load(), ids=lambda r: r.code)
def test_a_rule_has_examples_of_both_kinds(rule: Rule) -> None:
    kinds = [kind for kind, _, _ in page(rule).examples_as_written]
    least = 3 if rule.code.startswith(THREE) else 2
    assert kinds.count("Bad") >= least
    assert kinds.count("Good") >= least
