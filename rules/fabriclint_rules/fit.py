"""FIT: whether the nodes of a cluster snapshot can take the pods."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal

from fabriclint.cluster.match import Blame, Pod, Verdict, can_be_made, disagreements, is_extended, requirement_holds
from fabriclint.cluster.snapshot import ClusterNode, Snapshot, listed
from fabriclint.node import Mapping, Node, Unknown
from fabriclint.pod import PodView
from fabriclint.rule import Finding, Place, Severity, rule
from fabriclint.views import PlacedJob
from fabriclint.workload import is_accelerator
from fabriclint_schemas.cluster import tables

_REQUIRED = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")


def _placed(view: PlacedJob, cause: str) -> Iterator[tuple[PodView, Pod, list[Verdict], Blame]]:
    """The pods of a job that no node takes, for that cause."""
    for pod in view.job.pods:
        judged = view.judged(pod)
        if judged is not None and judged[2].cause == cause and pod.site.pods != 0:
            yield pod, *judged


def _count(verdicts: list[Verdict]) -> int:
    return sum(v.node.count for v in verdicts)


def _named(nodes: list[ClusterNode]) -> str:
    """Nodes in words: names, or how many there are."""
    total = sum(n.count for n in nodes)
    if total == len(nodes) and 0 < total <= 3 and all(n.named for n in nodes):
        return " and ".join(f"'{n.name}'" for n in nodes)
    return f"{total} nodes" if total != 1 else "one node"


def _amount(value: Decimal) -> str:
    return str(int(value)) if value == value.to_integral_value() else f"{value.normalize():f}"


def _size(resource: str, value: Decimal) -> str:
    """An amount as a person reads it: memory in GiB, the rest as a number."""
    if resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-"):
        return f"{(value / (1024**3)).quantize(Decimal('0.1')).normalize():f}Gi"
    return _amount(value)


def _taint(taint: dict[str, str]) -> str:
    value = f"={taint['value']}" if taint["value"] else ""
    return f"{taint['key']}{value}:{taint['effect']}"


def _place_of(pod: PodView, resource: str) -> Place:
    """The line that asks for a resource: the container with the largest share, requests before limits where it has both."""
    worker = pod.worker
    containers = [worker] if worker is not None else []
    containers += [
        c for c in (*pod.main_containers, *pod.init_containers) if worker is None or c.node is not worker.node
    ]
    for container in containers:
        for section in ("limits", "requests") if is_extended(resource) else ("requests", "limits"):
            node = container.node.at("resources", section, resource)
            if node is not None:
                return Place(node)
    return pod.missing_field("containers") if not containers else containers[0].missing("resources", "limits")


def _selector_place(pod: PodView, snapshot: Snapshot) -> tuple[Place, list[tuple[str, str]]]:
    """Where the selector is at fault, and the (label, value) pairs that no node has."""
    pinned = pod.spec.at("nodeName")
    if pinned is not None:
        return Place(pinned), []
    unmet = [
        (label, scalar)
        for label, scalar in pod.node_selector.items()
        if not any(n.labels.get(label) == scalar.text for n in snapshot.nodes)
    ]
    if len(unmet) == 1:
        return Place(unmet[0][1]), [(unmet[0][0], unmet[0][1].text)]
    if unmet or pod.node_selector:
        node = pod.spec.at("nodeSelector")
        if node is not None:
            return Place(node, on_key=True), [(label, s.text) for label, s in unmet]
    return Place(pod.spec.nearest(*_REQUIRED), on_key=True), []


def _unmet_keys(pod: PodView, snapshot: Snapshot) -> list[str]:
    """Keys of required affinity that no node satisfies."""
    out: list[str] = []
    for label, operator, values in pod.node_labels():
        requirement = {"key": label, "operator": operator, "values": [v.text for v in values]}
        if label not in out and not any(requirement_holds(requirement, n.labels) for n in snapshot.nodes):
            out.append(label)
    return out


@rule("FIT007", "no-eligible-node", Severity.ERROR, on=PlacedJob, also=(Severity.WARNING, Severity.NOTE))
def no_eligible_node(view: PlacedJob) -> Iterator[Finding]:
    """Some node of the cluster passes the pod's selector and required affinity.

    nodeSelector and required affinity must both hold, compared letter by letter. Otherwise the pods stay Pending with
    "didn't match Pod's node affinity/selector".

    Fix: write the labels that `kubectl get nodes --show-labels` prints for the pool.
    Silent: nodes that are made on demand (Karpenter, Autopilot): a note; no node carries the label's key at all on a
    cloud: a warning, since the pool may have scaled to zero.
    Bad: a machine type that the cluster has not (fit-job; snapshot=snapshot-eks.yaml)
        ~ instance-type: p5.48xlarge => instance-type: p5e.48xlarge # <-
    Bad: A3 High's accelerator on a cluster of A3 Mega (tcpxo-jobset; snapshot=snapshot-gke.yaml)
        + nodeSelector:
        +   cloud.google.com/gke-accelerator: nvidia-h100-80gb # <-
          initContainers:
    Good: the label as the nodes carry it (fit-job; snapshot=snapshot-eks.yaml)
        @@ nodeSelector:
          node.kubernetes.io/instance-type: p5.48xlarge
    Good: required affinity that some node meets (fit-job; snapshot=snapshot-eks.yaml)
        - nodeSelector:
        -   node.kubernetes.io/instance-type: p5.48xlarge
        + affinity:
        +   nodeAffinity:
        +     requiredDuringSchedulingIgnoredDuringExecution:
        +       nodeSelectorTerms:
        +         - matchExpressions:
        +             - key: node.kubernetes.io/instance-type
        +               operator: In
        +               values: [p5.48xlarge, p5e.48xlarge]
    Source: kubernetes/component-helpers scheduling/corev1/nodeaffinity.
    """
    snapshot = view.snapshot
    total = sum(n.count for n in snapshot.nodes)
    for pod, _, _, _ in _placed(view, "selector"):
        place, unmet = _selector_place(pod, snapshot)
        keys = [k for k, _ in unmet] or _unmet_keys(pod, snapshot)
        absent = [k for k in keys if not any(k in n.labels for n in snapshot.nodes)]
        severity = Severity.ERROR
        if pod.spec.string("nodeName"):
            what = (
                f"The node '{pod.spec.string('nodeName')}' that the pod names is not in the cluster or does not match"
            )
        elif unmet:
            text = ", ".join(f"{k}={v}" for k, v in unmet)
            have = sorted({n.labels[unmet[0][0]] for n in snapshot.nodes if unmet[0][0] in n.labels})
            seen = f" (there is {', '.join(repr(h) for h in have[:4])})" if have else ""
            what = f"None of the cluster's {total} nodes has the label '{text}'{seen}"
        elif keys:
            what = f"None of the cluster's {total} nodes meets the required affinity on '{', '.join(keys)}'"
        else:
            what = f"None of the cluster's {total} nodes meets nodeSelector and required affinity together"
        selector = {k: s.text for k, s in pod.node_selector.items()}
        if snapshot.autopilot or can_be_made(snapshot, selector):
            severity = Severity.NOTE
            what += "; it may be one that is made on demand"
        elif (snapshot.on_demand and not snapshot.collected("NodePool") and unmet) or (
            absent and any(n.provider in ("gce", "aws", "azure") for n in snapshot.nodes)
        ):
            severity = Severity.WARNING
        named = pod.name or view.workload.manifest.name
        waiting = f"the pods of '{named}'" if named else "the pods"
        yield pod.finding(
            place,
            f"{what}; {waiting} stay Pending.",
            help="Write the labels of the nodes the pods are meant for, as 'kubectl get nodes --show-labels' prints them.",
            severity=severity,
        )
    for pod, _, _, blame in _placed(view, "cordon"):
        node = pod.spec.at("nodeSelector")
        yield pod.finding(
            Place(node, on_key=True) if node is not None else pod.missing_field("affinity"),
            f"All {_count(blame.verdicts)} nodes that could take the pod are cordoned; it stays Pending until one is uncordoned.",
            help="Uncordon the nodes (kubectl uncordon), or select others; take the snapshot anew afterwards.",
        )


@rule("FIT004", "untolerated-taint", Severity.ERROR, on=PlacedJob, also=(Severity.WARNING,))
def untolerated_taint(view: PlacedJob) -> Iterator[Finding]:
    """The pod tolerates the taints of at least one node with room for it.

    Every NoSchedule and NoExecute taint needs its own toleration. One without operator and value means the empty value.

    Fix: add a toleration for each taint named.
    Silent: taints on only some of the nodes; on GKE, taints named after a resource the pod asks for, which its API
    server tolerates by itself.
    Bad: no toleration for the pool's taint (fit-job; snapshot=snapshot-eks.yaml)
        @@ metadata:
        @@ annotations:
        @@ spec: # <-
        - tolerations:
        -   - key: nvidia.com/gpu
        -     operator: Exists
        -     effect: NoSchedule
    Bad: a toleration that asks for the empty value; the taint is nvidia.com/gpu=present (fit-set; snapshot=snapshot-eks.yaml)
          tolerations: # <-
            - key: nvidia.com/gpu
        -     operator: Exists
    Good: any value (fit-job; snapshot=snapshot-eks.yaml)
        @@ key: nvidia.com/gpu
          operator: Exists
    Good: the value itself (fit-job; snapshot=snapshot-eks.yaml)
        @@ key: nvidia.com/gpu
        - operator: Exists
        + value: present
    Source: kubernetes/api core/v1/toleration.go.
    """
    transient = set(tables()["transient_taints"])
    for pod, placed, _, blame in _placed(view, "taint"):
        keys = {t["key"] for t in blame.taints}
        severity = Severity.ERROR
        if keys <= set(placed.asked) or keys & transient:
            severity = Severity.WARNING
        taints = ", ".join(_taint(t) for t in blame.taints)
        node = pod.spec.at("tolerations")
        yield pod.finding(
            Place(node, on_key=True) if node is not None else Place(pod.spec, on_key=True),
            f"The pod does not tolerate '{taints}', which every node with room for it has ({_named([v.node for v in blame.verdicts])}); "
            "it stays Pending.",
            help="Add "
            + ", ".join(f"{{key: {t['key']}, operator: Exists, effect: {t['effect']}}}" for t in blame.taints)
            + " to 'tolerations'.",
            severity=severity,
        )


@rule("FIT002", "resource-not-allocatable", Severity.ERROR, on=PlacedJob, also=(Severity.WARNING,))
def resource_not_allocatable(view: PlacedJob) -> Iterator[Finding]:
    """Some node that the pod may enter offers all it asks for.

    Compared is what a node has to give when empty (status.allocatable), with the larger of init containers and running
    containers, sidecars included.

    Fix: ask for what the nodes offer, or select nodes that offer it.
    Silent: what running pods hold is not in a snapshot.
    Bad: more memory than a node has (fit-set; snapshot=snapshot-eks.yaml)
          nvidia.com/gpu: 8
        + memory: 2500Gi # <-
    Bad: huge pages that no node has set aside (fit-set; snapshot=snapshot-eks.yaml)
          nvidia.com/gpu: 8
        + memory: 100Gi
        + hugepages-2Mi: 20Gi # <-
    Good: 16 of them (fit-job; snapshot=snapshot-eks.yaml)
        ~ parallelism: 2 => parallelism: 1
        ~ completions: 2 => completions: 1
        ~ instance-type: p5.48xlarge => instance-type: p5en.48xlarge
        ~ vpc.amazonaws.com/efa: 32 => vpc.amazonaws.com/efa: 16
    Good: all of what a node offers (fit-set; snapshot=snapshot-eks.yaml)
          nvidia.com/gpu: 8
        + memory: 2000Gi
    Source: kubernetes/kubernetes@v1.35.2 pkg/scheduler/framework/plugins/noderesources/fit.go.
    """
    for pod, placed, _, blame in _placed(view, "resource"):
        for resource in blame.resources:
            nodes = [v.node for v in blame.verdicts]
            best = max((n.offers(resource) for n in nodes), default=Decimal(0))
            registered = max((n.capacity.get(resource, Decimal(0)) for n in nodes), default=Decimal(0))
            asked = _size(resource, placed.asked[resource])
            severity = Severity.ERROR
            if best == 0 and registered > 0:
                severity = Severity.WARNING
                why = f"offer none of their {_size(resource, registered)}: their device plugin is unwell"
            elif best == 0:
                near = sorted({r for n in nodes for r in n.allocatable if r.lower() == resource.lower()})
                why = "do not offer it" + (f" (they offer '{near[0]}')" if near else "")
            else:
                why = f"offer {_size(resource, best)} at most"
            yield pod.finding(
                _place_of(pod, resource),
                f"The pod asks for {asked} of '{resource}' and the nodes it may enter ({_named(nodes)}) {why}; it stays Pending.",
                help=f"Ask for no more of '{resource}' than the nodes offer, or select nodes that offer it.",
                severity=severity,
            )


@rule("FIT003", "eligible-nodes-disagree", Severity.ERROR, on=PlacedJob, also=(Severity.NOTE,))
def eligible_nodes_disagree(view: PlacedJob) -> Iterator[Finding]:
    """The nodes that the pod may enter offer the same amount of its fabric's resource.

    The scheduler mixes them freely: ranks with 32 NICs beside ranks with 16, or all pods wait for the few nodes that have
    enough.

    Fix: select one kind of node (`node.kubernetes.io/instance-type`).
    Silent: nodes kept out by selector, taint or cordon; differing machine types with equal counts.
    Bad: a label that two machine types share (fit-job; snapshot=snapshot-eks.yaml)
        ~ node.kubernetes.io/instance-type: p5.48xlarge => nvidia.com/gpu.present: "true"
        - vpc.amazonaws.com/efa: 32
        + vpc.amazonaws.com/efa: 16 # <-
    Bad: no selector at all (fit-job; snapshot=snapshot-eks.yaml)
        - nodeSelector:
        -   node.kubernetes.io/instance-type: p5.48xlarge
        @@ limits:
        - vpc.amazonaws.com/efa: 32
        + vpc.amazonaws.com/efa: 8 # <-
    Good: one machine type (fit-job; snapshot=snapshot-eks.yaml)
        @@ nodeSelector:
          node.kubernetes.io/instance-type: p5.48xlarge
    Good: a resource in which they agree (fit-job; snapshot=snapshot-eks.yaml)
        ~ node.kubernetes.io/instance-type: p5.48xlarge => nvidia.com/gpu.present: "true"
        - vpc.amazonaws.com/efa: 32
    Source: kubernetes/kubernetes@v1.35.2 pkg/scheduler/framework/plugins/noderesources/fit.go.
    """
    for pod, placed, verdicts, _ in _placed(view, "none"):
        for resource, counts in disagreements(placed, verdicts).items():
            groups: dict[Decimal, list[ClusterNode]] = {}
            for node, count in counts:
                groups.setdefault(count, []).append(node)
            text = ", ".join(f"{_amount(c)} on {_named(groups[c])}" for c in sorted(groups, reverse=True))
            yield pod.finding(
                _place_of(pod, resource),
                f"The nodes that the pod may enter differ in '{resource}': {text}; where its ranks land is chance.",
                help="Select one machine type, for instance with the label 'node.kubernetes.io/instance-type'.",
            )


@rule("FIT014", "topology-key-missing", Severity.ERROR, on=PlacedJob)
def topology_key_missing(view: PlacedJob) -> Iterator[Finding]:
    """A topology key that must hold is a label of the nodes the pod may enter.

    A node without the key of a required pod affinity or of a spread constraint with DoNotSchedule takes no such pod.

    Fix: use a label that the nodes carry.
    Silent: ScheduleAnyway, preferred affinity, anti-affinity.
    Bad: NVLink domains of nodes that have none (fit-job; snapshot=snapshot-eks.yaml)
        + topologySpreadConstraints:
        +   - maxSkew: 1
        +     topologyKey: nvidia.com/gpu.clique # <-
        +     whenUnsatisfiable: DoNotSchedule
        +     labelSelector: {matchLabels: {job-name: reserve}}
          nodeSelector:
    Bad: a rack label that no node carries (fit-job; snapshot=snapshot-eks.yaml)
        + affinity:
        +   podAffinity:
        +     requiredDuringSchedulingIgnoredDuringExecution:
        +       - topologyKey: example.com/rack # <-
        +         labelSelector: {matchLabels: {job-name: reserve}}
          nodeSelector:
    Good: a label of every node (fit-job; snapshot=snapshot-eks.yaml)
        + topologySpreadConstraints:
        +   - maxSkew: 1
        +     topologyKey: kubernetes.io/hostname
        +     whenUnsatisfiable: DoNotSchedule
        +     labelSelector: {matchLabels: {job-name: reserve}}
          nodeSelector:
    Good: a wish (fit-job; snapshot=snapshot-eks.yaml)
        + topologySpreadConstraints:
        +   - maxSkew: 1
        +     topologyKey: nvidia.com/gpu.clique
        +     whenUnsatisfiable: ScheduleAnyway
        +     labelSelector: {matchLabels: {job-name: reserve}}
          nodeSelector:
    Source: kubernetes/kubernetes@v1.35.2 pkg/scheduler/framework/plugins/podtopologyspread.
    """
    for pod, _, _, blame in _placed(view, "topology"):
        for key in blame.keys:
            place = _key_place(pod, key)
            yield pod.finding(
                place,
                f"No node that the pod may enter carries the topology key '{key}' ({_named([v.node for v in blame.verdicts])}); "
                "the pod stays Pending.",
                help="Use a label that the nodes carry, or leave the constraint out.",
            )


def _key_place(pod: PodView, key: str) -> Place:
    for part in ("topologySpreadConstraints", "affinity"):
        at = pod.spec.at(part)
        for node in at.walk() if at is not None else ():
            if node.key == "topologyKey" and getattr(node, "value", None) == key:
                return Place(node)
    return pod.missing_field("topologySpreadConstraints")


@rule("FIT017", "too-few-nodes", Severity.WARNING, on=PlacedJob)
def too_few_nodes(view: PlacedJob) -> Iterator[Finding]:
    """There are as many eligible nodes as pods that each take a whole node.

    The rest stays Pending, and a job without gang scheduling holds its GPUs while it waits.

    Fix: ask for fewer nodes, or add some to the pool.
    Silent: nodes made on demand; pods of which two share a node.
    Bad: three nodes wanted of two (fit-job; snapshot=snapshot-eks.yaml)
        - namespace: ml
        - labels:
        -   kueue.x-k8s.io/queue-name: team
        ~ parallelism: 2 => parallelism: 3 # <-
        ~ completions: 2 => completions: 3
    Bad: four replicas of a StatefulSet on two nodes (fit-set; snapshot=snapshot-eks.yaml)
        ~ replicas: 2 => replicas: 4 # <-
    Good: two (fit-job; snapshot=snapshot-eks.yaml)
        @@ suspend: true
          parallelism: 2
    Good: pods of which two share a node (fit-set; snapshot=snapshot-eks.yaml)
        ~ replicas: 2 => replicas: 4
        ~ nvidia.com/gpu: 8 => nvidia.com/gpu: 4
    Source: kubernetes/kubernetes@v1.35.2 pkg/scheduler/framework/plugins/noderesources/fit.go.
    """
    if view.snapshot.on_demand:
        return
    for pod, placed, verdicts, _ in _placed(view, "none"):
        pods = pod.site.pods
        gpus = {r: a for r, a in placed.asked.items() if is_accelerator(r)}
        if pods is None or isinstance(pods, Unknown) or not gpus or not pod.site.together:
            continue
        fit = [v for v in verdicts if v.eligible]
        if all(any(2 * a > v.node.offers(r) for r, a in gpus.items()) for v in fit) and _count(fit) < pods:
            cordoned = _count([v for v in verdicts if v.selected and v.cordoned])
            also = f" ({cordoned} more {'is' if cordoned == 1 else 'are'} cordoned)" if cordoned else ""
            have = f"{_count(fit)} eligible node" + ("" if _count(fit) == 1 else "s")
            resource = next(iter(sorted(gpus)))
            yield pod.finding(
                _count_place(pod) or _place_of(pod, resource),
                f"The job wants {pods} pods that each take a whole node, and the cluster has {have}{also}; the rest stays Pending.",
                help="Ask for no more nodes than there are, or add some to the pool.",
            )


def _count_place(pod: PodView) -> Place | None:
    """Where the number of pods is written."""
    owner = pod.site.owner or pod.workload.manifest.root.mapping("spec")
    for path in (
        ("replicas",),
        ("template", "spec", "parallelism"),
        ("parallelism",),
        ("template", "spec", "completions"),
    ):
        node: Node | None = owner.at(*path) if isinstance(owner, Mapping) else None
        if node is not None and getattr(node, "value", None) not in (1, None):
            return Place(node)
    return None


@rule("FIT009", "nic-displaced", Severity.WARNING, on=PlacedJob, also=(Severity.ERROR,))
def nic_displaced(view: PlacedJob) -> Iterator[Finding]:
    """Every node that the pod may enter has its fabric's NICs under their usual names.

    On some A3 Mega nodes a NIC comes up under a name beyond eth8: the ranks there reach seven of eight GPUs' NICs.

    Fix: take the node out of service (cordon it) and have it repaired.
    Silent: nodes whose NIC map is not in the snapshot or cannot be read.
    Bad: a node of the pool whose last NIC came up as eth9 (tcpxo-jobset; snapshot=snapshot-gke-displaced.yaml)
        @@ networking.gke.io/interfaces: # <-
    Bad: the same, for a job of one more node (tcpxo-jobset; snapshot=snapshot-gke-displaced.yaml)
        ~ parallelism: 2 => parallelism: 1
        ~ completions: 2 => completions: 1
        @@ networking.gke.io/interfaces: # <-
        ~ --nnodes=2 => --nnodes=1
    Good: eth1 to eth8 on every node (tcpxo-jobset; snapshot=snapshot-gke.yaml)
        @@ networking.gke.io/interfaces:
    Good: a job that does not use these NICs (fit-claims; snapshot=snapshot-gke-displaced.yaml)
        @@ containers:
    Source: NVIDIA/aicr#2265; GoogleCloudPlatform/gke-networking-api apis/network/v1/annotations.go.
    """
    for pod, _, verdicts, _ in _placed(view, "none"):
        if pod.fabric is None or pod.fabric.name != "gke-tcpxo":
            continue
        fit = [v.node for v in verdicts if v.eligible]
        bad = [(n, lost) for n in fit if (lost := _displaced(n))]
        if not bad:
            continue
        place = pod.annotations.get("networking.gke.io/interfaces")
        yield pod.finding(
            Place(place, on_key=True) if place is not None else pod.missing_annotation(),
            f"The NIC map of {_named([n for n, _ in bad])} lacks '{', '.join(bad[0][1])}'; ranks there lose that GPU's NIC.",
            help="Cordon the node and have it repaired or replaced; the manifest is not at fault.",
            severity=Severity.ERROR if len(bad) == len(fit) else Severity.WARNING,
        )


def _displaced(node: ClusterNode) -> list[str]:
    machine = node.labels.get("node.kubernetes.io/instance-type")
    wanted = next((m["interfaces"] for m in tables()["nic_maps"] if m["instance_type"] == machine), None)
    text = node.annotations.get("networking.gke.io/nic-info")
    if wanted is None or text is None:
        return []
    try:
        entries = listed({"nics": json.loads(text)}, "nics")
    except (ValueError, RecursionError):
        return []
    names = [str(e.get("birthName", "")) for e in entries]
    if not names or len(set(names)) != len(names):
        return []
    return [n for n in wanted if n not in names]
