"""POD007, POD008, POD011-013, POD017: whether the containers that run ranks are those that have the fabric."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from fabriclint.comparison import declared_comparison
from fabriclint.node import Node, Scalar, Unknown
from fabriclint.pod import ContainerView, PodView, WorkerPod
from fabriclint.quantity import parse_quantity
from fabriclint.rule import Finding, Place, Related, Severity, rule
from fabriclint.views import JobView
from fabriclint.workload import PodRole, is_accelerator
from fabriclint_rules.alike import once
from fabriclint_rules.attachment import (
    claims_gpus,
    devices_of,
    fabric_annotations_of,
    fabric_devices_of,
    family,
    has_daemon,
    is_attached,
    is_daemon,
    merged_elsewhere,
    only_probes,
    whole_node,
)
from fabriclint_rules.machines import machine_types, node_gpus
from fabriclint_schemas.eks import instance
from fabriclint_schemas.machines import has_fabric, rdma_cards
from fabriclint_schemas.pods import pods

_GPU = "nvidia.com/gpu"


@rule(
    "POD007",
    "device-without-gpu",
    Severity.ERROR,
    on=PodView,
    also=(Severity.WARNING,),
    yields_to=("POD012", "TRN006", "TRN008"),
    yields_on_line=("DOC005",),
)
def device_without_gpu(pod: PodView) -> Iterator[Finding]:
    """A container that has a fabric's device and runs ranks has GPUs too.

    The device then moves nothing: the program finds no GPU and ends, or works on the CPU while the NIC stands idle.

    Fix: write the number of GPUs in limits, or take the device out.

    Silent: probes, jobs that use no GPU (HPC on CPUs, health checks), other chips, GPUs by claim, DaemonSets.

    Bad: no GPU is left (pod-jobset)
        ~ nvidia.com/gpu: 8 => nvidia.com/gpu: 0  # <-
    Bad: ranks and a device, and no word of GPUs (pod-lws)
          limits:
        -   nvidia.com/gpu: 8
            vpc.amazonaws.com/efa: 32  # <-
    Good: a program that says nothing of GPUs (pod-lws)
        ~ [torchrun, --nproc-per-node=8, serve.py] => [sh, -c, ./simulate]
          limits:
        -   nvidia.com/gpu: 8
    Good: neither (pod-jobset)
        ~ nvidia.com/gpu: 8 => nvidia.com/gpu: 0
        ~ rdma/ib: 8 => rdma/ib: 0
    Source: kubernetes/kubernetes@v1.35.2 device manager (an amount of 0 allocates nothing); NVIDIA NCCL user guide.
    """
    if is_daemon(pod) or pod.role is PodRole.LAUNCHER or pod.site.form == "partial":
        return
    for container in pod.main_containers:
        devices = fabric_devices_of(container)
        if not devices or container.has_gpus or claims_gpus(container) or container.resources_open:
            continue
        if any(is_accelerator(n) and n != _GPU for n in container.resource_names) or only_probes(container):
            continue
        shown = ", ".join(f"'{d}'" for d in devices)
        node = container.resource_node(_GPU)
        requested = container.node.at("resources", "requests", _GPU)
        if isinstance(requested, Scalar) and requested.value not in (0, "0", "", None):
            continue
        if isinstance(node, Scalar) and not node.open:
            if node.value not in (None, "") and parse_quantity(node.value) != 0:
                continue  # a share of a GPU or less than none: POD006 has the form
            yield pod.finding(
                Place(node, on_key=True),
                f"The container '{container.name}' asks for {shown} and for no GPU: '{_GPU}' is "
                f"'{node.text}'; its ranks find no device to work on.",
                help="Write the number of GPUs, or take the device out.",
                silences=("POD006",),
            )
            continue
        if node is not None or any(c.has_gpus for c in pod.main_containers):
            continue
        nccl = container.seen_env.starting("NCCL_")
        if not container.start.starts_ranks and not nccl:
            continue
        first = container.resource_node(devices[0])
        assert first is not None
        why = "it starts ranks" if container.start.starts_ranks else f"it sets '{nccl[0].name}'"
        yield pod.finding(
            Place(first, on_key=True),
            f"The container '{container.name}' asks for {shown} and for no GPU, although {why}.",
            help=f"Add '{_GPU}' to its limits.",
            severity=Severity.WARNING,
        )


def _sign(pod: PodView) -> tuple[Node, str] | None:
    """What in the pod speaks of a cloud or of a fabric's software, with its place."""
    table = pods()["signs"]
    for name, _, values in pod.node_labels():
        if name.startswith(tuple(table["labels"])) and values:
            return values[0], f"the node label '{name}'"
    for container in pod.main_containers:
        image = container.image
        node = container.image_node
        if isinstance(image, str) and node is not None and any(part in image for part in table["images"]):
            return node, f"the image '{image}'"
        for text in table["texts"]:
            for word in container.words:
                if text in word.text:
                    return word, f"'{text}' in the command"
            for variable in container.env.variables.values():
                if isinstance(variable.value, str) and text in variable.value:
                    return variable.place.node, f"'{text}' in '{variable.name}'"
    return None


