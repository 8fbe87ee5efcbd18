"""Build the node tree of one document from libyaml's events, as kubectl's reader would understand them.

Events and not composed nodes, because only they keep the place of an alias, duplicate keys and `<<` (Y18).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from fabriclint.node import Entry, Mapping, Node, Scalar, Sequence, Via
from fabriclint.scalars import key_text, resolve_plain, resolve_tagged

if TYPE_CHECKING:
    from fabriclint.document import Document

#: Levels of nesting that are read. Kubernetes' objects stay below 40; deeper text is a fault or an attack.
DEPTH_LIMIT = 200
#: Nodes that aliases of one document may expand to (the API server takes requests of about 3 MiB).
EXPANSION_LIMIT = 200_000


class TreeError(Exception):
    """A text that cannot be read: where (offsets of the document's text), and why, without a full stop."""

    def __init__(self, start: int, end: int, reason: str, *, related: tuple[tuple[int, int, str], ...] = ()) -> None:
        super().__init__(reason)
        self.start = start
        self.end = end
        self.reason = reason
        self.related = related


class Overwritten(NamedTuple):
    """A key written before `<<` whose value the merge replaces in kubectl's reader."""

    before: Entry
    after: Node
    merge: tuple[int, int]  # span of the `<<` key
    anchor: str | None


class Tree(NamedTuple):
    """A document's tree with what was noticed on the way; `end` is where the reader stops looking."""

    root: Node | None
    duplicates: list[tuple[Entry, Entry]]
    overwritten: list[Overwritten]
    end: int
    explicit_end: bool


@lru_cache(maxsize=2)
def _parser(pure: bool) -> tuple[Any, bool]:
    """The parser's class, or ruamel.yaml's loader where it has no libyaml; and whether it is the C parser."""
    from ruamel.yaml import YAML

    loader = YAML(typ="safe", pure=pure)
    if not pure and loader.Parser.__name__ == "CParser":
        return loader.Parser, True
    return None, False


def has_libyaml() -> bool:
    """Whether texts are read by libyaml (about ten times faster) and not by the parser written in Python."""
    return _parser(False)[1]


def _events(text: str, pure: bool) -> Iterator[Any]:
    parser_class, native = _parser(pure)
    if native:
        parser = parser_class(text)
        try:
            while True:
                event = parser.get_event()
                if event is None:
                    return
                yield event
        finally:
            parser.dispose()
    else:
        from ruamel.yaml import YAML

        yield from YAML(typ="safe", pure=True).parse(text)


_PROPERTIES = re.compile(r"(?:[&!][^\s,\[\]{}]*(?:[ \t]+#[^\r\n]*|\s)*|!<[^>]*>(?:[ \t]+#[^\r\n]*|\s)*)+")
_EMPTY_AFTER = re.compile(r"(?:\s|(?<=\s)#[^\r\n]*+)*+[:\-?]")
_STYLES = {"": "plain", None: "plain", "'": "single", '"': "double", "|": "literal", ">": "folded"}
_GO_REFUSES = re.compile(r"\\(?:\\|(/|u[dD][89a-fA-F][0-9a-fA-F]{2}))")
_FLOW_TROUBLE = re.compile(r"unexpected ':'|flow (?:mapping|sequence)")
#: Characters up to which a text that libyaml refused is read again by the slow parser.
_RETRY_LIMIT = 200_000
#: What a merge leaves where two versions of a file do not go together.
_CONFLICT = re.compile(r"^<{7} .*$(?s:.*?)^(?P<end>>{7} [^\n]*?)\s*$", re.MULTILINE)
_BAD_CHARACTER = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff]")


def build_tree(doc: Document, text: str, base: int = 0, *, pure: bool = False) -> Tree:
    """The tree of the first document in `text`, whose offsets are counted from `base`.

    Raises TreeError with offsets that include `base`. `pure` takes the parser written in Python.
    """
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        return _Builder(doc, text, base, pure).run()
    except TreeError as error:
        related = tuple((s + base, e + base, m) for s, e, m in error.related)
        raise TreeError(error.start + base, error.end + base, error.reason, related=related) from None
    except (YAMLError, UnicodeError, ValueError, OverflowError) as error:
        if not pure and len(text) < _RETRY_LIMIT and _FLOW_TROUBLE.search(str(error)) and "{{" not in text:
            # libyaml refuses what Go's reader takes: `[nginx:1.0]`, `{url: http://x?y}`.
            try:
                return build_tree(doc, text, base, pure=True)
            except TreeError:
                pass
        bad = _BAD_CHARACTER.search(text)
        if bad is not None and not isinstance(error, MarkedYAMLError):
            reason = f"character U+{ord(bad[0]):04X} is not allowed in YAML"
            raise TreeError(bad.start() + base, bad.end() + base, reason) from None
        raise _worded(error, text, base) from None


