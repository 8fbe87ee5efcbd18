"""Reduces a snapshot to what the rules use: no addresses, no accounts, no machine names; equal nodes are one."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from fabriclint.cluster.snapshot import NODES, ClusterNode, Object, Snapshot, listed, mapping, strings
from fabriclint_schemas.cluster import tables

#: Paths of other kinds that rules look at; what is not named here is dropped.
_KEPT: dict[str, tuple[tuple[str, ...], ...]] = {
    "Network": (("spec", "type"), ("spec", "parametersRef"), ("status", "conditions")),
    "GKENetworkParamSet": (("spec", "deviceMode"),),
    "NetworkAttachmentDefinition": (),
    "DeviceClass": (("spec",),),
    "ResourceSlice": (("spec",),),
    "ResourceClaimTemplate": (("spec",),),
    "ComputeDomain": (("spec",),),
    "TrainingRuntime": (("spec",),),
    "ClusterTrainingRuntime": (("spec",),),
    "ClusterQueue": (("spec",),),
    "LocalQueue": (("spec",),),
    "ResourceFlavor": (("spec",),),
    "Topology": (("spec",),),
    "PriorityClass": (),
    "RuntimeClass": (("overhead",), ("scheduling",)),
    "LimitRange": (("spec",),),
    "ResourceQuota": (("spec",),),
    "NodePool": (("spec", "template", "metadata", "labels"), ("spec", "template", "spec"), ("spec", "limits")),
    "Namespace": (),
    "NicClusterPolicy": (),
}
_LABELS = ("pod-security.kubernetes.io/", "kueue.x-k8s.io/", "resource.kubernetes.io/")
#: Labels of workloads that tell a version.
_VERSION_LABELS = (
    "app.kubernetes.io/name",
    "app.kubernetes.io/version",
    "app.kubernetes.io/component",
    "helm.sh/chart",
)


def _hashed(value: str) -> str:
    return "h-" + hashlib.sha256(value.encode()).hexdigest()[:12]


def _labels(labels: dict[str, str]) -> dict[str, str]:
    table = tables()
    dropped, hidden = tuple(table["dropped_label_prefixes"]), set(table["hashed_labels"])
    out = {}
    for key, value in sorted(labels.items()):
        if key in table["host_labels"] or key.startswith(dropped):
            continue
        out[key] = _hashed(value) if key in hidden and value else value
    return out


def _annotations(annotations: dict[str, str]) -> dict[str, str]:
    out: dict[str, str] = {}
    for key in tables()["kept_annotations"]:
        if key not in annotations or key == NODES:
            continue
        text = annotations[key]
        if key.startswith("networking.gke.io/"):
            try:
                entries = json.loads(text)
            except (ValueError, RecursionError):
                continue
            kept = [
                {k: v for k, v in e.items() if k in ("birthName", "pciAddress", "network", "name", "scope")}
                for e in (entries if isinstance(entries, list) else [])
                if isinstance(e, dict)
            ]
            text = json.dumps(kept, separators=(",", ":"))
        out[key] = text
    return out


def _written(name: str, amount: Any) -> str:
    """An amount as the snapshot keeps it: whole MiB for sizes (rounded down), plain numbers else."""
    if name in ("memory", "ephemeral-storage"):
        return f"{int(amount) // (1024 * 1024)}Mi"
    if amount == amount.to_integral_value():
        return str(int(amount))
    return f"{int(amount * 1000)}m"


def _node(node: ClusterNode) -> Object:
    """A node without name and count."""
    spec: Object = {}
    if node.provider:
        spec["providerID"] = node.provider + ":"
    if node.taints:
        spec["taints"] = sorted(
            ({k: v for k, v in t.items() if v} for t in node.taints), key=lambda t: sorted(t.items())
        )
    if node.unschedulable:
        spec["unschedulable"] = True
    status: Object = {"allocatable": {k: _written(k, v) for k, v in sorted(node.allocatable.items())}}
    registered = {k: _written(k, v) for k, v in sorted(node.capacity.items()) if v > node.offers(k) and "/" in k}
    if registered:
        status["capacity"] = registered
    if node.kubelet:
        status["nodeInfo"] = {"kubeletVersion": node.kubelet}
    return {
        "labels": _labels(node.labels),
        "annotations": _annotations(node.annotations),
        "spec": spec,
        "status": status,
    }


def _nodes(snapshot: Snapshot) -> list[Object]:
    counts: dict[str, int] = {}
    for node in snapshot.nodes:
        text = json.dumps(_node(node), sort_keys=True)
        counts[text] = counts.get(text, 0) + node.count
    out = []
    for number, (text, count) in enumerate(sorted(counts.items()), 1):
        made = json.loads(text)
        annotations = {NODES: str(count), **made["annotations"]}
        metadata = {"name": f"node-{number:04}", "labels": made["labels"], "annotations": annotations}
        out.append(
            {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": made["spec"], "status": made["status"]}
        )
    return out


def _identity(item: Object) -> Object:
    meta = mapping(item, "metadata")
    return {k: meta[k] for k in ("name", "namespace") if meta.get(k)}


def _other(kind: str, item: Object) -> Object:
    made: Object = {"apiVersion": item.get("apiVersion"), "kind": kind, "metadata": _identity(item)}
    labels = strings(mapping(item, "metadata").get("labels"))
    kept = {
        k: v
        for k, v in sorted(labels.items())
        if k.startswith(_LABELS) or (kind in ("DaemonSet", "Deployment") and k in _VERSION_LABELS)
    }
    if kept:
        made["metadata"]["labels"] = kept
    annotations = _annotations(strings(mapping(item, "metadata").get("annotations")))
    if kind == "NetworkAttachmentDefinition" and annotations:
        made["metadata"]["annotations"] = annotations
    if kind in ("DaemonSet", "Deployment"):
        pod = mapping(item, "spec", "template", "spec")
        spec: Object = {
            key: [{"name": c.get("name"), "image": c.get("image")} for c in listed(pod, key)]
            for key in ("initContainers", "containers")
            if listed(pod, key)
        }
        for key in ("nodeSelector", "tolerations"):
            if pod.get(key):
                spec[key] = pod[key]
        made["spec"] = {"template": {"spec": spec}}
        return made
    if kind == "CustomResourceDefinition":
        spec = mapping(item, "spec")
        served = spec.get("served")
        if not isinstance(served, str):
            served = " ".join(str(v.get("name")) for v in listed(spec, "versions") if v.get("served"))
        made["spec"] = {
            "group": spec.get("group"),
            "names": {"kind": mapping(spec, "names").get("kind")},
            "served": served,
        }
        return made
    for path in _KEPT.get(kind, ()):
        at: Any = item
        for step in path:
            at = at.get(step) if isinstance(at, dict) else None
        if at is None:
            continue
        if path[-1] == "conditions":
            at = [{"type": c.get("type"), "status": c.get("status")} for c in at if isinstance(c, dict)]
        into = made
        for step in path[:-1]:
            into = into.setdefault(step, {})
        into[path[-1]] = at
    if kind == "ResourceSlice":
        spec = mapping(made, "spec")
        for key in ("nodeName", "pool"):
            if key in spec:
                spec = {**spec, key: _pool(spec[key]) if key == "pool" else _hashed(str(spec[key]))}
        made["spec"] = spec
        made["metadata"]["name"] = _hashed(str(made["metadata"].get("name", "")))
    return made


def _pool(pool: object) -> object:
    return {**pool, "name": _hashed(str(pool.get("name", "")))} if isinstance(pool, dict) else pool


def trim(snapshot: Snapshot) -> Object:
    """The reduced snapshot as one List; the same input always gives the same bytes. Trimming twice changes nothing."""
    items = _nodes(snapshot)
    for kind in sorted({k for _, k, _ in tables()["resources"]} - {"Node"}):
        items += sorted((_other(kind, i) for i in snapshot.objects(kind)), key=lambda i: json.dumps(i, sort_keys=True))
    metadata = {"annotations": {"fabriclint.dev/collected": " ".join(snapshot.kinds)}}
    return {"apiVersion": "v1", "kind": "List", "metadata": metadata, "items": items}


def as_text(snapshot: Snapshot) -> str:
    """The reduced snapshot as JSON with an object a line, so that changes show in a diff."""
    made = trim(snapshot)
    lines = [json.dumps(i, sort_keys=True, separators=(",", ":")) for i in made.pop("items")]
    head = json.dumps(made, sort_keys=True, separators=(",", ":"))[:-1]
    return head + ',"items":[\n' + ",\n".join(lines) + "\n]}\n"
