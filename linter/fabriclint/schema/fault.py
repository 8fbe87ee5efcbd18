"""One thing that the API server refuses in an object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from fabriclint.node import Node

FaultKind: TypeAlias = Literal[
    "unknown-field", "type", "enum", "pattern", "required", "duplicate", "range", "quantity", "rule"
]


@dataclass(frozen=True, slots=True)
class SchemaFault:
    """`node`: the value at fault, or the mapping that misses a field; `path`: keys and indices from the root.

    `message`: one sentence in the house style. `suggestion`: the known name that was probably meant.
    `moves_to`: the path where a field of this name exists, when it is near. `newer`: what knows the field though the
    asked release does not (`Trainer 2.3`, `A newer Kubernetes`); `older`: the last release that had it.
    `value`: what was found, for scalars.
    """

    kind: FaultKind
    node: Node
    path: tuple[str | int, ...]
    message: str
    suggestion: str | None = None
    moves_to: tuple[str | int, ...] | None = None
    newer: str | None = None
    older: str | None = None
    value: object = None
