"""A unified diff of two texts that differ in a few places, as `patch` and `git apply` take it."""

from __future__ import annotations

from collections.abc import Iterator

#: Lines around a change.
_CONTEXT = 3
#: Lines that have to be the same in a row for a change to be over.
_SAME = 3
#: Lines, of both texts together, within which a change is over; a longer one is shown as one block.
_REACH = 400


def unified(path: str, before: str, after: str) -> str:
    """The diff, line breaks as they are in the file; empty for equal texts."""
    old, new = _lines(before), _lines(after)
    hunks = list(_hunks(_changes(old, new)))
    out = [f"--- {_named('a', path)}\n", f"+++ {_named('b', path)}\n"] if hunks else []
    for hunk in hunks:
        first, last = hunk[0], hunk[-1]
        start, end = max(first[0] - _CONTEXT, 0), min(last[1] + _CONTEXT, len(old))
        shift = first[2] - first[0]
        grown = sum((d - c) - (b - a) for a, b, c, d in hunk)
        out.append(f"@@ -{_range(start, end)} +{_range(start + shift, end + shift + grown)} @@\n")
        at = start
        for a, b, c, d in hunk:
            out += [f" {line}" for line in old[at:a]]
            out += [f"-{line}" for line in old[a:b]]
            out += [f"+{line}" for line in new[c:d]]
            at = b
        out += [f" {line}" for line in old[at:end]]
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in out)


def _named(side: str, path: str) -> str:
    """A file's name as git writes it: quoted where it could not be read otherwise, a tab behind one with blanks."""
    name = f"{side}/{path}"
    if name.isprintable() and not set(name) & {'"', "\\"}:
        return f"{name}\t" if " " in name else name
    quoted = []
    for byte in name.encode("utf-8", "surrogateescape"):
        if chr(byte) in '"\\':
            quoted.append(f"\\{chr(byte)}")
        else:
            quoted.append(chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}")
    return f'"{"".join(quoted)}"'


def _lines(text: str) -> list[str]:
    """Lines as patch counts them: only LF ends one."""
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _range(start: int, end: int) -> str:
    """A range as a hunk's head has it: the first line counted from 1, and how many."""
    count = end - start
    if count == 1:
        return str(start + 1)
    return f"{start + 1 if count else start},{count}"


#: Lines [a, b) of the old text are lines [c, d) of the new one.
_Change = tuple[int, int, int, int]


def _changes(old: list[str], new: list[str]) -> Iterator[_Change]:
    a = c = 0
    while a < len(old) or c < len(new):
        if a < len(old) and c < len(new) and old[a] == new[c]:
            a, c = a + 1, c + 1
            continue
        b, d = _over(old, new, a, c)
        yield a, b, c, d
        a, c = b, d


def _over(old: list[str], new: list[str], a: int, c: int) -> tuple[int, int]:
    """Where a change that begins at two lines is over: the nearest place from which the texts are the same again."""
    for reach in range(1, _REACH):
        for step in range(reach + 1):
            b, d = a + step, c + reach - step
            if b > len(old) or d > len(new):
                continue
            ahead = old[b : b + _SAME]
            if ahead == new[d : d + _SAME] and (ahead or (b == len(old) and d == len(new))):
                return b, d
    return len(old), len(new)


def _hunks(changes: Iterator[_Change]) -> Iterator[list[_Change]]:
    """Changes that share their context together."""
    hunk: list[_Change] = []
    for change in changes:
        if hunk and change[0] - hunk[-1][1] > 2 * _CONTEXT:
            yield hunk
            hunk = []
        hunk.append(change)
    if hunk:
        yield hunk
