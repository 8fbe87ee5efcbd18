"""EFA: the device that a pod asks for, how many of it, and what stands in its way."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from fabriclint.node import Node, Scalar, Unknown, open_value
from fabriclint.pod import ContainerView, PodView, WorkerPod
from fabriclint.quantity import parse_quantity
from fabriclint.rule import Finding, Place, Related, Severity, rule
from fabriclint.schema.suggest import misspelt
from fabriclint.views import JobView
from fabriclint.workload import PodRole
from fabriclint_rules.alike import once, once_a_pod
from fabriclint_rules.efa_pods import EFA, accelerators, asks, machines, signs, uses_nixl, written
from fabriclint_schemas.eks import InstanceType, eks
from fabriclint_schemas.variables import efa

_VERBS = "/dev/infiniband"


@rule(
    "EFA001",
    "missing-device",
    Severity.ERROR,
    on=JobView,
    also=(Severity.WARNING,),
    yields_to=("TRN002", "TRN006", "TRN008"),
)
def missing_device(job: JobView) -> Iterator[Finding]:
    """A worker that is meant for EFA asks for `vpc.amazonaws.com/efa`.

    A pod sees no EFA device unless its container asks for one, whatever its node has: libfabric finds no provider and
    NCCL goes on over TCP, or stops when NCCL_NET is pinned. A resource name that nobody offers leaves the pod pending.

    Fix: add `vpc.amazonaws.com/efa` to the limits of the container with the GPUs, beside every other resource.
    Silent: pods with any claim, launchers, heads and daemons, `vpc.amazonaws.com/efa: 0`, jobs on one node, probes,
    privileged containers, which see the node's devices without asking, and files with weak signs alone
    (FI_EFA_FORK_SAFE, an AWS image, an instance type, a toleration). A warning on a
    runtime alone, whose TrainJobs may bring the device; an error on the workers of an mpi runtime, which they do not reach.
    Bad: the variables and no device (efa-jobset)
        @@ resources:
          limits: # <-
            nvidia.com/gpu: 8
        -   vpc.amazonaws.com/efa: 32
    Bad: mpirun hands FI_PROVIDER=efa on to workers without a device (efa-mpijob)
        @@ resources:
          limits: # <-
            nvidia.com/gpu: 8
        -   vpc.amazonaws.com/efa: 4
    Bad: a resource of another name (efa-lws)
        ~ vpc.amazonaws.com/efa: 16 => vpc.amazonaws.com/efas: 16 # <-
    Bad: the TrainJob's own resources name GPUs alone (efa-trainjob)
        @@ resourcesPerNode:
          limits: # <-
            nvidia.com/gpu: 8
        -   vpc.amazonaws.com/efa: 32
        @@ requests:
            nvidia.com/gpu: 8
        -   vpc.amazonaws.com/efa: 32
    Good: a comparison run asks for none (efa-jobset)
        ~ value: efa => value: tcp
        ~ value: AWS Libfabric => value: Socket
        ~ vpc.amazonaws.com/efa: 32 => vpc.amazonaws.com/efa: 0
    Good: one node needs no fabric (efa-lws)
        ~ size: 2 => size: 1
        ~ --nodes 2 => --nodes 1
        @@ limits:
            nvidia.com/gpu: 8
        -   vpc.amazonaws.com/efa: 16
    Good: the head of a Ray cluster without GPUs has the variables and no device (efa-raycluster)
        @@ name: ray-head
          image: registry.example/ray-efa:5
          env:
        +   - name: FI_EFA_USE_DEVICE_RDMA
        +     value: "1"
    Source: aws/eks-charts@5239609 stable/aws-efa-k8s-device-plugin; NVIDIA AICR, "Attaching a Training Workload to the
        Cluster Fabric"; aws/aws-ofi-nccl@2daf7d3.
    """
    yield from once_a_pod(job, _misspelt_resource)
    yield from once(job, _without_device)


def _misspelt_resource(pod: PodView) -> Iterator[Finding]:
    known = {n.lower() for n in efa()["misspelt"]}
    for container in pod.containers:
        for _section, name, node in container.resources():
            if name == EFA or open_value(name):
                continue
            if name.lower() in known or misspelt(name, [EFA]) is not None:
                yield pod.finding(
                    Place(node, on_key=True),
                    f"The resource '{name}' does not exist; no node offers it and the pod stays Pending.",
                    help=f"Write '{EFA}', the only name of the EFA device plugin.",
                    silences=("POD008",),
                )
                return


def _without_device(pod: WorkerPod) -> Iterator[Finding]:
    worker = pod.worker
    if (
        worker is None
        or worker.privileged
        or worker.resource_node(EFA) is not None
        or pod.claim_names
        or worker.claims
        or worker.resources_open
        or next(_misspelt_resource(pod), None) is not None
    ):
        return
    if pod.role is PodRole.DAEMON or (worker.start.probe and not pod.by_ssh):
        return
    sign = next(signs(pod), None)
    if sign is None:
        return
    several = pod.multi_node
    if several is False and not (_pins_network(pod) or uses_nixl(pod)):
        return
    # A TrainJob out of view may bring the device, or be of one node. The workers of an mpi runtime have what is written.
    unsure = pod.workload.runtime_alone and (
        pod.resources_to_come or not (_pins_network(pod) or _several_by_default(pod))
    )
    yield pod.finding(
        _limits(worker),
        f"The container '{worker.name}' asks for no '{EFA}' although {sign.what}; it gets no device and NCCL "
        "falls back to TCP.",
        help=f"Add '{EFA}' with the node's count to the limits of this container, beside its GPUs.",
        severity=Severity.WARNING if unsure else None,
        related=(Related(sign.place, "EFA is meant here."),),
        silences=("POD008",),
    )


def _limits(container: ContainerView) -> Place:
    """Where a missing device is reported: the container's limits, else its resources, else its name."""
    node = container.node.nearest("resources", "limits")
    return Place(node, on_key=True) if node is not container.node else container.missing("resources", "limits")


