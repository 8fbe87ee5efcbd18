"""The tree that a manifest becomes: values with the place each came from.

A node keeps the offsets of its value and of its key in the text it was read from, so that a finding can be
drawn at its own line. A node may also be a *copy* (an alias expanded, a field merged into a resolved JobSet):
then `doc`, `start` and `end` stay those of the original and `origin` leads back to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from fabriclint.document import Document


class Unknown(Enum):
    """The third truth value: neither present nor absent, because it cannot be seen from the files."""

    UNKNOWN = "unknown"

    def __bool__(self) -> bool:
        return False


UNKNOWN: Final = Unknown.UNKNOWN

#: A plain value as `json.loads` would give it.
Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | None"


class Via(NamedTuple):
    """How a node was reached through an alias: the alias' own span, and the anchor's name."""

    start: int
    end: int
    anchor: str


class Node:
    """What all nodes share: place, parent and origin.

    `start`, `end`: offsets (code points) of the value in `doc.text`; `key_start`, `key_end`: of the key that
    leads here, -1 in sequences and for the root. `key`: the parent's key or index.
    """

    __slots__ = ("doc", "end", "key", "key_end", "key_start", "origin", "parent", "start", "via")

    def __init__(self, doc: Document | None, start: int, end: int) -> None:
        self.doc = doc
        self.start = start
        self.end = end
        self.key: str | int | None = None
        self.key_start = -1
        self.key_end = -1
        self.parent: Mapping | Sequence | None = None
        self.origin: Node | None = None
        self.via: Via | None = None

    def at(self, *path: str | int) -> Node | None:
        """The node below this one, or None when a step is absent or of another type."""
        node: Node | None = self
        for step in path:
            if isinstance(node, Mapping) and isinstance(step, str):
                node = node.fields.get(step)
            elif isinstance(node, Sequence) and isinstance(step, int) and -len(node.items) <= step < len(node.items):
                node = node.items[step]
            else:
                return None
        return node

    def mapping(self, *path: str | int) -> Mapping | None:
        """`at(path)` when it is a mapping."""
        node = self.at(*path)
        return node if isinstance(node, Mapping) else None

    def sequence(self, *path: str | int) -> Sequence | None:
        """`at(path)` when it is a sequence."""
        node = self.at(*path)
        return node if isinstance(node, Sequence) else None

    def mappings(self, *path: str | int) -> list[Mapping]:
        """The mappings in the sequence at the path; empty when it is none, items of other types left out."""
        node = self.at(*path)
        return [i for i in node.items if isinstance(i, Mapping)] if isinstance(node, Sequence) else []

    def scalar(self, *path: str | int) -> Scalar | None:
        """`at(path)` when it is a scalar."""
        node = self.at(*path)
        return node if isinstance(node, Scalar) else None

    def string(self, *path: str | int) -> str | None:
        """The string at the path, or None when absent or no string (numbers and booleans are none)."""
        node = self.at(*path)
        return node.value if isinstance(node, Scalar) and isinstance(node.value, str) else None

    def true(self, *path: str | int) -> bool:
        """Whether the value at the path is written as true."""
        node = self.at(*path)
        return isinstance(node, Scalar) and node.value is True

    def nearest(self, *path: str | int) -> Node:
        """The deepest node that exists along the path: where a missing thing is reported."""
        node: Node = self
        for step in path:
            below = node.at(step)
            if below is None:
                return node
            node = below
        return node

    def beside(self, other: Node) -> bool:
        """Whether both begin on one line of the user's own text."""
        one, two = self.source, other.source
        if one.doc is None or one.doc is not two.doc:
            return False
        return "\n" not in one.doc.text[min(one.start, two.start) : max(one.start, two.start)]

    @property
    def source(self) -> Node:
        """The node of the user's own file that this one is a copy of; itself when it is no copy."""
        return self.origin or self

    @property
    def route(self) -> tuple[str | int, ...]:
        """Keys and indices from the root of the user's own document to this node."""
        steps: list[str | int] = []
        node: Node | None = self.source
        while node is not None and node.key is not None:
            steps.append(node.key)
            node = node.parent
        return tuple(reversed(steps))

    @property
    def pointer(self) -> str:
        """The route as a JSON pointer (RFC 6901)."""
        return "".join("/" + str(s).replace("~", "~0").replace("/", "~1") for s in self.route)

    def walk(self) -> Iterator[Node]:
        """This node and everything below it, in document order, without recursion."""
        stack: list[Node] = [self]
        while stack:
            node = stack.pop()
            yield node
            if isinstance(node, Mapping):
                stack.extend(reversed(node.fields.values()))
            elif isinstance(node, Sequence):
                stack.extend(reversed(node.items))

    def plain(self) -> Plain:
        """The value as plain Python data."""
        raise NotImplementedError


