"""Texts inside string values: parsed as documents of their own, and mapped back to the file they stand in."""

from __future__ import annotations

import re
from typing import NamedTuple

from fabriclint.document import Document, Source
from fabriclint.node import Scalar
from fabriclint.tree import TreeError, build_tree


class EmbeddedError(NamedTuple):
    """Why an embedded text cannot be read; `offset` counts in the decoded value."""

    offset: int
    message: str


def parse_embedded(scalar: Scalar, *, json: bool = False) -> Document | EmbeddedError:
    """The document inside a string value, as JSON or YAML; its offsets count in the decoded value."""
    text = scalar.value
    if not isinstance(text, str):
        return EmbeddedError(0, "the value is no string")
    source = scalar.doc.source if scalar.doc is not None else Source("", text)
    document = Document(source, 0, 0, len(text), host=scalar)
    try:
        if json:
            from fabriclint.json_tree import build_json

            tree = build_json(document, text)
            rest = text[tree.end :].lstrip()
            if rest:
                return EmbeddedError(len(text) - len(rest), "more text follows the end of the JSON value")
        else:
            tree = build_tree(document, text)
    except TreeError as error:
        return EmbeddedError(min(error.start, len(text)), error.reason)
    document.root = tree.root
    return document


def file_offset(scalar: Scalar, offset: int) -> int:
    """The offset in the file's text of an offset in a scalar's value, through all nested texts."""
    at = host_offset(scalar, offset)
    document = scalar.doc
    while document is not None and document.host is not None:
        at = host_offset(document.host, at)
        document = document.host.doc
    return at


def host_offset(scalar: Scalar, offset: int) -> int:
    """Like `file_offset`, but only one step: an offset of the text that the scalar itself was read from."""
    offsets = _offsets(scalar)
    if not offsets:
        return scalar.start
    return offsets[max(0, min(offset, len(offsets) - 1))]


#: A decoded character and where it begins.
_Char = tuple[str, int]


def _offsets(scalar: Scalar) -> list[int]:
    """Where each character of the value begins, then the end; empty when unknown."""
    if scalar._map is not None:
        return scalar._map
    made: list[int] = []
    text = scalar.doc.text if scalar.doc is not None else ""
    value = scalar.value
    start, end = scalar.start, scalar.end
    if not isinstance(value, str) or text[start:end] == value:
        made = list(range(start, end + 1))
    else:
        for chars in _decoded(text, start, end, scalar.style):
            if len(chars) == len(value) and "".join(c for c, _ in chars) == value:
                made = [at for _, at in chars]
                made.append(end - 1 if scalar.style in ("single", "double") else end)
                break
    scalar._map = made
    return made


def _decoded(text: str, start: int, end: int, style: str) -> list[list[_Char]]:
    """The possible readings of a scalar's text; one of them gives its value."""
    if style in ("literal", "folded"):
        return _block_readings(text, start, end, style == "folded")
    if style in ("single", "double"):
        return [_flow(text, start + 1, end - 1, style)]
    return [_flow(text, start, end, style)]


_BREAKS = "\n\r\x85\u2028\u2029"


def _break(text: str, at: int) -> tuple[str, int]:
    """What a line break is read as, and where the next line begins."""
    if text.startswith("\r\n", at):
        return "\n", at + 2
    return (text[at] if text[at] in "\u2028\u2029" else "\n"), at + 1


_ESCAPES = {
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "t": "\t",
    "\t": "\t",
    "n": "\n",
    "v": "\v",
    "f": "\f",
    "r": "\r",
    "e": "\x1b",
    " ": " ",
    '"': '"',
    "/": "/",
    "\\": "\\",
    "N": "\x85",
    "_": "\xa0",
    "L": "\u2028",
    "P": "\u2029",
}
_HEX = {"x": 2, "u": 4, "U": 8}


def _flow(text: str, start: int, end: int, style: str) -> list[_Char]:
    """Plain and quoted scalars: lines are folded, quotes and escapes resolved."""
    out: list[_Char] = []
    at = start
    while at < end:
        c = text[at]
        if c in " \t" or c in _BREAKS:
            at = _fold(text, at, end, out)
        elif c == "'" and style == "single":
            out.append(("'", at))
            at += 2
        elif c == "\\" and style == "double" and at + 1 < end:
            at = _escape(text, at, end, out)
        else:
            out.append((c, at))
            at += 1
    return out


