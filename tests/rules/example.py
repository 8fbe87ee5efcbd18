"""A docstring's Bad and Good examples, made whole: a named base from tests/bases with the lines changed that the example shows.

Heading: `Bad: what it shows (BASE; option=value; ...)`. BASE is a file of tests/bases without its suffix, or `whole` when
the lines are the whole file (option `file=NAME` names it). Options are settings: contract, fabric, trainer-version,
snapshot (a file of tests/bases).

Lines below the heading, in the order in which they stand in the base:

    @@ text      go to the next line that holds the text
    - line       this line of the base goes (`...` inside stands for anything)
    + line       this line comes
      line       this line stays (two spaces, as in a diff)
    ~ old => new a part of the next line that holds `old`

A block of lines is looked for as one, whatever its indentation; what comes is indented with it. ` # <-` at the end of a
line says: the finding is here. In `whole` files lines stand as they are, with the same mark.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from fabriclint.rule_page import MARK

BASES = Path(__file__).parent.parent / "bases"
_HEADING = re.compile(r"\((?P<base>[\w.-]+)(?P<options>(?:;[^();]*)*)\)\s*$")


@dataclass
class Example:
    """A whole file, its name, the lines marked in it, and the settings it is read with."""

    text: str
    name: str = "job.yaml"
    marked: list[int] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)


def whole(heading: str, block: str) -> Example:
    """The file that an example stands for; ValueError says which line of it does not fit its base."""
    found = _HEADING.search(heading)
    if found is None:
        raise ValueError(f"the heading names no base: {heading!r}")
    options = dict(o.strip().split("=", 1) for o in found["options"].split(";") if o.strip())
    lines = block.split("\n")
    if found["base"] == "whole":
        marked = [n for n, line in enumerate(lines, 1) if line.rstrip().endswith(MARK.strip())]
        text = "\n".join(_unmarked(line) for line in lines) + "\n"
        return Example(text, options.pop("file", "job.yaml"), marked, options)
    base = (BASES / f"{found['base']}.yaml").read_text()
    out, marks = _apply(base.rstrip("\n").split("\n"), lines)
    return Example("\n".join(out) + "\n", options.pop("file", "job.yaml"), marks, options)


def apply(text: str, block: str) -> str:
    """A manifest with the lines changed that a block shows."""
    made, _ = _apply(text.rstrip("\n").split("\n"), block.split("\n"))
    return "\n".join(made) + "\n"


def _unmarked(line: str) -> str:
    return line.rstrip()[: -len(MARK.strip())].rstrip() if line.rstrip().endswith(MARK.strip()) else line


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _fits(pattern: str, line: str) -> bool:
    if "..." in pattern:
        return re.fullmatch(".*".join(map(re.escape, pattern.split("..."))), line) is not None
    return pattern == line


def _apply(base: list[str], lines: list[str]) -> tuple[list[str], list[int]]:
    out = list(base)
    marks: list[int] = []
    cursor = 0
    anchor_indent = 0
    pending: list[tuple[str, str, bool]] = []

    def flush() -> None:
        nonlocal cursor, pending
        if not pending:
            return
        old = [(text, op) for op, text, _ in pending if op != "+"]
        at, shift = cursor, anchor_indent
        if old:
            for start in range(cursor, len(out) - len(old) + 1):
                shift = _indent(out[start]) - _indent(old[0][0])
                if all(
                    _fits(text.strip(), out[start + k].strip())
                    and (not text.strip() or _indent(out[start + k]) - _indent(text) == shift)
                    for k, (text, _) in enumerate(old)
                ):
                    at = start
                    break
            else:
                raise ValueError(f"no place in the base for {[t for t, _ in old]}")
        for op, text, marked in pending:
            if op == "+":
                out.insert(at, " " * (_indent(text) + shift) + text.strip() if text.strip() else "")
            elif op == "-":
                del out[at]
                continue
            if marked:
                marks.append(at + 1)
            at += 1
        cursor = at
        pending = []

    for line in lines:
        marked = line.rstrip().endswith(MARK.strip())
        line = _unmarked(line)
        if line.startswith("@@ "):
            flush()
            text = line[3:].strip()
            cursor = next((n for n in range(cursor, len(out)) if text in out[n]), -1) + 1
            if cursor == 0:
                raise ValueError(f"no line of the base holds {text!r}")
            anchor_indent = _indent(out[cursor - 1])
            if marked:
                marks.append(cursor)
        elif line.startswith("~ "):
            flush()
            old_text, _, new = line[2:].partition(" => ")
            old_text, new = old_text.strip(), new.strip()
            where = next((n for n in range(max(cursor - 1, 0), len(out)) if old_text in out[n]), None)
            if where is None:
                raise ValueError(f"no line of the base holds {old_text!r}")
            out[where] = out[where].replace(old_text, new, 1)
            cursor = where + 1
            if marked:
                marks.append(where + 1)
        elif line.startswith(("+ ", "- ")) or line.rstrip() in ("+", "-"):
            pending.append((line[0], line[2:], marked))
        else:
            pending.append((" ", line[2:] if line.startswith("  ") else line, marked))
    flush()
    return out, marks
