"""The directions of imports, and what a start may load: both are promises, so both are held here."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from fabriclint.engine import builtin_pack

ROOT = Path(__file__).parents[1]
LINTER = ROOT / "linter" / "fabriclint"
RULES = ROOT / "rules" / "fabriclint_rules"
SCHEMAS = ROOT / "schemas" / "fabriclint_schemas"

#: Modules that a rule may not see: they know text, files, formats or the command line.
BEYOND_RULES = {"source", "tree", "split", "scalars", "discover", "comments", "report", "cli", "config", "engine"}
BEYOND_RULES |= {"assemble", "baseline", "locate"}
#: What no plain run may load: each costs more than the run itself.
HEAVY = ("jsonschema", "sarif_om", "attr", "rich", "pydantic", "asyncio", "importlib.metadata", "multiprocessing")
UNWANTED_NAMES = {"utils", "helpers", "common", "misc", "manager"}


def modules(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def imported(path: Path, *, top_only: bool = False) -> set[str]:
    """Full names of what a module imports; `top_only`: at import time, not inside functions or for types."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: set[str] = set()
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            if not top_only:
                pending.extend(ast.iter_child_nodes(node))
            continue
        if top_only and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
        pending.extend(ast.iter_child_nodes(node))
    return found


def loaded(*arguments: str) -> set[str]:
    """The modules in memory after a run of the command line."""
    script = (
        "import sys, json; sys.argv = ['fabriclint', *json.loads(sys.argv[1])]\n"
        "import io; out = sys.stdout; sys.stdout = io.StringIO()\n"
        "from fabriclint.__main__ import main\n"
        "main()\n"
        "out.write(json.dumps(sorted(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, json.dumps(arguments)], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(json.loads(ran.stdout))


@pytest.mark.parametrize("path", modules(SCHEMAS), ids=lambda p: p.name)
def test_schemas_import_neither_engine_nor_rules(path):
    assert not {name for name in imported(path) if name.split(".")[0] in ("fabriclint", "fabriclint_rules")}


@pytest.mark.parametrize("path", modules(RULES), ids=lambda p: p.name)
def test_rules_know_no_text_files_formats_or_command_line(path):
    found = {name for name in imported(path) if name.startswith("fabriclint.")}
    assert not {name.split(".")[1] for name in found} & BEYOND_RULES
    assert not {n.split(".")[0] for n in imported(path)} & {"ruamel", "typer", "pathlib", "os", "io"}


@pytest.mark.parametrize("path", modules(LINTER), ids=lambda p: p.relative_to(LINTER).as_posix())
def test_the_engine_loads_no_rule_at_import(path):
    assert not {name for name in imported(path, top_only=True) if name.split(".")[0] == "fabriclint_rules"}


def test_packages_import_nothing_by_being_imported():
    for path in (
        LINTER / "__init__.py",
        RULES / "__init__.py",
        SCHEMAS / "__init__.py",
        LINTER / "cli" / "__init__.py",
    ):
        assert imported(path) <= {"__future__.annotations"}


def test_no_module_is_named_after_nothing():
    for folder in (LINTER, RULES, SCHEMAS):
        assert not {p.stem for p in modules(folder)} & UNWANTED_NAMES


@pytest.mark.parametrize("folder", [LINTER, RULES, SCHEMAS], ids=lambda p: p.name)
def test_every_module_says_what_it_is(folder):
    assert [p.name for p in modules(folder) if not ast.get_docstring(ast.parse(p.read_text(encoding="utf-8")))] == []


def test_version_loads_nothing_of_ours_but_two_modules():
    found = {name for name in loaded("--version") if name.startswith(("fabriclint", "typer", "ruamel"))}
    assert found == {"fabriclint", "fabriclint.__main__"}


def test_a_plain_check_loads_nothing_heavy():
    found = loaded("check", "examples/gke-tcpxo/correct", "--isolated")
    assert "fabriclint.engine" in found
    assert [name for name in HEAVY if name in found] == []


def test_help_loads_no_engine():
    assert "fabriclint.engine" not in loaded("check", "--help")


def test_the_version_is_written_once():
    from fabriclint import __version__

    assert 'dynamic = ["version"]' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert __version__.count(".") == 2


def test_no_two_rules_give_way_to_each_other() -> None:
    rules = {r.code: {*r.yields_to, *r.yields_on_line} for r in builtin_pack().load()}
    both = sorted((a, b) for a, gives in rules.items() for b in gives if a < b and a in rules.get(b, ()))
    assert both == []
