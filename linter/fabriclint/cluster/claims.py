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
        exact = mapping(request, "exactly") or request
        name = exact.get("deviceClassName")
        if not isinstance(name, str) or request.get("firstAvailable"):
            continue
        device_class = snapshot.find("DeviceClass", name)
        if device_class is None:
            continue
        wanted = exact.get("count", 1) if exact.get("allocationMode") in (None, "ExactCount") else 1
        if not isinstance(wanted, int) or isinstance(wanted, bool):
            continue
        expressions = [
            str(mapping(s, "cel").get("expression", ""))
            for s in (*listed(device_class, "spec", "selectors"), *listed(exact, "selectors"))
        ]
        most = max((_devices(node.name, expressions, snapshot) for node in snapshot.nodes), default=0)
        if most < wanted:
            out.append(Shortage(name, wanted, most))
    return out


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
