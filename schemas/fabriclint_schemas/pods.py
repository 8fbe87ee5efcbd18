"""Tables about pods of any fabric: devices, capabilities, what controllers add, levels of Pod Security."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any


def _read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        (files("fabriclint_schemas") / "tables" / name).read_text(encoding="utf-8"), strict=True
    )
    return found


@cache
def pods() -> dict[str, Any]:
    """Devices, capabilities, volumes that controllers add, words of affinities and tolerations."""
    return _read("pods.json")


@cache
def meshes() -> dict[str, Any]:
    """What turns a service mesh's sidecar on and off for a pod, by mesh."""
    return _read("meshes.json")


@cache
def pod_security() -> dict[str, Any]:
    """What the levels of Pod Security forbid, with the versions that changed it."""
    return _read("pod_security.json")