def _has_plugin(worker: ContainerView) -> bool:
    """Whether the image is the one that a cloud ships its fabric's plugin in."""
    image = worker.image
    return isinstance(image, str) and any(part in image for part in pods()["signs"]["plugin images"])


@rule(
    "POD008",
    "multi-node-without-fabric",
    Severity.WARNING,
    on=JobView,
    also=(Severity.NOTE,),
    yields_to=("TRN020", "TCPXO011", "TCPX011", "EFA001", "IB001", "POD017", "TCPXO001", "TCPX001", "GIB001", "POD012"),
)
def multi_node_without_fabric(job: JobView) -> Iterator[Finding]:
    """Pods that take whole nodes of GPUs and work together are attached to the cluster's fabric.

    Without a device, a network or a claim a pod has its ordinary interface alone: NCCL uses TCP over it. Nothing
    errors and the job completes, far slower than the hardware allows.

    Fix: ask for what the cluster offers (`kubectl get nodes -o jsonpath='{.items[*].status.allocatable}'` shows it), or
    pin `NCCL_NET=Socket` to say that TCP is meant.

    Silent: a part of a node, one pod, servers of their own, anything that attaches the pod: devices, claims, fabric
    annotations, a daemon, privileged, /dev/infiniband. A note only when nothing speaks of a cloud or a fabric, and on
    probes, unless their image is the one that has the fabric's plugin.

    Bad: whole nodes of a cloud, and no device (pod-jobset)
        + nodeSelector:
        +   node.kubernetes.io/instance-type: Standard_ND96isr_H100_v5
          containers:
        @@ resources
          limits:  # <-
            nvidia.com/gpu: 8
        -   rdma/ib: 8
    Bad: a cloud's image, and no device (pod-lws)
        ~ registry.example/serve:3 => 111122223333.dkr.ecr.us-east-1.amazonaws.com/serve:3
          limits:  # <-
            nvidia.com/gpu: 8
        -   vpc.amazonaws.com/efa: 32
    Good: TCP is meant (pod-jobset)
        + nodeSelector:
        +   node.kubernetes.io/instance-type: Standard_ND96isr_H100_v5
          containers:
        @@ command
          env:
        +   - name: NCCL_NET
        +     value: Socket
        @@ nvidia.com/gpu
        - rdma/ib: 8
    Good: half a node (pod-lws)
        ~ registry.example/serve:3 => 111122223333.dkr.ecr.us-east-1.amazonaws.com/serve:3
        ~ --nproc-per-node=8 => --nproc-per-node=4
        ~ nvidia.com/gpu: 8 => nvidia.com/gpu: 4
        - vpc.amazonaws.com/efa: 32
    Source: NVIDIA AICR, "Attaching a Training Workload to the Cluster Fabric"; NVIDIA NCCL user guide, networking.
    """
    yield from once(job, _unattached)


def _without_fabric(machine: str) -> bool:
    """Whether a machine type is known to have no fabric of any kind."""
    amazon = instance(machine)
    if amazon is not None:
        return amazon.efa == 0
    return has_fabric(machine, "InfiniBand") is False and not machine.startswith(tuple(pods()["gpu_networks_on"]))


