"""GitHub's `primaryLocationLineHash`: a polynomial over a line's next 100 non-blank characters, across line ends.

Source: github/codeql-action@f3f1edb src/fingerprints.ts (described, not copied). There the hash rolls on from character to
character; here it is the difference of two prefixes, which gives the same number.
"""

from __future__ import annotations

from itertools import accumulate

_WINDOW = 100
_MASK = (1 << 64) - 1
_BASE = 37
_LEAVING = pow(_BASE, _WINDOW, 1 << 64)
_STEP = 4
#: Fed after the last character, and zeros after it; it may begin a line of its own.
_END = 65535


def line_hashes(text: str, lines: int | None = None) -> list[str]:
    """The hash of each line of a text (or of the first `lines`), with `:N` for the N-th line of that hash so far."""
    # A blank between CR and LF makes two line ends of them, so line ends come first.
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    written = plain.replace(" ", "").replace("\t", "").split("\n")
    units: list[int] = []
    starts: list[int] = []
    for number, line in enumerate(written):
        if lines is None or number < lines:
            starts.append(len(units))
        elif len(units) >= starts[-1] + _WINDOW:
            break
        units += _units(line)
        units.append(10)
    else:
        units.pop()
    if lines is not None and len(starts) == lines:
        del units[starts[-1] + _WINDOW :]
    units.append(_END)
    units.extend([0] * (_WINDOW + _STEP - 1))
    # Prefixes at every fourth character, which is three times as fast as at every one.
    four = iter(units)
    cube, square, base, step = _BASE**3, _BASE**2, _BASE, _BASE**_STEP
    groups = [a * cube + b * square + c * base + d for a, b, c, d in zip(four, four, four, four, strict=False)]
    mask = _MASK
    prefixes = list(accumulate(groups, lambda h, group: (h * step + group) & mask, initial=0))

    def prefix(end: int) -> int:
        h = prefixes[end // _STEP]
        for unit in units[end - end % _STEP : end]:
            h = h * _BASE + unit
        return h

    seen: dict[int, int] = {}
    out = []
    for start in starts:
        h = (prefix(start + _WINDOW) - prefix(start) * _LEAVING) & _MASK
        seen[h] = seen.get(h, 0) + 1
        out.append(f"{h:x}:{seen[h]}")
    return out


def _units(text: str) -> bytes | list[int]:
    """UTF-16 code units."""
    if text.isascii():
        return text.encode("ascii")
    data = text.encode("utf-16-le", "surrogatepass")
    return [data[i] | data[i + 1] << 8 for i in range(0, len(data), 2)]
