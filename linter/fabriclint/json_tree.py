"""Build the node tree of a JSON text, with the same offsets and checks as for YAML.

kubectl tries JSON first where a text begins with `{` (fact Y11); annotations hold JSON that YAML refuses.
"""

from __future__ import annotations

import json.decoder
import re
from collections.abc import Callable
from json.decoder import JSONDecodeError
from typing import TYPE_CHECKING, NoReturn

from fabriclint.node import Entry, Mapping, Node, Scalar, Sequence
from fabriclint.tree import DEPTH_LIMIT, LatestEntries, Tree, TreeError

if TYPE_CHECKING:
    from fabriclint.document import Document

_BLANKS = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][-+]?[0-9]+)?", re.ASCII)
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_WORD = re.compile(r"true|false|null")
#: (text, offset behind the opening quote, strict) -> (value, offset behind the closing quote); the C scanner.
_scan_string: Callable[[str, int, bool], tuple[str, int]] = json.decoder.scanstring  # type: ignore[attr-defined]
_HALF_PAIR = re.compile("[\ud800-\udfff]")


def build_json(doc: Document, text: str, start: int = 0) -> Tree:
    """The tree of the JSON value that begins at `start` (blanks skipped); `Tree.end` is where it ends.

    Raises TreeError.
    """
    reader = _Reader(doc, text)
    root, end = reader.value(_skip(text, start), 0)
    return Tree(root, reader.duplicates, [], end, True)


def _skip(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return found.end() if found is not None else at


class _Reader:
    """One pass over the text; recursion is bounded by the depth limit."""

    def __init__(self, doc: Document, text: str) -> None:
        self.doc = doc
        self.text = text
        self.duplicates: list[tuple[Entry, Entry]] = []
        self.latest = LatestEntries()

    def fail(self, at: int, reason: str) -> NoReturn:
        length = len(self.text)
        if at >= length:
            at = max(len(self.text.rstrip()) - 1, 0)
        raise TreeError(at, min(at + 1, max(length, 1)), reason)

    def string(self, at: int) -> tuple[str, int]:
        """The string whose opening quote is at `at`, and the offset behind its closing quote."""
        try:
            value, end = _scan_string(self.text, at + 1, True)
        except JSONDecodeError as error:
            if error.msg.startswith("Unterminated"):
                self.fail(at, "the quote that opens here is never closed")
            self.fail(error.pos, "a control character or an unknown escape in a string")
        # Half of a surrogate pair becomes U+FFFD, as in Go.
        return (_HALF_PAIR.sub("\ufffd", value) if _HALF_PAIR.search(value) else value), end

    def value(self, at: int, depth: int) -> tuple[Node, int]:
        text = self.text
        first = text[at : at + 1]
        if first == '"':
            value, end = self.string(at)
            return Scalar(self.doc, at, end, value, "double"), end
        if first in ("{", "["):
            if depth >= DEPTH_LIMIT:
                self.fail(at, f"nested deeper than {DEPTH_LIMIT} levels")
            return self.mapping(at, depth) if first == "{" else self.sequence(at, depth)
        number = _NUMBER.match(text, at)
        if number is not None:
            whole = number[2] is None and number[3] is None and len(number[1]) <= 20
            return Scalar(self.doc, at, number.end(), int(number[1]) if whole else float(number[0])), number.end()
        word = _WORD.match(text, at)
        if word is not None:
            return Scalar(self.doc, at, word.end(), _WORDS[word[0]]), word.end()
        return self.fail(at, "a JSON value is missing here")

    def mapping(self, at: int, depth: int) -> tuple[Mapping, int]:
        text = self.text
        made = Mapping(self.doc, at, at)
        made.flow = True
        opened = at
        at = _skip(text, at + 1)
        if text[at : at + 1] == "}":
            made.end = at + 1
            return made, at + 1
        while True:
            if text[at : at + 1] != '"':
                self.fail(at, "a key in double quotes is missing here")
            key, key_end = self.string(at)
            colon = _skip(text, key_end)
            if text[colon : colon + 1] != ":":
                self.fail(colon, "':' is missing after this key")
            node, end = self.value(_skip(text, colon + 1), depth + 1)
            earlier = self.latest.find(made, key) if key in made.fields else None
            made.put(key, node, at, key_end)
            if earlier is not None:
                self.duplicates.append((earlier, made.entries[-1]))
            at = _skip(text, end)
            if text[at : at + 1] == "}":
                made.end = at + 1
                return made, at + 1
            if text[at : at + 1] != ",":
                if at >= len(text):
                    self.fail(opened, "the '{' that opens here is never closed")
                self.fail(at, "',' or '}' is missing here")
            at = _skip(text, at + 1)

    def sequence(self, at: int, depth: int) -> tuple[Sequence, int]:
        text = self.text
        made = Sequence(self.doc, at, at)
        made.flow = True
        opened = at
        at = _skip(text, at + 1)
        if text[at : at + 1] == "]":
            made.end = at + 1
            return made, at + 1
        while True:
            node, end = self.value(at, depth + 1)
            made.add(node)
            at = _skip(text, end)
            if text[at : at + 1] == "]":
                made.end = at + 1
                return made, at + 1
            if text[at : at + 1] != ",":
                if at >= len(text):
                    self.fail(opened, "the '[' that opens here is never closed")
                self.fail(at, "',' or ']' is missing here")
            at = _skip(text, at + 1)
