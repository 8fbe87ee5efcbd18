"""GitHub's `primaryLocationLineHash`: a polynomial over a line's next 100 non-blank characters, across line ends.

Source: github/codeql-action@f3f1edb src/fingerprints.ts (described, not copied). There the hash rolls on from character to
character; here it is the difference of two prefixes, which gives the same number.
"""

from __future__ import annotations

import sys
from functools import cache
from itertools import accumulate

_WINDOW = 100
_MASK = (1 << 64) - 1
_BASE = 37
_LEAVING = pow(_BASE, _WINDOW, 1 << 64)
#: Characters that are taken at once: as many UTF-16 code units as one 64-bit number holds.
_STEP = 4
_NATIVE = "utf-16-le" if sys.byteorder == "little" else "utf-16-be"
#: Fed after the last character, and zeros after it; it may begin a line of its own.
_END = "\uffff" + "\0" * (_WINDOW + _STEP)


class _Fours(dict[int, int]):
    """What four code units, as one number, add to a hash; texts have the same ones again and again."""

    def __missing__(self, four: int) -> int:
        value = 0
        for unit in memoryview(four.to_bytes(2 * _STEP, sys.byteorder)).cast("H"):
            value = value * _BASE + unit
        self[four] = value
        return value


@cache
def _fours() -> _Fours:
    return _Fours()


def line_hashes(text: str, lines: int | None = None) -> list[str]:
    """The hash of each line of a text (or of the first `lines`), with `:N` for the N-th line of that hash so far."""
    return [written(*counted) for counted in counted_hashes(text, lines)]


def written(value: int, count: int) -> str:
    """A line's hash as code scanning writes it."""
    return f"{value:x}:{count}"


def counted_hashes(text: str, lines: int | None = None) -> list[tuple[int, int]]:
    """The hash of each line of a text (or of the first `lines`) as a number, and the how-manieth line of that hash it is."""
    # A blank between CR and LF makes two line ends of them, so line ends come first.
    plain = text.replace("\r\n", "\n").replace("\r", "\n").replace(" ", "").replace("\t", "")
    starts, at = [0], plain.find("\n")
    while at >= 0 and (lines is None or len(starts) < lines):
        starts.append(at + 1)
        at = plain.find("\n", at + 1)
    if lines is not None and len(starts) == lines:
        plain = plain[: starts[-1] + _WINDOW]
    data = (plain + _END).encode(_NATIVE, "surrogatepass")
    if len(data) != 2 * (len(plain) + len(_END)):
        starts = _in_units(plain, starts)
    data = data[: len(data) // (2 * _STEP) * 2 * _STEP]
    units = memoryview(data).cast("H").tolist()
    # Prefixes at every fourth character, which is three times as fast as at every one.
    fours = map(_fours().__getitem__, memoryview(data).cast("Q"))
    step, mask = _BASE**_STEP, _MASK
    prefixes = list(accumulate(fours, lambda h, four: (h * step + four) & mask, initial=0))
    seen: dict[int, int] = {}
    out = []
    for start in starts:
        end = start + _WINDOW
        h = prefixes[end // _STEP] - prefixes[start // _STEP] * _LEAVING
        # The window is a multiple of the step: both its ends stand as far behind a prefix.
        for n in range(start % _STEP, 0, -1):
            h = h * _BASE + units[end - n] - units[start - n] * _LEAVING
        h &= mask
        count = seen[h] = seen.get(h, 0) + 1
        out.append((h, count))
    return out


def _in_units(text: str, starts: list[int]) -> list[int]:
    """Offsets in code units: a character above U+FFFF is two."""
    made, at, units = [], 0, 0
    for start in starts:
        part = text[at:start]
        units += len(part) + sum(c > "\uffff" for c in part)
        at = start
        made.append(units)
    return made
