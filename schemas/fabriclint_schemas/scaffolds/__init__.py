"""What `fabriclint new` writes: one manifest with placeholders per fabric, and the table of its options."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def scaffolds() -> dict[str, dict[str, Any]]:
    """By fabric: `options` (name -> placeholder, help, default), `selector`, and what a snapshot is asked for."""
    table: dict[str, dict[str, Any]] = json.loads((files(__package__) / "options.json").read_text(encoding="utf-8"))
    return table


def scaffold_text(fabric: str) -> str:
    """The manifest of a fabric, with its placeholders."""
    return (files(__package__) / f"{fabric}.yaml").read_text(encoding="utf-8")
