"""What a rule says: a finding, with the node it is about, related places and a fix."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from fabriclint.document import Source
    from fabriclint.node import Node


class Severity(StrEnum):
    """How bad it is; the order of the members is the order of importance."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """0 for errors, 1 for warnings, 2 for notes."""
        return _RANKS[self.value]


_RANKS = {"error": 0, "warning": 1, "note": 2}


class Place(NamedTuple):
    """A place in a manifest, by node: its key, its value, or a part of its string value.

    `within` is (start, end) in the decoded string of a scalar node; `on_key` puts the mark on the key that leads
    to the node (always so for block mappings and sequences, whose own span is the whole block).
    """

    node: Node
    on_key: bool = False
    within: tuple[int, int] | None = None


class Related(NamedTuple):
    """Another place that explains the finding."""

    place: Place
    message: str


class Applicability(StrEnum):
    """Whether a fix may be applied without a look at it."""

    SAFE = "safe"
    UNSAFE = "unsafe"


@dataclass(frozen=True, slots=True)
class SetValue:
    """Replace a scalar's value by another string; quoting follows the scalar's own style where it can."""

    node: Node
    value: str
    #: Write the value in double quotes even where plain would do (numbers that must be strings).
    quoted: bool = False
    #: An amount: where a whole number stands, another is written, not a string.
    amount: bool = False

    @property
    def written(self) -> str | int:
        """The value as it will be read again."""
        held = getattr(self.node.source, "value", None)
        return int(self.value) if self.amount and type(held) is int else self.value


@dataclass(frozen=True, slots=True)
class RenameKey:
    """Replace the key that leads to a node."""

    node: Node
    key: str


@dataclass(frozen=True, slots=True)
class AddField:
    """Add `path: value` below a mapping; missing mappings along the path are made, value is plain data.

    The last step of the path is the key that is added. A list value is appended to an existing list of that name
    when `append` is set. An int step in the path selects an item of a list.
    """

    parent: Node
    path: tuple[str | int, ...]
    value: object
    append: bool = False


@dataclass(frozen=True, slots=True)
class Remove:
    """Remove a key with its value, or an item of a list, with its whole lines."""

    node: Node


@dataclass(frozen=True, slots=True)
class ReplaceText:
    """Replace a part of a scalar's decoded text (`within` offsets)."""

    node: Node
    within: tuple[int, int]
    text: str


@dataclass(frozen=True, slots=True)
class EditText:
    """Replace a stretch of a file's text that is no value: a comment. For the engine; rules name nodes."""

    source: Source
    start: int
    end: int
    text: str


NodeChange = SetValue | RenameKey | AddField | Remove | ReplaceText
Change = NodeChange | EditText


@dataclass(frozen=True, slots=True)
class Fix:
    """How to mend it: what will be done in a few words, and the changes, which the `fix` module turns into edits."""

    message: str
    changes: tuple[Change, ...]
    applicability: Applicability = Applicability.SAFE


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault. `code` and `severity` are filled in from the rule's metadata when left empty.

    `message`: sentences with values in single quotes; the first stands alone. `help`: the edit to make.
    `subject`: what it is about, for "one cause, one finding" (set by the engine: the view the rule was given).
    `hidden`: nodes whose lines accept a suppression comment for this finding, beside the place itself.
    """

    place: Place
    message: str
    help: str = ""
    severity: Severity | None = None
    related: tuple[Related, ...] = ()
    fix: Fix | None = None
    code: str = ""
    name: str = ""
    fabric: str | None = None
    hidden: tuple[Node, ...] = ()
    #: Codes whose findings on the same subject this one silences, beside those of the rules' own tables.
    silences: tuple[str, ...] = field(default=())
    subject: object = None
    #: Set when the finding exists, or is heavier, only by the `aicr` contract: its help says so.
    by_contract: bool = False

    def with_(self, **changes: object) -> Finding:
        """A copy with fields replaced."""
        return replace(self, **changes)  # type: ignore[arg-type]
