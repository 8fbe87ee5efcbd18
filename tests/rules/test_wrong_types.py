"""Wrong types at every level of a manifest: findings perhaps, but no rule ever fails."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.report.model import ReportOptions

EXAMPLES = Path(__file__).parents[2] / "examples"
VALUES: list[Any] = [None, 7, True, "", "{{ x }}", [], [1], {}, {"a": 1}, [[{"name": 3}]]]


def places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    out = [path] if path else []
    if isinstance(node, dict):
        for key, value in node.items():
            out += places(value, (*path, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            out += places(value, (*path, index))
    return out


def replaced(node: Any, path: tuple[Any, ...], value: Any) -> Any:
    made = copy.deepcopy(node)
    at = made
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return made


@pytest.mark.parametrize("fabric", ["gke-tcpxo", "eks-efa", "aks-ib"])
def test_no_rule_fails_on_a_value_of_another_type(fabric: str) -> None:
    files = sorted((EXAMPLES / fabric / "broken").glob("*.yaml"))
    documents = [d for f in files for d in YAML(typ="safe").load_all(f.read_text(encoding="utf-8"))]
    step = 0
    for number, document in enumerate(documents):
        for path in places(document):
            step += 1
            value = VALUES[step % len(VALUES)]
            changed = [*documents[:number], replaced(document, path, value), *documents[number + 1 :]]
            text = "\n---\n".join(json.dumps(d) for d in changed)
            result = lint([], Settings(isolated=True), stdin=("x.yaml", text.encode()))
            failed = [n.message for n in result.notes if n.code == "internal-error"]
            assert failed == [], (path, value)
            assemble(result, Settings(), ReportOptions())