def _fold(text: str, at: int, end: int, out: list[_Char], *, escaped: bool = False) -> int:
    """Blanks and line breaks: one break is a space, more are one fewer (`escaped`: none is lost)."""
    blanks: list[_Char] = []
    breaks: list[_Char] = []
    seen_break = escaped
    while at < end and (text[at] in " \t" or text[at] in _BREAKS):
        if text[at] in " \t":
            if not seen_break:
                blanks.append((text[at], at))
            at += 1
        else:
            seen_break = True
            shown, after = _break(text, at)
            breaks.append((shown, at))
            at = after
    if escaped:
        out.extend(breaks)
    elif not breaks:
        out.extend(blanks)
    elif breaks[0][0] != "\n":
        out.extend(breaks)
    elif len(breaks) == 1:
        out.append((" ", breaks[0][1]))
    else:
        out.extend(breaks[1:])
    return at


def _escape(text: str, at: int, end: int, out: list[_Char]) -> int:
    c = text[at + 1]
    if c in _BREAKS:
        return _fold(text, _break(text, at + 1)[1], end, out, escaped=True)
    length = _HEX.get(c)
    if length is None:
        out.append((_ESCAPES.get(c, c), at))
        return at + 2
    after = at + 2 + length
    code = _hexadecimal(text[at + 2 : after])
    if 0xD800 <= code < 0xDC00 and text.startswith("\\u", after):
        low = _hexadecimal(text[after + 2 : after + 6])
        if 0xDC00 <= low < 0xE000:
            out.append((chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)), at))
            return after + 6
    out.append(("\ufffd" if 0xD800 <= code < 0xE000 or code > 0x10FFFF else chr(code), at))
    return after


def _hexadecimal(digits: str) -> int:
    try:
        return int(digits, 16)
    except ValueError:
        return 0xFFFD


_HEADER = re.compile(r"[|>]([-+0-9]*)[ \t]*(?:#[^\r\n\x85\u2028\u2029]*)?")


def _block_readings(text: str, start: int, end: int, folded: bool) -> list[list[_Char]]:
    """A block scalar's text by each indentation it can have: the detected one first, then smaller ones."""
    header = _HEADER.match(text, start, end)
    if header is None or header.end() >= end:
        return [[]]
    body = _break(text, header.end())[1]
    widest = 0
    at = body
    while at < end:
        spaces = at
        while spaces < end and text[spaces] == " ":
            spaces += 1
        widest = max(widest, spaces - at)
        if spaces >= end or text[spaces] not in _BREAKS:
            widest = spaces - at if spaces < end else widest
            break
        at = _break(text, spaces)[1]
    indents = range(widest, -1, -1) if _explicit(header[1]) else [widest]
    return [_block(text, (body, end), indent, header[1], folded=folded) for indent in indents]


def _explicit(indicators: str) -> bool:
    return any(c.isdigit() for c in indicators)


def _block(text: str, body: tuple[int, int], indent: int, indicators: str, *, folded: bool) -> list[_Char]:
    at, end = body
    out: list[_Char] = []
    leading: list[_Char] = []
    at, column, trailing = _blank_lines(text, at, end, indent)
    leading_blank = False
    while column == indent and at < end:
        blank = text[at] in " \t"
        if folded and leading and leading[0][0] == "\n" and not leading_blank and not blank:
            if not trailing:
                out.append((" ", leading[0][1]))
        else:
            out.extend(leading)
        out.extend(trailing)
        leading_blank = blank
        while at < end and text[at] not in _BREAKS:
            out.append((text[at], at))
            at += 1
        leading = []
        if at < end:
            shown, after = _break(text, at)
            leading = [(shown, at)]
            at = after
        at, column, trailing = _blank_lines(text, at, end, indent)
    if "-" not in indicators:
        out.extend(leading)
    if "+" in indicators:
        out.extend(trailing)
    return out


def _blank_lines(text: str, at: int, end: int, indent: int) -> tuple[int, int, list[_Char]]:
    """Skip indentation and empty lines: the new offset, its column, and the line breaks that were passed."""
    breaks: list[_Char] = []
    while True:
        column = 0
        while column < indent and at < end and text[at] == " ":
            at += 1
            column += 1
        if at >= end or text[at] not in _BREAKS:
            return at, column, breaks
        shown, after = _break(text, at)
        breaks.append((shown, at))
        at = after