def _unattached(pod: PodView) -> Iterator[Finding]:
    worker = pod.worker
    if worker is None or pod.multi_node is not True or not whole_node(pod) or is_attached(pod):
        return
    if (
        pod.workload.runtime_alone
        or merged_elsewhere(pod)
        or not any(n.startswith("nvidia.com/") for n in worker.resource_names)
    ):
        return
    net = pod.ranks_env.value("NCCL_NET")
    if (isinstance(net, str) and net.lower() == "socket") or declared_comparison(pod):
        return
    machines = machine_types(pod)
    if machines and all(_without_fabric(m) for m in machines):
        return
    sign = _sign(pod)
    # A probe is asked about by hand, unless its image is the fabric's own plugin: that one is there for the fabric.
    idle = only_probes(worker) and not _has_plugin(worker)
    severity = Severity.NOTE if sign is None or idle else Severity.WARNING
    yield pod.finding(
        worker.missing("resources", "limits"),
        f"{pod.job_pods} pods with {worker.gpus} GPUs each are attached to no fabric; NCCL between them uses TCP.",
        help="Ask for the cluster's fabric (a device in limits, a claim, GKE's network annotations), or set NCCL_NET=Socket "
        "when TCP is meant.",
        severity=severity,
        related=(Related(Place(sign[0]), f"The fabric may be there: {sign[1]}."),) if sign is not None else (),
    )


def _wirings(pod: PodView) -> list[tuple[str, Node, str]]:
    """The clouds' wirings found in the pod: title, place and what was found."""
    found: list[tuple[str, Node, str]] = []
    for row in pods()["wiring"]:
        for container in pod.containers:
            names = [n for n in devices_of(container) if n.startswith(tuple(row["resources"]))]
            node = container.resource_node(names[0]) if names else None
            if node is not None:
                found.append((row["title"], node, f"'{names[0]}'"))
                break
        else:
            names = [k for k in fabric_annotations_of(pod) if k.startswith(tuple(row["annotations"] or ("\0",)))]
            if names:
                found.append((row["title"], pod.annotations[names[0]], f"the annotation '{names[0]}'"))
    return found


@rule(
    "POD011",
    "fabric-conflict",
    Severity.ERROR,
    on=WorkerPod,
    yields_to=("TCPXO014", "TCPXO028", "TCPX014", "TCPX028", "GIB028", "EFA007"),
)
def fabric_conflict(pod: WorkerPod) -> Iterator[Finding]:
    """A pod is wired for one fabric.

    No cluster has the devices or networks of two: the pod waits for a node that does not exist, or its annotations
    are read by nobody and NCCL is told to use a plugin that finds no device.

    Fix: take out what belongs to the other fabric.

    Silent: variables of another fabric that change nothing; the rules of each fabric judge those.

    Bad: an RDMA device beside EFA (pod-lws)
          vpc.amazonaws.com/efa: 32
        + rdma/ib: 1  # <-
    Bad: an EFA device beside an RDMA device (pod-mpijob)
          rdma/rdma_shared_device_a: 1
        + vpc.amazonaws.com/efa: 4  # <-
    Good: one fabric under two names (pod-jobset)
          rdma/ib: 8
        + rdma/rdma_shared_device_a: 1
    Good: none of the other (pod-mpijob)
          rdma/rdma_shared_device_a: 1
        + vpc.amazonaws.com/efa: 0
    Source: kubernetes/kubernetes@v1.35.2 pkg/scheduler/framework/plugins/noderesources; NVIDIA/nccl@5067397
        src/plugin/net.cc.
    """
    found = _wirings(pod)
    if len(found) > 1:
        (first, its_node, its_sign), (other, node, sign) = found[0], found[1]
        if node.source.start < its_node.source.start:
            (first, its_node, its_sign), (other, node, sign) = (other, node, sign), (first, its_node, its_sign)
        yield pod.finding(
            Place(node, on_key=True),
            f"{sign} belongs to {other}, while {its_sign} wires the pod for {first}; no node has both.",
            help="Take out what belongs to the fabric that the cluster has not.",
            related=(Related(Place(its_node, on_key=True), f"The pod is wired for {first} here."),),
        )
        return
    if len(found) == 1 and family(pod) not in ("TCPXO", "TCPX", "GIB", "EFA"):
        yield from _other_plugin(pod, found[0])


def _other_plugin(pod: PodView, found: tuple[str, Node, str]) -> Iterator[Finding]:
    pinned = pod.ranks_env.get("NCCL_NET")
    if pinned is None or not isinstance(pinned.value, str):
        return
    wanted = pods()["networks_of_fabrics"].get(pinned.value.lower())
    if wanted is None or wanted == "IB":
        return
    title, node, sign = found
    yield pod.finding(
        pinned.place,
        f"NCCL_NET is '{pinned.value}', the plugin of another fabric than {sign} gives; NCCL does not start without it.",
        help="Take NCCL_NET out, or write the name of the network that the pod has (IB).",
        related=(Related(Place(node, on_key=True), f"The pod has {title} here."),),
        silences=("EFA001",),
    )


