"""Quantities as apimachinery 1.35 was recorded to read them, each beside what the program makes of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabriclint.quantity import as_count, canonical

TABLE = Path(__file__).parent.parent / "data" / "quantities.tsv"
ROWS = [line.split("\t") for line in TABLE.read_text("utf-8").splitlines()[1:]]


@pytest.mark.parametrize(("value", "form", "whole"), ROWS, ids=[r[0] for r in ROWS])
def test_a_quantity_is_read_as_recorded(value: str, form: str, whole: str) -> None:
    given = json.loads(value)
    assert canonical(given) == (form or None)
    assert (as_count(given) is not None) is (whole == "yes")
