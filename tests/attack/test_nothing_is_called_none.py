"""No sentence of a report prints what a file leaves out: bases and examples with values and keys taken away."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import builtin_pack, lint
from fabriclint.node import Node
from fabriclint.report.model import ReportOptions
from fabriclint.source import parse, read_source

ROOT = Path(__file__).parents[2]
FILES = sorted(
    p
    for p in [*(ROOT / "tests" / "bases").glob("*.yaml"), *(ROOT / "examples").rglob("*.yaml")]
    if not p.stem.startswith("snapshot")
)
#: Words of the language that the tool is written in; a file's own value of that name is not among these files.
OURS = re.compile(r"\bNone\b|\bUNKNOWN\b|\bScalar\(|\bMapping\(|<[\w.]+ object|\bTrue\b|\bFalse\b")
STEP = 5


def objects(path: Path) -> list[Any]:
    roots: list[Node | None] = [d.root for d in parse(read_source(path.name, path.read_bytes()))]
    return [r.plain() for r in roots if r is not None]


def without(value: Any, offset: int, how: str, seen: list[int]) -> Any:
    """The value with every fifth key gone (`drop`), or every fifth leaf null (`null`)."""
    if isinstance(value, dict):
        made = {}
        for key, inner in value.items():
            if key not in ("apiVersion", "kind"):
                seen[0] += 1
                if how == "drop" and seen[0] % STEP == offset:
                    continue
                inner = without(inner, offset, how, seen)
            made[key] = inner
        return made
    if isinstance(value, list):
        return [without(i, offset, how, seen) for i in value]
    seen[0] += how == "null"
    return None if how == "null" and seen[0] % STEP == offset else value


def said(found: list[Any]) -> Iterator[str]:
    text = "\n---\n".join(json.dumps(o) for o in found)
    settings = Settings(isolated=True, extend_select=tuple(r.code for r in builtin_pack().load()))
    done = lint([], settings, stdin=("job.yaml", text.encode()))
    assert [n for n in done.notes if n.code == "internal-error"] == []
    for finding in assemble(done, settings, ReportOptions()).findings:
        yield f"{finding.code} {finding.message}"
        yield f"{finding.code} {finding.help}"
        yield from (f"{finding.code} {r.message}" for r in finding.related)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_what_is_not_there_is_not_called_by_a_word_of_ours(path: Path) -> None:
    found = objects(path)
    if OURS.search(json.dumps(found)):
        found = [o for o in found if not OURS.search(json.dumps(o))]
    unnamed = [{**o, "metadata": {k: v for k, v in o.get("metadata", {}).items() if k != "name"}} for o in found]
    tried = [found, unnamed]
    for how in ("drop", "null"):
        tried += [[without(o, offset, how, [0]) for o in found] for offset in range(STEP)]
    assert {line for one in tried for line in said(one) if OURS.search(line)} == set()
