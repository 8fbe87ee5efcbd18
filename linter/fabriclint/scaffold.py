"""Fills a manifest's placeholders with values, and says which are left."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TypeAlias

#: What a placeholder can be filled with: text, or a block below its key; an empty block drops the key's line.
Value: TypeAlias = str | Mapping[str, str] | list[dict[str, str]]

_PLACEHOLDER = re.compile(r"<([a-z][a-z0-9 ]*)>")
_PLAIN = re.compile(r"[A-Za-z_./][\w./@+-]*")
_WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}


def fill(text: str, values: Mapping[str, Value]) -> str:
    """The text with every known placeholder filled; unknown ones stay.

    `key: <name>` takes a mapping or list as a block two columns below the key. A comment above a dropped line goes too.
    """
    out: list[str] = []
    for line in text.split("\n"):
        found = re.fullmatch(r"(\s*)([\w./-]+): <([a-z][a-z0-9 ]*)>", line)
        block = values.get(found[3]) if found is not None else None
        if found is not None and block is not None and not isinstance(block, str):
            if not block:
                while out and out[-1].lstrip().startswith("#"):
                    out.pop()
                continue
            out.append(f"{found[1]}{found[2]}:")
            out += [f"{found[1]}  {row}" for row in _block(block)]
            continue
        out.append(_PLACEHOLDER.sub(lambda m: _text(values.get(m[1]), m[0]), line))
    return "\n".join(out)


def _text(value: Value | None, otherwise: str) -> str:
    return value if isinstance(value, str) else otherwise


def _block(value: Mapping[str, str] | list[dict[str, str]]) -> list[str]:
    if isinstance(value, Mapping):
        return [f"{_scalar(k)}: {_scalar(v)}" for k, v in value.items()]
    rows: list[str] = []
    for entry in value:
        for number, (key, one) in enumerate(entry.items()):
            rows.append(f"{'  ' if number else '- '}{_scalar(key)}: {_scalar(one)}")
    return rows


def _scalar(text: str) -> str:
    """A string as YAML: plain where it can only be a string, else in double quotes."""
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return json.dumps(text, ensure_ascii=False)


def left(text: str) -> list[str]:
    """The placeholders that are still there, in their order, each once."""
    return list(dict.fromkeys(_PLACEHOLDER.findall(text)))
