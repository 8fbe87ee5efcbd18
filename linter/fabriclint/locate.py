"""From a place in the tree to a region of a file: always within one line."""

from __future__ import annotations

import re
from typing import NamedTuple

from fabriclint.document import Document, Source
from fabriclint.embedded import host_offset
from fabriclint.finding import Place
from fabriclint.node import Mapping, Node, Scalar, Sequence


class Region(NamedTuple):
    """A region: 1-based line and column in code points, the end exclusive."""

    uri: str
    line: int
    column: int
    end_line: int
    end_column: int


Span = tuple[int, int]
_TOKEN = re.compile(r"[^\s:,\[\]{}]+|\S")


def locate(place: Place) -> Region:
    """Where a place is drawn: the user's own text, also for copies, aliases (their use) and embeddings."""
    node = place.node.source
    on_key, within = place.on_key, place.within
    while node.doc is None:
        if node.parent is None:
            return Region("", 1, 1, 1, 1)
        node = node.parent.source
        on_key, within = True, None
    document = node.doc
    start, end = _span(node, document, on_key, within)
    while document.host is not None:
        host = document.host.source
        if not isinstance(host, Scalar) or host.doc is None:
            break
        if host.via is not None:
            start, end = host.via.start, host.via.end
        else:
            start, end = _outer(host, start, end)
        document = host.doc
    return region_of(document.source, start, end)


def anchor_of(node: Node) -> tuple[str, Region] | None:
    """For a node that was reached through an alias: the anchor's name, and where it is written."""
    node = node.source
    if node.via is None or node.doc is None or node.doc.host is not None:
        return None
    start, end = _own_span(node, node.doc, False, None)
    return node.via.anchor, region_of(node.doc.source, start, end)


def region_of(source: Source, start: int, end: int) -> Region:
    """The region of a span of a source's text (a Problem, a comment), cut at its first line."""
    line, column = source.position(start)
    width = max(source.line_end(line) - start, 0)
    length = max(min(end - start, width), 0)
    return Region(source.uri, line, column, line, column + length)


def _outer(host: Scalar, start: int, end: int) -> tuple[int, int]:
    """A span of a scalar's value as a span of the text it stands in, within one line."""
    first = host_offset(host, start)
    if end <= start:
        return first, first
    last = host_offset(host, end - 1)
    after = host_offset(host, end)
    assert host.doc is not None
    if after <= last or "\n" in host.doc.text[last:after] or "\r" in host.doc.text[last:after]:
        after = last + 1
    return first, after


def _span(node: Node, document: Document, on_key: bool, within: Span | None) -> Span:
    if node.via is None:
        return _own_span(node, document, on_key, within)
    # The key above an alias, or the `<<` that merged it, is the user's own; all else is the alias itself.
    outermost = node.parent is None or node.parent.via is not node.via
    if on_key and outermost and node.key_start >= 0:
        return node.key_start, node.key_end
    return node.via.start, node.via.end


def _own_span(node: Node, document: Document, on_key: bool, within: Span | None) -> Span:
    if within is not None and isinstance(node, Scalar):
        return _outer(node, *within)
    block = isinstance(node, Mapping | Sequence) and not node.flow
    if (on_key or block or node.start >= node.end) and node.key_start >= 0:
        return node.key_start, node.key_end
    if block:
        if isinstance(node, Mapping) and node.entries and node.start == node.entries[0].key_start:
            return node.entries[0].key_start, node.entries[0].key_end
        token = _TOKEN.match(document.text, node.start)
        return (token.start(), token.end()) if token is not None else (node.start, node.start)
    if node.start >= node.end:
        # An empty list item: its dash.
        return max(node.start - 1, 0), node.start
    return node.start, node.end
