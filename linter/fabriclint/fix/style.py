"""How a document is written: its indentation, lists, quotes; and values written in the same manner."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fabriclint.node import Mapping, Node, Scalar, Sequence
from fabriclint.scalars import resolve_plain

if TYPE_CHECKING:
    from fabriclint.document import Document

#: Plain strings that no reader, of YAML 1.1 or 1.2, takes for anything else.
_PLAIN = re.compile(
    r"[A-Za-z0-9_./](?:[A-Za-z0-9_./:@%+=~()-]|(?<=[^ ]) (?=[A-Za-z0-9_./(])|(?<=[^ ])[,;](?=[ A-Za-z0-9]))*"
)
_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "nan", ".nan", ".inf", "~"))
_NUMBERLIKE = re.compile(r"[-+.]?[0-9][0-9_.,:eExXoOa-fA-F+-]*")
_UNQUOTABLE = re.compile(
    r"[^\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]|[\x85\u2028\u2029]"
)


@dataclass(frozen=True, slots=True)
class Style:
    """A document's habits, in columns.

    `step`: from a key to the keys of the mapping below it. `dash`: from a key to the dashes of its list. `gap`: from a
    dash to what follows it. `quote`: the quotes it prefers. `json`: it is written as JSON.
    """

    step: int = 2
    dash: int = 2
    gap: int = 2
    quote: str = '"'
    json: bool = False


def column(text: str, offset: int) -> int:
    """0-based column of an offset."""
    return offset - line_start(text, offset)


def line_start(text: str, offset: int) -> int:
    """Where the line of an offset begins."""
    return max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1


def line_end(text: str, offset: int) -> int:
    """Where the line of an offset ends, in front of its line break."""
    found = [at for at in (text.find("\n", offset), text.find("\r", offset)) if at != -1]
    return min(found) if found else len(text)


def next_line(text: str, offset: int) -> int:
    """Where the line after that of an offset begins; the text's length when there is none."""
    end = line_end(text, offset)
    return end + 2 if text.startswith("\r\n", end) else min(end + 1, len(text))


def newline(text: str, offset: int) -> str:
    """The line break in use around an offset."""
    end = line_end(text, offset)
    if end >= len(text):
        end = max(line_start(text, offset) - 1, 0)
        end -= text.startswith("\r\n", end - 1)
    for sign in ("\r\n", "\n", "\r"):
        if text.startswith(sign, end):
            return sign
    return "\n"


def keys_column(mapping: Mapping, text: str) -> int:
    """The column of a block mapping's keys."""
    starts = [e.key_start for e in mapping.entries if e.key_start >= 0]
    return column(text, min(starts) if starts else mapping.start)


def style_of(document: Document) -> Style:
    """The habits of a document: what it does most often."""
    text = document.text
    steps: Counter[int] = Counter()
    dashes: Counter[int] = Counter()
    gaps: Counter[int] = Counter()
    quotes: Counter[str] = Counter()
    root = document.root
    for node in root.walk() if root is not None else ():
        if node.via is not None:
            continue
        parent = node.parent
        if isinstance(node, Scalar):
            if node.style in ("single", "double"):
                quotes[node.style] += 1
        elif isinstance(node, Mapping) and not node.flow and node.entries:
            if isinstance(parent, Mapping) and not parent.flow and node.key_start >= 0:
                steps[keys_column(node, text) - column(text, node.key_start)] += 1
        elif isinstance(node, Sequence) and not node.flow:
            if isinstance(parent, Mapping) and node.key_start >= 0 and text.startswith("-", node.start):
                dashes[column(text, node.start) - column(text, node.key_start)] += 1
            for item in node.items[:1]:
                start = item.entries[0].key_start if isinstance(item, Mapping) and item.entries else item.start
                if line_start(text, start) == line_start(text, node.start):
                    gaps[start - node.start] += 1
    is_json = isinstance(root, Mapping | Sequence) and root.flow and quotes["double"] >= quotes["single"]
    if is_json and isinstance(root, Mapping):
        is_json = all(text.startswith('"', e.key_start) for e in root.entries if e.key_start >= 0)
    return Style(
        step=_usual(steps, 2, 1),
        dash=_usual(dashes, 2, 0),
        gap=_usual(gaps, 2, 2),
        quote="'" if quotes["single"] > quotes["double"] else '"',
        json=is_json,
    )