def _several_by_default(pod: PodView) -> bool:
    """Whether a runtime's own count is of several nodes."""
    count = pod.workload.manifest.root.at("spec", "mlPolicy", "numNodes")
    value = getattr(count, "value", None)
    return isinstance(value, int) and value > 1


def _pins_network(pod: PodView) -> bool:
    value = written(pod).value("NCCL_NET")
    return isinstance(value, str) and value.lower() in efa()["networks"]


@rule(
    "EFA002",
    "count",
    Severity.ERROR,
    on=JobView,
    also=(Severity.WARNING, Severity.NOTE),
    yields_to=("POD006",),
    yields_on_line=("DOC003", "DOC005", "FIT002"),
)
def count(job: JobView) -> Iterator[Finding]:
    """The number of EFA devices is one that the node has, and the pod's fair share of it.

    More than the machine has never schedules. A pod with all of a node's GPUs and part of its EFA runs with that part
    of the bandwidth: one of 32 devices is a thirty-second of the network.

    Fix: ask for as many as the instance type has for the GPUs that the pod takes.
    Silent: instance types that the file does not say or the table does not know, claims, zero, a fair share of a node
    (half the GPUs with half the devices), probes (a note).
    Bad: more than the machine has (efa-jobset)
        ~ vpc.amazonaws.com/efa: 32 => vpc.amazonaws.com/efa: 64 # <-
    Bad: a machine with half as many (efa-jobset)
        ~ p5.48xlarge => p5en.48xlarge
        ~ vpc.amazonaws.com/efa: 32 => vpc.amazonaws.com/efa: 32 # <-
    Bad: all GPUs and one device (efa-mpijob)
        ~ vpc.amazonaws.com/efa: 4 => vpc.amazonaws.com/efa: 1 # <-
    Bad: a machine without EFA (efa-raycluster)
        ~ g6e.48xlarge => g6e.4xlarge
        ~ vpc.amazonaws.com/efa: "4" => vpc.amazonaws.com/efa: "1" # <-
    Good: half of the GPUs with half of the devices (efa-jobset)
        ~ --nproc-per-node=8 => --nproc-per-node=4
        ~ nvidia.com/gpu: 8 => nvidia.com/gpu: 4
        ~ vpc.amazonaws.com/efa: 32 => vpc.amazonaws.com/efa: 16
    Good: the machine is not said (efa-mpijob)
        @@ template:
        - nodeSelector:
        -   node.kubernetes.io/instance-type: p4d.24xlarge
        ~ vpc.amazonaws.com/efa: 4 => vpc.amazonaws.com/efa: 1
    Good: one device is all that the machine has (efa-raycluster)
        ~ g6e.48xlarge => ml.g5.48xlarge
        ~ vpc.amazonaws.com/efa: "4" => vpc.amazonaws.com/efa: "1"
    Source: aws/karpenter-provider-aws@1d92708 website/content/en/docs/reference/instance-types.md;
        aws/sagemaker-hyperpod-cli#282.
    """
    yield from once_a_pod(job, _count)


