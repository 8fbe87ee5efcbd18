"""Machine types: how many GPUs a node has by the labels that name it, and which fabric a type has or has not."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def table() -> dict[str, Any]:
    """The table of machine types as it stands."""
    return _read("machines.json")


@cache
def type_labels() -> frozenset[str]:
    """Node labels whose value is a machine type."""
    return frozenset(table()["type_labels"])


@cache
def _amazon() -> dict[str, int]:
    return {name: row[0] for name, row in _read("eks_instances.json").get("gpu", {}).items()}


def names() -> list[str]:
    """The machine types that are known by name, sorted."""
    return sorted({*table()["types"], *_amazon()})


def gpus_of_type(machine: str) -> int | None:
    """GPUs of a machine type; None for one that is not known."""
    found: int | None = table()["types"].get(machine)
    if found is None:
        found = _amazon().get(machine.removeprefix("ml."))
    if found is None:
        match = next((m for p in table()["type_patterns"] if (m := re.fullmatch(p, machine))), None)
        found = int(match[1]) if match is not None else None
    return found


def gpus_by_label(label: str, value: str) -> int | None:
    """GPUs of a node that carries a label with a value; None when the label does not tell."""
    if label in type_labels():
        return gpus_of_type(value)
    if label in table()["count_labels"]:
        return int(value) if value.isdecimal() else None
    found: int | None = table()["accelerator_labels"].get(label, {}).get(value)
    return found


def has_fabric(machine: str, fabric: str) -> bool | None:
    """Whether a machine type has a fabric's cards (`InfiniBand`); None for a type that is not known."""
    row = table()["fabric"].get(fabric, {})
    if machine in row.get("with", ()) or any(re.fullmatch(p, machine) for p in row.get("with_patterns", ())):
        return True
    if any(re.fullmatch(p, machine) for p in row.get("without_patterns", ())):
        return False
    return None


def rdma_cards(machine: str) -> int | None:
    """RDMA cards, or virtual functions, that a whole machine of a type offers; None for one that is not known."""
    found: int | None = table()["rdma_cards"].get(machine)
    if found is None:
        found = table()["fabric"]["InfiniBand"]["with"].get(machine)
    return found


def is_shared_by_label(label: str, value: str) -> bool:
    """Whether a node label says that its GPUs are sliced or shared between containers."""
    row = table()["sharing_labels"]
    if label in row["values"]:
        return value in row["values"][label]
    return any(label == name and re.search(p, value) is not None for name, p in row["patterns"].items())


@cache
def _read(name: str) -> dict[str, Any]:
    entry = files("fabriclint_schemas") / "tables" / name
    data: dict[str, Any] = json.loads(entry.read_text(encoding="utf-8")) if entry.is_file() else {}
    return data
