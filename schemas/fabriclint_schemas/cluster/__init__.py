"""What a cluster snapshot holds: resource types and kinds, what is private, which images prove which installer."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def tables() -> dict[str, Any]:
    """The tables as they stand in `cluster.json`."""
    read: dict[str, Any] = json.loads(files(__name__).joinpath("cluster.json").read_text(encoding="utf-8"))
    return read
