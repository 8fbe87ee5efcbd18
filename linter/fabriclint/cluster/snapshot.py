"""Reads a snapshot: JSON or YAML, one object, List, stream or folder of them, and indexes what the rules use.

A kind is *collected* only when the snapshot shows that it was asked for: a list names or holds it, a file is called
after its resource, or a marker line says so. Of a kind that is not collected nothing can be "not found".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from fabriclint.disk import contents, is_file, is_folder
from fabriclint.quantity import parse_quantity
from fabriclint_schemas.cluster import tables

Object = dict[str, Any]

#: The annotation of a trimmed node that says how many equal nodes it stands for.
NODES = "fabriclint.dev/nodes"
_MARKER = re.compile(r"^# fabriclint-snapshot v1 (\S+) (collected|forbidden|absent)\s*$", re.MULTILINE)
_TABLE = re.compile(r"\A(?:NAME|NAMESPACE)[ \t]+[A-Z]+|\AName:[ \t]+\S")


#: Far below what a thread's stack holds, far above any object.
_DEEPEST = 2000
_BRACKET = re.compile(r"[\[\]{}]")
_DEEP_BLOCK = re.compile(rf"^(?: {{{_DEEPEST}}}|(?: *[-?] ){{{_DEEPEST // 10}}})", re.MULTILINE)


class SnapshotError(Exception):
    """A snapshot that cannot be used; the text is a sentence that names the file."""


@cache
def _parsed(text: str) -> Decimal:
    return parse_quantity(text) or Decimal(0)


def amounts(value: object) -> dict[str, Decimal]:
    """A resource list as numbers; what cannot be read counts as 0, as it offers nothing."""
    return {str(k): _parsed(str(v)) for k, v in value.items()} if isinstance(value, dict) else {}


def mapping(value: object, *path: str) -> Object:
    """The mapping at a path of plain data, empty when it is absent or something else."""
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def listed(value: object, *path: str) -> list[Object]:
    """The mappings of the list at a path, empty when it is absent or something else."""
    *steps, last = path
    found = mapping(value, *steps).get(last)
    return [i for i in found if isinstance(i, dict)] if isinstance(found, list) else []


def strings(value: object) -> dict[str, str]:
    """A map of strings; other scalars as text."""
    return {str(k): str(v) for k, v in value.items()} if isinstance(value, dict) else {}


@dataclass(slots=True, eq=False)
class ClusterNode:
    """A node, or `count` equal nodes of a trimmed snapshot (`named` is then False: its name is made up)."""

    name: str
    labels: dict[str, str]
    annotations: dict[str, str]
    taints: list[dict[str, str]]
    unschedulable: bool
    allocatable: dict[str, Decimal]
    capacity: dict[str, Decimal]
    provider: str
    kubelet: str
    count: int = 1
    named: bool = True

    def offers(self, resource: str) -> Decimal:
        """How much of a resource an empty node gives; absent is 0."""
        return self.allocatable.get(resource, Decimal(0))


def _node(item: Object) -> ClusterNode:
    meta, spec, status = mapping(item, "metadata"), mapping(item, "spec"), mapping(item, "status")
    annotations = strings(meta.get("annotations"))
    capacity = amounts(status.get("capacity"))
    count = annotations.get(NODES, "")
    return ClusterNode(
        str(meta.get("name", "")),
        strings(meta.get("labels")),
        annotations,
        [{k: str(t.get(k) or "") for k in ("key", "value", "effect")} for t in listed(spec, "taints")],
        spec.get("unschedulable") is True,
        amounts(status["allocatable"]) if isinstance(status.get("allocatable"), dict) else capacity,
        capacity,
        str(spec.get("providerID") or "").partition(":")[0],
        str(mapping(status, "nodeInfo").get("kubeletVersion") or ""),
        int(count) if count.isdecimal() and len(count) < 8 else 1,
        not count,
    )


@dataclass(slots=True)
class _Contents:
    objects: dict[str, list[Object]] = field(default_factory=dict)
    collected: set[str] = field(default_factory=set)


class Snapshot:
    """What is known of a cluster: objects by kind, and which kinds were asked for."""

    def __init__(self, objects: dict[str, list[Object]], collected: set[str], origin: str = "") -> None:
        self._objects = objects
        self._collected = collected
        self.origin = origin

    def collected(self, kind: str) -> bool:
        """Whether the snapshot shows that the kind was asked for, so that "not found" may be said."""
        return kind in self._collected

    @property
    def kinds(self) -> list[str]:
        """All collected kinds, sorted."""
        return sorted(self._collected)

    def objects(self, kind: str) -> list[Object]:
        """The objects of a kind in the order they were read."""
        return self._objects.get(kind, [])

    def find(self, kind: str, name: str, namespace: str | None = None) -> Object | None:
        """The object of that name; `namespace` None does not ask for one."""
        for item in self._index.get((kind, name), ()):
            if namespace is None or mapping(item, "metadata").get("namespace") == namespace:
                return item
        return None

    @cached_property
    def _index(self) -> dict[tuple[str, str], list[Object]]:
        made: dict[tuple[str, str], list[Object]] = {}
        for kind, items in self._objects.items():
            for item in items:
                made.setdefault((kind, str(mapping(item, "metadata").get("name", ""))), []).append(item)
        return made

    def in_namespace(self, kind: str, namespace: str) -> list[Object]:
        """The objects of a kind in a namespace, by name."""
        found = [i for i in self.objects(kind) if mapping(i, "metadata").get("namespace") == namespace]
        return sorted(found, key=lambda i: str(mapping(i, "metadata").get("name", "")))

    @cached_property
    def nodes(self) -> list[ClusterNode]:
        """The nodes, by name."""
        return sorted((_node(i) for i in self.objects("Node")), key=lambda n: n.name)

    @cached_property
    def named(self) -> bool:
        """Whether the nodes' names are their own (a trimmed snapshot's are not)."""
        return all(n.named for n in self.nodes)

    @cached_property
    def gke(self) -> bool:
        """Whether the nodes are GKE's, whose API server adds tolerations for requested resources."""
        return any(n.provider == "gce" and "cloud.google.com/gke-nodepool" in n.labels for n in self.nodes)

    @cached_property
    def autopilot(self) -> bool:
        """Whether nodes of any shape come when pods ask for them: compute classes."""
        return any("cloud.google.com/compute-class" in n.labels for n in self.nodes)

    @cached_property
    def on_demand(self) -> bool:
        """Whether nodes come when pods ask for them: Karpenter's pools, Autopilot and compute classes."""
        return (
            self.autopilot
            or bool(self.objects("NodePool"))
            or any("karpenter.sh/nodepool" in n.labels for n in self.nodes)
        )

    @cached_property
    def networks(self) -> dict[str, Object]:
        """GKE networks by name; without Network objects, the names that nodes offer as resources."""
        found = {str(mapping(i, "metadata").get("name", "")): i for i in self.objects("Network")}
        if not self.collected("Network"):
            for node in self.nodes:
                for resource in node.allocatable:
                    group, _, name = resource.partition("/")
                    if group == "networking.gke.io.networks" and not name.endswith(".IP"):
                        found.setdefault(name, {})
        return found

    def device_mode(self, network: str) -> str | None:
        """`NetDevice`, `RDMA`, `L3` ... of a GKE network, or None when the snapshot does not tell."""
        item = self.networks.get(network)
        if not item:
            return None
        kind = mapping(item, "spec").get("type")
        if kind != "Device":
            return str(kind) if isinstance(kind, str) else None
        params = mapping(item, "spec", "parametersRef").get("name")
        found = self.find("GKENetworkParamSet", str(params)) if params else None
        mode = mapping(found, "spec").get("deviceMode")
        return str(mode) if isinstance(mode, str) else None