class Scalar(Node):
    """A leaf. `value` is what Kubernetes' reader makes of it; `style` is plain, single, double, literal or folded."""

    __slots__ = ("_map", "style", "tag", "value")

    def __init__(
        self,
        doc: Document | None,
        start: int,
        end: int,
        value: bool | int | float | str | None,
        style: str = "plain",
        tag: str | None = None,
    ) -> None:
        super().__init__(doc, start, end)
        self.value = value
        self.style = style
        self.tag = tag
        self._map: list[int] | None = None

    @property
    def text(self) -> str:
        """The value as text: strings as they are, numbers and booleans as kubectl would print them in JSON."""
        if isinstance(self.value, str):
            return self.value
        if self.value is None:
            return ""
        if isinstance(self.value, bool):
            return "true" if self.value else "false"
        if isinstance(self.value, float) and self.value.is_integer() and abs(self.value) < 1e21:
            return str(int(self.value))
        return str(self.value)

    @property
    def open(self) -> bool:
        """Whether the value is filled in elsewhere: a template expression or a placeholder (see `open_value`)."""
        return isinstance(self.value, str) and open_value(self.value)

    def plain(self) -> Plain:
        """The value itself."""
        return self.value

    def __repr__(self) -> str:
        return f"Scalar({self.value!r})"


class Entry(NamedTuple):
    """One `key: value` as written, in order: also those that a later key or a merge overwrites."""

    key: str
    key_start: int
    key_end: int
    value: Node
    merged: bool  # brought in by `<<`


class Mapping(Node):
    """A mapping. `fields` is what Kubernetes sees; `entries` is what the text says, duplicates included."""

    __slots__ = ("entries", "fields", "flow")

    def __init__(self, doc: Document | None, start: int, end: int) -> None:
        super().__init__(doc, start, end)
        self.fields: dict[str, Node] = {}
        self.entries: list[Entry] = []
        self.flow = False

    def put(self, key: str, value: Node, key_start: int = -1, key_end: int = -1, *, merged: bool = False) -> None:
        """Add or replace a field; the child's parent, key and key span are set."""
        value.parent = self
        value.key = key
        if key_start >= 0:
            value.key_start, value.key_end = key_start, key_end
        self.fields.pop(key, None)
        self.fields[key] = value
        self.entries.append(Entry(key, value.key_start, value.key_end, value, merged))

    def drop(self, key: str) -> None:
        """Remove a field if it is there."""
        self.fields.pop(key, None)
        self.entries = [e for e in self.entries if e.key != key]

    def plain(self) -> Plain:
        """A dict of the effective fields."""
        return {k: v.plain() for k, v in self.fields.items()}

    def __repr__(self) -> str:
        return f"Mapping({list(self.fields)})"


class Sequence(Node):
    """A sequence."""

    __slots__ = ("flow", "items")

    def __init__(self, doc: Document | None, start: int, end: int) -> None:
        super().__init__(doc, start, end)
        self.items: list[Node] = []
        self.flow = False

    def add(self, item: Node) -> None:
        """Append an item and set its parent and index."""
        item.parent = self
        item.key = len(self.items)
        self.items.append(item)

    def plain(self) -> Plain:
        """A list of the items."""
        return [i.plain() for i in self.items]

    def __repr__(self) -> str:
        return f"Sequence(len={len(self.items)})"


def copy_tree(node: Node) -> Node:
    """A deep copy whose every node remembers its original (`origin`), place and key span.

    Used where trees are merged: the copy may be changed freely, and each field still leads to the user's line.
    """
    made: Node
    if isinstance(node, Scalar):
        made = Scalar(node.doc, node.start, node.end, node.value, node.style, node.tag)
    elif isinstance(node, Mapping):
        made = Mapping(node.doc, node.start, node.end)
        made.flow = node.flow
        for key, value in node.fields.items():
            made.put(key, copy_tree(value))
    elif isinstance(node, Sequence):
        made = Sequence(node.doc, node.start, node.end)
        made.flow = node.flow
        for item in node.items:
            made.add(copy_tree(item))
    else:  # pragma: no cover - there is no fourth kind
        raise TypeError(type(node))
    made.key_start, made.key_end = node.key_start, node.key_end
    made.origin = node.source
    made.via = node.via
    return made


def build(value: object, cause: Node | None = None) -> Node:
    """Plain data as a tree. `cause` is the user's node that made a program write it: its place stands in.

    Raises TypeError for values that JSON has not got.
    """
    doc, start, end = (cause.doc, cause.start, cause.end) if cause is not None else (None, 0, 0)
    made: Node
    if isinstance(value, Node):
        return value
    if value is None or isinstance(value, str | int | float):
        made = Scalar(doc, start, end, value)
    elif isinstance(value, dict):
        made = Mapping(doc, start, end)
        for k, v in value.items():
            made.put(str(k), build(v, cause))
    elif isinstance(value, list | tuple):
        made = Sequence(doc, start, end)
        for v in value:
            made.add(build(v, cause))
    else:
        raise TypeError(type(value))
    if cause is not None:
        made.key_start, made.key_end = cause.key_start, cause.key_end
        made.origin = cause.source
    return made


_OPEN = re.compile(
    r"\{\{|\{%|__[A-Z][A-Z0-9_]*__|(?<![\w$])\{[A-Z][A-Z0-9_]*\}|\bPLACEHOLDER(?:\b|_)|<[^<>\s|&;()'\"=/][^<>|&;()'\"\n]*>"
)
_DOLLAR = re.compile(r"\$\{?[A-Za-z_][A-Za-z0-9_]*\}?")


def open_value(text: str, *, dollar: bool = True) -> bool:
    """Whether a value is filled in by something else before Kubernetes sees it (rules.md, "Open value").

    `dollar=False` for command, args and env values, where `$NAME` belongs to the shell or to Kubernetes.
    """
    if _OPEN.search(text):
        return True
    return dollar and "$" in text and _DOLLAR.search(text) is not None
