"""Fixes hold on a thousand mutants: clean afterwards, nothing else touched, comments and line ends kept, idempotent."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from faults import Fault, mutants, restyled
from restyle import other_values, values

from fabriclint.finding import AddField, EditText, Remove, RenameKey
from fabriclint.fix.mend import Mended, mend
from fabriclint.report.model import Report

CHUNKS = 12
#: Of those made, about two in three can be mended in their style: a thousand are left.
MADE = 1700


def test_the_mutants_are_of_every_kind() -> None:
    assert len({fault.about.split()[-1] for fault, _ in mutants(MADE)}) > 10


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_a_mutant_is_mended_and_nothing_else_is_touched(chunk: int) -> None:
    mended = 0
    for fault, style in mutants(MADE)[chunk::CHUNKS]:
        faulty = restyled(fault, style)
        if faulty is not None:
            mended += 1
            holds(*faulty)
    assert mended > 1000 / CHUNKS


def holds(faulty: Fault, before: Report) -> None:
    """Mend it and hold the result against all that a fix promises."""
    fixable = [f for f in before.findings if f.fix is not None and f.fix.edits and f.suppressed is None]
    mended = mend(lambda texts: faulty.report(texts) if texts else before, unsafe=True)
    assert faulty.name in mended.after, faulty.about
    after = mended.after[faulty.name]
    text = mended.before[faulty.name]

    # A second run is clean of what was mended, finds nothing new, and has nothing to mend.
    left = {(f.code, f.pointer) for f in mended.report.findings if f.suppressed is None}
    assert not left & {(f.code, f.pointer) for f in fixable if f.pointer}, faulty.about
    # What was a correct manifest before a line was spoilt has nothing new; of the others a fix may uncover more.
    if faulty.spoilt:
        serious = {f.code for f in mended.report.findings if f.severity != "note"}
        assert serious <= {f.code for f in before.findings}, faulty.about
    assert not any(f.fix is not None and f.fix.edits for f in mended.report.findings if f.suppressed is None)

    # Only the routes of the changes are others, also for a reader that is not ours to write.
    routes = _routes(mended)
    # The other reader keeps the first of two keys: through an alias it sees the second one in two places.
    for read in (values,) if re.search(r"(?:: |- )\*\w", text) else (values, other_values):
        for was, became in zip(read(text), read(after), strict=True):
            for route in _differences(was, became):
                assert any(_within(route, allowed) for allowed in routes), (faulty.about, route)

    # Line breaks and comments are as they were.
    assert set(re.findall(r"\r\n|\n|\r", after)) <= (set(re.findall(r"\r\n|\n|\r", text)) or {"\n"}), faulty.about
    assert after.endswith("\n") == text.endswith("\n"), faulty.about
    assert mended.texts[faulty.name].startswith(b"\xef\xbb\xbf") == faulty.text.startswith("\ufeff")
    for plan in mended.plans:
        for part in plan.parts:
            for edit in part.edits:
                if edit.start == edit.end and edit.text.startswith(("\n", "\r")):
                    # Whole lines come between whole lines: no comment changes the line it stands behind.
                    assert part.source.text[edit.start : edit.start + 1] in ("", "\n", "\r"), faulty.about
    if not any(isinstance(c, Remove | EditText) for c in _changes(mended)):
        comments = re.findall(r"# (?:above|behind) \d+", text)
        assert re.findall(r"# (?:above|behind) \d+", after) == comments, faulty.about


def _changes(mended: Mended) -> list[Any]:
    return [change for plan in mended.plans for part in plan.parts for _, change in part.changes]


def _routes(mended: Mended) -> list[tuple[str | int, ...]]:
    """The routes that the changes name; a renamed key is two, and what is added is everything below its parent."""
    out: list[tuple[str | int, ...]] = []
    for change in _changes(mended):
        node = change.parent if isinstance(change, AddField) else change.node
        route = node.source.route
        if isinstance(change, AddField):
            out.append((*route, *change.path))
        elif isinstance(change, RenameKey):
            out += [route, (*route[:-1], change.key)]
        else:
            out.append(route)
    return out


def _within(route: tuple[str | int, ...], allowed: tuple[str | int, ...]) -> bool:
    """Whether one of the two routes leads to the other's place."""
    shared = min(len(route), len(allowed))
    return route[:shared] == allowed[:shared]


def _differences(one: Any, two: Any, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    if type(one) is type(two) and isinstance(one, dict):
        return [
            route
            for key in {**one, **two}
            for route in (_differences(one[key], two[key], (*at, key)) if key in one and key in two else [(*at, key)])
        ]
    if type(one) is type(two) and isinstance(one, list) and len(one) == len(two):
        return [route for n, (a, b) in enumerate(zip(one, two, strict=True)) for route in _differences(a, b, (*at, n))]
    return [] if json.dumps(one) == json.dumps(two) else [at]


@pytest.mark.skipif("FABRICLINT_CORPUS" not in os.environ, reason="FABRICLINT_CORPUS names no folder of manifests")
def test_the_corpus_is_mended_and_nothing_else_is_touched() -> None:
    from fabriclint.config import Settings

    folder = Path(os.environ["FABRICLINT_CORPUS"])
    seen = 0
    for path in sorted(folder.rglob("*.y*ml")):
        try:
            text = path.read_bytes().decode()
        except UnicodeDecodeError:
            continue
        faulty = Fault(path.relative_to(folder).as_posix(), text, path.name, Settings(isolated=True))
        before = faulty.report()
        if any(f.fix is not None and f.fix.edits and f.suppressed is None for f in before.findings):
            seen += 1
            holds(faulty, before)
    assert seen