@rule("POD012", "wrong-container", Severity.WARNING, on=WorkerPod, yields_to=("EFA001",))
def wrong_container(pod: WorkerPod) -> Iterator[Finding]:
    """The container with the GPUs is the one that gets the fabric's device.

    A device goes to the container that asks for it and to no other of the pod. On a sidecar it is of no use: the
    ranks in the worker see none and NCCL uses TCP.

    Fix: move the device to the limits of the container with the GPUs.

    Silent: pods whose worker has a device too, the fabric's own daemons, init containers, claims.

    Bad: on the sidecar (pod-jobset)
        + initContainers:
        +   - name: exporter
        +     image: registry.example/exporter:2
        +     restartPolicy: Always
        +     resources:
        +       limits:
        +         rdma/ib: 8  # <-
          containers:
        @@ nvidia.com/gpu
        - rdma/ib: 8
    Bad: on the container before it (pod-lws)
          containers:
        +   - name: metrics
        +     image: registry.example/metrics:2
        +     resources:
        +       limits:
        +         vpc.amazonaws.com/efa: 32  # <-
        @@ nvidia.com/gpu
        - vpc.amazonaws.com/efa: 32
    Good: both have one (pod-jobset)
          containers:
        +   - name: exporter
        +     image: registry.example/exporter:2
        +     resources:
        +       limits:
        +         rdma/ib: 1
    Good: a sidecar without (pod-lws)
          containers:
        +   - name: metrics
        +     image: registry.example/metrics:2
    Source: kubernetes/kubernetes@v1.35.2 pkg/kubelet/cm/devicemanager (devices are allocated to a container).
    """
    yield from _set_elsewhere(pod)
    worker = pod.worker
    if worker is None or devices_of(worker) or worker.resources_open or worker.claims or worker.privileged:
        return
    for container in pod.containers:
        if container is worker or container.kind == "init" or container.has_gpus or container.claims:
            continue
        devices = fabric_devices_of(container)
        node = container.resource_node(devices[0]) if devices else None
        if node is not None:
            yield pod.finding(
                Place(node, on_key=True),
                f"'{devices[0]}' goes to the container '{container.name}', but the GPUs are in '{worker.name}', whose ranks "
                "see no device.",
                help=f"Move it to the limits of the container '{worker.name}'.",
            )
            return


def _set_elsewhere(pod: PodView) -> Iterator[Finding]:
    """The fabric's variables on a container beside the worker, which has none of its own."""
    worker = pod.worker
    if worker is None or pod.by_ssh or has_daemon(pod) or not fabric_devices_of(worker):
        return
    ranks = pod.ranks_env
    if ranks.open or worker.env.open or ranks.starting("NCCL_", "FI_"):
        return
    for container in pod.containers:
        if container is worker or container.kind == "init" or container.has_gpus or container.start.starts_ranks:
            continue
        found = container.env.starting(*pods()["fabric_variables"])
        if found:
            yield pod.finding(
                found[0].place,
                f"'{found[0].name}' is set in the container '{container.name}', but the ranks run in '{worker.name}', which "
                "does not get it.",
                help=f"Move it to the env of the container '{worker.name}'.",
            )
            return