def _worded(error: Exception, text: str, base: int) -> TreeError:
    """libyaml's complaint in our words, at the first character of what it stumbled over."""
    conflict = _CONFLICT.search(text)
    if conflict is not None:
        reason = f"a merge was left unfinished: two versions stand here, up to '{conflict['end']}'"
        return TreeError(conflict.start() + base, conflict.start() + 7 + base, reason)
    problem = str(getattr(error, "problem", None) or "")
    context = str(getattr(error, "context", None) or "")
    mark = getattr(error, "problem_mark", None)
    at = min(mark.index, len(text)) if mark is not None else 0
    opened = getattr(error, "context_mark", None)
    related: tuple[tuple[int, int, str], ...] = ()
    if text[at : at + 1] != "\t" and not text[at : at + 1].strip():
        # At a line's end, or at the end of the text: show the last thing that is there.
        at = max(len(text[:at].rstrip()) - 1, 0)
    reason = problem or "the text is no YAML"
    if "quoted scalar" in context and ("end of stream" in problem or "document separator" in problem):
        reason = "the quote that opens here is never closed"
        if opened is not None:
            at = opened.index
    elif text[at : at + 1] == "\t" and ("start any token" in problem or "tab" in problem):
        reason = "a tab indents this line, and YAML indents with spaces only"
    elif "mapping values are not allowed" in problem:
        reason = "a second ': ' in one value, or a line indented deeper than the key it belongs beside"
    elif "start any token" in problem:
        reason = f"a value cannot begin with '{text[at : at + 1]}'; put it in quotes"
    elif "flow mapping" in context or "flow sequence" in context:
        closing = "}" if "mapping" in context else "]"
        reason = f"',' or '{closing}' is missing here"
        if opened is not None:
            related = ((opened.index + base, opened.index + 1 + base, "opened here"),)
    elif "block mapping" in context or "block collection" in context or "block sequence" in context:
        reason = "this line fits no level of indentation above it"
        if opened is not None:
            related = ((opened.index + base, opened.index + 1 + base, "the block begins here"),)
    elif "expected node content" in problem or "expected the node content" in problem:
        reason = "a value is missing here"
    elif "could not find expected ':'" in problem or "simple key" in context:
        reason = "':' is missing after this key"
        if opened is not None:
            at = opened.index
    elif "escape" in problem:
        reason = "an unknown escape in a double-quoted string"
    elif "block scalar" in context and "tab" in problem:
        reason = "a tab indents this line, and YAML indents with spaces only"
    end = at + 1
    while end < len(text) and text[end] not in " \t\r\n" and end - at < 80:
        end += 1
    return TreeError(at + base, min(end, max(len(text), 1)) + base, reason, related=related)


class _Open(NamedTuple):
    """What is waiting while a collection inside it is read."""

    node: Mapping | Sequence | None
    key: str | None
    key_start: int
    key_end: int
    merge: bool
    anchor: str | None


