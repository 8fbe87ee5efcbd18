"""Cut a stream into documents as kubectl does: at lines that begin with `---`, before any YAML is read.

Source: kubernetes/apimachinery pkg/util/yaml/decoder.go (YAMLReader); facts Y07, Y08, Y24.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_SEPARATOR = re.compile(r"(?:(?<=\n)|(?<=\r)|\A)---([^\r\n]*)(?:\r\n|\n|\r|\Z)")
_DIRECTIVES = re.compile(r"(?:[ \t]*(?:#[^\r\n]*)?(?:\r\n|\n|\r))*((?:%[^\r\n]*(?:\r\n|\n|\r|\Z))+)")


class Refused(NamedTuple):
    """A line that kubectl ends its reading at: the span of what it does not accept."""

    start: int
    end: int
    directive: bool


class Chunk(NamedTuple):
    """The text of one document: `text[start:end]`; `separator` is the span of the `---` line before it."""

    start: int
    end: int
    separator: tuple[int, int] | None
    refused: Refused | None


def split(text: str) -> list[Chunk]:
    """The chunks of a stream, empty ones included, in order.

    After the dashes only blanks or a comment may follow. What follows all the same is part of the next chunk
    when YAML reads it so (`--- {a: 1}`), and skipped when YAML does not either (`---foo`, `----`).
    """
    chunks: list[Chunk] = []
    start = 1 if text.startswith("\ufeff") else 0
    separator: tuple[int, int] | None = None
    refused: Refused | None = None
    if "---" in text:
        for found in _SEPARATOR.finditer(text, start):
            chunks.append(_chunk(text, start, found.start(), separator, refused))
            rest = found[1]
            shown = rest.strip()
            line_end = found.start() + 3 + len(rest.rstrip())
            separator = (found.start(), line_end)
            refused = None
            start = found.end()
            if shown and not shown.startswith("#"):
                refused = Refused(found.start(), line_end, False)
                if rest[0] in " \t":
                    start = found.start() + 3
    chunks.append(_chunk(text, start, len(text), separator, refused))
    return chunks


def _chunk(text: str, start: int, end: int, separator: tuple[int, int] | None, refused: Refused | None) -> Chunk:
    if text.startswith("\ufeff", start) and start < end:
        start += 1
    if text.find("%", start, end) != -1:
        found = _DIRECTIVES.match(text, start, end)
        if found is not None:
            line = found[1]
            refused = refused or Refused(found.start(1), found.start(1) + len(line.splitlines()[0].rstrip()), True)
            start = found.end()
    return Chunk(start, end, separator, refused)