@rule("POD013", "partial-node", Severity.WARNING, on=WorkerPod, yields_to=("GIB026", "TCPXO026", "TCPX026"))
def partial_node(pod: WorkerPod) -> Iterator[Finding]:
    """A pod that takes all NICs of a node takes all of its GPUs.

    NICs that are handed out one by one cannot be shared: the GPUs that the pod leaves stand on a node without a
    fabric, and the pod's own GPUs use a part of what it took.

    Fix: ask for all GPUs of the node, or for the NICs that belong to the GPUs asked for.

    Silent: nodes whose kind is not known from the file, devices that are shared, claims.

    Bad: all NICs and half of the GPUs (pod-jobset)
        + nodeSelector:
        +   node.kubernetes.io/instance-type: Standard_ND96isr_H100_v5
          containers:
        ~ nvidia.com/gpu: 8 => nvidia.com/gpu: 4
        ~ rdma/ib: 8 => nvidia.com/hostdev: 8  # <-
    Bad: all virtual functions and two GPUs (pod-mpijob)
        ~ slotsPerWorker: 8 => slotsPerWorker: 2
        ~ -np, "16" => -np, "4"
        @@ Worker:
        + nodeSelector:
        +   node.kubernetes.io/instance-type: BM.GPU.H100.8
          containers:
        ~ nvidia.com/gpu: 8 => nvidia.com/gpu: 2
        ~ rdma/rdma_shared_device_a: 1 => nvidia.com/rdma-vf: 16  # <-
    Good: half of both (pod-jobset)
        + nodeSelector:
        +   node.kubernetes.io/instance-type: Standard_ND96isr_H100_v5
          containers:
        ~ nvidia.com/gpu: 8 => nvidia.com/gpu: 4
        ~ rdma/ib: 8 => nvidia.com/hostdev: 4
    Good: a shared device (pod-mpijob)
        ~ slotsPerWorker: 8 => slotsPerWorker: 2
        ~ -np, "16" => -np, "4"
        @@ Worker:
        + nodeSelector:
        +   node.kubernetes.io/instance-type: BM.GPU.H100.8
          containers:
        ~ nvidia.com/gpu: 8 => nvidia.com/gpu: 2
    Source: oracle-quickstart/oci-hpc-oke@61d210a docs; Mellanox/network-operator-docs@0c0ecad host-device examples.
    """
    worker = pod.worker
    shape = _shape(pod)
    if worker is None or shape is None or worker.claims:
        return
    gpus, nics = shape
    count = worker.gpus
    if isinstance(count, Unknown) or count == 0 or count >= gpus:
        return
    for name in fabric_devices_of(worker):
        amount = worker.amount(name)
        if not name.startswith(tuple(pods()["unshared_nics"])) or not isinstance(amount, Decimal) or amount < nics:
            continue
        node = worker.resource_node(name)
        assert node is not None
        yield pod.finding(
            Place(node, on_key=True),
            f"The pod takes {amount} of '{name}', all that a node of its kind has, and {count} of its {gpus} GPUs; the "
            "other GPUs are left without a fabric.",
            help=f"Ask for {gpus} GPUs, or for the NICs of {count}.",
        )
        return


def _shape(pod: PodView) -> tuple[int, int] | None:
    """GPUs and NICs of the node the pod asks for, when its kind is known."""
    gpus = node_gpus(pod)
    nics = {rdma_cards(machine) for machine in machine_types(pod)}
    cards = nics.pop() if len(nics) == 1 else None
    return (gpus, cards) if gpus is not None and cards else None


_NETWORKS = "k8s.v1.cni.cncf.io/networks"


def _wires(pod: PodView) -> bool:
    worker = pod.worker
    if worker is None:
        return False
    return bool(devices_of(worker) or fabric_annotations_of(pod) or has_daemon(pod))


