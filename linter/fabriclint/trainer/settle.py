"""What the API server and Go's types make of an object: defaults in, zero values out, quantities in their own form."""

from __future__ import annotations

from dataclasses import dataclass

from fabriclint.node import Mapping, Node, Scalar, Sequence, build
from fabriclint.quantity import canonical
from fabriclint_schemas.load import Schema
from fabriclint_schemas.trainer.load import GoTypes, go_types

#: How the pattern of a resource quantity begins in every published definition.
_QUANTITY = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"


@dataclass(frozen=True, slots=True)
class _Reading:
    """How a tree is read: into which types, and whether it was stored, which puts defaults in."""

    types: GoTypes
    pointers: frozenset[str]
    stored: bool


def settle(node: Mapping, schema: Schema, *, patch: bool = False, stored: bool = True) -> None:
    """Bring a copied tree, in place, to the form it has after it was stored and read into Go's types.

    `patch`: read into the types of a patch; `stored`: defaults are put in. Fields that the schema does not know stay:
    they are a fault of their own.
    """
    types = go_types()
    _struct(node, schema, _Reading(types, types.kept_in_patches if patch else frozenset(), stored))


def _struct(node: Mapping, schema: Schema, reading: _Reading) -> None:
    properties: dict[str, Schema] = schema.get("properties", {})
    required = schema.get("required", ())
    types, holder = reading.types, _holder(node)
    for key, below in properties.items() if reading.stored else ():
        if "default" in below and _null(node.fields.get(key)):
            node.put(key, build(below["default"], node))
    for key, text in types.always.get(holder, {}).items():
        if _null(node.fields.get(key)):
            node.put(key, build(text, node))
    for key, value in list(node.fields.items()):
        below = properties.get(key, {})
        if _null(value):
            node.drop(key)
        elif isinstance(value, Mapping):
            if "additionalProperties" in below:
                _map(value, below)
                if not value.fields:
                    node.drop(key)
            else:
                _struct(value, below, reading)
        elif isinstance(value, Sequence):
            items = below.get("items", {})
            for item in value.items:
                if isinstance(item, Mapping):
                    _struct(item, items, reading)
            if not value.items and key not in required:
                node.drop(key)
        elif isinstance(value, Scalar):
            stays = key in required or key in reading.pointers or key in types.kept.get(holder, ())
            if not stays and _zero(key, value, types):
                node.drop(key)
            else:
                _quantity(value, below)


def _holder(node: Mapping) -> str:
    """The field that a mapping is, or that it is an item of."""
    if isinstance(node.key, int) and node.parent is not None:
        return str(node.parent.key)
    return str(node.key)


def _map(node: Mapping, schema: Schema) -> None:
    below = schema.get("additionalProperties")
    for key, value in list(node.fields.items()):
        if _null(value):
            node.drop(key)
        elif isinstance(value, Scalar) and isinstance(below, dict):
            _quantity(value, below)


def _null(node: Node | None) -> bool:
    return node is None or (isinstance(node, Scalar) and node.value is None)


def _zero(key: str, node: Scalar, types: GoTypes) -> bool:
    if node.value == "":
        return key not in types.kept_when_empty
    if node.value is False:
        return key in types.dropped_when_false
    if node.value == 0 and not isinstance(node.value, bool):
        return key in types.dropped_when_zero
    return False


def _quantity(node: Scalar, schema: Schema) -> None:
    if not schema.get("x-kubernetes-int-or-string") or not schema.get("pattern", "").startswith(_QUANTITY):
        return
    if isinstance(node.value, bool) or node.value is None or node.open:
        return
    text = canonical(node.value)
    if text is not None:
        node.value = text
