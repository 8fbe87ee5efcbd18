"""One manifest in many hands: the same value, written as people and programs write YAML and JSON."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable

from ruamel.yaml import YAML

from fabriclint.source import parse, read_source


def values(text: str) -> list[object]:
    """The documents of a text as plain values, as Kubernetes reads them."""
    return [d.root.plain() for d in parse(read_source("job.yaml", text.encode())) if d.root is not None]


def other_values(text: str) -> list[object]:
    """The documents as a reader that is not ours has them."""
    yaml = YAML(typ="safe")
    yaml.allow_duplicate_keys = True
    return list(yaml.load_all(text))


def _dumped(text: str, mapping: int, sequence: int, offset: int) -> str:
    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.allow_duplicate_keys = True
    yaml.width = 100_000
    yaml.indent(mapping=mapping, sequence=sequence, offset=offset)
    yaml.explicit_start = False
    out = io.StringIO()
    yaml.dump_all(list(yaml.load_all(text)), out)
    return out.getvalue()


def _commented(text: str) -> str:
    """A comment above every line, and one behind every line that is no part of a block of text."""
    out = []
    block: int | None = None
    for number, line in enumerate(text.split("\n")):
        indent = len(line) - len(line.lstrip(" "))
        if block is not None and (not line.strip() or indent > block):
            out.append(line)
            continue
        block = None
        if not line.strip() or line.startswith("---"):
            out.append(line)
            continue
        out.append(f"{' ' * indent}# above {number}")
        if re.search(r"[|>][-+0-9]*\s*$", line):
            block = indent
            out.append(line)
        elif "#" in line or line.rstrip() != line:
            out.append(line)
        else:
            out.append(f"{line}  # behind {number}")
    return "\n".join(out)


def _json(text: str, **how: object) -> str:
    found = values(text)
    if len(found) == 1:
        return json.dumps(found[0], **how) + "\n"  # type: ignore[arg-type]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": found}, **how) + "\n"  # type: ignore[arg-type]


def _half_json(text: str) -> str:
    """Block style at the top, JSON below it."""
    out = []
    for value in values(text):
        assert isinstance(value, dict)
        out.append("".join(f"{k}: {json.dumps(v)}\n" for k, v in value.items()))
    return "---\n".join(out)


def _anchored(text: str) -> str:
    """An anchor on every `name`, which nothing uses."""
    count = iter(range(10_000))
    return re.sub(r"(?m)^(\s*(?:- )?name: )(?=\S)", lambda m: f"{m[1]}&n{next(count)} ", text)


STYLES: dict[str, Callable[[str], str]] = {
    "as it is": lambda t: t,
    "windows": lambda t: t.replace("\n", "\r\n"),
    "no last line break": lambda t: t.rstrip("\n"),
    "byte order mark": lambda t: "\ufeff" + t,
    "commented": _commented,
    "four columns": lambda t: _dumped(t, 4, 6, 4),
    "flush lists": lambda t: _dumped(t, 2, 2, 0),
    "json": lambda t: _json(t, indent=2),
    "json with four columns": lambda t: _json(t, indent=4, ensure_ascii=False),
    "json on one line": lambda t: _json(t, separators=(",", ":")),
    "half json": _half_json,
    "anchored": _anchored,
    "commented windows": lambda t: _commented(t).replace("\n", "\r\n"),
    "many documents": lambda t: f"# first\na: 1\n---\n{t}\n---\n# last\n",
}
