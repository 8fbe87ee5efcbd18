"""Braces of a template in a name are text, wherever a rule or a view puts the name into a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabriclint.config import Settings
from fabriclint.engine import lint

BASES = Path(__file__).parent.parent / "bases"


@pytest.mark.parametrize("name", ["{", "}", "{}", "{0}", "a{b", "{{ .Release.Name }}", "${NAME}", "A_{x}"])
@pytest.mark.parametrize("base", sorted(BASES.glob("run-*.yaml")), ids=lambda p: p.stem)
def test_no_rule_fails_on_a_name_with_braces(base: Path, name: str) -> None:
    lines = base.read_text().split("\n")
    at = next(n for n, line in enumerate(lines) if line.startswith("  name: "))
    lines[at] = f"  name: '{name}'"
    result = lint([], Settings(isolated=True), stdin=("job.yaml", "\n".join(lines).encode()))
    assert [n.message for n in result.notes if n.code == "internal-error"] == []
