"""How many devices of a claim's request each node can give at most, by the ResourceSlices of a snapshot.

What of a CEL selector is not a plain comparison counts as met, and devices that others hold count as free: the number is
an upper bound, so that "too few" is certain.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fabriclint.cluster.snapshot import Object, Snapshot, listed, mapping

_DRIVER = re.compile(r"""device\.driver\s*==\s*(?P<q>["'])(?P<driver>[^"']+)(?P=q)""")
_ATTRIBUTE = re.compile(
    r"""device\.attributes\[(?P<q>["'])(?P<domain>[^"']+)(?P=q)\]\.(?P<name>\w+)"""
    r"""(?:\s*==\s*(?P<value>"[^"]*"|'[^']*'|true|false|-?\d+))?"""
)


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
            attributes = mapping(device, "attributes") or mapping(device, "basic", "attributes")
            count += all(_meets(e, driver, attributes) for e in expressions)
    return count


def _meets(expression: str, driver: str, attributes: Object) -> bool:
    for term in expression.split("&&"):
        text = term.strip()
        while text.startswith("(") and text.endswith(")") and text.count("(") == 1:
            text = text[1:-1].strip()
        named = _DRIVER.fullmatch(text)
        if named is not None and named["driver"] != driver:
            return False
        found = _ATTRIBUTE.fullmatch(text)
        if found is not None and not _holds(found["domain"], found["name"], found["value"], driver, attributes):
            return False
    return True


def _holds(domain: str, name: str, value: str | None, driver: str, attributes: Object) -> bool:
    """Whether an attribute equals a literal; a missing one ends the expression with an error, and so the device is out."""
    given = attributes.get(f"{domain}/{name}", attributes.get(name) if domain == driver else None)
    if not isinstance(given, dict):
        return False
    if value is None:
        return given.get("bool") is True
    if value in ("true", "false"):
        return given.get("bool") is (value == "true")
    if value[0] in "\"'":
        return value[1:-1] in (given.get("string"), given.get("version"))
    return str(given.get("int")) == value
