"""How many devices of a claim's request each node can give at most, by the ResourceSlices of a snapshot.

What of a CEL selector cannot be told counts as met, and devices that others hold count as free: the number is an upper
bound, so that "too few" is certain.
"""

from __future__ import annotations

from dataclasses import dataclass

from fabriclint.cluster.cel import OPEN, holds
from fabriclint.cluster.snapshot import Object, Snapshot, listed, mapping


@dataclass(frozen=True, slots=True)
class Shortage:
    """A request that no node can meet: its class, how many it wants, and the most that one node has."""

    device_class: str
    wanted: int
    most: int


def shortages(template: Object, snapshot: Snapshot) -> list[Shortage]:
    """The requests of a claim template's inner `spec` that certainly no node meets; empty without slices."""
    if not snapshot.collected("ResourceSlice") or not snapshot.nodes:
        return []
    out = []
    for request in listed(template, "devices", "requests"):
        choices = listed(request, "firstAvailable") or [mapping(request, "exactly") or request]
        short = [_shortage(choice, snapshot) for choice in choices]
        # One alternative that a node may meet is enough.
        found = [s for s in short if s is not None]
        if found and len(found) == len(short):
            out.append(found[0])
    return out


def _shortage(exact: Object, snapshot: Snapshot) -> Shortage | None:
    """What a request lacks on every node; None where a node may have it, or the class is not known."""
    name = exact.get("deviceClassName")
    device_class = snapshot.find("DeviceClass", name) if isinstance(name, str) else None
    if not isinstance(name, str) or device_class is None:
        return None
    wanted = exact.get("count", 1) if exact.get("allocationMode") in (None, "ExactCount") else 1
    if not isinstance(wanted, int) or isinstance(wanted, bool):
        return None
    expressions = [
        str(mapping(s, "cel").get("expression", ""))
        for s in (*listed(device_class, "spec", "selectors"), *listed(exact, "selectors"))
    ]
    most = max((_devices(node.name, expressions, snapshot) for node in snapshot.nodes), default=0)
    return Shortage(name, wanted, most) if most < wanted else None


def _devices(node: str, expressions: list[str], snapshot: Snapshot) -> int:
    """Devices of the slices that may be a node's and meet what can be read of the expressions."""
    count = 0
    for item in snapshot.objects("ResourceSlice"):
        spec = mapping(item, "spec")
        if isinstance(spec.get("nodeName"), str) and spec["nodeName"] != node:
            continue
        driver = str(spec.get("driver", ""))
        for device in listed(spec, "devices"):
            count += all(holds(e, driver, device) in (True, OPEN) for e in expressions)
    return count
