"""A change to a document as edits of its text: comments, quotes, indentation and line breaks stay."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from fabriclint.document import Document
from fabriclint.embedded import host_offset
from fabriclint.finding import AddField, NodeChange, Remove, RenameKey, ReplaceText, SetValue
from fabriclint.fix.model import RefusedError, added_value, listed, nested
from fabriclint.fix.style import (
    Style,
    block_entry,
    block_items,
    column,
    flow_value,
    in_flow,
    is_plain,
    json_text,
    keys_column,
    line_end,
    line_start,
    newline,
    next_line,
    quoted,
    scalar_text,
)
from fabriclint.node import Mapping, Node, Scalar, Sequence

#: Keys that by custom stand in front of another one.
_BEFORE = {"metadata": "spec", "apiVersion": "kind", "labels": "annotations"}
_TO_DASH = re.compile(r"(?:\s|(?<=\s)#[^\r\n]*)*")


class Edit(NamedTuple):
    """`text` in place of the characters from `start` to `end` of a document's text."""

    start: int
    end: int
    text: str


def edits_of(change: NodeChange, document: Document, style: Style) -> list[Edit]:
    """The edits of one change to a node of the document. Raises RefusedError."""
    return _Editor(document.text, style).edits(change)


def document_of(change: NodeChange) -> Document:
    """The document that a change is made in. Raises RefusedError where that is no text of the user's."""
    node = _place(change.parent if isinstance(change, AddField) else change.node)
    assert node.doc is not None
    return node.doc


def _place(node: Node) -> Node:
    node = node.source
    if node.doc is None:
        raise RefusedError("the value is made by a controller and stands in no file")
    if node.via is not None:
        raise RefusedError(f"the place is reached through the alias '*{node.via.anchor}'")
    return node


class _Slot(NamedTuple):
    """An entry of a collection as it stands in the text, its dash or key included."""

    start: int
    end: int
    value: Node


