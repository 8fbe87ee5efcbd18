"""Whatever stands in a snapshot: no rule fails, the report is the same each time, and a trimmed snapshot stays as it is."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from fabriclint.cli.front import run

BASES = Path(__file__).parent.parent / "bases"
#: Snapshots with a manifest that is compared with them.
PAIRS = (
    ("snapshot-eks", "fit-job"), ("snapshot-eks", "efa-jobset"), ("snapshot-eks", "fit-claims"),
    ("snapshot-gke", "tcpxo-jobset"), ("snapshot-gke", "fit-trainer"), ("snapshot-gke-displaced", "tcpxo-job"),
    ("snapshot-namespaces", "fit-job"),
)  # fmt: skip
#: What a program, a hand or an accident may have written in place of a value.
VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, float("nan"), float("inf"), 10**400, "", "x", "NaN", "1e400", "-8", "9999999999999999999Gi",
    "\0", [], {}, [None], [[]], {"a": None}, [{"key": 1, "operator": 2, "effect": []}], {"items": []},
)  # fmt: skip
Route = tuple[str | int, ...]


def _routes(value: Any, route: Route = ()) -> Iterator[Route]:
    if route:
        yield route
    for key, below in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from _routes(below, (*route, key))


def _changed(documents: list[Any], route: Route, value: Any, gone: bool) -> None:
    at: Any = documents
    for step in route[:-1]:
        at = at[step]
    if gone:
        del at[route[-1]]
    else:
        at[route[-1]] = copy.deepcopy(value)


def _forms(documents: list[Any]) -> dict[str, str]:
    whole = {"apiVersion": "v1", "kind": "List", "items": documents}
    return {
        "stream": "\n".join(json.dumps(d) for d in documents),
        "list": json.dumps(whole),
        "lists in a list": json.dumps({"kind": "List", "items": [whole, {"kind": "NodeList", "items": documents}]}),
        "no object": json.dumps(documents),
        "cut": json.dumps(whole)[: -len(json.dumps(whole)) // 3],
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A working directory for the whole module."""
    before, made = Path.cwd(), tmp_path_factory.mktemp("snapshots")
    os.chdir(made)
    yield made
    os.chdir(before)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_snapshot_is_used_or_refused(data: st.DataObject, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    snapshot, manifest = data.draw(st.sampled_from(PAIRS))
    documents = list(YAML(typ="safe").load_all((BASES / f"{snapshot}.yaml").read_text()))
    for _ in range(data.draw(st.integers(1, 4))):
        routes = list(_routes(documents))
        if routes:
            route = data.draw(st.sampled_from(routes))
            _changed(documents, route, data.draw(st.sampled_from(VALUES)), data.draw(st.booleans()))
    text = data.draw(st.sampled_from(sorted(_forms(documents).items())))[1]
    (folder / "s.json").write_text(text)
    (folder / "m.yaml").write_bytes((BASES / f"{manifest}.yaml").read_bytes())

    ran = []
    for command in (
        "check m.yaml --cluster s.json -o json --isolated",
        "check m.yaml --cluster s.json -o json --isolated",
    ):
        code = run(command.split())
        out, err = capsys.readouterr()
        assert code in (0, 1, 2)
        assert not [n for n in json.loads(out)["notifications"] if n["code"] == "internal-error"]
        ran.append((code, out, err))
    assert ran[0] == ran[1]

    if run(["cluster", "trim", "s.json"]) == 0:
        trimmed = capsys.readouterr().out
        (folder / "t.json").write_text(trimmed)
        assert run(["cluster", "trim", "t.json"]) == 0
        assert capsys.readouterr().out == trimmed
    assert run(["new", "eks-efa" if "eks" in snapshot else "gke-tcpxo", "--from-snapshot", "s.json"]) in (0, 2)
    capsys.readouterr()


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        "a: " + "[" * 100_000,
        "- " * 100_000,
        "".join(" " * n + "a:\n" for n in range(3000)),
    ],
    ids=["json", "json objects", "flow", "block lists", "block mappings"],
)
def test_a_snapshot_that_is_nested_too_deep_is_a_sentence(folder: Path, text: str) -> None:
    (folder / "deep.yaml").write_text(text)
    # A process of its own: what this guards against ends the process.
    command = [sys.executable, "-m", "fabriclint", "cluster", "trim", "deep.yaml"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert (
        done.stderr
        == "fabriclint: The snapshot 'deep.yaml' is nested deeper than any object of Kubernetes; take it anew.\n"
    )


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_a_snapshot_that_powershell_wrote_is_read(
    folder: Path, capsys: pytest.CaptureFixture[str], encoding: str
) -> None:
    text = (BASES / "snapshot-eks.yaml").read_text()
    (folder / "a.yaml").write_text(text)
    (folder / "b.yaml").write_text(text.replace("\n", "\r\n"), encoding=encoding, newline="")
    assert run(["cluster", "trim", "a.yaml"]) == 0
    expected = capsys.readouterr().out
    assert run(["cluster", "trim", "b.yaml"]) == 0
    assert capsys.readouterr().out == expected
