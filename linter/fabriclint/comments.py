"""Comments that hold a marker, found without a comment-aware parser: the scalars' spans tell them apart."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

from fabriclint.document import Document, Source
from fabriclint.node import Mapping, Node, Scalar, Sequence


class Comment(NamedTuple):
    """A comment from its `#` to the end of the line; `own_line` when nothing else stands on that line."""

    start: int
    end: int
    text: str
    own_line: bool


_HASH = re.compile(r"(?:(?<=[ \t])|^)#")


def scan(source: Source, documents: list[Document], marker: str) -> list[Comment]:
    """The comments of a source that hold the marker, in order. Text inside scalars is never a comment."""
    text = source.text
    at = text.find(marker)
    if at == -1:
        return []
    spans = _scalar_spans(source, documents)
    starts = [s for s, _ in spans]
    found: list[Comment] = []
    while at != -1:
        line, _ = source.position(at)
        begin = source.line_starts[line - 1]
        content = source.line(line)
        for sign in _HASH.finditer(content):
            where = begin + sign.start()
            if where > at:
                break
            index = bisect_right(starts, where) - 1
            if index >= 0 and spans[index][1] > where:
                continue
            comment = content[sign.start() :]
            own = not content[: sign.start()].strip()
            found.append(Comment(where, begin + len(content), comment, own))
            break
        at = text.find(marker, begin + max(len(content), 1))
    return found


def _scalar_spans(source: Source, documents: list[Document]) -> list[tuple[int, int]]:
    """Spans of all keys and scalars, also of those that a later key replaced; sorted."""
    spans: set[tuple[int, int]] = set()
    stack: list[Node] = [d.root for d in documents if d.root is not None and d.host is None and d.source is source]
    text = source.text
    while stack:
        node = stack.pop()
        if node.via is not None:
            continue
        if isinstance(node, Scalar):
            start = node.start
            if node.style in ("literal", "folded"):
                # The header may be followed by a comment; the text begins on the next line.
                breaks = [b for b in (text.find("\n", start, node.end), text.find("\r", start, node.end)) if b != -1]
                start = min(breaks) if breaks else node.end
            if node.end > start:
                spans.add((start, node.end))
        elif isinstance(node, Mapping):
            for entry in node.entries:
                if entry.key_end > entry.key_start:
                    spans.add((entry.key_start, entry.key_end))
                stack.append(entry.value)
        elif isinstance(node, Sequence):
            stack.extend(node.items)
    return sorted(spans)
