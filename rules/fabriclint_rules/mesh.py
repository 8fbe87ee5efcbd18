"""Whether a service mesh puts its sidecar into a pod: what the pod's template and its namespace say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from fabriclint.node import Mapping, Scalar, open_value
from fabriclint.pod import PodView
from fabriclint.rule import Place
from fabriclint_schemas.pods import meshes


class Injected(NamedTuple):
    """A mesh that takes a pod in: its name, how to keep out, where the pod asks for it, where the namespace does."""

    mesh: str
    way: str
    asked: Place | None
    namespace: Place | None


def injected(pod: PodView) -> Injected | None:
    """The mesh whose sidecar the pod gets; None when there is none, when the pod keeps out, or when it cannot be told."""
    if pod.host_network_possible:
        return None
    return next((found for row in meshes()["meshes"] if (found := _by(pod, row)) is not None), None)


def _by(pod: PodView, row: dict[str, Any]) -> Injected | None:
    if pod.annotations_open or _labels_open(pod) or any(a.startswith(tuple(row["handled"])) for a in pod.annotations):
        return None
    token = pod.spec.scalar("automountServiceAccountToken")
    if row.get("needs_token") and token is not None and token.value is not True:
        return None
    asked = next((n for by in row["pod_by"] if (n := _written(pod, by, row["pod"])) is not None), None)
    if asked is not None and (asked.open or asked.text in row["off"]):
        return None
    if asked is not None and asked.text not in row["on"]:
        if row["invalid"] == "off":
            return None
        asked = None
    on, off = _namespace(pod, row)
    if off and (row["off_wins"] or asked is None):
        return None
    if asked is not None:
        return Injected(row["name"], row["way"], Place(asked), None)
    return Injected(row["name"], row["way"], None, on[0]) if on else None


def _labels_open(pod: PodView) -> bool:
    node = pod.metadata.at("labels") if pod.metadata is not None else None
    if isinstance(node, Mapping):
        return any(open_value(name) for name in node.fields)
    return node is not None and not (isinstance(node, Scalar) and node.value is None)


def _written(pod: PodView, by: str, name: str) -> Scalar | None:
    return pod.labels.get(name) if by == "labels" else pod.annotations.get(name)


def _namespace(pod: PodView, row: dict[str, Any]) -> tuple[list[Place | None], bool]:
    """Where the namespace turns the mesh on, if it does (None: in the snapshot of the cluster), and whether it turns it off."""
    on: list[Place | None] = []
    off = False
    for name, value, place in _marks(pod, row["namespace_by"]):
        if value in row["namespace_off"].get(name, ()):
            off = True
        if value and (value in row["namespace"].get(name, ()) or "*" in row["namespace"].get(name, ())):
            on.append(place)
    return on, off


def _marks(pod: PodView, by: str) -> Iterator[tuple[str, str, Place | None]]:
    found = pod.lookup.namespace(pod.workload)
    if found is not None:
        marks = found.mapping("metadata", by)
        for name, node in (marks.fields if isinstance(marks, Mapping) else {}).items():
            if isinstance(node, Scalar) and not node.open:
                yield name, node.text, Place(node)
    elif by == "labels":
        for name, value in (pod.lookup.cluster_labels(pod.workload) or {}).items():
            yield name, value, None
