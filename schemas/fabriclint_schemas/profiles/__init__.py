"""Fabric profiles: signals, counts, names and devices of each fabric, one JSON file each."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def profiles() -> dict[str, dict[str, Any]]:
    """All profiles by name."""
    out: dict[str, dict[str, Any]] = {}
    for entry in sorted(files(__name__).iterdir(), key=lambda e: e.name):
        if entry.name.endswith(".json"):
            profile: dict[str, Any] = json.loads(entry.read_text(encoding="utf-8"))
            out[profile["name"]] = profile
    return out
