"""TCPXO, TCPX and gIB: which networks a pod is attached to, by annotations on its pod template."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fabriclint.embedded import EmbeddedError, parse_embedded
from fabriclint.node import Mapping, Node, Scalar, Sequence, open_value
from fabriclint.pod import PodView, WorkerPod
from fabriclint.rule import AddField, Finding, Fix, Place, Related, ReplaceText, Rule, SetValue, Severity, rule
from fabriclint.views import JobView
from fabriclint_rules.gke_wiring import (
    DEFAULT,
    DEVICES,
    GIB,
    INTERFACES,
    LIST,
    NETWORK_RESOURCE,
    TCPX,
    TCPXO,
    chosen_subset,
    claims_networks,
    entries,
    on_host,
    profile_of,
    quoted,
    shape,
    sidecar,
)


@rule("TCPXO001", "missing-interfaces", Severity.ERROR, on=WorkerPod, fabric=TCPXO, also=(Severity.WARNING,), yields_to=("TCPXO010",))  # fmt: skip
@rule("TCPX001", "missing-interfaces", Severity.ERROR, on=WorkerPod, fabric=TCPX, also=(Severity.WARNING,), yields_to=("TCPX010",))  # fmt: skip
@rule("GIB001", "missing-interfaces", Severity.ERROR, on=WorkerPod, fabric=GIB, also=(Severity.WARNING, Severity.NOTE), yields_to=("GIB010", "GIB027", "GIB028"))  # fmt: skip
def missing_interfaces(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """The worker's pod template names the GPU networks in `networking.gke.io/interfaces`.

    Without the annotation the pod gets its ordinary interface alone, the plugin finds no GPU NIC, and NCCL falls
    back to TCP.

    Fix: add the annotation to the pod template's metadata, with eth0 on `default` and one entry for each GPU NIC's
    network, as the cluster names them.
    Silent: pods on the host's network (the older privileged form), resource claims that bring the NICs, annotations
    that a template fills in; gIB in jobs of one pod.
    Bad: no annotation for the networks (tcpxo-job)
        @@ annotations: # <-
        - networking.gke.io/interfaces: ...
    Bad: a key that GKE does not know (tcpxo-mega-jobset)
        @@ annotations: # <-
        ~ networking.gke.io/interfaces: => networking.gke.io/interface:
    Good: nine networks (tcpxo-mega-jobset)
        @@ networking.gke.io/interfaces:
    Good: the older form on the host's network (tcpxo-job)
        @@ annotations:
        - networking.gke.io/default-interface: eth0
        - networking.gke.io/interfaces: ...
        @@ spec:
        +   hostNetwork: true
        +   dnsPolicy: ClusterFirstWithHostNet
    Bad TCPX: no annotation for the networks (tcpx-job)
        @@ annotations: # <-
        - networking.gke.io/interfaces: ...
    Bad TCPX: a key that GKE does not know (tcpx-jobset)
        @@ annotations: # <-
        ~ networking.gke.io/interfaces: => networking.gke.io/interface:
    Good TCPX: five networks (tcpx-jobset)
        @@ networking.gke.io/interfaces:
    Good TCPX: NICs by a claim (tcpx-job)
        @@ annotations:
        - networking.gke.io/interfaces: ...
        @@ spec:
        +   resourceClaims:
        +     - name: nics
        +       resourceClaimTemplateName: all-nics
    Bad GIB: no annotation for the networks (gib-job)
        @@ annotations: # <-
        - networking.gke.io/interfaces: ...
    Bad GIB: a key that GKE does not know (gib-jobset)
        @@ annotations: # <-
        ~ networking.gke.io/interfaces: => networking.gke.io/interface:
    Good GIB: nine networks (gib-jobset)
        @@ networking.gke.io/interfaces:
    Good GIB: NICs by a claim (gib-job)
        @@ annotations:
        - networking.gke.io/interfaces: ...
        @@ spec:
        +   resourceClaims:
        +     - name: nics
        +       resourceClaimTemplateName: all-nics
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81 gpudirect-tcpxo, gpudirect-tcpx and gpudirect-
    rdma; NVIDIA AICR.
    """
    if on_host(pod) or INTERFACES in pod.annotation_keys or pod.annotations_open or claims_networks(pod):
        return
    severity = None
    if rule.family == "GIB":
        if pod.multi_node is False:
            if pod.workload.kind != "Pod":
                return
            severity = Severity.NOTE
        elif pod.multi_node is not True:
            severity = Severity.WARNING
    worker = pod.worker
    if worker is not None and any(n.startswith(NETWORK_RESOURCE) for n in worker.resource_names) and severity is None:
        severity = Severity.WARNING
    profile = profile_of(pod)
    yield pod.finding(
        pod.missing_annotation(),
        f"The pod template lacks the annotation '{INTERFACES}'; the pod gets no GPU NIC and NCCL falls back to TCP.",
        help=f"Add it with {shape(pod)['interfaces']} entries: eth0 on 'default' and one for each {profile['title']} network "
        f"that `{LIST}` prints.",
        severity=severity,
    )


@rule("TCPXO002", "interfaces-not-json", Severity.ERROR, on=WorkerPod, fabric=TCPXO)
@rule("TCPX002", "interfaces-not-json", Severity.ERROR, on=WorkerPod, fabric=TCPX)
@rule("GIB002", "interfaces-not-json", Severity.ERROR, on=WorkerPod, fabric=GIB)
def interfaces_not_json(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """The interfaces annotation is a JSON array of `interfaceName` and `network`.

    GKE's webhook refuses a pod whose annotation it cannot read, or attaches nothing.

    Fix: write an array of objects with double quotes, each with `interfaceName` and `network`, and no trailing
    comma.
    Silent: values that a template fills in.
    Bad: single quotes inside (tcpxo-job)
        - networking.gke.io/interfaces: ...
        + networking.gke.io/interfaces: "[{'interfaceName':'eth0','network':'default'}]" # <-
    Bad: a comma behind the last entry (tcpxo-mega-jobset)
        ~ "}]' => "},]' # <-
    Good: JSON (tcpxo-job)
        @@ networking.gke.io/interfaces:
    Good: JSON over several lines (tcpxo-mega-jobset)
        - networking.gke.io/interfaces: ...
        + networking.gke.io/interfaces: |
        +   [
        +     {"interfaceName":"eth0","network":"default"},
        +     {"interfaceName":"eth1","network":"gpu-nic-0"},
        +     {"interfaceName":"eth2","network":"gpu-nic-1"},
        +     {"interfaceName":"eth3","network":"gpu-nic-2"},
        +     {"interfaceName":"eth4","network":"gpu-nic-3"},
        +     {"interfaceName":"eth5","network":"gpu-nic-4"},
        +     {"interfaceName":"eth6","network":"gpu-nic-5"},
        +     {"interfaceName":"eth7","network":"gpu-nic-6"},
        +     {"interfaceName":"eth8","network":"gpu-nic-7"}
        +   ]
    Bad TCPX: single quotes inside (tcpx-job)
        - networking.gke.io/interfaces: ...
        + networking.gke.io/interfaces: "[{'interfaceName':'eth0','network':'default'}]" # <-
    Bad TCPX: a comma behind the last entry (tcpx-jobset)
        ~ "}]' => "},]' # <-
    Good TCPX: JSON (tcpx-job)
        @@ networking.gke.io/interfaces:
    Good TCPX: JSON over several lines (tcpx-jobset)
        - networking.gke.io/interfaces: ...
        + networking.gke.io/interfaces: |
        +   [
        +     {"interfaceName":"eth0","network":"default"},
        +     {"interfaceName":"eth1","network":"gpu-net-0"},
        +     {"interfaceName":"eth2","network":"gpu-net-1"},
        +     {"interfaceName":"eth3","network":"gpu-net-2"},
        +     {"interfaceName":"eth4","network":"gpu-net-3"}
        +   ]
    Bad GIB: single quotes inside (gib-job)
        - networking.gke.io/interfaces: ...
        + networking.gke.io/interfaces: "[{'interfaceName':'eth0','network':'default'}]" # <-
    Bad GIB: a comma behind the last entry (gib-jobset)
        ~ "}]' => "},]' # <-
    Good GIB: JSON (gib-job)
        @@ networking.gke.io/interfaces:
    Good GIB: JSON over several lines (gib-jobset)
        - networking.gke.io/interfaces: ...
        + networking.gke.io/interfaces: |
        +   [
        +     {"interfaceName":"eth0","network":"default"},
        +     {"interfaceName":"eth2","network":"rdma-0"},
        +     {"interfaceName":"eth3","network":"rdma-1"},
        +     {"interfaceName":"eth4","network":"rdma-2"},
        +     {"interfaceName":"eth5","network":"rdma-3"},
        +     {"interfaceName":"eth6","network":"rdma-4"},
        +     {"interfaceName":"eth7","network":"rdma-5"},
        +     {"interfaceName":"eth8","network":"rdma-6"},
        +     {"interfaceName":"eth9","network":"rdma-7"}
        +   ]
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81 gpudirect-tcpxo; GKE networking API
    (annotations).
    """
    node = pod.annotations.get(INTERFACES)
    if node is None:
        return
    if not isinstance(node.value, str):
        if node.value is not None:
            yield pod.finding(
                Place(node),
                f"'{INTERFACES}' is no string; the API server refuses the annotation.",
                help="Write the JSON array in single quotes.",
            )
        else:
            yield pod.finding(
                Place(node, on_key=True),
                f"'{INTERFACES}' has no value; no network is attached.",
                help='Write [{"interfaceName":"eth0","network":"default"}, ...] in single quotes.',
            )
        return
    if open_value(node.value):
        return
    parsed = parse_embedded(node, json=True)
    if isinstance(parsed, EmbeddedError):
        at = min(parsed.offset, max(len(node.value) - 1, 0))
        comma = _trailing_comma(node.value, at)
        fix = None
        if comma is not None:
            at = comma
            fix = Fix("remove the trailing comma", (ReplaceText(node, (comma, comma + 1), ""),))
        yield pod.finding(
            Place(node, within=(at, min(at + 1, len(node.value)))),
            f"'{INTERFACES}' is no JSON from here on; the networks are not attached.",
            help='Write [{"interfaceName":"eth0","network":"default"}, ...] with double quotes and no trailing comma.',
            fix=fix,
        )
        return
    root = parsed.root
    if not isinstance(root, Sequence):
        yield pod.finding(
            Place(node),
            f"'{INTERFACES}' is no JSON array; the networks are not attached.",
            help="Write an array of objects, in square brackets.",
        )
        return
    for item in root.items:
        name = item.at("interfaceName") if isinstance(item, Mapping) else None
        target = (item.at("network") or item.at("interface")) if isinstance(item, Mapping) else None
        lacking = [
            key
            for key, value in (("interfaceName", name), ("network", target))
            if not isinstance(value, Scalar) or not isinstance(value.value, str) or not value.value
        ]
        if lacking:
            yield pod.finding(
                Place(item),
                f"An entry of '{INTERFACES}' lacks {quoted(lacking)}; GKE refuses the annotation.",
                help='Each entry is {"interfaceName": "ethN", "network": "NAME"}.',
            )
            return


def _trailing_comma(text: str, at: int) -> int | None:
    """Where the comma stands that only a closing bracket follows, when that is what the parser fell over."""
    for found in re.finditer(r",(?=\s*[\]}])", text):
        if found.start() <= at <= found.end() + (len(text[found.end() :]) - len(text[found.end() :].lstrip())):
            return found.start()
    return None


@rule("TCPXO003", "interface-count", Severity.ERROR, on=WorkerPod, fabric=TCPXO, also=(Severity.WARNING,), yields_to=("TCPXO002",))  # fmt: skip
@rule("TCPX003", "interface-count", Severity.ERROR, on=WorkerPod, fabric=TCPX, also=(Severity.WARNING,), yields_to=("TCPX002",))  # fmt: skip
@rule("GIB003", "interface-count", Severity.ERROR, on=WorkerPod, fabric=GIB, also=(Severity.WARNING,), yields_to=("GIB002",), yields_on_line=("GIB026",))  # fmt: skip
def interface_count(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """The interfaces annotation names the default interface and every GPU NIC.

    TCPXO gives each of the eight GPUs its own NIC, as gIB does (A4X: four); TCPX has four NICs for eight GPUs. With
    fewer entries the daemon does not find the NICs that it counts and the job runs over TCP, or it starts and is
    slow.

    Fix: list eth0 and every GPU network of the cluster; `kubectl get networks.networking.gke.io` prints their
    names.
    Silent: more entries than needed under the generic contract, gIB's second ordinary NIC, claims, templates, the
    host's network. A subset chosen on purpose is a warning.
    Bad: eight entries, eth0 to eth7 (tcpxo-job)
        @@ annotations:
        ~ ,{"interfaceName":"eth8","network":"gpu-nic-7"}] => ] # <-
    Bad: the five of TCPX (tcpxo-mega-jobset)
        - networking.gke.io/interfaces: ...
        + networking.gke.io/interfaces: | # <-
        +   [
        +     {"interfaceName":"eth0","network":"default"},
        +     {"interfaceName":"eth1","network":"gpu-nic-0"},
        +     {"interfaceName":"eth2","network":"gpu-nic-1"},
        +     {"interfaceName":"eth3","network":"gpu-nic-2"},
        +     {"interfaceName":"eth4","network":"gpu-nic-3"}
        +   ]
    Good: nine entries, eth0 to eth8 (tcpxo-job)
        @@ networking.gke.io/interfaces:
    Good: a storage network beside them (tcpxo-mega-jobset)
        ~ "network":"gpu-nic-7"} => "network":"gpu-nic-7"},{"interfaceName":"eth9","network":"storage"}
    Bad TCPX: four entries (tcpx-job)
        ~ ,{"interfaceName":"eth4","network":"gpu-net-3"}] => ] # <-
    Bad TCPX: the pod's own interface alone (tcpx-jobset)
        - networking.gke.io/interfaces: ...
        + networking.gke.io/interfaces: '[{"interfaceName":"eth0","network":"default"}]' # <-
    Good TCPX: five entries (tcpx-job)
        @@ networking.gke.io/interfaces:
    Good TCPX: networks of another name (tcpx-jobset)
        ~ gpu-net-0 => vpc1
    Bad GIB: seven of eight RDMA networks (gib-job)
        ~ ,{"interfaceName":"eth9","network":"rdma-7"}] => ] # <-
    Bad GIB: the second ordinary NIC does not count (gib-jobset)
        ~ {"interfaceName":"eth2","network":"rdma-0"} => {"interfaceName":"eth1","network":"gvnic-1"} # <-
    Good GIB: eth0 and eight RDMA networks (gib-job)
        @@ networking.gke.io/interfaces:
    Good GIB: the second ordinary NIC beside them (gib-jobset)
        - networking.gke.io/interfaces: ...
        + networking.gke.io/interfaces: |
        +   [
        +     {"interfaceName":"eth0","network":"default"},
        +     {"interfaceName":"eth1","network":"gvnic-1"},
        +     {"interfaceName":"eth2","network":"rdma-0"},
        +     {"interfaceName":"eth3","network":"rdma-1"},
        +     {"interfaceName":"eth4","network":"rdma-2"},
        +     {"interfaceName":"eth5","network":"rdma-3"},
        +     {"interfaceName":"eth6","network":"rdma-4"},
        +     {"interfaceName":"eth7","network":"rdma-5"},
        +     {"interfaceName":"eth8","network":"rdma-6"},
        +     {"interfaceName":"eth9","network":"rdma-7"}
        +   ]
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81 gpudirect-tcpxo/nccl-test-latest.yaml;
    google/nccl-plugin-gpudirect-tcpxo@04815d1 (number of fabric NICs).
    """
    found = entries(pod)
    if found is None or on_host(pod) or claims_networks(pod):
        return
    node, items = found
    profile = profile_of(pod)
    if any(_open_entry(i) for i in items):
        return
    extra = profile.get("extra_networks", ())
    counted = [i for i in items if not any((i.string("network") or "").startswith(e) for e in extra)]
    counts = shape(pod)
    wanted = counts["interfaces"]
    chosen = chosen_subset(pod) or (rule.family == "GIB" and _part_of_node(pod, counts["gpus"]))
    if len(counted) < wanted:
        yield pod.finding(
            Place(node, on_key=True),
            f"'{INTERFACES}' has {len(counted)} entries, but {profile['title']} needs {wanted}: "
            f"eth0 and {wanted - 1} GPU NICs; the job runs over TCP or without some of its NICs.",
            help=f"Add the missing networks; `{LIST}` prints their names.",
            severity=Severity.WARNING if chosen else None,
        )
    elif len(counted) > wanted and pod.contract == "aicr" and rule.family == "TCPXO":
        yield pod.finding(
            Place(node, on_key=True),
            f"'{INTERFACES}' has {len(items)} entries, {len(items) - wanted} more than {profile['title']} uses.",
            help=f"Keep eth0 and the {wanted - 1} GPU NICs.",
            severity=Severity.WARNING,
            by_contract=True,
        )


def _open_entry(item: Node) -> bool:
    return isinstance(item, Scalar) or any(isinstance(n, Scalar) and n.open for n in item.walk())


def _part_of_node(pod: WorkerPod, whole: int) -> bool:
    gpus = pod.worker.gpus if pod.worker is not None else 0
    return not isinstance(gpus, int) or gpus < whole


@rule("TCPXO004", "interface-names", Severity.ERROR, on=WorkerPod, fabric=TCPXO, yields_to=("TCPXO002",))
@rule("TCPX004", "interface-names", Severity.ERROR, on=WorkerPod, fabric=TCPX, yields_to=("TCPX002",))
@rule("GIB004", "interface-names", Severity.ERROR, on=WorkerPod, fabric=GIB, yields_to=("GIB002",))
def interface_names(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """Interfaces and networks are named once each, eth0 is on `default`, and the numbers have no gap.

    A repeated name attaches one network twice and another not at all.

    Fix: number the interfaces eth0, eth1 ... and give each its own network.
    Silent: gaps of gIB's interfaces, whose names are free; the host's network.
    Bad: a network twice (tcpxo-job)
        ~ gpu-nic-7 => gpu-nic-6 # <-
    Bad: a gap (tcpxo-mega-jobset)
        ~ eth8 => eth9 # <-
    Good: each its own (tcpxo-job)
        @@ networking.gke.io/interfaces:
    Good: in another order (tcpxo-mega-jobset)
        ~ "network":"gpu-nic-0" => "network":"gpu-nic-x"
    Bad TCPX: an interface twice (tcpx-job)
        ~ eth4 => eth3 # <-
    Bad TCPX: eth0 on a GPU network (tcpx-jobset)
        ~ "network":"default" => "network":"gpu-net-9" # <-
    Good TCPX: each its own (tcpx-job)
        @@ networking.gke.io/interfaces:
    Good TCPX: other names of the networks (tcpx-jobset)
        ~ gpu-net-0 => a-gpu-net-0
    Bad GIB: a network twice (gib-job)
        ~ rdma-7 => rdma-6 # <-
    Bad GIB: no way to the cluster (gib-jobset)
        ~ "network":"default" => "network":"vpc-main" # <-
    Good GIB: eth1 left out (gib-job)
        @@ networking.gke.io/interfaces:
    Good GIB: interfaces by names of their own (gib-jobset)
        ~ eth2 => gpu0rdma0
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81 gpudirect-tcpxo; GKE networking API
    (annotations).
    """
    found = entries(pod)
    if found is None or on_host(pod):
        return
    annotation, items = found
    if not items:
        return
    names: dict[str, Node] = {}
    networks: dict[str, Node] = {}
    for item in items:
        for key, seen in (("interfaceName", names), ("network", networks)):
            value = item.at(key)
            if not isinstance(value, Scalar) or not isinstance(value.value, str) or value.open:
                continue
            first = seen.get(value.value)
            if first is not None:
                what = "interface" if key == "interfaceName" else "network"
                yield pod.finding(
                    Place(value),
                    f"The {what} '{value.value}' is named twice in '{INTERFACES}'; one GPU NIC is not attached.",
                    help="Give each entry an interface and a network of its own.",
                    related=(Related(Place(first), f"'{value.value}' stands here first."),),
                )
                return
            seen[value.value] = value
    if len(names) != len(items):
        return
    eth0 = names.get("eth0")
    if eth0 is None and (rule.family != "GIB" or "default" not in networks):
        yield pod.finding(
            Place(annotation, on_key=True),
            f"'{INTERFACES}' has no entry for 'eth0'; the pod's own network is not attached.",
            help='Add {"interfaceName":"eth0","network":"default"}.',
        )
        return
    network = eth0.parent.at("network") if eth0 is not None and eth0.parent is not None else None
    if isinstance(network, Scalar) and network.text != "default" and not network.open:
        yield pod.finding(
            Place(network),
            f"'eth0' is on the network '{network.text}'; the pod's own network is 'default', and without it the pod has no "
            "way to the cluster.",
            help='Write "network":"default" for eth0.',
            fix=Fix("write default", (SetValue(network, "default"),)) if "default" not in networks else None,
        )
        return
    numbers = sorted(int(n[3:]) for n in names if n.startswith("eth") and n[3:].isdigit())
    if rule.family != "GIB" and len(numbers) == len(items) and numbers != list(range(len(numbers))):
        gap = next(i for i, n in enumerate(numbers) if n != i)
        yield pod.finding(
            Place(annotation, on_key=True),
            f"The interfaces of '{INTERFACES}' have a gap: 'eth{gap}' is missing; the plugin looks for eth0 to "
            f"eth{profile_of(pod)['interfaces'] - 1}.",
            help="Number the interfaces without a gap.",
        )


@rule("TCPXO005", "network-name-form", Severity.ERROR, on=WorkerPod, fabric=TCPXO, also=(Severity.WARNING,), yields_to=("TCPXO002",), yields_on_line=("TCPXO004",))  # fmt: skip
@rule("TCPX005", "network-name-form", Severity.ERROR, on=WorkerPod, fabric=TCPX, also=(Severity.WARNING,), yields_to=("TCPX002",), yields_on_line=("TCPX004",))  # fmt: skip
@rule("GIB005", "network-name-form", Severity.ERROR, on=WorkerPod, fabric=GIB, also=(Severity.WARNING,), yields_to=("GIB002",), yields_on_line=("GIB004",))  # fmt: skip
def network_name_form(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """Networks are named by their bare object names.

    `kubectl get ... -o name` puts `network.networking.gke.io/` in front, and GKE finds no network of that name.

    Fix: remove the prefix.
    Silent: any bare name under the generic contract; AICR's clusters have `gpu-nic` in each.
    Bad: pasted from `-o name` (tcpxo-job)
        ~ gpu-nic-0 => network.networking.gke.io/gpu-nic-0 # <-
    Bad: a namespace in front (tcpxo-mega-jobset)
        ~ gpu-nic-3 => default/gpu-nic-3 # <-
    Bad: a name that AICR's clusters do not have (tcpxo-runtime)
        ~ gpu-nic-0 => vpc1 # <-
    Good: the bare name (tcpxo-job)
        @@ networking.gke.io/interfaces:
    Good: names of the cluster's own (tcpxo-mega-jobset)
        ~ gpu-nic-0 => aicr-demo2-gpu-nic-0
    Bad TCPX: pasted from `-o name` (tcpx-job)
        ~ gpu-net-0 => network.networking.gke.io/gpu-net-0 # <-
    Bad TCPX: a namespace in front (tcpx-jobset)
        ~ gpu-net-3 => default/gpu-net-3 # <-
    Good TCPX: the bare name (tcpx-job)
        @@ networking.gke.io/interfaces:
    Good TCPX: names of the cluster's own (tcpx-jobset)
        ~ gpu-net-0 => vpc1
    Bad GIB: pasted from `-o name` (gib-job)
        ~ rdma-0 => network.networking.gke.io/rdma-0 # <-
    Bad GIB: a namespace in front (gib-jobset)
        ~ rdma-3 => default/rdma-3 # <-
    Good GIB: the bare name (gib-job)
        @@ networking.gke.io/interfaces:
    Good GIB: names of the cluster's own (gib-jobset)
        ~ rdma-0 => a3u-rdma-net-0
    Source: NVIDIA AICR, "Attaching a Training Workload to the Cluster Fabric".
    """
    found = entries(pod)
    if found is None:
        return
    prefixed: list[Scalar] = []
    unlike: list[Scalar] = []
    for item in found[1]:
        value = item.at("network")
        if not isinstance(value, Scalar) or not isinstance(value.value, str) or value.open:
            continue
        if "/" in value.value:
            prefixed.append(value)
        elif (
            pod.contract == "aicr"
            and rule.family == "TCPXO"
            and value.value != "default"
            and "gpu-nic" not in value.value
            and not on_host(pod)
        ):
            unlike.append(value)
    if len(found[1]) - len(unlike) >= shape(pod)["interfaces"]:
        unlike = []  # further networks beside the fabric's: TCPXO003 speaks of them
    if prefixed:
        first = prefixed[0]
        bare = first.text.rsplit("/", 1)[-1]
        more = f" (and {len(prefixed) - 1} more)" if len(prefixed) > 1 else ""
        yield pod.finding(
            Place(first),
            f"'{first.text}'{more} is not a network's bare name; GKE finds no network of that name and the pod is refused.",
            help=f"Write '{bare}'. `{LIST}` prints the bare names.",
            fix=Fix(
                "remove the prefix",
                tuple(ReplaceText(v, (0, len(v.text)), v.text.rsplit("/", 1)[-1]) for v in prefixed),
            ),
            related=tuple(Related(Place(v), "Here too.") for v in prefixed[1:]),
        )
    elif unlike:
        first = unlike[0]
        more = f" (and {len(unlike) - 1} more)" if len(unlike) > 1 else ""
        yield pod.finding(
            Place(first),
            f"The network '{first.text}'{more} does not hold 'gpu-nic', as AICR's clusters name the GPU NICs; it may not "
            "exist there.",
            help=f"Take the names that `{LIST} | grep gpu-nic` prints.",
            severity=Severity.WARNING,
            by_contract=True,
            related=tuple(Related(Place(v), "Here too.") for v in unlike[1:]),
        )


@rule("TCPXO006", "default-interface", Severity.ERROR, on=WorkerPod, fabric=TCPXO, yields_to=("TCPXO001", "TCPXO002", "TCPXO010"))  # fmt: skip
@rule("TCPX006", "default-interface", Severity.ERROR, on=WorkerPod, fabric=TCPX, yields_to=("TCPX001", "TCPX002", "TCPX010"))  # fmt: skip
@rule("GIB006", "default-interface", Severity.ERROR, on=WorkerPod, fabric=GIB, yields_to=("GIB001", "GIB002", "GIB010"))
def default_interface(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """`networking.gke.io/default-interface` names one of the interfaces.

    GKE does not attach several networks to a pod that does not say which is its default.

    Fix: add `networking.gke.io/default-interface: eth0`.
    Silent: pods without the interfaces annotation, the host's network.
    Bad: the annotation is missing (tcpxo-job)
        @@ annotations: # <-
        - networking.gke.io/default-interface: eth0
    Bad: an interface that is not listed (tcpxo-mega-jobset)
        ~ default-interface: eth0 => default-interface: ens3 # <-
    Good: eth0 (tcpxo-job)
        @@ default-interface
    Good: in quotes (tcpxo-mega-jobset)
        ~ default-interface: eth0 => default-interface: 'eth0'
    Bad TCPX: the annotation is missing (tcpx-job)
        @@ annotations: # <-
        - networking.gke.io/default-interface: eth0
    Bad TCPX: an interface that is not listed (tcpx-jobset)
        ~ default-interface: eth0 => default-interface: ens3 # <-
    Good TCPX: eth0 (tcpx-job)
        @@ default-interface
    Good TCPX: in quotes (tcpx-jobset)
        ~ default-interface: eth0 => default-interface: 'eth0'
    Bad GIB: the annotation is missing (gib-job)
        @@ annotations: # <-
        - networking.gke.io/default-interface: eth0
    Bad GIB: an interface that is not listed (gib-jobset)
        ~ default-interface: eth0 => default-interface: ens3 # <-
    Good GIB: eth0 (gib-job)
        @@ default-interface
    Good GIB: in quotes (gib-jobset)
        ~ default-interface: eth0 => default-interface: 'eth0'
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81 gpudirect-tcpxo.
    """
    if on_host(pod) or pod.annotations_open or INTERFACES not in pod.annotations:
        return
    node = pod.annotations.get(DEFAULT)
    if node is None:
        annotations = pod.metadata.mapping("annotations") if pod.metadata is not None else None
        yield pod.finding(
            pod.missing_annotation(),
            f"The annotation '{DEFAULT}' is missing beside '{INTERFACES}'; the networks are not attached.",
            help=f"Add '{DEFAULT}: eth0'.",
            fix=Fix(f"add {DEFAULT}", (AddField(annotations, (DEFAULT,), "eth0"),)) if annotations else None,
        )
        return
    found = entries(pod)
    if found is None or node.open:
        return
    names = [i.string("interfaceName") for i in found[1]]
    if names and node.text not in names and not any(_open_entry(i) for i in found[1]):
        yield pod.finding(
            Place(node),
            f"The default interface '{node.text}' is not among the interfaces of '{INTERFACES}'; GKE refuses the pod.",
            help="Name one of them: eth0.",
            fix=Fix("write eth0", (SetValue(node, "eth0"),)) if "eth0" in names else None,
        )


_FABRIC_ANNOTATIONS = (INTERFACES, DEFAULT, DEVICES)


@rule("TCPXO010", "annotations-misplaced", Severity.ERROR, on=JobView)
@rule("TCPX010", "annotations-misplaced", Severity.ERROR, on=JobView)
@rule("GIB010", "annotations-misplaced", Severity.ERROR, on=JobView)
def annotations_misplaced(job: JobView, rule: Rule) -> Iterator[Finding]:
    """The fabric's annotations stand on the pod template.

    Annotations of the object, of a replicated job or of the Job template do not reach the pods: nothing is
    attached.

    Fix: move them to the pod template's metadata (`template.spec.template.metadata` in a replicated job).
    Silent: kind Pod; kinds whose own annotations reach their pods; annotations that the pods carry as well.
    Bad: on the Job itself (tcpxo-job)
        ~ name: train => name: train
        @@ kind: Job
          metadata:
            name: train
        +   annotations:
        +     networking.gke.io/default-interface: eth0 # <-
        @@ template:
        - metadata:
        -   annotations:
        -     networking.gke.io/default-interface: eth0
        -     networking.gke.io/interfaces: ...
        -     devices.gke.io/container.tcpxo-daemon: |
        -       - path: /dev/nvidia0
        -       - path: /dev/nvidia1
        -       - path: /dev/nvidia2
        -       - path: /dev/nvidia3
        -       - path: /dev/nvidia4
        -       - path: /dev/nvidia5
        -       - path: /dev/nvidia6
        -       - path: /dev/nvidia7
        -       - path: /dev/nvidiactl
        -       - path: /dev/nvidia-uvm
        -       - path: /dev/dmabuf_import_helper
    Bad: on the Job template of a replicated job (tcpxo-mega-jobset)
        @@ template:
        +   metadata:
        +     annotations:
        +       networking.gke.io/default-interface: eth0 # <-
        @@ template:
        - metadata:
        -   annotations:
        -     networking.gke.io/default-interface: eth0
        -     networking.gke.io/interfaces: ...
        -     devices.gke.io/container.tcpxo-daemon: |
        -       - path: /dev/nvidia0
        -       - path: /dev/nvidia1
        -       - path: /dev/nvidia2
        -       - path: /dev/nvidia3
        -       - path: /dev/nvidia4
        -       - path: /dev/nvidia5
        -       - path: /dev/nvidia6
        -       - path: /dev/nvidia7
        -       - path: /dev/nvidiactl
        -       - path: /dev/nvidia-uvm
        -       - path: /dev/dmabuf_import_helper
    Bad: on the TrainJob (trainer-tcpxo)
        @@ metadata:
        @@ metadata:
        @@ annotations:
        - networking.gke.io/default-interface: eth0
        - networking.gke.io/interfaces: ...
        - devices.gke.io/container.tcpxo-daemon: |
        -   - path: /dev/nvidia0
        -   - path: /dev/nvidia1
        -   - path: /dev/nvidia2
        -   - path: /dev/nvidia3
        -   - path: /dev/nvidia4
        -   - path: /dev/nvidia5
        -   - path: /dev/nvidia6
        -   - path: /dev/nvidia7
        -   - path: /dev/nvidiactl
        -   - path: /dev/nvidia-uvm
        -   - path: /dev/dmabuf_import_helper
        @@ name: pretrain
        + annotations:
        +   networking.gke.io/default-interface: eth0 # <-
    Good: on the pod template (tcpxo-job)
        @@ annotations:
    Good: an annotation of another kind on the object (tcpxo-mega-jobset)
        @@ kind: JobSet
          metadata:
            name: train
        +   annotations:
        +     team.example/cost: vision
    Bad TCPX: on the Job itself (tcpx-job)
        @@ kind: Job
          metadata:
            name: train
        +   annotations:
        +     networking.gke.io/default-interface: eth0 # <-
        @@ template:
        - metadata:
        -   annotations:
        -     networking.gke.io/default-interface: eth0
        -     networking.gke.io/interfaces: ...
        -     devices.gke.io/container.tcpx-daemon: |
        -       - path: /dev/nvidia0
        -       - path: /dev/nvidia1
        -       - path: /dev/nvidia2
        -       - path: /dev/nvidia3
        -       - path: /dev/nvidia4
        -       - path: /dev/nvidia5
        -       - path: /dev/nvidia6
        -       - path: /dev/nvidia7
        -       - path: /dev/nvidiactl
        -       - path: /dev/nvidia-uvm
    Bad TCPX: on the Job template of a replicated job (tcpx-jobset)
        @@ template:
        +   metadata:
        +     annotations:
        +       networking.gke.io/default-interface: eth0 # <-
        @@ template:
        - metadata:
        -   annotations:
        -     networking.gke.io/default-interface: eth0
        -     networking.gke.io/interfaces: ...
        -     devices.gke.io/container.tcpx-daemon: |
        -       - path: /dev/nvidia0
        -       - path: /dev/nvidia1
        -       - path: /dev/nvidia2
        -       - path: /dev/nvidia3
        -       - path: /dev/nvidia4
        -       - path: /dev/nvidia5
        -       - path: /dev/nvidia6
        -       - path: /dev/nvidia7
        -       - path: /dev/nvidiactl
        -       - path: /dev/nvidia-uvm
    Good TCPX: on the pod template (tcpx-job)
        @@ annotations:
    Good TCPX: an annotation of another kind on the object (tcpx-jobset)
        @@ kind: JobSet
          metadata:
            name: train
        +   annotations:
        +     team.example/cost: vision
    Bad GIB: on the Job itself (gib-job)
        @@ kind: Job
          metadata:
            name: train
        +   annotations:
        +     networking.gke.io/default-interface: eth0 # <-
        @@ template:
        - metadata:
        -   annotations:
        -     networking.gke.io/default-interface: eth0
        -     networking.gke.io/interfaces: ...
    Bad GIB: on the Job template of a replicated job (gib-jobset)
        @@ template:
        +   metadata:
        +     annotations:
        +       networking.gke.io/default-interface: eth0 # <-
        @@ template:
        - metadata:
        -   annotations:
        -     networking.gke.io/default-interface: eth0
        -     networking.gke.io/interfaces: ...
    Good GIB: on the pod template (gib-job)
        @@ annotations:
    Good GIB: an annotation of another kind on the object (gib-jobset)
        @@ kind: JobSet
          metadata:
            name: train
        +   annotations:
        +     team.example/cost: vision
    Source: kubernetes-sigs/jobset@f22e565; GoogleCloudPlatform/container-engine-accelerators@992db81.
    """
    for pod in job.pods:
        if pod.metadata is job.workload.manifest.root.at("metadata") or pod.site.form != "template":
            continue
        lacking = tuple(p for p in _FABRIC_ANNOTATIONS if not any(k.startswith(p) for k in pod.annotations))
        if not pod.is_worker or not lacking:
            continue
        for node in _above(job, pod):
            metadata = node.mapping("metadata") if isinstance(node, Mapping) else None
            annotations = metadata.mapping("annotations") if metadata is not None else None
            wrong = [k for k in (annotations.fields if annotations else {}) if k.startswith(lacking)]
            if annotations is not None and wrong:
                family = _family(pod, annotations)
                if family == rule.family:
                    yield Finding(
                        Place(annotations.fields[wrong[0]], on_key=True),
                        f"'{wrong[0]}' stands where it does not reach the pods; only the pod template's annotations do, so no "
                        "network or device is attached.",
                        help="Move the annotations to the pod template's metadata.",
                        silences=tuple(f"{family}{n}" for n in ("001", "006", "007")),
                        subject=pod,
                        related=(Related(Place(pod.site.holder, on_key=True), "This is the pod template."),),
                    )
                return


def _above(job: JobView, pod: PodView) -> Iterator[Node]:
    """What the pod template stands in, from the inside; of a TrainJob the TrainJob itself at last."""
    node: Node | None = pod.site.holder.parent
    while node is not None:
        yield node
        node = node.parent
    if job.workload.landing is not None:
        yield job.workload.manifest.root


def _family(pod: PodView, annotations: Mapping) -> str:
    """The fabric that misplaced annotations are about: the pod's, else as the networks are called or counted."""
    if pod.fabric is not None and pod.fabric.name in (TCPXO, TCPX, GIB):
        return str(profile_of(pod)["family"])
    text = annotations.string(INTERFACES) or ""
    if "rdma" in text:
        return "GIB"
    return "TCPX" if text.count("interfaceName") == 5 else "TCPXO"


