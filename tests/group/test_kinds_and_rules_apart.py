"""No rule of RUN or DEV names a kind, and no table or module of kinds names a rule."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RULES = ROOT / "rules" / "fabriclint_rules"
ENGINE = ROOT / "linter" / "fabriclint"
TABLES = ROOT / "schemas" / "fabriclint_schemas" / "tables"
KINDS = {row["kind"] for row in json.loads((TABLES / "kinds.json").read_text())["templates"]}
#: Words that are kinds and also words of the field: a rule may well speak of a pod or a Service.
ALSO_WORDS = {
    "Pod",
    "Service",
    "Task",
    "Model",
    "Job",
    "Workflow",
    "Revision",
    "Configuration",
    "Pipeline",
    "Workspace",
}
CODE = re.compile(r"\b(?:RUN|DEV|POD|DOC|TRN|FIT|NCCL|EFA|GIB|IB|TCPXO?|SUP)\d{3}\b")


def code_of(path: Path) -> str:
    """A module's text without docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def declares(path: Path) -> set[str]:
    """The families of the codes that a module's rules declare."""
    return {m[1] for m in re.finditer(r'@rule\(\s*"([A-Z]+)\d+"', path.read_text(encoding="utf-8"))}


@pytest.mark.parametrize(
    "path", [p for p in sorted(RULES.glob("*.py")) if declares(p) & {"RUN", "DEV"}], ids=lambda p: p.name
)
def test_no_rule_about_ranks_or_devices_names_a_kind(path: Path) -> None:
    text = code_of(path)
    assert {k for k in KINDS - ALSO_WORDS if re.search(rf"\b{k}\b", text)} == set()
    assert "workload.kind" not in text


def modules_of(*codes: str) -> list[Path]:
    """The modules in which rules are declared."""
    return [
        p for p in sorted(RULES.glob("*.py")) if any(f'"{code}"' in p.read_text(encoding="utf-8") for code in codes)
    ]


@pytest.mark.parametrize(
    "path",
    [RULES / name for name in ("pod_shared_memory.py", "pod_images.py", "pod_fabric.py", "pod_placement.py")],
    ids=lambda p: p.name,
)
def test_rules_over_templates_of_any_kind_name_none(path: Path) -> None:
    assert path in modules_of("POD014", "POD016", "POD017", "POD018", "POD019")
    assert {k for k in KINDS - ALSO_WORDS if re.search(rf"\b{k}\b", code_of(path))} == set()


@pytest.mark.parametrize("path", sorted((ENGINE / "launch").glob("*.py")), ids=lambda p: p.name)
def test_who_reads_a_start_text_knows_neither_kinds_nor_rules(path: Path) -> None:
    text = code_of(path)
    assert {k for k in KINDS - ALSO_WORDS if re.search(rf"\b{k}\b", text)} == set()
    assert CODE.findall(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", sorted((ENGINE / "group").glob("*.py")), ids=lambda p: p.name)
def test_a_mechanism_is_found_in_the_data_and_not_by_a_kind(path: Path) -> None:
    assert {k for k in KINDS - ALSO_WORDS if re.search(rf"\b{k}\b", code_of(path))} == set()


@pytest.mark.parametrize(
    "path",
    [
        ENGINE / "kinds.py",
        ENGINE / "own_shapes.py",
        *sorted((ENGINE / "group").glob("*.py")),
        *sorted(TABLES.glob("*.json")),
    ],
    ids=lambda p: p.name,
)
def test_nothing_that_knows_kinds_names_a_rule(path: Path) -> None:
    assert CODE.findall(path.read_text(encoding="utf-8")) == []


def test_every_mechanism_says_where_it_was_read() -> None:
    table = json.loads((TABLES / "groups.json").read_text())
    assert [name for name, row in table["mechanisms"].items() if "@" not in row["source"]] == []
    refusals = json.loads((TABLES / "refusals.json").read_text())
    assert [row["kind"] for row in refusals["kinds"] if "@" not in row["source"]] == []


def test_every_job_of_the_tables_is_a_kind_that_carries_pods() -> None:
    known = {(r["group"], r["kind"]) for r in json.loads((TABLES / "kinds.json").read_text())["templates"]}
    jobs = json.loads((TABLES / "groups.json").read_text())["jobs"]
    refused = json.loads((TABLES / "refusals.json").read_text())["kinds"]
    assert {(r["group"], r["kind"]) for r in [*jobs, *refused]} <= known