class _Editor:
    def __init__(self, text: str, style: Style) -> None:
        self.text = text
        self.style = style

    def edits(self, change: NodeChange) -> list[Edit]:
        if isinstance(change, AddField):
            return self.add(change)
        node = _place(change.node)
        if isinstance(change, Remove):
            return self.remove(node)
        if isinstance(change, RenameKey):
            return self.rename(node, change.key)
        if not isinstance(node, Scalar):
            raise RefusedError("the value is no single word")
        if isinstance(change, SetValue):
            if isinstance(change.written, int):
                return [Edit(node.start, node.end, str(change.written))]
            return self.set(node, change.value, change.quoted)
        assert isinstance(change, ReplaceText)
        return self.replace(node, change.within, change.text)

    # Scalars ------------------------------------------------------------------------------------------------------

    def set(self, node: Scalar, value: str, in_quotes: bool) -> list[Edit]:
        style = node.style
        if style in ("literal", "folded") and not in_quotes:
            return self.rewrite(node, value)
        if self.style.json or (style == "double"):
            new = quoted(value, '"')
        elif style == "single":
            new = quoted(value, "'")
        elif in_quotes or not is_plain(value, flow=in_flow(node)):
            new = quoted(value, self.style.quote)
        else:
            new = value
        if style in ("literal", "folded"):
            # The line break at the end of a block of text is not part of the value's last line.
            return [Edit(node.start, self.end(node), new)]
        if node.start == node.end and node.start > 0 and not self.text[node.start - 1].isspace():
            new = " " + new
        return [Edit(node.start, node.end, new)]

    def rewrite(self, node: Scalar, value: str) -> list[Edit]:
        """Another text for a block of text, as lines of the same indentation."""
        if value.startswith((" ", "\n")) or not value:
            raise RefusedError("the new text does not fit a block of text")
        body = next_line(self.text, node.start)
        first = re.compile(r"[ ]*(?=[^ \r\n])").match(self.text, body)
        indent = len(first[0]) if first is not None else column(self.text, line_start(self.text, node.start)) + 2
        stripped = value.rstrip("\n")
        sign = "|" + {0: "-", 1: ""}.get(len(value) - len(stripped), "+")
        end = line_end(self.text, node.start)
        comment = re.search(r"[ \t]+#.*\Z", self.text[node.start : end])
        header = sign + (comment[0] if comment is not None else "")
        eol = newline(self.text, node.start)
        lines = [" " * indent + line if line else "" for line in value.removesuffix("\n").split("\n")]
        return [Edit(node.start, self.end(node), eol.join([header, *lines]))]

    def replace(self, node: Scalar, within: tuple[int, int], new: str) -> list[Edit]:
        value = node.value
        start, end = within
        if not isinstance(value, str) or not 0 <= start <= end <= len(value):
            raise RefusedError("the value is no string")
        whole = value[:start] + new + value[end:]
        style = node.style
        one_line = not re.search(r"[\r\n]", self.text[node.start : node.end])
        if style == "plain":
            if not one_line:
                raise RefusedError("the value is a plain text of several lines")
            if is_plain(whole, flow=in_flow(node)):
                return self.span(node, start, end, new)
            return [Edit(node.start, node.end, quoted(whole, self.style.quote))]
        if style == "single":
            if not one_line or "\n" in new:
                return [Edit(node.start, node.end, quoted(whole, "'"))]
            return self.span(node, start, end, new.replace("'", "''"))
        if style == "double":
            if not one_line:
                raise RefusedError("the value is a quoted text of several lines")
            return self.span(node, start, end, quoted(new, '"')[1:-1])
        if style == "folded" and ("\n" in new or "\n" in value[start:end]):
            raise RefusedError("the value is a folded text")
        if end == len(value) and value.endswith("\n") and end > start:
            if not new.endswith("\n"):
                raise RefusedError("the last line break of a block of text stays")
            end, new = end - 1, new.removesuffix("\n")
        return self.span(node, start, end, self.indented(node, start, new))

    def span(self, node: Scalar, start: int, end: int, new: str) -> list[Edit]:
        first = host_offset(node, start)
        last = first
        if end > start:
            at = host_offset(node, end - 1)
            last = host_offset(node, end)
            if re.search(r"[\r\n]", self.text[at + 1 : last]) and node.value[end - 1] != "\n":  # type: ignore[index]
                last = at + 1
        return [Edit(first, last, new)]

    def indented(self, node: Scalar, start: int, new: str) -> str:
        if "\n" not in new:
            return new
        assert isinstance(node.value, str)
        line = node.value.rfind("\n", 0, start) + 1
        indent = column(self.text, host_offset(node, line))
        eol = newline(self.text, host_offset(node, line))
        first, *rest = new.split("\n")
        return eol.join([first, *(" " * indent + r if r else r for r in rest[:-1]), " " * indent + rest[-1]])

    # Keys ---------------------------------------------------------------------------------------------------------

    def rename(self, node: Node, key: str) -> list[Edit]:
        if node.key_start < 0 or not isinstance(node.parent, Mapping):
            raise RefusedError("there is no key to rename")
        old = self.text[node.key_start : node.key_end]
        if old.startswith(("*", "<<")):
            raise RefusedError("the key is an alias")
        if self.style.json or old.startswith('"'):
            new = quoted(key, '"')
        elif old.startswith("'"):
            new = quoted(key, "'")
        else:
            new = scalar_text(key, self.style, flow=in_flow(node))
        return [Edit(node.key_start, node.key_end, new)]

    # Adding -------------------------------------------------------------------------------------------------------

    def add(self, change: AddField) -> list[Edit]:
        node = _place(change.parent)
        steps = list(change.path)
        while steps:
            below = node.at(steps[0])
            if below is None:
                break
            node = _place(below)
            steps.pop(0)
        value = added_value(change)
        if not steps:
            if change.append and isinstance(node, Sequence):
                return self.append(node, listed(change.value))
            if isinstance(node, Scalar) and node.value is None:
                return self.fill(node, value)
            if isinstance(node, Mapping | Sequence) and node.flow and not _members(node):
                return self.fill(node, value)
            raise RefusedError(f"'{node.key}' is there already")
        if isinstance(node, Scalar) and node.value is None:
            return self.fill(node, nested(tuple(steps), value))
        if not isinstance(node, Mapping) or isinstance(steps[0], int):
            raise RefusedError(f"there is no mapping that can hold '{steps[0]}'")
        return self.insert(node, str(steps[0]), nested(tuple(steps[1:]), value))

    def insert(self, node: Mapping, key: str, value: Any) -> list[Edit]:
        """A new entry of a mapping."""
        if node.flow:
            if not node.entries:
                return self.fill(node, {key: value})
            slots = self.slots(node)
            return [self.into_flow(slots, self.flow_entry(key, value, slots))]
        if not node.entries:
            raise RefusedError("the mapping is empty")
        indent = keys_column(node, self.text)
        lines = block_entry(key, value, self.style)
        before = _BEFORE.get(key)
        follower = node.fields.get(before) if before is not None else None
        if follower is not None and follower.via is None and follower.key_start >= 0:
            return [self.in_front(follower, lines, indent)]
        return [self.behind(node, lines, indent)]

    def append(self, node: Sequence, values: list[Any]) -> list[Edit]:
        """New items at the end of a list."""
        if node.flow:
            if not node.items:
                return self.fill(node, values)
            slots = self.slots(node)
            entry = ", ".join(flow_value(v, self.style) for v in values)
            return [self.into_flow(slots, entry)]
        if not node.items:
            raise RefusedError("the list is empty")
        return [self.behind(node, block_items(values, self.style), column(self.text, self.slots(node)[0].start))]

    def behind(self, node: Mapping | Sequence, lines: list[str], indent: int) -> Edit:
        """Lines after the last line of a block collection."""
        last = _last(node)
        if isinstance(last, Scalar) and last.style in ("literal", "folded") and self.keeps(last):
            eol = newline(self.text, last.start)
            at = last.end
            if line_start(self.text, at) != at:
                raise RefusedError("the text above has no line break at its end")
            return Edit(at, at, "".join(" " * indent + line + eol if line else eol for line in lines))
        at = line_end(self.text, self.end(node))
        eol = newline(self.text, at)
        return Edit(at, at, "".join(eol + (" " * indent + line if line else "") for line in lines))

    def in_front(self, follower: Node, lines: list[str], indent: int) -> Edit:
        """Lines in front of a key, and of the comments right above it."""
        at = follower.key_start
        eol = newline(self.text, at)
        start = line_start(self.text, at)
        pad = " " * indent
        if self.text[start:at].strip():
            return Edit(at, at, "".join(line + eol + pad for line in lines))
        while start > 0:
            above = line_start(self.text, start - 1 - self.text.startswith("\r\n", start - 2))
            if not self.text.startswith(pad + "#", above):
                break
            start = above
        return Edit(start, start, "".join(pad + line + eol for line in lines))

    def fill(self, node: Node, value: Any) -> list[Edit]:
        """A value for a key that has none, or an empty collection."""
        if in_flow(node) or self.style.json or (isinstance(node, Mapping | Sequence) and not _deep(value)):
            return [Edit(node.start, node.end, self.flow_at(node, value))]
        if not isinstance(node.parent, Mapping) or node.key_start < 0 or not isinstance(value, dict | list):
            raise RefusedError("there is no key that the value belongs to")
        base = keys_column(node.parent, self.text)
        lines = block_items(value, self.style) if isinstance(value, list) else []
        if isinstance(value, dict):
            lines = [line for k, v in value.items() for line in block_entry(str(k), v, self.style)]
        indent = base + (self.style.dash if isinstance(value, list) else self.style.step)
        at = line_end(self.text, node.end)
        eol = newline(self.text, at)
        blanks = node.start
        while blanks > node.key_end and self.text[blanks - 1] in " \t":
            blanks -= 1
        edits = [Edit(at, at, "".join(eol + (" " * indent + line if line else "") for line in lines))]
        if node.end > node.start:
            if blanks == at - (node.end - blanks):
                return [Edit(blanks, at, edits[0].text)]
            edits.insert(0, Edit(blanks, node.end, ""))
        return edits

    def flow_at(self, node: Node, value: Any) -> str:
        text = flow_value(value, self.style)
        if isinstance(node, Mapping | Sequence) and self.text.startswith("{ ", node.start) and text.startswith("{"):
            text = "{ " + text[1:-1] + " }"
        return " " + text if node.start > 0 and node.start == node.end and self.text[node.start - 1] == ":" else text

    def flow_entry(self, key: str, value: Any, slots: list[_Slot]) -> str:
        last = slots[-1].value
        colon = self.text[last.key_end : last.start] if last.via is None else ": "
        name = flow_value(key, self.style)
        if self.style.json and self.own_line(slots[-1].start) and isinstance(value, dict | list):
            pad = newline(self.text, slots[-1].start) + " " * column(self.text, slots[-1].start)
            said = json_text(value, self.step_of(slots)).replace("\n", pad)
        else:
            said = flow_value(value, self.style)
        return f"{name}{colon if colon in (':', ': ') and self.style.json else ': '}{said}"

    def step_of(self, slots: list[_Slot]) -> int:
        """Columns from the line that opens a flow collection to its members."""
        parent = slots[0].value.parent
        assert parent is not None
        opening = line_start(self.text, parent.start)
        blanks = len(self.text[opening:].split("\n", 1)[0]) - len(self.text[opening:].split("\n", 1)[0].lstrip(" "))
        return max(column(self.text, slots[0].start) - blanks, 1)

    def into_flow(self, slots: list[_Slot], entry: str) -> Edit:
        """An entry behind the last one of a flow collection, on a line of its own where the last one has one."""
        at = slots[-1].end
        if len(slots) > 1 or self.own_line(slots[-1].start):
            start = slots[-1].start
            if self.own_line(start):
                return Edit(at, at, "," + newline(self.text, start) + " " * column(self.text, start) + entry)
        between = self.text[slots[-2].end : slots[-1].start] if len(slots) > 1 else ", "
        comma = between if between.replace(" ", "") == "," and "  " not in between else ", "
        if len(slots) == 1 and self.style.json:
            last = slots[-1].value
            comma = "," if self.text[last.key_end : last.start] == ":" and last.key_end >= 0 else ", "
        return Edit(at, at, comma + entry)

    # Removing -----------------------------------------------------------------------------------------------------

    def remove(self, node: Node) -> list[Edit]:
        parent = node.parent
        if parent is None:
            raise RefusedError("it is the whole document")
        slots = self.slots(parent)
        index = next((i for i, s in enumerate(slots) if s.value is node), None)
        if index is None:
            raise RefusedError("it stands in this collection under another name")
        slot = slots[index]
        if parent.flow:
            if len(slots) == 1:
                return [self.only_removed(parent, slot)]
            if index > 0:
                return [Edit(slots[index - 1].end, slot.end, "")]
            return [Edit(slot.start, slots[1].start, "")]
        if len(slots) == 1:
            return self.emptied(parent, slot)
        if not self.own_line(slot.start):
            return [self.first_removed(slot, slots[index + 1])] if index + 1 < len(slots) else self.refuse_first()
        return [self.lines(slot)]

    def only_removed(self, parent: Mapping | Sequence, slot: _Slot) -> Edit:
        """The only entry of a flow collection, with the blanks and the comma between the brackets where no more is there."""
        opened, closed = self.text[parent.start : parent.start + 1], self.text[parent.end - 1 : parent.end]
        beside = self.text[parent.start + 1 : slot.start] + self.text[slot.end : parent.end - 1]
        if opened + closed in ("{}", "[]") and beside.strip() in ("", ","):
            return Edit(parent.start + 1, parent.end - 1, "")
        return Edit(slot.start, slot.end, "")

    def refuse_first(self) -> list[Edit]:
        raise RefusedError("it shares its line with another key")

    def emptied(self, parent: Mapping | Sequence, slot: _Slot) -> list[Edit]:
        """The only entry of a block collection: the collection becomes an empty one."""
        empty = "{}" if isinstance(parent, Mapping) else "[]"
        if parent.key_start < 0 or not self.own_line(slot.start):
            if isinstance(parent.parent, Sequence):
                return [Edit(slot.start, slot.end, empty)]
            raise RefusedError("it is all that the document holds")
        colon = self.text.find(":", parent.key_end)
        if colon == -1 or self.text[parent.key_end : colon].strip():
            raise RefusedError("its key is not written in the usual way")
        return [Edit(colon + 1, colon + 1, f" {empty}"), self.lines(slot)]

    def lines(self, slot: _Slot) -> Edit:
        """The whole lines of an entry."""
        start = line_start(self.text, slot.start)
        end = next_line(self.text, slot.end)
        if line_end(self.text, slot.end) >= len(self.text) and start > 0:
            # The last line has no line break: the one in front of it goes instead.
            start -= 2 if self.text.startswith("\r\n", start - 2) else 1
        return Edit(start, end, "")

    def first_removed(self, slot: _Slot, follower: _Slot) -> Edit:
        """The first entry behind a dash: the next one takes its place."""
        between = self.text[slot.end : follower.start]
        stop = follower.start
        if "#" in between:
            own = next_line(self.text, slot.end)
            rest = self.text[own:stop]
            stop = own + len(rest) - len(rest.lstrip(" \t\r\n"))
        return Edit(slot.start, stop, "")

    # Places -------------------------------------------------------------------------------------------------------

    def own_line(self, offset: int) -> bool:
        return not self.text[line_start(self.text, offset) : offset].strip()

    def keeps(self, node: Scalar) -> bool:
        """Whether the empty lines after a block of text belong to it."""
        return "+" in self.text[node.start : line_end(self.text, node.start)].split("#")[0]

    def end(self, node: Node) -> int:
        """Where a value's text ends: blocks of text without the line break and the empty lines behind them."""
        if node.via is not None:
            return node.via.end
        if isinstance(node, Scalar):
            if node.style in ("literal", "folded") and not self.keeps(node):
                return node.start + len(self.text[node.start : node.end].rstrip())
            if node.style in ("literal", "folded"):
                return max(node.start, node.end - 1)
            return node.end
        assert isinstance(node, Mapping | Sequence)
        if node.flow or not _members(node):
            return node.end
        last = _last(node)
        inner = self.end(last) if last is not node else node.end
        return max(inner, last.key_end)

    def slots(self, node: Mapping | Sequence) -> list[_Slot]:
        """The entries of a collection in the order of the text, those that others replace included."""
        if isinstance(node, Mapping):
            made: dict[int, _Slot] = {}
            for entry in node.entries:
                if entry.key_start >= 0:
                    end = max(self.end(entry.value), entry.key_end)
                    made.setdefault(entry.key_start, _Slot(entry.key_start, end, entry.value))
            return [made[start] for start in sorted(made)]
        out: list[_Slot] = []
        at = node.start
        for item in node.items:
            start, end = item.via.start if item.via is not None else item.start, self.end(item)
            if not node.flow:
                found = _TO_DASH.match(self.text, at)
                start = found.end() if found is not None else at
                if not self.text.startswith("-", start):
                    raise RefusedError("a list is not written in the usual way")
            elif isinstance(item, Mapping) and item.entries and not self.text.startswith("{", start):
                start = item.entries[0].key_start  # `[a: b]`
            out.append(_Slot(start, end, item))
            at = end
        return out


def _members(node: Mapping | Sequence) -> int:
    return len(node.entries) if isinstance(node, Mapping) else len(node.items)


def _last(node: Mapping | Sequence) -> Node:
    """The last child of a collection in the order of the text; itself when it has none."""
    if isinstance(node, Sequence):
        below: Node = node.items[-1] if node.items else node
    else:
        entries = [e for e in node.entries if e.key_start >= 0]
        if not entries:
            return node
        below = max(entries, key=lambda e: e.key_start).value
    if below.via is None and isinstance(below, Mapping | Sequence) and not below.flow and _members(below):
        return _last(below)
    return below


def _deep(value: Any) -> bool:
    return isinstance(value, dict | list) and (
        len(value) > 1
        or any(isinstance(v, dict | list) for v in (value.values() if isinstance(value, dict) else value))
    )