_RESOURCE_OF_FILE = re.compile(r"\.(?:json|ya?ml)\Z")


@cache
def _kinds() -> dict[str, str]:
    """Kind by resource, in its full form and by its plural."""
    made: dict[str, str] = {}
    for resource, kind, _ in tables()["resources"]:
        made[resource] = kind
        made.setdefault(resource.partition(".")[0], kind)
    return made


def _take(value: object, into: _Contents, kept: set[str], *, inside: bool = False) -> None:
    if not isinstance(value, dict):
        return
    kind = value.get("kind")
    if not isinstance(kind, str):
        return
    items = value.get("items")
    if isinstance(items, list) and kind.endswith("List"):
        inner = kind.removesuffix("List")
        if inner:
            into.collected.add(inner)
        for item in items:
            if isinstance(item, dict) and inner and "kind" not in item:
                item["kind"] = inner
                item.setdefault("apiVersion", value.get("apiVersion"))
            _take(item, into, kept, inside=True)
        return
    if kind in kept:
        into.objects.setdefault(kind, []).append(value)
        if inside:
            into.collected.add(kind)


def _nested(name: str) -> SnapshotError:
    return SnapshotError(f"The snapshot '{name}' is nested deeper than any object of Kubernetes; take it anew.")


def _too_deep(text: str) -> bool:
    """Whether the YAML may be nested so deep that libyaml's reader, which calls itself, ends the process."""
    if _DEEP_BLOCK.search(text) is not None:
        return True
    if text.count("[") + text.count("{") < _DEEPEST:
        return False
    depth = 0
    for bracket in _BRACKET.finditer(text):
        depth = depth + 1 if bracket[0] in "[{" else max(depth - 1, 0)
        if depth > _DEEPEST:
            return True
    return False


