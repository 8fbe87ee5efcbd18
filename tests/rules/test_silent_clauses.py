"""Every clause of a rule's `Silent:` paragraph is kept: what fires without the excuse is silent with it.

tests/silent/FAMILY.txt holds the clauses, in the language of examples (example.py):

    == CODE BASE[; option=value]  what is wrong: these lines make the rule speak
    - ...
    + ...
    -- words of the paragraph | the excuse[ | codes that it calls up]
    + ...
    -- other words of it | another excuse for the same fault
    + ...

An excuse's lines change the faulty manifest; when its title ends with `(BASE)`, they change that base to the same fault in
another kind. `--note` in place of `--` says that the excuse leaves a note.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from example import BASES, apply, whole
from test_mutants import read_heading

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import builtin_pack, lint
from fabriclint.report.model import ReportOptions
from fabriclint.rule import Rule
from fabriclint.rule_page import page

TABLE = Path(__file__).parent.parent / "silent"
RULES = {rule.code: rule for rule in builtin_pack().load()}
#: Words between clauses that say nothing themselves.
_GLUE = re.compile(r"[\s;,.()]+|\b(?:and|or)\b")


@dataclass(frozen=True)
class Excuse:
    """A manifest with a fault, the change that excuses it, and the words of the rule that promise so."""

    name: str
    code: str
    heading: str
    fault: str
    excuse: str
    words: str
    kind: str
    note: bool
    beside: frozenset[str]


def excuses() -> Iterator[Excuse]:
    """All rows of the table."""
    for path in sorted(TABLE.glob("*.txt")):
        yield from read(path)


def read(path: Path) -> Iterator[Excuse]:
    """The rows of one file: each excuse with the fault above it."""
    code = heading = ""
    fault: list[str] = []
    made: list[tuple[str, str, list[str], str, list[str]]] = []
    lines = fault
    for line in path.read_text().split("\n"):
        if line.startswith("== "):
            code, heading = read_heading(line)
            lines = fault = []
        elif line.startswith("--") and not line.startswith("---"):
            lines = []
            made.append((code, heading, fault, line, lines))
        elif not line.startswith("#"):
            lines.append(line)
    for number, (code, heading, fault, head, lines) in enumerate(made):
        kind, _, rest = head.partition(" ")
        words, _, title = (part.strip() for part in rest.partition("|"))
        title, _, beside = (part.strip() for part in title.partition("|"))
        assert kind in ("--", "--note"), f"{path.name}: {head!r} is no heading of an excuse"
        assert title, f"{path.name}: {head!r} says what the excuse is behind '|'"
        yield Excuse(
            f"{path.stem}-{number}-{code}",
            code,
            heading,
            "\n".join(fault).strip("\n"),
            "\n".join(lines).strip("\n"),
            " ".join(words.split()),
            found[0] if (found := re.search(r"\([\w.-]+(?:; [\w=.-]+)*\)$", title)) else "",
            kind == "--note",
            frozenset(beside.replace(",", " ").split()),
        )


EXCUSES = list(excuses())
#: The rules whose paragraphs are held word by word; another is held as soon as it has a row.
HELD = re.compile(r"RUN\d+|DEV\d+|POD01[4-9]|EFA01[0-3]|" + "|".join({e.code for e in EXCUSES}))


def said(text: str, name: str, options: dict[str, str], code: str) -> list[tuple[str, str, int]]:
    """(code, severity, line) of every error and warning, and of this rule's notes."""
    given: dict[str, Any] = {k.replace("-", "_"): (("*", v),) for k, v in options.items()}
    snapshot = given.pop("snapshot", None)
    if snapshot is not None:
        given["cluster"] = (("*", str(BASES / snapshot[0][1])),)
    settings = Settings(isolated=True, extend_select=(code,), **given)
    result = lint([], settings, stdin=(name, text.encode()))
    assert not [n for n in result.notes if n.code == "internal-error"], result.notes
    report = assemble(result, settings, ReportOptions())
    return [
        (f.code, f.severity, f.region.line)
        for f in report.findings
        if f.suppressed is None and (f.severity != "note" or f.code == code)
    ]


@pytest.mark.parametrize("row", [pytest.param(e, id=e.name) for e in EXCUSES])
def test_a_rule_is_silent_where_it_says_so(row: Excuse) -> None:
    faulty = whole(row.heading, row.fault)
    excused = changed(row, faulty.text)
    loud = said(faulty.text, faulty.name, faulty.options, row.code)
    assert {s for c, s, _ in loud if c == row.code} - {"note" if row.note else ""}, f"the fault alone is found: {loud}"
    quiet = said(excused, faulty.name, faulty.options, row.code)
    own = [(s, line) for c, s, line in quiet if c == row.code]
    assert own == [(s, line) for s, line in own if row.note and s == "note"], quiet
    assert bool(own) == row.note, quiet
    # A silence that comes from another finding, or from a file that is not read, is none of this rule's.
    assert {c for c, _, _ in quiet if c != row.code} == row.beside


def changed(row: Excuse, text: str) -> str:
    """The manifest with the lines of an excuse changed; those of another kind change its own base."""
    made = whole(row.kind, row.excuse).text if row.kind else apply(text, row.excuse)
    assert made != text, "an excuse changes the manifest"
    return made


@pytest.mark.parametrize("rule", [r for c, r in RULES.items() if HELD.fullmatch(c)], ids=lambda r: r.code)
def test_every_word_of_what_a_rule_is_silent_on_has_an_excuse(rule: Rule) -> None:
    paragraph = page(rule).silent
    assert paragraph, "the rule says where it is silent"
    covered = [False] * len(paragraph)
    for row in EXCUSES:
        if row.code == rule.code:
            at = paragraph.find(row.words)
            assert row.words and at >= 0, f"{row.name}: {row.words!r} does not stand in the paragraph of {rule.code}"
            covered[at : at + len(row.words)] = [True] * len(row.words)
    rest = "".join(" " if seen else char for char, seen in zip(paragraph, covered, strict=True))
    assert _GLUE.sub("", rest) == "", f"no excuse shows: {' '.join(rest.split())}"
