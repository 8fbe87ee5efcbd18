"""Claims against the devices that slices list: only what is certain counts as too few."""

from __future__ import annotations

from typing import Any

import pytest

from fabriclint.cluster.claims import Shortage, shortages
from fabriclint.cluster.snapshot import Snapshot


def cluster(selector: str = "device.driver == 'gpu.nvidia.com'") -> Snapshot:
    devices = [
        {"name": f"gpu-{n}", "attributes": {"type": {"string": "gpu"}, "mig": {"bool": n > 5}, "index": {"int": n}}}
        for n in range(8)
    ]
    nodes = [{"kind": "Node", "metadata": {"name": name}} for name in ("a", "b")]
    slices = [
        {
            "kind": "ResourceSlice",
            "metadata": {"name": n},
            "spec": {"driver": "gpu.nvidia.com", "nodeName": n, "devices": d},
        }
        for n, d in (("a", devices), ("b", devices[:4]))
    ]
    classes = [
        {"kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {"selectors": [{"cel": {"expression": selector}}]}}
    ]
    objects: dict[str, list[dict[str, Any]]] = {"Node": nodes, "ResourceSlice": slices, "DeviceClass": classes}
    return Snapshot(objects, set(objects))


def template(
    count: int = 8, mode: str | None = None, expression: str | None = None, *, old: bool = False
) -> dict[str, Any]:
    exact: dict[str, Any] = {"deviceClassName": "gpu", "count": count}
    if mode is not None:
        exact["allocationMode"] = mode
    if expression is not None:
        exact["selectors"] = [{"cel": {"expression": expression}}]
    return {"devices": {"requests": [{"name": "g", **exact} if old else {"name": "g", "exactly": exact}]}}


@pytest.mark.parametrize("old", [False, True], ids=["v1", "v1beta1"])
def test_more_than_any_node_has_is_too_few(old: bool) -> None:
    assert shortages(template(9, old=old), cluster()) == [Shortage("gpu", 9, 8)]
    assert shortages(template(8, old=old), cluster()) == []


@pytest.mark.parametrize(
    ("expression", "most"),
    [
        ("device.attributes['gpu.nvidia.com'].mig", 2),
        ("device.attributes['gpu.nvidia.com'].mig == false", 6),
        ('device.attributes["gpu.nvidia.com"].index == 3', 1),
        ("device.attributes['gpu.nvidia.com'].type == 'gpu' && device.driver == 'gpu.nvidia.com'", 8),
        ("device.attributes['gpu.nvidia.com'].absent == 1", 0),
        ("device.driver == 'other.example.com'", 0),
    ],
)
def test_plain_comparisons_are_evaluated(expression: str, most: int) -> None:
    assert shortages(template(9, expression=expression), cluster()) == [Shortage("gpu", 9, most)]


@pytest.mark.parametrize(
    ("expression", "most"),
    [
        ("device.attributes['gpu.nvidia.com'].index >= 6", 2),
        ("device.attributes['gpu.nvidia.com'].index in [0, 1, 9]", 2),
        ("!device.attributes['gpu.nvidia.com'].mig || device.attributes['gpu.nvidia.com'].index == 7", 7),
        ("has(device.attributes['gpu.nvidia.com'].absent)", 0),
        ("device.attributes['gpu.nvidia.com'].type.matches('^g.u$')", 8),
        ("false", 0),
    ],
)
def test_what_can_be_told_is_counted(expression: str, most: int) -> None:
    assert shortages(template(9, expression=expression), cluster()) == [Shortage("gpu", 9, most)]


@pytest.mark.parametrize(
    "expression",
    [
        "a && (b || c)",
        "device.attributes['gpu.nvidia.com'].index > 2 ? true : false",
        "device.attributes['gpu.nvidia.com'].type.matches('(g+)+$')",
        "device.allowMultipleAllocations",
        "device.attributes['type'] == 'gpu'",
        "cel.bind(a, device.attributes['gpu.nvidia.com'], a.index > 90)",
        "not CEL at all ][",
    ],
)
def test_what_cannot_be_told_counts_as_met(expression: str) -> None:
    assert shortages(template(8, expression=expression), cluster()) == []


def test_all_devices_need_one() -> None:
    assert shortages(template(99, mode="All"), cluster()) == []
    assert shortages(template(1, mode="All"), cluster("device.driver == 'nobody'")) == [Shortage("gpu", 1, 0)]


def test_without_slices_or_with_an_unknown_class_nothing_is_said() -> None:
    bare = cluster()
    assert shortages(template(9), Snapshot({"Node": bare.objects("Node")}, {"Node"})) == []
    unknown = template(9)
    unknown["devices"]["requests"][0]["exactly"]["deviceClassName"] = "elsewhere"
    assert shortages(unknown, bare) == []


def test_one_of_several_alternatives_is_enough() -> None:
    def ask(*counts: int) -> dict[str, Any]:
        choices = [{"name": f"c{n}", "deviceClassName": "gpu", "count": n} for n in counts]
        return {"devices": {"requests": [{"name": "g", "firstAvailable": choices}]}}

    assert shortages(ask(9, 8), cluster()) == []
    assert shortages(ask(10, 9), cluster()) == [Shortage("gpu", 10, 8)]
    unknown = ask(10, 9)
    unknown["devices"]["requests"][0]["firstAvailable"][1]["deviceClassName"] = "elsewhere"
    assert shortages(unknown, cluster()) == []