def _documents(text: str, name: str) -> Iterator[object]:
    if text.lstrip("\ufeff \t\r\n")[:1] in ("{", "["):
        try:
            yield json.loads(text.lstrip("\ufeff"))
            return
        except RecursionError:
            raise _nested(name) from None
        except ValueError:
            pass  # a stream of JSON objects, or YAML in flow style
    if _too_deep(text):
        raise _nested(name)
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    loader = YAML(typ="safe")
    loader.allow_duplicate_keys = True
    try:
        yield from loader.load_all(text)
    except (YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark is not None else ""
        raise SnapshotError(
            f"The snapshot '{name}'{line} is neither JSON nor YAML; take it with '-o json' or '-o yaml'."
        ) from None


def read_text(text: str, name: str, into: _Contents) -> None:
    """Add one file's objects. Raises SnapshotError."""
    kept = {kind for _, kind, _ in tables()["resources"]}
    if _TABLE.match(text):
        raise SnapshotError(
            f"The snapshot '{name}' is kubectl's table or 'describe' text; take it with 'kubectl get RESOURCE -A -o json'."
        )
    for resource, status in _MARKER.findall(text):
        if status == "collected" and resource in _kinds():
            into.collected.add(_kinds()[resource])
    found = False
    for document in _documents(text, name):
        found = True
        if isinstance(document, dict):
            for kind in mapping(document, "metadata", "annotations").get("fabriclint.dev/collected", "").split():
                into.collected.add(kind)
        _take(document, into, kept)
    resource = _RESOURCE_OF_FILE.sub("", Path(name).name)
    if found and resource in _kinds():
        into.collected.add(_kinds()[resource])


def _decoded(data: bytes) -> str:
    """UTF-8, or the UTF-16 that PowerShell's `>` writes."""
    return data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig", "replace")


def load(path: str | Path) -> Snapshot:
    """The snapshot in a file or folder. Raises SnapshotError with a sentence for the user."""
    root = Path(path)
    into = _Contents()
    try:
        if is_folder(root):
            files = sorted(f for f in root.iterdir() if f.suffix in (".json", ".yaml", ".yml") and is_file(f))
            if not files:
                raise SnapshotError(
                    f"The snapshot folder '{path}' holds no JSON or YAML; 'fabriclint cluster snapshot-command' prints how to fill it."
                )
        else:
            files = [root]
        for file in files:
            text = _decoded(contents(file))
            if text.strip() or file == root:
                read_text(text, str(file), into)
    except OSError as error:
        raise SnapshotError(f"The snapshot '{path}' cannot be read: {error.strerror or 'unknown error'}.") from None
    if not into.objects and not into.collected:
        raise SnapshotError(
            f"The snapshot '{path}' holds no Kubernetes objects that rules use; "
            "'fabriclint cluster snapshot-command' prints how to take one."
        )
    return Snapshot(into.objects, into.collected, str(path))
