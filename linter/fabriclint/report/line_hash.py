"""GitHub's `primaryLocationLineHash`: a rolling hash per line over its next 100 non-blank characters.

Source: github/codeql-action@f3f1edb src/fingerprints.ts (described, not copied).
"""

from __future__ import annotations

_WINDOW = 100
_MASK = (1 << 64) - 1
_BASE = 37
_LEAVING = pow(_BASE, _WINDOW, 1 << 64)
_END = 65535


def line_hashes(text: str) -> list[str]:
    """The hash of each line of a text, with `:N` for the N-th line of that hash so far."""
    ring = [0] * _WINDOW
    starts = [-1] * _WINDOW
    hashes: dict[int, int] = {}
    value = 0
    at = 0
    line = 0
    line_start = True
    previous_cr = False

    def feed(c: int) -> None:
        nonlocal value, at, line, line_start, previous_cr
        if starts[at] >= 0:
            hashes[starts[at]] = value
            starts[at] = -1
        if line_start:
            line_start = False
            starts[at] = line
            line += 1
        if c == 10:
            line_start = True
        value = (_BASE * value + c - _LEAVING * ring[at]) & _MASK
        ring[at] = c
        at = (at + 1) % _WINDOW

    for unit in _units(text):
        if unit in (32, 9) or (previous_cr and unit == 10):
            previous_cr = False
            continue
        if unit == 13:
            previous_cr = True
            feed(10)
        else:
            previous_cr = False
            feed(unit)
    feed(_END)
    for _ in range(_WINDOW):
        feed(0)
    seen: dict[int, int] = {}
    out = []
    for number in sorted(hashes):
        h = hashes[number]
        seen[h] = seen.get(h, 0) + 1
        out.append(f"{h:x}:{seen[h]}")
    return out


def _units(text: str) -> list[int]:
    """UTF-16 code units."""
    if text.isascii():
        return list(text.encode("ascii"))
    data = text.encode("utf-16-le", "surrogatepass")
    return [data[i] | data[i + 1] << 8 for i in range(0, len(data), 2)]