def _usual(seen: Counter[int], default: int, least: int) -> int:
    fitting = [(count, -value) for value, count in seen.items() if least <= value <= 16]
    return -max(fitting)[1] if fitting else default


def is_plain(text: str, *, flow: bool) -> bool:
    """Whether a string may be written without quotes and stays a string for every reader."""
    if _PLAIN.fullmatch(text) is None or text.endswith(":") or text.lower() in _WORDS or _NUMBERLIKE.fullmatch(text):
        return False
    if flow and ("," in text or ":" in text):
        return False
    return ": " not in text and resolve_plain(text) == text


def quoted(text: str, quote: str) -> str:
    """A string in quotes of the kind, or in double quotes where single ones cannot hold it."""
    if quote == "'" and not _UNQUOTABLE.search(text):
        return "'" + text.replace("'", "''") + "'"
    return json_text(text)


def json_text(value: Any, indent: int | None = None) -> str:
    """A value as JSON that YAML readers take too: characters that cannot be seen are escaped."""
    plain = json.dumps(value, ensure_ascii=False, indent=indent)
    return _UNQUOTABLE.sub(lambda found: found[0] if found[0] == "\n" else json.dumps(found[0])[1:-1], plain)


def flow_value(value: Any, style: Style) -> str:
    """A value on one line, as it may stand in a flow collection or behind a key."""
    if style.json:
        return json_text(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{flow_value(str(k), style)}: {flow_value(v, style)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(flow_value(v, style) for v in value) + "]"
    return scalar_text(value, style, flow=True)


def scalar_text(value: Any, style: Style, *, flow: bool) -> str:
    """A scalar as text."""
    if isinstance(value, str):
        if style.json:
            return json_text(value)
        return value if is_plain(value, flow=flow) else quoted(value, style.quote)
    return json.dumps(value)


def block_entry(key: str, value: Any, style: Style) -> list[str]:
    """`key: value` as lines of a block mapping, the first at column 0."""
    name = scalar_text(key, style, flow=False)
    if isinstance(value, dict) and value:
        below = [line for k, v in value.items() for line in block_entry(str(k), v, style)]
        return [f"{name}:", *_shifted(below, style.step)]
    if isinstance(value, list | tuple) and value:
        return [f"{name}:", *_shifted(block_items(value, style), style.dash)]
    if isinstance(value, str) and _fits_literal(value):
        sign = "|" if value.endswith("\n") else "|-"
        return [f"{name}: {sign}", *_shifted(value.removesuffix("\n").split("\n"), style.step)]
    return [f"{name}: {_flat(value, style)}"]


def block_items(values: list[Any] | tuple[Any, ...], style: Style) -> list[str]:
    """The items of a block sequence as lines, the dashes at column 0."""
    out: list[str] = []
    for value in values:
        if isinstance(value, dict) and value:
            lines = [line for k, v in value.items() for line in block_entry(str(k), v, style)]
        elif isinstance(value, list | tuple) and value:
            lines = block_items(value, style)
        else:
            lines = [_flat(value, style)]
        first, *rest = lines
        out += [f"-{'':{style.gap - 1}}{first}", *_shifted(rest, style.gap)]
    return out


def _flat(value: Any, style: Style) -> str:
    if isinstance(value, dict | list | tuple):
        return flow_value(value, style)
    return scalar_text(value, style, flow=False)


def _shifted(lines: list[str], columns: int) -> list[str]:
    return [" " * columns + line if line else line for line in lines]


def _fits_literal(text: str) -> bool:
    """Whether a string of several lines can be a block of text without an indentation indicator."""
    return "\n" in text.removesuffix("\n") and not (
        text.startswith((" ", "\n")) or text.endswith("\n\n") or _UNQUOTABLE.search(text.replace("\n", ""))
    )


def in_flow(node: Node) -> bool:
    """Whether a node stands inside a flow collection."""
    at = node.parent
    while at is not None:
        if at.flow:
            return True
        at = at.parent
    return False