@rule(
    "POD017",
    "uneven-templates",
    Severity.ERROR,
    on=JobView,
    also=(Severity.WARNING,),
    yields_to=("EFA001", "IB001", "TCPXO001", "TCPX001", "GIB001", "TCPXO011", "TCPX011", "TCPXO010", "TCPX010"),
)
def uneven_templates(job: JobView) -> Iterator[Finding]:
    """All templates of a job whose pods have GPUs are wired for the fabric alike.

    One role with devices or network annotations and one without is half a job off the fabric: NCCL needs the same
    network on both ends, and uses TCP, or does not start where a plugin is pinned.

    Fix: give the other template the same devices, annotations and sidecar.

    Silent: launchers and heads without GPUs, templates attached in another way (privileged, claims), counts that a
    template fills in.

    Bad: the master has none (pod-pytorchjob)
          limits:  # <-
            nvidia.com/gpu: 8
        -   vpc.amazonaws.com/efa: 32
    Bad: the leader of a group has none (pod-leader)
          limits:  # <-
            nvidia.com/gpu: 8
        -   rdma/ib: 1
    Bad: one task of two (pod-volcano)
        @@ name: worker
          limits:  # <-
            nvidia.com/gpu: 8
        -   vpc.amazonaws.com/efa: 32
    Bad: the network alone (dev-macvlan)
        @@ Worker:
          limits:  # <-
            nvidia.com/gpu: 8
        -   rdma/rdma_shared_device_a: 1
    Bad: the device alone (dev-macvlan)
        @@ Worker:
          replicas: 1
          template:  # <-
        -   metadata:
        -     annotations:
        -       k8s.v1.cni.cncf.io/networks: roce
    Good: the launcher has no GPU (pod-mpijob)
        ~ registry.example/train:1 => registry.example/launch:4
    Good: the leader sees the node's devices without asking (pod-leader)
        @@ leader
          resources:
        -   limits:
        -     nvidia.com/gpu: 8
        -     rdma/ib: 1
        +   limits:
        +     nvidia.com/gpu: 8
        + securityContext:
        +   privileged: true
    Good: neither (pod-volcano)
        - vpc.amazonaws.com/efa: 32
        @@ name: worker
        - vpc.amazonaws.com/efa: 32
    Source: NVIDIA NCCL user guide, networking; kubeflow/training-operator v1.9.3.
    """
    workers = [p for p in job.workers if p.site.together and p.site.pods not in (None, 0)]
    wired = [p for p in workers if _wires(p)]
    if not wired or len(workers) < 2:
        return
    model = wired[0]
    for pod in workers:
        if _wires(pod) or is_attached(pod) or merged_elsewhere(pod) or pod.worker is None or model.worker is None:
            continue
        same = pod.worker.gpus == model.worker.gpus and not isinstance(pod.worker.gpus, Unknown)
        sure = same and family(model) in pods()["wired_per_pod"]
        devices = devices_of(model.worker) or fabric_annotations_of(model)
        shown = f"'{devices[0]}'" if devices else "a fabric's daemon"
        node = model.worker.resource_node(devices[0]) if devices_of(model.worker) else None
        place = Place(node, on_key=True) if node is not None else model.missing_annotation()
        yield pod.finding(
            pod.worker.missing("resources", "limits"),
            f"The pods of '{pod.name}' have no {shown}, which those of '{model.name}' have; half of the job is off the "
            "fabric.",
            help=f"Wire '{pod.name}' as '{model.name}' is wired.",
            severity=Severity.ERROR if sure else Severity.WARNING,
            related=(Related(place, f"'{model.name}' is wired here."),),
        ).with_(fabric=model.fabric.name if model.fabric is not None else None)
    yield from _half_wired(wired)


def _half_wired(wired: list[PodView]) -> Iterator[Finding]:
    """Of two templates that are wired, one with the device alone or with the network alone."""
    for pod in wired:
        if pod.claim_names or pod.annotations_open or pod.host_network or merged_elsewhere(pod) or pod.worker is None:
            continue
        alike = [
            o
            for o in wired
            if o is not pod and o.worker is not None and o.worker.gpus == pod.worker.gpus and not o.host_network
        ]
        annotated = next((o for o in alike if _NETWORKS in o.annotations), None)
        if annotated is not None and _NETWORKS not in pod.annotation_keys and not fabric_annotations_of(pod):
            yield pod.finding(
                pod.missing_annotation(),
                f"The pods of '{pod.name}' have no annotation '{_NETWORKS}', which those of '{annotated.name}' have; their "
                "cards may have no address, and half of the job is off the fabric.",
                help=f"Wire '{pod.name}' as '{annotated.name}' is wired.",
                severity=Severity.WARNING,
                related=(Related(Place(annotated.annotations[_NETWORKS], on_key=True), "The other has it here."),),
            )
            return
        model = next((o for o in alike if o.worker is not None and fabric_devices_of(o.worker)), None)
        if model is None or model.worker is None or _sees_devices(pod):
            continue
        name = fabric_devices_of(model.worker)[0]
        node = model.worker.resource_node(name)
        yield pod.finding(
            pod.worker.missing("resources", "limits"),
            f"The pods of '{pod.name}' have no '{name}', which those of '{model.name}' have; half of the job is off the fabric.",
            help=f"Wire '{pod.name}' as '{model.name}' is wired.",
            severity=Severity.WARNING,
            related=(Related(Place(node, on_key=True), "The other has it here."),) if node is not None else (),
        )
        return


def _sees_devices(pod: PodView) -> bool:
    """Whether a pod's containers have a device, or may: by asking, by the host's own, or by what a template fills in."""
    if any(c.privileged or c.resources_open or devices_of(c) for c in pod.containers) or has_daemon(pod):
        return True
    paths = (v.string("hostPath", "path") or "" for v in pod.volumes.values())
    return any(path.rstrip("/") in ("/dev", "/dev/infiniband") or path == "/" for path in paths)