class _Builder:
    """One pass over the events of a document."""

    def __init__(self, doc: Document, text: str, base: int, pure: bool) -> None:
        self.doc = doc
        self.text = text
        self.base = base
        self.pure = pure
        self.root: Node | None = None
        self.stack: list[_Open] = []
        self.node: Mapping | Sequence | None = None
        self.key: str | None = None
        self.key_start = self.key_end = -1
        self.merge = False
        self.anchors: dict[str, Node | None] = {}
        self.duplicates: list[tuple[Entry, Entry]] = []
        self.overwritten: list[Overwritten] = []
        self.copied = 0
        self.latest = LatestEntries()
        self.last = 0  # where the last thing that was read ended, relative to the text

    def run(self) -> Tree:
        """Read events up to the end of the first document."""
        from ruamel.yaml import events as ev

        base = self.base
        shift_end = 0
        explicit_end = False
        closing: str | None = None
        events = _events(self.text, self.pure)
        for event in events:
            kind = type(event)
            if kind is ev.ScalarEvent:
                self.scalar(event)
            elif kind is ev.MappingStartEvent or kind is ev.SequenceStartEvent:
                self.open(event, kind is ev.MappingStartEvent)
            elif kind is ev.MappingEndEvent or kind is ev.SequenceEndEvent:
                node = self.node
                assert node is not None
                if node.flow:
                    self.last = event.end_mark.index
                node.end = max(self.last + base, node.start)
                outer = self.stack.pop()
                self.node, self.key, self.key_start, self.key_end, self.merge, closing = outer
                if closing is not None:
                    self.anchors[closing] = node
                self.attach(node)
            elif kind is ev.AliasEvent:
                self.alias(event)
            elif kind is ev.DocumentEndEvent:
                shift_end = event.end_mark.index
                explicit_end = bool(event.explicit)
                break
            elif kind is ev.StreamEndEvent:
                break
        close = getattr(events, "close", None)
        if close is not None:
            close()
        if not explicit_end:
            shift_end = self.last
        return Tree(self.root, self.duplicates, self.overwritten, shift_end + base, explicit_end)

    def scalar(self, event: Any) -> None:
        start = event.start_mark.index
        end = event.end_mark.index
        value: str = event.value
        style: str = _STYLES[event.style]
        tag = None
        anchor = event.anchor
        if anchor is not None or event.ctag is not None:
            found = _PROPERTIES.match(self.text, start)
            if found is not None:
                start = min(found.end(), end) if value or style != "plain" else len(found[0].rstrip()) + start
                end = max(start, end) if value or style != "plain" else start
            if event.ctag is not None:
                tag = str(event.tag)
        elif start == end and not value and style == "plain":
            # Parsers put an empty value anywhere up to the next token; here: right behind its indicator.
            after = _EMPTY_AFTER.match(self.text, self.last)
            start = end = after.end() if after is not None and after.end() <= start else self.last
        resolved: bool | int | float | str | None = value
        if style == "plain" and tag is None:
            resolved = resolve_plain(value)
        elif tag is not None:
            try:
                resolved = resolve_tagged(tag, value)
            except ValueError as error:
                raise TreeError(start, end, str(error)) from None
        if style == "double" and "\\" in value + self.text[start:end]:
            self.refuse_escapes(start, end)
        self.last = end
        node = self.node
        if type(node) is Mapping and self.key is None and not self.merge:
            if style == "plain" and value == "<<" and (tag is None or tag == "tag:yaml.org,2002:merge"):
                self.merge = True
            else:
                key = key_text(resolved)
                if key is None:
                    shown = value or "null"
                    raise TreeError(
                        start, max(end, start + 1), f"'{shown}' cannot be a key: Kubernetes' keys are strings"
                    )
                self.key = key
            self.key_start = start + self.base
            self.key_end = end + self.base
            if anchor is not None:
                self.anchors[anchor] = Scalar(self.doc, start + self.base, end + self.base, resolved, style, tag)
            return
        made = Scalar(self.doc, start + self.base, end + self.base, resolved, style, tag)
        if anchor is not None:
            self.anchors[anchor] = made
        self.attach(made)

    def refuse_escapes(self, start: int, end: int) -> None:
        """Go's reader refuses two escapes that JSON has: a slash, and halves of surrogate pairs."""
        for found in _GO_REFUSES.finditer(self.text, start, end):
            if found[1] is not None:
                reason = f"escape '\\{found[1]}' is JSON and not YAML as Kubernetes reads it"
                raise TreeError(found.start(), found.end(), reason)

    def open(self, event: Any, mapping: bool) -> None:
        start = event.start_mark.index
        if isinstance(self.node, Mapping) and self.key is None and not self.merge:
            raise TreeError(start, start + 1, "a mapping or list cannot be a key: Kubernetes' keys are strings")
        if len(self.stack) >= DEPTH_LIMIT:
            raise TreeError(start, start + 1, f"nested deeper than {DEPTH_LIMIT} levels")
        anchor = event.anchor
        if anchor is not None or event.ctag is not None:
            found = _PROPERTIES.match(self.text, start)
            if found is not None:
                start = found.end()
        made: Mapping | Sequence
        made = Mapping(self.doc, start + self.base, start) if mapping else Sequence(self.doc, start + self.base, start)
        made.flow = bool(event.flow_style)
        self.last = start + 1 if made.flow else start
        if anchor is not None:
            self.anchors[anchor] = None
        self.stack.append(_Open(self.node, self.key, self.key_start, self.key_end, self.merge, anchor))
        self.node = made
        self.key = None
        self.merge = False

    def alias(self, event: Any) -> None:
        start, end = event.start_mark.index, event.end_mark.index
        name = event.anchor
        if name not in self.anchors:
            raise TreeError(start, end, f"alias '*{name}' has no anchor '&{name}' before it in this document")
        target = self.anchors[name]
        if target is None:
            raise TreeError(start, end, f"anchor '&{name}' contains itself")
        self.last = end
        if isinstance(self.node, Mapping) and self.key is None and not self.merge:
            key = key_text(target.value) if isinstance(target, Scalar) else None
            if key is None:
                raise TreeError(start, end, f"alias '*{name}' cannot be a key: Kubernetes' keys are strings")
            self.key = key
            self.key_start = start + self.base
            self.key_end = end + self.base
            return
        made = self.copy(target, Via(start + self.base, end + self.base, name), len(self.stack))
        made.key_start = made.key_end = -1
        self.attach(made)

    def copy(self, node: Node, via: Via, depth: int) -> Node:
        self.copied += 1
        if self.copied > EXPANSION_LIMIT:
            reason = f"aliases expand to more than {EXPANSION_LIMIT} nodes"
            raise TreeError(via.start - self.base, via.end - self.base, reason)
        if depth > DEPTH_LIMIT:
            reason = f"alias '*{via.anchor}' nests deeper than {DEPTH_LIMIT} levels"
            raise TreeError(via.start - self.base, via.end - self.base, reason)
        made: Node
        if isinstance(node, Scalar):
            made = Scalar(node.doc, node.start, node.end, node.value, node.style, node.tag)
        elif isinstance(node, Mapping):
            made = Mapping(node.doc, node.start, node.end)
            made.flow = node.flow
            for key, value in node.fields.items():
                made.put(key, self.copy(value, via, depth + 1))
        else:
            assert isinstance(node, Sequence)
            made = Sequence(node.doc, node.start, node.end)
            made.flow = node.flow
            for item in node.items:
                made.add(self.copy(item, via, depth + 1))
        made.key_start, made.key_end = node.key_start, node.key_end
        if isinstance(made, Mapping):
            # The children's key spans are known only now that they are in place.
            made.entries = [Entry(e.key, e.value.key_start, e.value.key_end, e.value, e.merged) for e in made.entries]
        made.via = via
        return made

    def attach(self, node: Node) -> None:
        """Put a finished node where it belongs."""
        parent = self.node
        if parent is None:
            self.root = node
        elif type(parent) is Sequence:
            parent.add(node)
        else:
            assert type(parent) is Mapping
            if self.merge:
                self.merge = False
                self.merge_into(parent, node)
                return
            key = self.key
            assert key is not None
            self.key = None
            earlier = self.latest.find(parent, key) if key in parent.fields else None
            parent.put(key, node, self.key_start, self.key_end)
            if earlier is not None and not earlier.merged:
                self.duplicates.append((earlier, parent.entries[-1]))

    def merge_into(self, parent: Mapping, value: Node) -> None:
        """`<<` as go-yaml v2 does it: where it stands, so that it replaces what was written before it."""
        maps = value.items if isinstance(value, Sequence) else [value]
        if not all(isinstance(m, Mapping) for m in maps):
            start, end = self.key_start - self.base, self.key_end - self.base
            raise TreeError(start, end, "'<<' takes a mapping or a list of mappings")
        merge = (self.key_start, self.key_end)
        for merged in reversed(maps):
            assert isinstance(merged, Mapping)
            for key, node in merged.fields.items():
                earlier = self.latest.find(parent, key) if key in parent.fields else None
                if earlier is not None and not earlier.merged:
                    anchor = merged.via.anchor if merged.via is not None else None
                    self.overwritten.append(Overwritten(earlier, node, merge, anchor))
                if node.via is not None:
                    node.key_start, node.key_end = merge
                parent.put(key, node, merged=True)


class LatestEntries:
    """The latest entry of a key, by an index that is only made for mappings that repeat keys."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, dict[str, Entry]]] = {}  # by id of the mapping: entries indexed, index

    def find(self, mapping: Mapping, key: str) -> Entry | None:
        """The latest entry with the key in a mapping that is only added to."""
        count, index = self._known.get(id(mapping), (0, {}))
        for entry in mapping.entries[count:]:
            index[entry.key] = entry
        self._known[id(mapping)] = (len(mapping.entries), index)
        return index.get(key)
