"""Quantities are read and printed as apimachinery does it."""

from __future__ import annotations

import pytest

from fabriclint.quantity import as_count, canonical, parse_quantity

PRINTED = {
    "16": "16", "1k": "1k", "1Ki": "1Ki", "8.5": "8500m", ".5": "500m", "8e0": "8e0", "1e1": "10", "0.1": "100m",
    "1000m": "1", "8000000u": "8", "1E3": "1E3", "1.5Gi": "1536Mi", "1.3Gi": "1395864371200m", " 64Gi": "64Gi",
    "-8": "-8", "+0": "0", "-1Gi": "-1Gi", "008": "008", "00": "0", "m": "0", "1e19": "10e18", "0.0000000001": "1n",
    "2048k": "2048k", "5369Mi": "5369Mi", "9223372036854775807Gi": "9223372036854775807",
}  # fmt: skip


@pytest.mark.parametrize(("text", "form"), PRINTED.items())
def test_a_quantity_is_printed_in_its_canonical_form(text: str, form: str) -> None:
    assert canonical(text) == form
    assert parse_quantity(form) == parse_quantity(text)


@pytest.mark.parametrize(
    "value", ["1MI", "1GiB", "1Gb", "64 Gi", "1,000", "0x8", "", "abc", "1e3Gi", "10%", "1e1.5", True]
)
def test_what_is_no_quantity_is_refused(value: str) -> None:
    assert parse_quantity(value) is None
    assert canonical(value) is None


def test_a_count_is_whole() -> None:
    assert as_count("8000m") == 8
    assert as_count(8) == 8
    assert as_count("8.5") is None
    assert as_count("eight") is None
