"""TCPXO, TCPX and gIB: the node a pod asks for, its GPUs, and its place among the containers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fabriclint.node import Scalar, Unknown
from fabriclint.pod import PodView, WorkerPod
from fabriclint.rule import AddField, Applicability, Finding, Fix, Place, Related, Rule, SetValue, Severity, rule
from fabriclint_rules.gke_wiring import (
    DEVICES,
    GIB,
    INTERFACES,
    TCPX,
    TCPXO,
    accelerator,
    accelerators,
    chosen_subset,
    claims_networks,
    containers_open,
    nodes_table,
    profile_of,
    shape,
    sidecar,
)

_GPU = "nvidia.com/gpu"


@rule("TCPXO026", "gpu-count", Severity.ERROR, on=WorkerPod, fabric=TCPXO, also=(Severity.WARNING,), yields_to=("TRN006",))  # fmt: skip
@rule("TCPX026", "gpu-count", Severity.ERROR, on=WorkerPod, fabric=TCPX, also=(Severity.WARNING,), yields_to=("TRN006",))  # fmt: skip
@rule("GIB026", "gpu-count", Severity.WARNING, on=WorkerPod, fabric=GIB, yields_to=("TRN006",))
def gpu_count(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """The worker asks for every GPU of the node.

    NICs and GPUs of the node belong together, and the daemon counts all of them: with fewer GPUs it does not serve,
    and the job runs over TCP. gIB's NICs cannot be shared by pods.

    Fix: ask for eight GPUs (A4X: four), in limits.
    Silent: gIB without the annotation or on a node that is not known, claims, counts that are not known.
    Bad: four of eight (tcpxo-job)
        ~ nvidia.com/gpu: 8 => nvidia.com/gpu: 4 # <-
    Bad: one (tcpxo-mega-jobset)
        ~ nvidia.com/gpu: 8 => nvidia.com/gpu: 1 # <-
    Good: all of them (tcpxo-job)
        @@ nvidia.com/gpu: 8
    Good: a count in quotes (tcpxo-mega-jobset)
        ~ nvidia.com/gpu: 8 => nvidia.com/gpu: "8"
    Bad TCPX: four of eight (tcpx-job)
        ~ nvidia.com/gpu: 8 => nvidia.com/gpu: 4 # <-
    Bad TCPX: two nodes' GPUs in one pod (tcpx-jobset)
        ~ nvidia.com/gpu: 8 => nvidia.com/gpu: 16 # <-
    Good TCPX: all of them (tcpx-job)
        @@ nvidia.com/gpu: 8
    Good TCPX: a count in quotes (tcpx-jobset)
        ~ nvidia.com/gpu: 8 => nvidia.com/gpu: "8"
    Bad GIB: four of eight (gib-job)
        ~ nvidia.com/gpu: 8 => nvidia.com/gpu: 4 # <-
    Bad GIB: one (gib-jobset)
        ~ nvidia.com/gpu: 8 => nvidia.com/gpu: 1 # <-
    Good GIB: all of them (gib-job)
        @@ nvidia.com/gpu: 8
    Good GIB: a node that is not known (gib-jobset)
        - nodeSelector:
        -   cloud.google.com/gke-accelerator: nvidia-h200-141gb
        @@ nvidia.com/gpu: 8
    Source: NVIDIA AICR, "Attaching a Training Workload to the Cluster Fabric"; google/nccl-plugin-gpudirect-
    tcpxo@04815d1.
    """
    worker = pod.worker
    if worker is None or claims_networks(pod):
        return
    if rule.family == "GIB" and INTERFACES not in pod.annotations:
        return
    daemon = sidecar(pod)
    holders = [c for c in pod.main_containers if c is not daemon and c.resource_node(_GPU) is not None]
    counts = [c.amount(_GPU) for c in holders]
    if not holders or any(isinstance(c, Unknown) or c is None or c % 1 for c in counts):
        return
    total = sum(int(c) for c in counts if not isinstance(c, Unknown) and c is not None)
    counted = shape(pod)
    wanted = counted["gpus"]
    if total == wanted or (rule.family == "GIB" and (not counted["known"] or total > wanted)):
        return
    node = holders[0].resource_node(_GPU)
    profile = profile_of(pod)
    few = total < wanted
    yield pod.finding(
        Place(node) if node is not None else worker.name_place,
        f"The worker '{worker.name}' asks for {total} GPUs, but {profile['title']} needs all {wanted} of the node"
        + (
            "; the daemon does not find the GPUs that it counts, and the job runs over TCP."
            if few and rule.family != "GIB"
            else "; the NICs cannot be shared, so the other GPUs of the node are left without."
            if few
            else "; no node has so many, and the pod stays Pending."
        ),
        help=f"Ask for {_GPU}: {wanted}.",
        severity=Severity.WARNING if few and chosen_subset(pod) else None,
        silences=("POD013",),
        fix=(
            Fix(f"write {wanted}", (SetValue(node, str(wanted), amount=True),), Applicability.UNSAFE)
            if isinstance(node, Scalar) and len(holders) == 1
            else None
        ),
    )


@rule("TCPXO027", "wrong-accelerator", Severity.ERROR, on=WorkerPod, fabric=TCPXO, also=(Severity.WARNING,), yields_on_line=("FIT007",))  # fmt: skip
@rule("TCPX027", "wrong-accelerator", Severity.ERROR, on=WorkerPod, fabric=TCPX, also=(Severity.WARNING,), yields_on_line=("FIT007",))  # fmt: skip
@rule("GIB027", "wrong-accelerator", Severity.ERROR, on=WorkerPod, fabric=GIB, also=(Severity.WARNING,), yields_on_line=("FIT007",))  # fmt: skip
def wrong_accelerator(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """The pod asks for nodes that have the fabric.

    A3 Mega's label is nvidia-h100-mega-80gb, A3 High's nvidia-h100-80gb: on the wrong pool there is no plugin of
    this fabric and no NIC for it. A selector that fits any GPU node leaves it to chance.

    Fix: write the accelerator label of the fabric's machine.
    Silent: node pools, reservations and compute classes by name, Kueue's queues, labels that are not known.
    Bad: another accelerator (tcpxo-job)
        ~ nvidia-h100-mega-80gb => nvidia-h100-80gb # <-
    Bad: any node with GPUs (tcpxo-mega-jobset)
        ~ cloud.google.com/gke-accelerator: nvidia-h100-mega-80gb => nvidia.com/gpu.present: "true" # <-
    Good: the fabric's accelerator (tcpxo-job)
        @@ gke-accelerator
    Good: a node pool by its name (tcpxo-mega-jobset)
        ~ cloud.google.com/gke-accelerator: nvidia-h100-mega-80gb => cloud.google.com/gke-nodepool: fabric-pool
    Bad TCPX: another accelerator (tcpx-job)
        ~ nvidia-h100-80gb => nvidia-h100-mega-80gb # <-
    Bad TCPX: any node with GPUs (tcpx-jobset)
        ~ cloud.google.com/gke-accelerator: nvidia-h100-80gb => nvidia.com/gpu.present: "true" # <-
    Good TCPX: the fabric's accelerator (tcpx-job)
        @@ gke-accelerator
    Good TCPX: a node pool by its name (tcpx-jobset)
        ~ cloud.google.com/gke-accelerator: nvidia-h100-80gb => cloud.google.com/gke-nodepool: fabric-pool
    Bad GIB: another accelerator (gib-job)
        ~ nvidia-h200-141gb => nvidia-h100-80gb # <-
    Bad GIB: any node with GPUs (gib-jobset)
        ~ cloud.google.com/gke-accelerator: nvidia-h200-141gb => nvidia.com/gpu.present: "true" # <-
    Good GIB: the fabric's accelerator (gib-job)
        ~ nvidia-h200-141gb => nvidia-b200
    Good GIB: a node pool by its name (gib-jobset)
        ~ cloud.google.com/gke-accelerator: nvidia-h200-141gb => cloud.google.com/gke-nodepool: fabric-pool
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81 (accelerator labels); NVIDIA AICR.
    """
    profile, table = profile_of(pod), nodes_table()
    right = {*profile["accelerators"], *profile["machines"]}
    found = accelerators(pod)
    wrong = [
        (text, node)
        for text, node in found
        if text not in right and (text in table["accelerators"] or text.startswith(tuple(table["machine_prefixes"])))
    ]
    if wrong:
        text, node = wrong[0]
        some = any(t in right for t, _ in found) and not isinstance(node.parent, type(pod.spec))
        wanted = " or ".join(f"'{a}'" for a in profile["accelerators"])
        single = len(profile["accelerators"]) == 1 and text in table["accelerators"]
        yield pod.finding(
            Place(node),
            f"Nodes with '{text}' have no {profile['title']}; "
            + (
                "a pod that lands on one runs over TCP." if some else "the job runs over TCP, or its pods stay Pending."
            ),
            help=f"Ask for {wanted}.",
            severity=Severity.WARNING if some else None,
            silences=("DEV005",),
            fix=Fix(
                f"write {profile['accelerators'][0]}",
                (SetValue(node, profile["accelerators"][0]),),
                Applicability.UNSAFE,
            )
            if single
            else None,
        )
        return
    if found or "kueue.x-k8s.io/queue-name" in {*pod.labels, *_labels(pod)}:
        return
    labels = [(label, values) for label, _, values in pod.node_labels()]
    names = {label for label, _ in labels}
    generic = [(label, values) for label, values in labels if label in table["gpu_labels"] and values]
    if not generic or names - set(table["unspecific_labels"]):
        return
    label, values = generic[0]
    yield pod.finding(
        Place(values[0], on_key=True),
        f"'{label}' fits every GPU node; the pod may land on a pool without {profile['title']} and run over TCP.",
        help=f"Add {table['accelerator_label']}: {profile['accelerators'][0]}.",
        severity=Severity.WARNING,
        silences=("DEV005",),
    )


def _labels(pod: WorkerPod) -> list[str]:
    labels = pod.workload.manifest.root.mapping("metadata", "labels")
    return list(labels.fields) if labels is not None else []


@rule("GIB031", "gpu-container-not-first", Severity.WARNING, on=WorkerPod, fabric=GIB)
def gpu_container_not_first(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """The container with the GPUs is the first of the pod.

    GKE gives the RDMA device files of annotated networks to the first container alone. With another one in front
    NCCL finds no device and falls back to TCP, or fails.

    Fix: put the container with the GPUs first in `containers`.
    Silent: init containers and native sidecars; claims; a privileged worker, which sees the host's devices.
    Bad: a log shipper in front (gib-job)
        @@ containers:
        +   - name: logs
        +     image: mirror.example/logs:1
        @@ - name: node # <-
    Bad: an ssh server in front (gib-jobset)
        @@ containers:
        +   - name: ssh
        +     image: mirror.example/ssh:1
        @@ - name: node # <-
    Good: the worker first (gib-job)
        @@ volumes:
        @@ emptyDir
    Good: a native sidecar (gib-jobset)
        + initContainers:
        +   - name: logs
        +     restartPolicy: Always
        +     image: mirror.example/logs:1
          containers:
    Source: Google Cloud AI Hypercomputer, "Create a custom AI-optimized GKE cluster".
    """
    worker = pod.worker
    if worker is None or INTERFACES not in pod.annotations or claims_networks(pod) or worker.privileged:
        return
    first = pod.main_containers[0]
    listed = pod.spec.sequence("containers")
    if first is worker or first.has_gpus or (listed is not None and isinstance(listed.items[0], Scalar)):
        return
    yield pod.finding(
        worker.name_place,
        f"The container '{worker.name}' has the GPUs but is not the first; GKE gives the RDMA devices to the first container, "
        f"'{first.name}', alone, and NCCL falls back to TCP.",
        help=f"Put '{worker.name}' first in containers.",
        related=(Related(first.name_place, "This one gets the RDMA devices."),),
    )


@rule("GIB034", "architecture", Severity.WARNING, on=WorkerPod, fabric=GIB)
def architecture(pod: WorkerPod, rule: Rule) -> Iterator[Finding]:
    """Pods for GB200 and GB300 are for arm64.

    These nodes have Arm CPUs: an image for amd64 ends with 'exec format error'. They carry the taint
    kubernetes.io/arch=arm64, and a pod without a toleration stays Pending.

    Fix: take an arm64 image, and tolerate the taint or ask for the architecture.
    Silent: images whose name does not say; Kueue's queues, whose flavour adds the toleration.
    Bad: no toleration (gib-job)
        - networking.gke.io/interfaces: ...
        + networking.gke.io/interfaces: '[{"interfaceName":"eth0","network":"default"},{"interfaceName":"eth2","network":"rdma-0"},{"interfaceName":"eth3","network":"rdma-1"},{"interfaceName":"eth4","network":"rdma-2"},{"interfaceName":"eth5","network":"rdma-3"}]'
        ~ nvidia-h200-141gb => nvidia-gb200 # <-
        ~ --nproc-per-node=8 => --nproc-per-node=4
        ~ nvidia.com/gpu: 8 => nvidia.com/gpu: 4
    Bad: an image for amd64 (gib-jobset)
        - networking.gke.io/interfaces: ...
        + networking.gke.io/interfaces: '[{"interfaceName":"eth0","network":"default"},{"interfaceName":"eth2","network":"rdma-0"},{"interfaceName":"eth3","network":"rdma-1"},{"interfaceName":"eth4","network":"rdma-2"},{"interfaceName":"eth5","network":"rdma-3"}]'
        ~ nvidia-h200-141gb => nvidia-gb200
        @@ tolerations:
        +   - key: kubernetes.io/arch
        +     operator: Equal
        +     value: arm64
        +     effect: NoSchedule
        ~ image: registry.example/train:1 => image: registry.example/train:1-amd64 # <-
        ~ --nproc-per-node=8 => --nproc-per-node=4
        ~ nvidia.com/gpu: 8 => nvidia.com/gpu: 4
    Good: the toleration (gib-job)
        - networking.gke.io/interfaces: ...
        + networking.gke.io/interfaces: '[{"interfaceName":"eth0","network":"default"},{"interfaceName":"eth2","network":"rdma-0"},{"interfaceName":"eth3","network":"rdma-1"},{"interfaceName":"eth4","network":"rdma-2"},{"interfaceName":"eth5","network":"rdma-3"}]'
        ~ nvidia-h200-141gb => nvidia-gb200
        @@ tolerations:
        +   - key: kubernetes.io/arch
        +     operator: Equal
        +     value: arm64
        +     effect: NoSchedule
        ~ --nproc-per-node=8 => --nproc-per-node=4
        ~ nvidia.com/gpu: 8 => nvidia.com/gpu: 4
    Good: the architecture asked for (gib-jobset)
        - networking.gke.io/interfaces: ...
        + networking.gke.io/interfaces: '[{"interfaceName":"eth0","network":"default"},{"interfaceName":"eth2","network":"rdma-0"},{"interfaceName":"eth3","network":"rdma-1"},{"interfaceName":"eth4","network":"rdma-2"},{"interfaceName":"eth5","network":"rdma-3"}]'
        @@ nodeSelector:
        - cloud.google.com/gke-accelerator: nvidia-h200-141gb
        + cloud.google.com/gke-accelerator: nvidia-gb200
        + kubernetes.io/arch: arm64
        ~ --nproc-per-node=8 => --nproc-per-node=4
        ~ nvidia.com/gpu: 8 => nvidia.com/gpu: 4
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81 gpudirect-rdma/nccl-test-a4x-max-jobset.yaml.
    """
    worker, known = pod.worker, accelerator(pod)
    machines = profile_of(pod)["by_accelerator"]
    arch = machines.get(known, {}).get("arch") if known is not None else None
    if worker is None or arch is None:
        return
    image = worker.image
    if isinstance(image, str) and worker.image_node is not None:
        said = re.search(r"amd64|x86[_-]64", image.rsplit("/", 1)[-1])
        if said is not None and "arm64" not in image:
            yield pod.finding(
                Place(worker.image_node),
                f"The image '{image}' is for {said[0]}, but '{known}' nodes are {arch}; the container ends with 'exec format "
                "error'.",
                help=f"Take an {arch} image.",
            )
            return
    if _tolerates(pod, arch) or "kueue.x-k8s.io/queue-name" in {*pod.labels, *_labels(pod)}:
        return
    selected = [v for label, _, values in pod.node_labels() if label == "kubernetes.io/arch" for v in values]
    if any(v.text == arch or v.open for v in selected):
        return
    node = next(n for t, n in accelerators(pod))
    yield pod.finding(
        Place(node),
        f"'{known}' nodes are {arch} and carry the taint 'kubernetes.io/arch={arch}'; the pod neither tolerates it nor asks "
        "for that architecture, and stays Pending.",
        help=f"Add a toleration with key kubernetes.io/arch, value {arch}, effect NoSchedule.",
    )


def _tolerates(pod: WorkerPod, arch: str) -> bool:
    listed = pod.spec.at("tolerations")
    if isinstance(listed, Scalar) and listed.value is not None:
        return True
    for toleration in pod.spec.mappings("tolerations"):
        key = toleration.string("key")
        if key is None and toleration.string("operator") == "Exists":
            return True
        if key == "kubernetes.io/arch" and toleration.string("value") in (None, arch):
            return True
    return False


@rule("TCPXO034", "no-gpu-asked", Severity.ERROR, on=PodView, fabric=TCPXO, yields_to=("TRN008", "POD007"))
@rule("TCPX035", "no-gpu-asked", Severity.ERROR, on=PodView, fabric=TCPX, yields_to=("TRN008", "POD007"))
def no_gpu_asked(pod: PodView, rule: Rule) -> Iterator[Finding]:
    """A pod that is wired with a daemon has a container that asks for GPUs.

    The daemon asks for none: the container of the ranks does. Where no container does, the pod gets no GPU, whatever
    else it is wired with, and it may run on any node that has none.

    Fix: ask for eight GPUs in the limits of the container that starts the ranks.
    Silent: claims, privileged containers, a runtime whose TrainJobs give the resources, resources that a template fills in,
    pods without a variable or a script of the fabric.
    Bad: the GPUs are missing (tcpxo-job)
        @@ containers:
        @@ - name: node # <-
        - resources:
        -   limits:
        -     nvidia.com/gpu: 8
    Bad: other resources only (tcpxo-mega-jobset)
        @@ containers:
          limits: # <-
        -   nvidia.com/gpu: 8
        +   cpu: 96
    Good: all of them (tcpxo-job)
        @@ nvidia.com/gpu: 8
    Good: the container sees all that the host has (tcpxo-mega-jobset)
        @@ containers:
        - resources:
        -   limits:
        -     nvidia.com/gpu: 8
          securityContext:
        -   capabilities:
        -     add: [IPC_LOCK]
        +   privileged: true
    Bad TCPX: the GPUs are missing (tcpx-job)
        @@ containers:
        @@ - name: node # <-
        - resources:
        -   limits:
        -     nvidia.com/gpu: 8
    Bad TCPX: other resources only (tcpx-jobset)
        @@ containers:
          limits: # <-
        -   nvidia.com/gpu: 8
        +   cpu: 96
    Good TCPX: all of them (tcpx-job)
        @@ nvidia.com/gpu: 8
    Good TCPX: the container sees all that the host has (tcpx-jobset)
        @@ containers:
        - resources:
        -   limits:
        -     nvidia.com/gpu: 8
          securityContext:
        -   capabilities:
        -     add: [IPC_LOCK]
        +   privileged: true
    Source: GoogleCloudPlatform/container-engine-accelerators@992db81 gpudirect-tcpxo/nccl-test-latest.yaml; NVIDIA AICR.
    """
    daemon = sidecar(pod)
    if pod.worker is not None or daemon is None or pod.workload.runtime_alone or pod.workload.kind == "DaemonSet":
        return
    if claims_networks(pod) or containers_open(pod) or daemon.image_name != profile_of(pod)["sidecar_image"]:
        return
    if any(c.resources_open or c.claims or (c.privileged and c is not daemon) for c in pod.containers):
        return
    mark = {"TCPXO": "NCCL_FASTRAK_", "TCPX": "NCCL_GPUDIRECTTCPX_"}[rule.family]
    for container in pod.main_containers:
        if container is daemon or f"{DEVICES}{container.name}" in pod.annotations or container.start.idle:
            continue
        if container.env.starting(mark) or "nccl-env-profile" in container.start_text:
            wanted = profile_of(pod)["gpus"]
            yield pod.finding(
                container.missing("resources", "limits"),
                f"No container of the pod asks for '{_GPU}', though '{container.name}' is wired for {profile_of(pod)['title']}; it "
                "gets no GPU and NCCL finds none.",
                help=f"Write {_GPU}: {wanted} in the limits of '{container.name}'.",
                fix=Fix(
                    f"ask for {wanted}",
                    (AddField(container.node, ("resources", "limits", _GPU), wanted),),
                    Applicability.UNSAFE,
                ),
            )
            return