def _count(pod: PodView) -> Iterator[Finding]:
    for container in pod.containers:
        node = container.resource_node(EFA)
        if node is None:
            continue
        amount = container.amount(EFA)
        if isinstance(amount, Unknown):
            if isinstance(node, Scalar) and not node.open and _unreadable(node):
                yield pod.finding(
                    Place(node),
                    f"'{node.text}' is no number of EFA devices; the API server refuses the pod.",
                    help="Write a whole number, the node's count.",
                )
            continue
        if amount is None or amount == 0:
            continue
        if amount < 0 or amount != amount.to_integral_value():
            yield pod.finding(
                Place(node),
                f"'{_text(node)}' is no whole number of EFA devices; the API server refuses the pod.",
                help="Write a whole number, the node's count.",
            )
            continue
        admitted = machines(pod)
        if admitted is not None:
            yield from _against(pod, container, node, int(amount), admitted)


def _unreadable(node: Scalar) -> bool:
    if isinstance(node.value, bool):
        return True
    return "$" not in node.text and parse_quantity(node.text) is None


def _text(node: Node) -> str:
    return node.text if isinstance(node, Scalar) else ""


def _against(
    pod: PodView, container: ContainerView, node: Node, amount: int, admitted: tuple[InstanceType, ...]
) -> Iterator[Finding]:
    most = max(t.efa for t in admitted)
    if amount > most:
        yield pod.finding(
            Place(node),
            _too_many(amount, most, admitted),
            help=_take(admitted, amount),
            silences=("POD008",),
        )
        return
    small = [t for t in admitted if t.efa < amount]
    if small:
        fits = next(t for t in admitted if t.efa >= amount)
        yield pod.finding(
            Place(node),
            f"{amount} EFA devices fit a '{fits.name}' but not a '{small[0].name}' (which has {small[0].efa}), and the pod may be "
            "placed on either; the smaller node never takes it.",
            help=f"Select '{fits.name}' alone, or ask for the devices that every type has.",
            severity=Severity.WARNING,
        )
        return
    wanted = accelerators(container)
    if not isinstance(wanted, int) or wanted == 0:
        return
    if all(t.accelerators == wanted and amount < t.efa for t in admitted):
        least = min(admitted, key=lambda t: t.efa)
        yield pod.finding(
            Place(node),
            f"The pod takes all {wanted} {'chips' if least.neuron else 'GPUs'} of a '{least.name}' but {amount} of its {least.efa} EFA "
            "devices; it gets that part of the node's bandwidth.",
            help=f"Ask for {least.efa}.",
            severity=Severity.NOTE if container.start.probe and not pod.by_ssh else Severity.WARNING,
        )


def _names(admitted: tuple[InstanceType, ...]) -> str:
    listed = [f"'{t.name}'" for t in admitted[:3]]
    return " and ".join(listed) + (" and others" if len(admitted) > 3 else "")


def _too_many(amount: int, most: int, admitted: tuple[InstanceType, ...]) -> str:
    have = "have" if len(admitted) > 1 else "has"
    if most == 0:
        return f"{_names(admitted)} {have} no EFA device, but the pod asks for {amount}; it is never scheduled."
    return f"{_names(admitted)} {have} {most} EFA device{'s' if most > 1 else ''}, but the pod asks for {amount}; it is never scheduled."


def _take(admitted: tuple[InstanceType, ...], amount: int) -> str:
    most = max(t.efa for t in admitted)
    if most == 0:
        return f"Select a type that has EFA, or remove '{EFA}'."
    if amount == most + 2 and any(t.name in eks()["foreign verbs devices"] for t in admitted):
        return f"Ask for {most}; device plugins older than 0.5.10 counted two devices there that are no EFA."
    return f"Ask for {most} or fewer."


@rule("EFA009", "hugepages", Severity.WARNING, on=JobView, also=(Severity.NOTE,))
def hugepages(job: JobView) -> Iterator[Finding]:
    """Huge pages that an EFA pod asks for are ones that its node reserves.

    EFA's driver package reserves 5128 pages of 2 MiB. A pod that asks for more waits for ever, and Karpenter, which
    knows nothing of huge pages, never makes a node for a pod that asks for any. libfabric works without them.

    Fix: ask for at most 10256Mi of hugepages-2Mi, or for none.
    Silent: pods without EFA; a pod that asks for none.
    Bad: more than the node reserves (efa-mpijob)
        @@ vpc.amazonaws.com/efa: 4
        + hugepages-2Mi: 20480Mi # <-
        + memory: 32Gi
    Bad: in requests and limits (efa-jobset)
        @@ resources:
        + requests:
        +   memory: 64Gi
        +   hugepages-2Mi: 15120Mi
          limits:
        +   memory: 64Gi
        +   hugepages-2Mi: 15120Mi # <-
    Good: what the driver package reserves (efa-mpijob)
        @@ vpc.amazonaws.com/efa: 4
        + hugepages-2Mi: 5120Mi
        + memory: 32Gi
    Good: a pod without EFA may have pages of its own (efa-raycluster)
        @@ cpu: "8"
          memory: 32Gi
        + hugepages-2Mi: 20480Mi
        @@ cpu: "8"
          memory: 32Gi
        + hugepages-2Mi: 20480Mi
    Source: awsdocs/amazon-eks-user-guide@4d52b4d node EFA page; aws/karpenter-provider-aws#3315, #6296.
    """
    yield from once_a_pod(job, _hugepages)


