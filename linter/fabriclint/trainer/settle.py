"""What the API server and Go's types make of an object: defaults in, zero values out, quantities in their own form."""

from __future__ import annotations

from fabriclint.node import Mapping, Node, Scalar, Sequence, build
from fabriclint.quantity import canonical
from fabriclint_schemas.load import Schema
from fabriclint_schemas.trainer.load import GoTypes, go_types

#: How the pattern of a resource quantity begins in every published definition.
_QUANTITY = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"


def settle(node: Mapping, schema: Schema) -> None:
    """Bring a copied tree, in place, to the form it has after it was stored and read into Go's types.

    Fields that the schema does not know stay: they are a fault of their own.
    """
    _struct(node, schema, go_types())


def _struct(node: Mapping, schema: Schema, types: GoTypes) -> None:
    properties: dict[str, Schema] = schema.get("properties", {})
    required = schema.get("required", ())
    for key, below in properties.items():
        if "default" in below and _null(node.fields.get(key)):
            node.put(key, build(below["default"], node))
    for key, text in types.always.get(str(node.key), {}).items():
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
                _struct(value, below, types)
        elif isinstance(value, Sequence):
            items = below.get("items", {})
            for item in value.items:
                if isinstance(item, Mapping):
                    _struct(item, items, types)
            if not value.items:
                node.drop(key)
        elif isinstance(value, Scalar):
            if key not in required and _zero(key, value, node, types):
                node.drop(key)
            else:
                _quantity(value, below)


def _map(node: Mapping, schema: Schema) -> None:
    below = schema.get("additionalProperties")
    for key, value in list(node.fields.items()):
        if _null(value):
            node.drop(key)
        elif isinstance(value, Scalar) and isinstance(below, dict):
            _quantity(value, below)


def _null(node: Node | None) -> bool:
    return node is None or (isinstance(node, Scalar) and node.value is None)


def _zero(key: str, node: Scalar, parent: Mapping, types: GoTypes) -> bool:
    if node.value == "":
        return key not in types.kept_when_empty
    if node.value is False:
        if key == "readOnly" and parent.key in types.kept_read_only:
            return False
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
