"""What a document is to be after some changes: the yardstick that every edited text is held against."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from fabriclint.finding import AddField, NodeChange, Remove, RenameKey, ReplaceText, SetValue
from fabriclint.node import Mapping, Node, Scalar, Sequence


class RefusedError(Exception):
    """A fix that will not be made; the text is the reason, without a full stop."""


class _Cell:
    """A value of the mirrored tree that may be changed: a scalar, a dict of cells or a list of cells."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Model:
    """A mirror of a document's tree, on which changes are made by the node they name, not by position."""

    def __init__(self, root: Node) -> None:
        self._cells: dict[int, _Cell] = {}
        self._nodes: list[Node] = []  # keeps the nodes alive whose identities are keys
        self._cuts: dict[int, list[tuple[int, int, str]]] = {}
        self._root = self._mirror(root)

    def _mirror(self, node: Node) -> _Cell:
        if isinstance(node, Mapping):
            cell = _Cell({k: self._mirror(v) for k, v in node.fields.items()})
        elif isinstance(node, Sequence):
            cell = _Cell([self._mirror(v) for v in node.items])
        else:
            assert isinstance(node, Scalar)
            cell = _Cell(node.value)
        self._cells[id(node)] = cell
        self._nodes.append(node)
        return cell

    def _cell(self, node: Node | None) -> _Cell:
        found = self._cells.get(id(node))
        if found is None:
            raise RefusedError("the place is not written in this document")
        return found

    def change(self, changes: Iterable[NodeChange]) -> None:
        """Make the changes. Raises RefusedError for one that makes no sense here."""
        for change in changes:
            if isinstance(change, SetValue):
                self._cell(change.node.source).value = change.written
            elif isinstance(change, RenameKey):
                self._rename(change)
            elif isinstance(change, AddField):
                self._add(change)
            elif isinstance(change, Remove):
                self._remove(change)
            elif isinstance(change, ReplaceText):
                self._cell(change.node.source)
                self._cuts.setdefault(id(change.node.source), []).append((*change.within, change.text))

    def _rename(self, change: RenameKey) -> None:
        node = change.node.source
        held = self._cell(node.parent).value
        moved = self._cell(node)
        if change.key in held:
            raise RefusedError(f"there is a key '{change.key}' already")
        key = next((k for k, v in held.items() if v is moved), None)
        if key is None:
            raise RefusedError("a later key replaces this one")
        held[change.key] = held.pop(key)

    def _remove(self, change: Remove) -> None:
        node = change.node.source
        held = self._cell(node.parent).value
        # What a later key replaced was never seen by Kubernetes: its removal changes nothing.
        gone = self._cells.get(id(node))
        if isinstance(held, list):
            held[:] = [v for v in held if v is not gone]
        else:
            for key in [k for k, v in held.items() if v is gone]:
                del held[key]

    def _add(self, change: AddField) -> None:
        cell = self._cell(change.parent.source)
        steps = list(change.path)
        while steps:
            below = _below(cell.value, steps[0])
            if below is None:
                break
            cell = below
            steps.pop(0)
        if not steps:
            if change.append and isinstance(cell.value, list):
                cell.value.extend(_cells_of(v) for v in listed(change.value))
            elif cell.value in (None, {}, []):
                cell.value = _cells_of(added_value(change)).value
            else:
                raise RefusedError("there is a value already")
            return
        below = nested(tuple(steps), added_value(change))
        if cell.value is None:
            cell.value = {}
        if not isinstance(cell.value, dict) or not isinstance(below, dict):
            raise RefusedError(f"there is no mapping that can hold '{steps[0]}'")
        for key, value in below.items():
            cell.value[key] = _cells_of(value)

    def canonical(self) -> str:
        """The document after the changes, comparable."""
        for identity, cuts in self._cuts.items():
            cell = self._cells[identity]
            text = cell.value
            if not isinstance(text, str):
                raise RefusedError("the value is no string")
            for start, end, new in sorted(cuts, reverse=True):
                text = text[:start] + new + text[end:]
            cell.value = text
        self._cuts.clear()
        return _canonical(_plain(self._root))


def _below(held: Any, step: str | int) -> _Cell | None:
    found: _Cell | None = None
    if isinstance(held, dict):
        found = held.get(step)
    elif isinstance(held, list) and isinstance(step, int) and -len(held) <= step < len(held):
        found = held[step]
    return found


def nested(path: tuple[str | int, ...], value: Any) -> Any:
    """The value inside the mappings of a path."""
    for step in reversed(path):
        if isinstance(step, int):
            raise RefusedError("the list item that is to be changed is not there")
        value = {step: value}
    return value


def listed(value: Any) -> list[Any]:
    """A value as the items to append."""
    return list(value) if isinstance(value, list | tuple) else [value]


def added_value(change: AddField) -> Any:
    """What an AddField writes where nothing is yet."""
    return listed(change.value) if change.append else change.value


def _cells_of(value: Any) -> _Cell:
    if isinstance(value, dict):
        return _Cell({str(k): _cells_of(v) for k, v in value.items()})
    if isinstance(value, list | tuple):
        return _Cell([_cells_of(v) for v in value])
    return _Cell(value)


def _plain(cell: _Cell) -> Any:
    value = cell.value
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    return value


def canonical(root: Node | None) -> str:
    """A document's value, comparable: types count, the order of keys does not."""
    return _canonical(root.plain() if root is not None else None)


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=True)