def _hugepages(pod: PodView) -> Iterator[Finding]:
    data = eks()["hugepages"]
    karpenter = any(label.startswith("karpenter.") for label, _, _ in pod.node_labels())
    for container in pod.containers:
        node = container.resource_node(data["resource"])
        amount = container.amount(data["resource"])
        if node is None or not asks(container) or not isinstance(amount, Decimal) or amount <= 0:
            continue
        mebibytes = amount / (1024 * 1024)
        if mebibytes > data["mebibytes"]:
            yield pod.finding(
                Place(node),
                f"The pod asks for '{_text(node)}' of huge pages, but EFA's driver package reserves {data['mebibytes']}Mi on a "
                "node; unless the node reserves more, the pod stays Pending.",
                help=f"Ask for {data['mebibytes']}Mi or less, or for none: libfabric works without them.",
            )
        elif karpenter:
            yield pod.finding(
                Place(node),
                f"The pod asks for '{_text(node)}' of huge pages, which Karpenter does not know; it makes no node for this pod.",
                help="Leave the huge pages out, or use a node group of a fixed size.",
                severity=Severity.NOTE,
            )


@rule("EFA012", "extra-verbs-devices", Severity.WARNING, on=JobView, also=(Severity.ERROR,))
def extra_verbs_devices(job: JobView) -> Iterator[Finding]:
    """A pod with EFA takes its devices from the plugin, not from the host's /dev/infiniband.

    libfabric opens every verbs device that it sees. One that it may not open fails the whole list, and NCCL goes to
    TCP. On p6-b200 two of the host's devices belong to NVLink and are no EFA: there the mount loses the fabric.

    Fix: remove the mount; the container gets its own devices with `vpc.amazonaws.com/efa`.
    Silent: device plugins and installers, containers that ask for no EFA.
    Bad: on a machine with other verbs devices (efa-pytorchjob)
        @@ Worker:
        @@ volumeMounts:
        +   - name: ib # <-
        +     mountPath: /dev/infiniband
        @@ volumes:
        +   - name: ib
        +     hostPath:
        +       path: /dev/infiniband
    Bad: harmless here and fatal elsewhere (efa-jobset)
        @@ volumeMounts:
        +   - name: ib # <-
        +     mountPath: /dev/infiniband
        @@ volumes:
        +   - name: ib
        +     hostPath: {path: /dev/infiniband/}
    Good: another host folder (efa-jobset)
        @@ volumeMounts:
        +   - name: data
        +     mountPath: /data
        @@ volumes:
        +   - name: data
        +     hostPath: {path: /mnt/data}
    Good: a pod that asks for no device (nccl-jobset)
        @@ volumeMounts:
        +   - name: ib
        +     mountPath: /dev/infiniband
        @@ volumes:
        +   - name: ib
        +     hostPath: {path: /dev/infiniband}
    Source: ofiwg/libfabric@af8ddbe prov/efa/src/efa_device.c; ofiwg/libfabric#12708; aws-samples/aws-do-eks#63.
    """
    yield from once_a_pod(job, _extra_devices)


def _extra_devices(pod: PodView) -> Iterator[Finding]:
    if pod.role is PodRole.DAEMON:
        return
    for container in pod.main_containers:
        if not asks(container):
            continue
        for mount in container.mounts:
            volume = pod.volumes.get(mount.string("name") or "")
            path = volume.scalar("hostPath", "path") if volume is not None else None
            if path is None or not (path.text.rstrip("/") + "/").startswith(_VERBS + "/"):
                continue
            admitted = machines(pod) or ()
            fatal = bool(admitted) and all(t.name in eks()["foreign verbs devices"] for t in admitted)
            end = (
                f"two on '{admitted[0].name}' are no EFA, libfabric finds no provider and NCCL falls back to TCP."
                if fatal
                else "one that libfabric may not open loses all of EFA."
            )
            name = mount.at("name")
            yield pod.finding(
                Place(name if name is not None else mount),
                f"The container '{container.name}' asks for EFA and sees all verbs devices of the host by '{_VERBS}'; {end}",
                help=f"Remove the mount; '{EFA}' brings the container its devices.",
                severity=Severity.ERROR if fatal else None,
                related=(Related(Place(path), "The host's devices are named here."),),
            )
