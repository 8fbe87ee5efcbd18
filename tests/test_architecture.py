"""The direction of imports, read from the source: what the layers may know of each other."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ENGINE = ROOT / "linter" / "fabriclint"
RULES = ROOT / "rules" / "fabriclint_rules"
SCHEMAS = ROOT / "schemas" / "fabriclint_schemas"

# What a rule may see of the engine: the tree, the views over it and the means to report. No file, text or format.
SEEN_BY_RULES = {
    "document", "embedded", "engine", "finding", "group", "kinds", "launch", "node", "pod", "quantity", "rule",
    "start", "trainer", "workload",
}  # fmt: skip
# The two places of the engine that know the rules that come with it.
KNOW_THE_PACK = {"engine.py", "config.py"}
# Modules of one idea have a name of their own.
NAMELESS = {"utils", "util", "helpers", "helper", "common", "misc", "manager"}


def imports(path: Path) -> Iterator[str]:
    """Every module that a file imports, at the top or inside a function, relative ones made absolute."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports relatively; imports here are absolute"
            assert node.module is not None
            if node.module in ("fabriclint", "fabriclint_rules", "fabriclint_schemas"):
                yield from (f"{node.module}.{alias.name}" for alias in node.names)
            else:
                yield node.module


def files(folder: Path) -> list[Path]:
    """All Python files under a folder, in a fixed order."""
    found = sorted(folder.rglob("*.py"))
    assert found, f"{folder.name} holds no Python file"
    return found


def name(path: Path) -> str:
    """A file as the test's id."""
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", files(RULES), ids=name)
def test_rules_see_only_the_views_of_the_engine(path: Path) -> None:
    seen = {m.split(".")[1] for m in imports(path) if m.startswith("fabriclint.")}
    assert seen - SEEN_BY_RULES == set()


@pytest.mark.parametrize("path", files(RULES), ids=name)
def test_rules_read_no_yaml_themselves(path: Path) -> None:
    assert not [m for m in imports(path) if m.split(".")[0] in ("ruamel", "yaml", "typer", "sarif_om")]


@pytest.mark.parametrize("path", files(ENGINE), ids=name)
def test_the_engine_knows_no_fabric(path: Path) -> None:
    known = [m for m in imports(path) if m.split(".")[0] == "fabriclint_rules"]
    if path.parent == ENGINE and path.name in KNOW_THE_PACK:
        assert set(known) <= {"fabriclint_rules.pack"}
    else:
        assert known == []


@pytest.mark.parametrize("path", files(ENGINE), ids=name)
def test_only_the_command_line_imports_the_command_line(path: Path) -> None:
    above = [m for m in imports(path) if m.startswith(("fabriclint.cli", "typer"))]
    if path.relative_to(ENGINE).parts[0] not in ("cli", "__main__.py"):
        assert above == []


@pytest.mark.parametrize("path", files(ENGINE / "report"), ids=name)
def test_a_report_knows_no_workload(path: Path) -> None:
    seen = [m for m in imports(path) if m.startswith("fabriclint.") and not m.startswith("fabriclint.report")]
    assert seen == []


@pytest.mark.parametrize("path", files(SCHEMAS), ids=name)
def test_data_imports_nothing_of_ours(path: Path) -> None:
    assert not [m for m in imports(path) if m.split(".")[0] in ("fabriclint", "fabriclint_rules")]


def test_no_module_has_a_name_that_says_nothing() -> None:
    everywhere = [*files(ENGINE), *files(RULES), *files(SCHEMAS)]
    assert [name(p) for p in everywhere if p.stem in NAMELESS or p.parent.name in NAMELESS] == []
