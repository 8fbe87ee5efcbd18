"""The hash that code scanning recognizes a line by, against a plain rolling hash and with any number of lines."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fabriclint.report.line_hash import line_hashes

MASK = (1 << 64) - 1


def rolled(text: str) -> list[str]:
    """The same by hand: every line's window of a hundred, one character after the other."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n").replace(" ", "").replace("\t", "")
    data = plain.encode("utf-16-le")
    units = [data[i] | data[i + 1] << 8 for i in range(0, len(data), 2)]
    starts = [0, *(n + 1 for n, unit in enumerate(units) if unit == 10)]
    padded = [*units, 65535, *([0] * 100)]
    seen: list[int] = []
    out = []
    for start in starts:
        value = 0
        for unit in padded[start : start + 100]:
            value = (value * 37 + unit) & MASK
        seen.append(value)
        out.append(f"{value:x}:{seen.count(value)}")
    return out


TEXT = st.lists(
    st.sampled_from(["a", "b", " ", "\t", "\n", "\r", "\r\n", "é", "😀", "x" * 70, "\x85", "name: value"]), max_size=40
).map("".join)


@given(TEXT, st.integers(1, 9))
def test_every_lines_hash_is_that_of_its_next_hundred_characters(text: str, some: int) -> None:
    assert line_hashes(text) == rolled(text)
    assert line_hashes(text, some) == rolled(text)[:some]
