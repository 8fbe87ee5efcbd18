"""DEV001, DEV002: the GPUs that a container's ranks see are whole ones, and its own."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from fabriclint.group import GroupView
from fabriclint.node import Node, Scalar, Unknown
from fabriclint.pod import ContainerView, PodView, WorkerPod
from fabriclint.rule import Finding, Place, Related, Severity, rule
from fabriclint.views import JobView
from fabriclint_rules.alike import once
from fabriclint_rules.attachment import family
from fabriclint_rules.machines import demands, node_gpus
from fabriclint_schemas.machines import is_shared_by_label

_GPU = "nvidia.com/gpu"
#: Counts of GPUs that are no whole node of any machine.
_PARTS = (2, 3, 5, 6, 7)
_NO_DEVICES = ("", "void", "none")


@rule("DEV001", "sliced-gpu", Severity.WARNING, on=GroupView)
def sliced_gpu(group: GroupView) -> Iterator[Finding]:
    """Ranks of one NCCL job have whole GPUs.

    Two slices of one GPU, or two shares of it, are one device to NCCL: it stops with 'Duplicate GPU detected', or with MIG
    cannot connect the two.

    Fix: ask for whole GPUs (`nvidia.com/gpu`), or start one rank for each container.

    Silent: one rank; one slice; a program whose number of ranks the file does not say.

    Bad: two MIG slices for two ranks (dev-job)
        @@ limits:
        - nvidia.com/gpu: 4
        + nvidia.com/mig-3g.40gb: 4  # <-
    Bad: two slices, two ranks (dev-slice)
        ~ nvidia.com/gpu: 2 => nvidia.com/mig-1g.10gb: 2  # <-
    Bad: time-shared GPUs by the node's label (dev-job)
        @@ spec:
        @@ nodeSelector:
        +   nvidia.com/gpu.sharing-strategy: time-slicing
        @@ limits:
        - nvidia.com/gpu: 4
        + nvidia.com/gpu: 4  # <-
    Good: one slice each (dev-job)
        ~ --nproc-per-node=4 => --nproc-per-node=1
        ~ nvidia.com/gpu: 4 => nvidia.com/mig-3g.40gb: 1
    Good: several slices for a program of one rank (dev-job)
        ~ - torchrun => - python
        - - --nproc-per-node=4
        ~ nvidia.com/gpu: 4 => nvidia.com/mig-3g.40gb: 2
    Good: whole GPUs (dev-job)
        ~ --nproc-per-node=4 => --nproc-per-node=gpu
    Source: NVIDIA NCCL user guide; NVIDIA Multi-Instance GPU user guide; NVIDIA/nccl src/init.cc.
    """
    per_node = group.processes_per_node
    several = isinstance(per_node, int) and per_node >= 2
    for role in group.ranks_on:
        worker = role.pod.worker
        if worker is None:
            continue
        started = role.start
        tensor = started.launch.tensor.number if started is not None and hasattr(started.launch, "tensor") else None
        if not several and not (tensor is not None and tensor >= 2):
            continue
        found = _slices(role.pod, worker)
        if found is None:
            continue
        name, node, count = found
        ranks = per_node if several else tensor
        yield role.pod.finding(
            Place(node, on_key=True),
            f"'{name}' gives {count} parts of GPUs to {ranks} ranks; NCCL takes two parts of one GPU for one device and stops.",
            help="Ask for whole GPUs (nvidia.com/gpu), or start one rank for each container.",
            severity=Severity.WARNING,
        )
        return


def _slices(pod: PodView, worker: ContainerView) -> tuple[str, Node, int] | None:
    total, first = 0, ""
    shared = any(is_shared_by_label(k, v.text) for d in demands(pod) for k, vs in d.items() for v in vs)
    for name in sorted(worker.resource_names):
        if name.startswith("nvidia.com/mig-") or name == "nvidia.com/gpu.shared" or (shared and name == _GPU):
            amount = worker.amount(name)
            if isinstance(amount, Decimal):
                total += int(amount)
                first = first or name
    node = worker.resource_node(first) if first else None
    return (first, node, total) if node is not None and total >= 2 else None


@rule("DEV002", "sees-all-gpus", Severity.WARNING, on=JobView)
def sees_all_gpus(job: JobView) -> Iterator[Finding]:
    """A container that takes a part of a node's GPUs sees those and no others.

    A privileged container sees every GPU of the node, and so does one with NVIDIA_VISIBLE_DEVICES set by hand. Its ranks
    count GPUs from 0 and use those of another pod.

    Fix: take out `privileged` (IPC_LOCK and the device are enough for RDMA) and the variable.

    Silent: whole nodes; nodes that are not known, but for counts that are no machine's; CUDA_VISIBLE_DEVICES written out;
    `void` and `none`; DaemonSets.

    Bad: four of a node's eight GPUs (dev-job)
        @@ securityContext:
        +   privileged: true  # <-
    Bad: two GPUs of a node that is not known (dev-slice)
        - volumeMounts:
        + securityContext:
        +   privileged: true  # <-
        + volumeMounts:
    Bad: the variable beside a request (dev-slice)
        ~ OMP_NUM_THREADS => NVIDIA_VISIBLE_DEVICES
        ~ "8" => all  # <-
    Good: the whole node (dev-job)
        ~ nproc-per-node=4 => nproc-per-node=8
        @@ securityContext:
        +   privileged: true
        ~ nvidia.com/gpu: 4 => nvidia.com/gpu: 8
    Good: the devices are written out (dev-slice)
        ~ OMP_NUM_THREADS => CUDA_VISIBLE_DEVICES
        ~ "8" => "0,1"
        - volumeMounts:
        + securityContext:
        +   privileged: true
        + volumeMounts:
    Good: no devices by the variable (dev-slice)
        ~ OMP_NUM_THREADS => NVIDIA_VISIBLE_DEVICES
        ~ "8" => void
    Source: NVIDIA/k8s-device-plugin README; NVIDIA Container Toolkit, NVIDIA_VISIBLE_DEVICES.
    """
    yield from once(job, _sees_all)


def _sees_all(pod: WorkerPod) -> Iterator[Finding]:
    worker = pod.worker
    amount = worker.amount(_GPU) if worker is not None else None
    if worker is None or not isinstance(amount, Decimal) or amount < 1:
        return
    asked, known = int(amount), node_gpus(pod)
    if pod.ranks_env.value("CUDA_VISIBLE_DEVICES") is not None:
        return
    privileged = worker.node.scalar("securityContext", "privileged")
    visible = worker.env.get("NVIDIA_VISIBLE_DEVICES")
    part = asked < known if known is not None else asked in _PARTS
    request = worker.resource_node(_GPU)
    related = (Related(Place(request), "The request."),) if request is not None else ()
    if (
        visible is not None
        and not isinstance(visible.value, Unknown)
        and not _harmless(visible.value, asked, known, pod)
    ):
        yield pod.finding(
            visible.place,
            f"NVIDIA_VISIBLE_DEVICES is '{visible.value}' beside a request for {asked} GPUs; where it counts, the ranks see GPUs "
            "that belong to other pods.",
            help="Remove the variable: the device plugin sets it.",
            related=related,
        )
    elif part and worker.privileged and isinstance(privileged, Scalar):
        of = f" of the node's {known}" if known is not None else ""
        yield pod.finding(
            Place(privileged),
            f"The container '{worker.name}' is privileged and asks for {asked} GPUs{of}; it sees all of the node's, and its ranks "
            "use those of other pods.",
            help="Remove 'privileged' (RDMA needs IPC_LOCK and the device only), or set CUDA_VISIBLE_DEVICES.",
            related=related,
        )


def _harmless(value: str, asked: int, known: int | None, pod: PodView) -> bool:
    if value.strip().lower() in _NO_DEVICES or "$" in value or family(pod) in ("TCPXO", "TCPX", "GIB"):
        return True
    # All of them are this pod's own, on a whole node.
    return asked == (known if known is not None else 8)
