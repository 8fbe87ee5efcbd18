"""Small changes of a tree in which every field keeps leading to the user's own line."""

from __future__ import annotations

from collections.abc import Callable

from fabriclint.node import Mapping, Node, Scalar, Sequence, build


def is_absent(node: Node | None) -> bool:
    """Whether a field is missing or null, which is the same to the API server."""
    return node is None or (isinstance(node, Scalar) and node.value is None)


def is_set(mapping: Mapping | None, key: str) -> bool:
    """Whether a mapping has a field that is not null."""
    return mapping is not None and not is_absent(mapping.fields.get(key))


def named(items: list[Mapping], name: str) -> Mapping | None:
    """The first of some mappings with that `name`."""
    return next((i for i in items if i.string("name") == name), None)


def whole(node: Node | None) -> int | None:
    """The whole number that a node holds, else None."""
    if isinstance(node, Scalar) and isinstance(node.value, int) and not isinstance(node.value, bool):
        return node.value
    return None


def texts(node: Node | None) -> list[str] | None:
    """The items of a list of strings; None when it is no list."""
    if not isinstance(node, Sequence):
        return None
    return [i.text for i in node.items if isinstance(i, Scalar)]


def mapping_in(parent: Mapping, key: str, cause: Node) -> Mapping:
    """The mapping at a key; made, with `cause` as its reason, when there is none."""
    there = parent.mapping(key)
    if there is not None:
        return there
    made = build({}, cause)
    assert isinstance(made, Mapping)
    parent.put(key, made)
    return made


def list_in(parent: Mapping, key: str, cause: Node) -> Sequence:
    """The list at a key; made, with `cause` as its reason, when there is none."""
    there = parent.sequence(key)
    if there is not None:
        return there
    made = build([], cause)
    assert isinstance(made, Sequence)
    parent.put(key, made)
    return made


def set_item(target: Sequence, index: int, item: Node) -> None:
    """Put an item in the place of another."""
    item.parent, item.key = target, index
    target.items[index] = item


def upsert(target: Sequence, item: Node, same: Callable[[Node, Node], bool]) -> None:
    """Replace the first item that counts as the same, else append."""
    for index, there in enumerate(target.items):
        if same(there, item):
            set_item(target, index, item)
            return
    target.add(item)


def same_name(one: Node, other: Node) -> bool:
    """Whether two entries have the same `name`."""
    name = one.string("name")
    return name is not None and name == other.string("name")


def same_path(one: Node, other: Node) -> bool:
    """Whether two mounts have the same `mountPath`."""
    path = one.string("mountPath")
    return path is not None and path == other.string("mountPath")


def same_port(one: Node, other: Node) -> bool:
    """Whether two ports are one to Trainer: an equal number, an equal name, or both without a name."""
    number, name = one.at("containerPort"), one.string("name")
    other_number = other.at("containerPort")
    if isinstance(number, Scalar) and isinstance(other_number, Scalar) and number.text == other_number.text:
        return True
    return name == other.string("name")


def open_at(node: Node | None) -> bool:
    """Whether a value is filled in elsewhere."""
    return isinstance(node, Scalar) and node.open


def all_named(node: Node | None) -> bool:
    """Whether a list, or its absence, tells every name in it: no item and no name is filled in elsewhere."""
    if node is None or is_absent(node):
        return True
    if not isinstance(node, Sequence):
        return False
    return all(isinstance(item, Mapping) and not open_at(item.at("name")) for item in node.items)
