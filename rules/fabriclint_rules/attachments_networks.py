"""IB010, DEV003, DEV004: second networks fit the devices and cards that they are made of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from fabriclint.document import Manifest
from fabriclint.node import Unknown
from fabriclint.pod import PodView, WorkerPod
from fabriclint.rule import Finding, Place, Related, Severity, rule
from fabriclint.views import JobView
from fabriclint_rules.alike import once, once_a_pod
from fabriclint_rules.attachments import ANNOTATION, definition, entries_of, network_of, resources_of
from fabriclint_rules.ib_ranks import link, on_infiniband, profile_of, told, unit_of
from fabriclint_rules.nccl_grammar import integer

#: Resources that a webhook of the SR-IOV operator adds for the networks of a pod.
_INJECTED = ("openshift.io/", "intel.com/")
_PORT = r"ib(?:\d|[psnPc])"


@rule("IB010", "network-attachment", Severity.ERROR, on=JobView)
def network_attachment(job: JobView) -> Iterator[Finding]:
    """Each entry of k8s.v1.cni.cncf.io/networks that moves a device into the pod has a unit of its resource.

    Multus gives each entry one of the devices that the pod was allocated. With fewer units than entries there is no device
    left for the last, and the pod stays in ContainerCreating.

    Fix: ask for as many units as there are entries, or remove entries.

    Silent: more units than entries, which works on InfiniBand; networks whose resource is not known; claims; networks of
    which one entry makes all interfaces; resources that a webhook adds.

    Bad: nine entries and eight devices (ib-networks)
        ~ hostdev-net,hostdev-net, => hostdev-net,hostdev-net,hostdev-net,  # <-
    Bad: the resource is fewer (ib-networks)
        @@ k8s.v1.cni.cncf.io/networks  # <-
        ~ nvidia.com/hostdev: 8 => nvidia.com/hostdev: 4
    Bad: the definition in view says whose device it is (ib-rails)
        ~ rail-a, rail-b => rail-a, rail-b, rail-b  # <-
    Good: more devices than entries (ib-networks)
        ~ hostdev-net,hostdev-net, => hostdev-net,
    Good: a network of another kind beside them (ib-networks)
        ~ hostdev-net,hostdev-net, => control,hostdev-net,hostdev-net,
    Source: Mellanox/network-operator#1674; k8snetworkplumbingwg/sriov-network-device-plugin#490.
    """
    yield from once_a_pod(job, _entries)


def _entries(pod: PodView) -> Iterator[Finding]:
    entries = entries_of(pod)
    if not entries or pod.claim_names or any(c.resources_open for c in pod.containers):
        return
    profile = profile_of(pod)
    whole = set(profile.get("whole_set_attachments", ()))
    drawn: dict[tuple[str, ...], list[str]] = {}
    shown: dict[tuple[str, ...], Manifest | None] = {}
    for entry in entries:
        known = None if entry.name in whole else resources_of(pod, entry, profile)
        if known is not None:
            key = tuple(sorted(known[0]))
            drawn.setdefault(key, []).append(entry.name)
            shown.setdefault(key, known[1])
    for resources, names in drawn.items():
        if any(r.startswith(_INJECTED) or unit_of(pod, r) in ("shared", "switch") for r in resources):
            continue
        amounts = [a for c in pod.containers for r in resources if (a := c.amount(r)) is not None]
        if any(isinstance(a, Unknown) for a in amounts):
            continue
        units = int(sum((a for a in amounts if isinstance(a, Decimal)), Decimal(0)))
        if len(names) <= units or (units == 0 and shown[resources] is None):
            continue
        where = shown[resources]
        asked = next((n for c in pod.containers for r in resources if (n := c.resource_node(r)) is not None), None)
        related = [] if asked is None else [Related(Place(asked), f"The pod asks for {units} here.")]
        if where is not None:
            related.append(Related(Place(where.root.nearest("metadata", "annotations"), on_key=True), "The network."))
        yield pod.finding(
            Place(pod.annotations[ANNOTATION]),
            f"'{ANNOTATION}' has {len(names)} entries of '{names[0]}', which take a '{resources[0]}' each, but the pod asks for "
            f"{units}; it stays in ContainerCreating.",
            help=f"Ask for {len(names)} units of '{resources[0]}', or remove {len(names) - units} of the entries.",
            related=tuple(related),
        )


@rule("DEV003", "attachment-definition", Severity.ERROR, on=object, also=(Severity.WARNING,))
def attachment_definition(view: object) -> Iterator[Finding]:
    """A network can be attached: it names its device's resource, its parent can carry it, the pod has a network of its own.

    Multus looks at the annotation `k8s.v1.cni.cncf.io/resourceName` for the resource whose allocated device the plugin is
    to move; without it the plugin is given none. An InfiniBand port cannot be the parent of a macvlan interface. In both
    cases pods stay in ContainerCreating.

    Fix: add the annotation; use ipoib on an InfiniBand port.

    Silent: configurations that name the device themselves, and those that a template fills in.

    Bad: an SR-IOV network without its resource (ib-rails)
        @@ metadata:  # <-
        @@ name: rail-a
        - annotations:
        -   k8s.v1.cni.cncf.io/resourceName: nvidia.com/sriov_resource_rail_0
    Bad: macvlan on an InfiniBand port (dev-macvlan)
        ~ "master": "ens3f0np0" => "master": "ibs1f0"  # <-
    Bad: the same made by the operator (whole; file=network.yaml)
        apiVersion: mellanox.com/v1alpha1
        kind: MacvlanNetwork
        metadata:
          name: rail
        spec:
          networkNamespace: default
          master: ib0  # <-
          mode: bridge
    Bad: a pod on the host's network attaches nothing (ib-host)
        @@ template:
        - metadata: {}
        + metadata:
        +   annotations:
        +     k8s.v1.cni.cncf.io/networks: rail-a, rail-b  # <-
    Good: the device is named in the configuration (whole; file=network.yaml)
        apiVersion: k8s.cni.cncf.io/v1
        kind: NetworkAttachmentDefinition
        metadata:
          name: port
        spec:
          config: '{"cniVersion": "0.3.1", "type": "host-device", "device": "ens3f1"}'
    Good: IP over InfiniBand (whole; file=network.yaml)
        apiVersion: k8s.cni.cncf.io/v1
        kind: NetworkAttachmentDefinition
        metadata:
          name: port
        spec:
          config: '{"cniVersion": "0.3.1", "type": "ipoib", "master": "ib0"}'
    Good: macvlan on an Ethernet port (dev-macvlan)
        ~ "master": "ens3f0np0" => "master": "bond0"
    Source: Mellanox/network-operator#1017; Mellanox/k8s-rdma-shared-dev-plugin#95; k8snetworkplumbingwg/multus-cni.
    """
    if isinstance(view, Manifest):
        yield from _definition(view)
    elif isinstance(view, JobView):
        yield from once_a_pod(view, _on_host)


def _definition(manifest: Manifest) -> Iterator[Finding]:
    master = None
    called = f"The network '{manifest.name}'" if manifest.name else "The network, which has no name,"
    if manifest.kind == "NetworkAttachmentDefinition":
        network = definition(manifest)
        config = manifest.root.scalar("spec", "config")
        if not network.known or config is None:
            return
        if network.sort in ("sriov", "host-device", "ib-sriov") and network.resource is None and not network.own_device:
            yield Finding(
                Place(manifest.root.nearest("metadata", "annotations"), on_key=True),
                f"{called} of type '{network.sort}' has no annotation 'k8s.v1.cni.cncf.io/resourceName'; the "
                "plugin is given no device and pods stay in ContainerCreating.",
                help="Add the annotation with the resource that the device plugin offers.",
                subject=manifest,
            )
        if network.sort in ("macvlan", "ipvlan"):
            master = network.master
            place, sort = Place(master) if master is not None else Place(config), network.sort
    elif manifest.kind == "MacvlanNetwork":
        master = manifest.root.scalar("spec", "master")
        sort = "macvlan"
        if master is not None:
            place = Place(master)
    if master is not None and re.match(_PORT, master.text):
        yield Finding(
            place,
            f"{called} puts a {sort} interface on '{master.text}', an InfiniBand port, which cannot carry "
            "one; pods stay in ContainerCreating.",
            help="Use type ipoib (an IPoIBNetwork) on an InfiniBand port.",
            subject=manifest,
        )


def _on_host(pod: PodView) -> Iterator[Finding]:
    entries = entries_of(pod)
    host = pod.spec.at("hostNetwork")
    if not entries or not pod.host_network or host is None:
        return
    yield pod.finding(
        Place(pod.annotations[ANNOTATION], on_key=True),
        f"The pod uses the host's network, so the networks of '{ANNOTATION}' are not attached.",
        help="Remove the annotation, or hostNetwork.",
        severity=Severity.WARNING,
        related=(Related(Place(host), "The host's network."),),
    )


@rule("DEV004", "roce-without-network", Severity.WARNING, on=JobView, also=(Severity.NOTE,))
def roce_without_network(job: JobView) -> Iterator[Finding]:
    """A RoCE device has a network on the same card in the pod, and no index is fixed there.

    RoCE addresses (GIDs) belong to the card's interface in the pod's network. A shared device alone opens the card, but all
    its addresses are empty and the first connection fails with 'No such device'. Where a macvlan makes the interface, the
    index of an address differs from pod to pod.

    Fix: add the annotation k8s.v1.cni.cncf.io/networks with a macvlan network on that card; leave NCCL_IB_GID_INDEX unset.

    Silent: InfiniBand, which needs no network; the host's network; claims; providers that set the index themselves.

    Bad: an Ethernet device by its name (ib-pytorchjob)
        ~ rdma/rdma_shared_device_a => rdma/rdma_shared_device_eth  # <-
        ~ rdma/rdma_shared_device_a => rdma/rdma_shared_device_eth
    Bad: a RoCE version beside a shared device (ib-pytorchjob)
        @@ env:
        +   - name: NCCL_IB_ROCE_VERSION_NUM
        +     value: "2"
        @@ rdma/rdma_shared_device_a  # <-
    Bad: a fixed index over macvlan (dev-macvlan)
        ~ NCCL_IB_TIMEOUT => NCCL_IB_GID_INDEX
        ~ "22" => "3"  # <-
    Good: a network on the card (dev-macvlan)
        ~ rdma/rdma_shared_device_a => rdma/rdma_shared_device_eth
        ~ rdma/rdma_shared_device_a => rdma/rdma_shared_device_eth
    Good: NCCL chooses the index (dev-macvlan)
        ~ NCCL_IB_TIMEOUT => NCCL_IB_ROCE_VERSION_NUM
        ~ "22" => "2"
    Good: InfiniBand needs none (ib-pytorchjob)
        ~ rdma/rdma_shared_device_a => rdma/rdma_shared_device_ib
        ~ rdma/rdma_shared_device_a => rdma/rdma_shared_device_ib
    Source: NVIDIA/nccl#925, #1427; Mellanox/k8s-rdma-shared-dev-plugin#72, #101, #112; projectcalico/calico#8482.
    """
    yield from once(job, _roce)


def _roce(pod: WorkerPod) -> Iterator[Finding]:
    worker = pod.worker
    entries = entries_of(pod)
    if worker is None or entries is None or pod.host_network or not on_infiniband(pod):
        return
    profile = profile_of(pod)
    shared = [r for r in sorted(worker.resource_names) if unit_of(pod, r) == "shared" or r.endswith("_eth")]
    if shared and not entries and not pod.claim_names and link(pod) != "InfiniBand":
        resource = shared[0]
        version = pod.ranks_env.get("NCCL_IB_ROCE_VERSION_NUM")
        ethernet = resource.startswith("rdma/") and resource.endswith("_eth")
        node = worker.resource_node(resource)
        if (ethernet or profile.get("needs_attachment") or version is not None) and node is not None:
            related = (Related(version.place, "The RoCE version says that the card is Ethernet."),) if version else ()
            yield pod.finding(
                Place(node, on_key=True),
                f"'{resource}' opens an Ethernet card, and no annotation gives the pod a network on it; all its RoCE addresses are "
                "empty and connections fail with 'No such device'.",
                help=f"Add the annotation '{ANNOTATION}' with a macvlan network on that card.",
                related=related,
                severity=Severity.WARNING,
            )
        elif "hint_attachment" in profile and node is not None:
            yield pod.finding(
                Place(node, on_key=True),
                f"'{resource}' is usually given together with the network '{profile['hint_attachment']}', which no annotation names.",
                help=f"Add the annotation '{ANNOTATION}' if the ranks speak RoCE.",
                severity=Severity.NOTE,
            )
    index = pod.ranks_env.get("NCCL_IB_GID_INDEX")
    value = told(pod, "NCCL_IB_GID_INDEX")
    if (
        index is None
        or value is None
        or (integer(value) or 0) < 0
        or profile.get("gid_index")
        or link(pod) == "InfiniBand"
    ):
        return
    for entry in entries:
        network = network_of(pod, entry)
        macvlan = network.sort == "macvlan" if network is not None else "macvlan" in entry.name
        if macvlan:
            where = (
                (Related(Place(network.manifest.root.nearest("spec"), on_key=True), "The network."),) if network else ()
            )
            yield pod.finding(
                index.place,
                f"NCCL_IB_GID_INDEX is fixed to '{value}', but the RoCE interface is the macvlan '{entry.name}', where the index of "
                "an address differs from pod to pod; connections fail in some of them.",
                help="Remove it: since 2.21 NCCL finds the index itself.",
                related=where,
                severity=Severity.WARNING,
            )
            return
