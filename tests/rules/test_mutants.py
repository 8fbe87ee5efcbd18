"""The mutation table: a complete manifest with one fault gives one error or warning, at its line.

tests/mutants/FAMILY.txt holds the mutants, in the language of examples (example.py):

    == CODE BASE[; option=value]  what is wrong
    @@ ...
    - ...
    + ...  # <-
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from example import whole
from test_examples_of_rules import findings

TABLE = Path(__file__).parent.parent / "mutants"
_HEAD = re.compile(r"^== (?P<code>[A-Z]+\d+) (?P<base>[\w.-]+)(?P<options>(?:; [\w.-]+=[^\s;]+)*)(?P<title>.*)$")


def mutants() -> Iterator[tuple[str, str, str, str]]:
    """(name, code, heading, lines) of every mutant."""
    for path in sorted(TABLE.glob("*.txt")):
        yield from read(path)


def read(path: Path) -> Iterator[tuple[str, str, str, str]]:
    """(name, code, heading, lines) of every mutant of a file."""
    blocks: list[tuple[str, list[str]]] = []
    for line in path.read_text().split("\n"):
        if line.startswith("== "):
            blocks.append((line, []))
        elif blocks and not line.startswith("#"):
            blocks[-1][1].append(line)
    for number, (head, lines) in enumerate(blocks):
        code, heading = read_heading(head)
        yield f"{path.stem}-{number}-{code}", code, heading, "\n".join(lines).strip("\n")


def read_heading(head: str) -> tuple[str, str]:
    """The code of a row's heading, and its base with options as an example's heading names it."""
    found = _HEAD.match(head)
    assert found is not None, f"{head!r} is no heading"
    return found["code"], f"({found['base']}{found['options'].replace('; ', ';')})"


MUTANTS = list(mutants())


@pytest.mark.parametrize(("code", "heading", "block"), [pytest.param(*m[1:], id=m[0]) for m in MUTANTS])
def test_a_single_fault_is_found_once_at_its_line(code: str, heading: str, block: str) -> None:
    example = whole(heading, block)
    assert example.marked, "a mutant marks the line of its finding"
    assert findings(example, "NONE") == [(code, line) for line in example.marked]