@rule("TCPXO030", "host-network", Severity.NOTE, on=WorkerPod, fabric=TCPXO)
@rule("TCPX030", "host-network", Severity.NOTE, on=WorkerPod, fabric=TCPX)
@rule("GIB030", "host-network", Severity.NOTE, on=WorkerPod, fabric=GIB)
def host_network(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """A pod with networks of its own is not on the host's network.

    On the host's network the annotation attaches nothing, and the host's NICs have other numbers: control eth1, GPU
    NICs from eth2. It was AICR's validated form for some months.

    Fix: leave hostNetwork out.
    Silent: the older form without the annotation.
    Bad: both (tcpxo-job)
        @@ template:
        @@ spec:
        +   hostNetwork: true # <-
        +   dnsPolicy: ClusterFirstWithHostNet
    Bad: both in a JobSet (tcpxo-mega-jobset)
        @@ template:
        @@ template:
        @@ spec:
        +   hostNetwork: true # <-
        +   dnsPolicy: ClusterFirstWithHostNet
    Good: networks of its own (tcpxo-job)
        @@ annotations:
    Good: the host's network alone (tcpxo-mega-jobset)
        @@ annotations:
        - networking.gke.io/default-interface: eth0
        - networking.gke.io/interfaces: ...
        @@ spec:
        +   hostNetwork: true
        +   dnsPolicy: ClusterFirstWithHostNet
    Bad TCPX: both (tcpx-job)
        @@ template:
        @@ spec:
        +   hostNetwork: true # <-
        +   dnsPolicy: ClusterFirstWithHostNet
    Bad TCPX: both in a JobSet (tcpx-jobset)
        @@ template:
        @@ template:
        @@ spec:
        +   hostNetwork: true # <-
        +   dnsPolicy: ClusterFirstWithHostNet
    Good TCPX: networks of its own (tcpx-job)
        @@ annotations:
    Good TCPX: the host's network alone (tcpx-jobset)
        @@ annotations:
        - networking.gke.io/default-interface: eth0
        - networking.gke.io/interfaces: ...
        @@ spec:
        +   hostNetwork: true
        +   dnsPolicy: ClusterFirstWithHostNet
    Bad GIB: both (gib-job)
        @@ template:
        @@ spec:
        +   hostNetwork: true # <-
        +   dnsPolicy: ClusterFirstWithHostNet
    Bad GIB: both in a JobSet (gib-jobset)
        @@ template:
        @@ template:
        @@ spec:
        +   hostNetwork: true # <-
        +   dnsPolicy: ClusterFirstWithHostNet
    Good GIB: networks of its own (gib-job)
        @@ annotations:
    Good GIB: said to be off (gib-jobset)
        @@ template:
        @@ template:
        @@ spec:
        +   hostNetwork: false
    Source: NVIDIA/aicr#381.
    """
    if not on_host(pod) or INTERFACES not in pod.annotations:
        return
    daemon = sidecar(pod)
    place = pod.spec.at("hostNetwork")
    yield pod.finding(
        Place(place if place is not None else pod.spec, on_key=True),
        f"The pod is on the host's network, so '{INTERFACES}' attaches nothing; the host's NICs have other numbers than the "
        "annotation says.",
        help="Leave hostNetwork out for the pod's own networks, or take the annotation away.",
        related=(Related(daemon.name_place, "The daemon runs on the host's network too."),)
        if daemon is not None
        else (),
    )
