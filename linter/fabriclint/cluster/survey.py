"""What a snapshot tells of the nodes that a new job is to run on: selector, taints, amounts, networks, installer."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from fabriclint.cluster.snapshot import ClusterNode, Snapshot, SnapshotError, listed, mapping
from fabriclint_schemas.cluster import tables


@dataclass(slots=True)
class Survey:
    """The facts found, and what could not be told, in sentences."""

    selector: dict[str, str] = field(default_factory=dict)
    tolerations: list[dict[str, str]] = field(default_factory=list)
    amounts: dict[str, str] = field(default_factory=dict)
    networks: list[str] = field(default_factory=list)
    #: The tag of the installer's image, as its DaemonSet names it.
    installed: str | None = None
    open: list[str] = field(default_factory=list)


class UnfitError(SnapshotError):
    """The nodes chosen in a snapshot are of machines that the fabric does not exist on. `there`: what their label says."""

    def __init__(self, origin: str, key: str, there: list[str], fitting: list[str]) -> None:
        said = f"is {', '.join(there)} and not" if there else "is not"
        super().__init__(
            f"This manifest is not for the nodes in '{origin}': their '{key}' {said} {' or '.join(fitting)}"
        )
        self.key = key
        self.there = there


def survey(snapshot: Snapshot, asked: dict[str, Any], wanted: dict[str, str]) -> Survey:
    """Look at the nodes that carry the labels `wanted` (all values given) and offer what `asked` names.

    `asked`: `selector` (labels that choose the nodes), `offers` (a resource they must have), `amounts` (name ->
    resource on which all must agree), `device_mode` (of GKE networks), `installer` (end of an image's path), `fits` (label
    -> the values of nodes that have the fabric). Raises SnapshotError when no node fits, or the nodes disagree.
    """
    labels = [str(key) for key in asked["selector"]]
    nodes = [n for n in snapshot.nodes if all(n.labels.get(k) == v for k, v in wanted.items())]
    offers = asked.get("offers")
    if offers:
        nodes = [n for n in nodes if n.offers(offers) > 0]
    else:
        nodes = [n for n in nodes if all(k in n.labels for k in labels)]
    if not nodes:
        raise SnapshotError(_nobody(snapshot, labels, wanted, offers))
    for key, values in asked.get("fits", {}).items():
        fitting = [n for n in nodes if n.labels.get(key) in values]
        if not fitting:
            raise UnfitError(snapshot.origin, key, sorted({n.labels[key] for n in nodes if key in n.labels}), values)
        nodes = fitting
    made = Survey()
    for key in labels:
        values = sorted({n.labels[key] for n in nodes if key in n.labels})
        if len(values) == 1:
            made.selector[key] = values[0]
        elif values:
            raise SnapshotError(
                f"The nodes in '{snapshot.origin}' differ in '{key}': {', '.join(values)}; choose one with --node-selector {key}={values[0]}."
            )
    for name, resource in asked.get("amounts", {}).items():
        made.amounts[name] = _agreed(nodes, str(resource), snapshot.origin)
    made.tolerations = _tolerations(nodes)
    mode = asked.get("device_mode")
    if mode:
        made.networks = sorted((n for n in snapshot.networks if snapshot.device_mode(n) == mode), key=_by_number)
    installer = asked.get("installer")
    if installer:
        made.installed = _installed(snapshot, str(installer))
        if made.installed is None:
            made.open.append(f"no DaemonSet in the snapshot runs '{installer}'")
    return made


def _nobody(snapshot: Snapshot, labels: list[str], wanted: dict[str, str], offers: Any) -> str:
    """The sentence for a snapshot without a node that fits, with what its nodes are instead."""
    chosen = " and ".join(f"{k}={v}" for k, v in wanted.items())
    if offers:
        what = f"offers '{offers}'"
        where = f" with {chosen}" if chosen else ""
    else:
        what, where = f"has the label {chosen or labels[0]}", ""
    others = sorted({n.labels[k] for n in snapshot.nodes for k in (wanted or labels) if k in n.labels})
    there = f" (there: {', '.join(others[:5])}{', ...' if len(others) > 5 else ''})" if others else ""
    return f"No node{where} in '{snapshot.origin}' {what}{there}; take the snapshot of the right cluster."


def _agreed(nodes: list[ClusterNode], resource: str, origin: str) -> str:
    by_amount: dict[str, list[ClusterNode]] = {}
    for node in nodes:
        by_amount.setdefault(_written(node.offers(resource)), []).append(node)
    if len(by_amount) > 1:
        told = "; ".join(f"{amount} on {_names(some)}" for amount, some in sorted(by_amount.items()))
        raise SnapshotError(
            f"The nodes in '{origin}' disagree on '{resource}': {told}; choose one pool with --node-selector."
        )
    return next(iter(by_amount))


def _written(amount: Decimal) -> str:
    """An amount without the zeros behind its point that the sum of quantities leaves."""
    return str(int(amount)) if amount == int(amount) else f"{amount.normalize():f}"


def _names(nodes: list[ClusterNode]) -> str:
    total = sum(n.count for n in nodes)
    if total <= 3 and all(n.named for n in nodes):
        return " and ".join(n.name for n in nodes)
    return f"{total} nodes"


def _tolerations(nodes: list[ClusterNode]) -> list[dict[str, str]]:
    made: list[dict[str, str]] = []
    transient = tables()["transient_taints"]
    for node in nodes:
        for taint in node.taints:
            if taint["effect"] not in ("NoSchedule", "NoExecute") or taint["key"] in transient:
                continue
            entry = {"key": taint["key"]}
            if taint["value"]:
                entry |= {"operator": "Equal", "value": taint["value"]}
            else:
                entry |= {"operator": "Exists"}
            entry["effect"] = taint["effect"]
            if entry not in made:
                made.append(entry)
    return sorted(made, key=lambda e: (e["key"], e["effect"], e.get("value", "")))


def _by_number(name: str) -> list[tuple[int, str]]:
    return [(int(p), "") if p.isdigit() else (-1, p) for p in re.split(r"(\d+)", name)]


def _installed(snapshot: Snapshot, image: str) -> str | None:
    """The tag of the one installer image that a DaemonSet runs; None when there is none, or several disagree."""
    tags: set[str] = set()
    for item in snapshot.objects("DaemonSet"):
        spec = mapping(item, "spec", "template", "spec")
        for container in (*listed(spec, "initContainers"), *listed(spec, "containers")):
            path, _, tag = str(container.get("image", "")).partition("@")[0].rpartition(":")
            if path.endswith(image):
                tags.add(tag)
    return tags.pop() if len(tags) == 1 else None
