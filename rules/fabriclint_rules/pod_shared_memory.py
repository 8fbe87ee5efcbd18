"""POD001, POD002, POD014: the shared memory that the ranks of one node talk through."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from fabriclint.node import Mapping, Node, Scalar, Unknown
from fabriclint.pod import ContainerView, PodView, WorkerPod
from fabriclint.quantity import parse_quantity
from fabriclint.rule import AddField, Finding, Fix, Place, Related, SetValue, Severity, rule
from fabriclint.schema.suggest import misspelt
from fabriclint.views import JobView
from fabriclint_rules.alike import once
from fabriclint_rules.attachment import merged_elsewhere, only_probes, runs_ranks, tested_by_launcher
from fabriclint_rules.pod_mending import add_volume_and_mount, carries_security, stands_in_trainjob
from fabriclint_schemas.pods import pods

_SHM = "/dev/shm"
#: What a container's own /dev/shm holds.
_OWN = Decimal(64 * 1024 * 1024)


def _controller_mounts(pod: PodView) -> bool:
    """Whether the kind's controller mounts /dev/shm in the pod by itself."""
    if pod.workload.kind not in pods()["brings_shm"]:
        return False
    group = pod.site.owner if pod.site.owner is not None else pod.site.holder.parent
    given = group.mapping("rayStartParams") if isinstance(group, Mapping) else None
    return given is None or not any(name in given.fields for name in pods()["shm_left_to_user"])


def _ranks_share(worker: ContainerView, job: JobView) -> str | None:
    """What the container has several of, in words, when ranks of one node share its memory."""
    if not any(n.startswith("nvidia.com/") for n in worker.resource_names):
        return None
    gpus = worker.gpus
    if isinstance(gpus, Unknown):
        # A template fills in the number, but an engine may say over how many GPUs it spreads.
        role = next((r for r in job.group.roles if r.pod is worker.pod), None)
        programs = [p for one in (role.started if role is not None else ()) for p in one.launch.programs]
        tensor = max((one.tensor.number or 0 for p in programs for one in p.launchers), default=0)
        return f"a tensor-parallel size of {tensor}" if tensor >= 2 else None
    return f"{gpus} GPUs" if gpus >= 2 else None


@rule("POD001", "missing-shm", Severity.WARNING, on=JobView, also=(Severity.ERROR, Severity.NOTE))
def missing_shm(job: JobView) -> Iterator[Finding]:
    """A worker with several GPUs has a memory-backed /dev/shm.

    A container's own /dev/shm is 64 MiB. NCCL's ranks of one node talk through it, and so do data loaders: they fail
    with 'No space left on device' or a bus error.

    Fix: add a volume `emptyDir: {medium: Memory}` and mount it at /dev/shm; a TrainJob does both in a runtimePatches
    entry.

    Silent: kinds whose controller mounts it (Ray, Dynamo, NIM), hostIPC, a hostPath mounted there, NCCL_SHM_DISABLE=1,
    one GPU, other vendors' chips. A note only: probes, pods that sleep, runtimes by themselves and without a fabric.

    Bad: eight GPUs and no mount (pod-jobset)
          volumeMounts:  # <-
        -   - name: dshm
        -     mountPath: /dev/shm
            - name: data
    Bad: the master and the workers alike are said once (pod-pytorchjob)
          - name: pytorch  # <-
        @@ vpc.amazonaws.com/efa
        - volumeMounts:
        -   - name: dshm
        -     mountPath: /dev/shm
        @@ Worker:
        @@ vpc.amazonaws.com/efa
        - volumeMounts:
        -   - name: dshm
        -     mountPath: /dev/shm
    Good: NCCL is told to do without shared memory (pod-jobset)
          env:
        +   - name: NCCL_SHM_DISABLE
        +     value: "1"
        @@ resources
          volumeMounts:
        -   - name: dshm
        -     mountPath: /dev/shm
    Good: one GPU (pod-jobset)
        ~ nvidia.com/gpu: 8 => nvidia.com/gpu: 1
        ~ rdma/ib: 8 => rdma/ib: 1
          volumeMounts:
        -   - name: dshm
        -     mountPath: /dev/shm
    Good: Ray's operator mounts it (pod-ray)
        ~ replicas: 2 => replicas: 1
        ~ minReplicas: 2 => minReplicas: 1
    Source: NVIDIA NCCL user guide, troubleshooting, shared memory; ray-project/kuberay v1.7.0 ray-operator common/pod.go.
    """
    yield from once(job, lambda pod: _without_shm(pod, job))


def _mounts_misspelt(worker: ContainerView) -> bool:
    """Whether a mount may be there under a misspelt key, which the schema's rule reports."""
    holders: list[tuple[Mapping, tuple[str, ...]]] = [(worker.node, ("volumeMounts",))]
    holders += [(mount, ("mountPath",)) for mount in worker.mounts]
    return any(
        wanted[0] not in holder.fields and any(misspelt(key, wanted) for key in holder.fields)
        for holder, wanted in holders
    )


def _without_shm(pod: PodView, job: JobView) -> Iterator[Finding]:
    worker = pod.worker
    if worker is None or _controller_mounts(pod) or merged_elsewhere(pod) or worker.mounts_open:
        return
    if _mounts_misspelt(worker):
        return
    several = _ranks_share(worker, job)
    if several is None or pod.spec.true("hostIPC") or worker.mount_at(_SHM) or worker.mount_at("/dev"):
        return
    without = pod.ranks_env.get("NCCL_SHM_DISABLE")
    if without is not None and (isinstance(without.value, Unknown) or without.value == "1"):
        return
    fabric = pod.fabric.name if pod.fabric is not None else None
    severity = Severity.WARNING
    tested = only_probes(worker) or tested_by_launcher(pod)
    if tested or not runs_ranks(worker) or (pod.workload.runtime_alone and fabric is None):
        severity = Severity.NOTE
    elif fabric == "gke-tcpxo" and pod.contract == "aicr":
        severity = Severity.ERROR
    where = ""
    if stands_in_trainjob(worker):
        where = " in a runtimePatches entry for it" if carries_security(worker) else " in the TrainJob's overrides"
    name = _idle_memory(pod) or "dshm"
    volume = {"name": name, "emptyDir": {"medium": "Memory"}}
    advice = f"Add a volume '{name}' with emptyDir {{medium: Memory}} and mount it at /dev/shm{where}."
    if name in pod.volumes:
        advice = f"Mount the volume '{name}', which no container mounts, at /dev/shm{where}."
    fix = add_volume_and_mount(worker, volume, _SHM, "mount a memory volume at /dev/shm")
    yield pod.finding(
        worker.missing("volumeMounts"),
        f"The container '{worker.name}' has {several} and nothing mounted at /dev/shm; its 64 MiB are too small for the "
        "ranks of one node.",
        help=advice,
        severity=severity,
        fix=fix if severity is not Severity.NOTE else None,
        by_contract=severity is Severity.ERROR,
    )


def _idle_memory(pod: PodView) -> str | None:
    """The one volume of memory that the pod has and no container mounts: it was meant for /dev/shm."""
    mounted = {mount.string("name") for container in pod.containers for mount in container.mounts}
    idle = [n for n, v in pod.volumes.items() if n not in mounted and v.string("emptyDir", "medium") == "Memory"]
    return idle[0] if len(idle) == 1 else None


def _shm_volume(pod: PodView) -> tuple[Mapping, Node] | None:
    """The volume mounted at /dev/shm in the worker, and its emptyDir."""
    worker = pod.worker
    mount = worker.mount_at(_SHM) if worker is not None else None
    volume = pod.volumes.get(mount.string("name") or "") if mount is not None else None
    empty = volume.at("emptyDir") if volume is not None else None
    if volume is None or empty is None or (isinstance(empty, Scalar) and empty.value is not None):
        return None
    return volume, empty


@rule("POD002", "shm-not-memory", Severity.WARNING, on=WorkerPod, also=(Severity.ERROR,), yields_on_line=("DOC005",))
def shm_not_memory(pod: WorkerPod) -> Iterator[Finding]:
    """The volume at /dev/shm is memory, and more of it than a container has anyway.

    An emptyDir without `medium: Memory` is a folder on the node's disk: shared memory becomes disk writes.

    Fix: write `emptyDir: {medium: Memory}`.

    Silent: hostPath /dev/shm, huge pages as medium, no sizeLimit.

    Bad: an empty emptyDir (pod-jobset)
        @@ volumes:
          - name: dshm
        -   emptyDir:
        -     medium: Memory
        +   emptyDir: {}  # <-
    Bad: a size limit that is no gain (pod-lws)
          medium: Memory
        + sizeLimit: 64Mi  # <-
    Good: memory with a limit of its own (pod-jobset)
          medium: Memory
        + sizeLimit: 16Gi
    Good: the node's own shared memory (pod-lws)
        - emptyDir:
        -   medium: Memory
        + hostPath:
        +   path: /dev/shm
    Source: kubernetes/api@3fde3c4 core/v1/types.go EmptyDirVolumeSource; NVIDIA NCCL user guide, shared memory.
    """
    found = _shm_volume(pod)
    if found is None:
        return
    volume, empty = found
    medium = empty.at("medium") if isinstance(empty, Mapping) else None
    if medium is None or (isinstance(medium, Scalar) and medium.value in ("", None)):
        error = pod.contract == "aicr" and pod.fabric is not None
        yield pod.finding(
            Place(empty, on_key=True),
            f"The volume '{volume.string('name') or ''}' at /dev/shm has no 'medium: Memory'; it is a folder on the "
            "node's disk.",
            help="Write emptyDir: {medium: Memory}.",
            severity=Severity.ERROR if error else Severity.WARNING,
            by_contract=error,
            fix=Fix("write Memory", (AddField(empty, ("medium",), "Memory"),))
            if isinstance(empty, Mapping) and medium is None
            else None,
        )
        return
    if not isinstance(medium, Scalar) or medium.open:
        return
    if medium.text != "Memory" and not medium.text.startswith("HugePages"):
        yield pod.finding(
            Place(medium),
            f"The medium '{medium.text}' does not exist; the API server refuses the pod.",
            help="Write 'Memory'.",
            severity=Severity.ERROR,
            fix=Fix("write Memory", (SetValue(medium, "Memory"),)),
        )
        return
    size = empty.at("sizeLimit") if isinstance(empty, Mapping) else None
    amount = _amount(size)
    if amount is not None and 0 < amount <= _OWN and isinstance(size, Scalar):
        yield pod.finding(
            Place(size),
            f"The size limit '{size.text}' of /dev/shm is no more than the 64 MiB a container has anyway.",
            help="Give it some GiB, or leave sizeLimit out.",
            severity=Severity.WARNING,
        )


def _amount(node: Node | None) -> Decimal | None:
    if not isinstance(node, Scalar) or node.value is None or isinstance(node.value, bool) or node.open:
        return None
    return parse_quantity(node.value)


@rule("POD014", "memory-below-shm", Severity.WARNING, on=WorkerPod)
def memory_below_shm(pod: WorkerPod) -> Iterator[Finding]:
    """The worker's memory limit is above what its /dev/shm may hold.

    Pages written to a memory volume count as memory of the container that writes them. When the limit is below the
    volume's size, ranks that fill /dev/shm are killed for want of memory while the volume still has room.

    Fix: raise the memory limit above the volume's sizeLimit, or lower the sizeLimit.

    Silent: no sizeLimit, no memory limit, volumes on disk.

    Bad: more shared memory than memory (pod-jobset)
          rdma/ib: 8
        + memory: 32Gi  # <-
        @@ volumes:
          medium: Memory
        + sizeLimit: 64Gi
    Bad: the pods of a group (pod-lws)
          nvidia.com/gpu: 8
        + memory: 16Gi  # <-
        @@ volumes
          medium: Memory
        + sizeLimit: 32Gi
    Bad: units that look alike (pod-mpijob)
          nvidia.com/gpu: 8
        + memory: 64G  # <-
        @@ volumes
          medium: Memory
        + sizeLimit: 64Gi
    Good: room for both (pod-jobset)
          rdma/ib: 8
        + memory: 512Gi
        @@ volumes:
          medium: Memory
        + sizeLimit: 64Gi
    Good: no size limit (pod-lws)
          nvidia.com/gpu: 8
        + memory: 16Gi
    Good: what is requested may be smaller (pod-mpijob)
          resources:
        +   requests:
        +     memory: 16Gi
        @@ volumes:
          medium: Memory
        + sizeLimit: 64Gi
    Source: kubernetes/website docs/concepts/storage/volumes, emptyDir; kubernetes/kubernetes@007f7ae pkg/volume/emptydir.
    """
    found = _shm_volume(pod)
    worker = pod.worker
    if found is None or worker is None:
        return
    _, empty = found
    if empty.string("medium") != "Memory":
        return
    limit, size = worker.node.at("resources", "limits", "memory"), empty.at("sizeLimit")
    memory, shared = _amount(limit), _amount(size)
    if memory is None or shared is None or memory <= 0 or memory >= shared:
        return
    assert isinstance(limit, Scalar) and isinstance(size, Scalar)
    yield pod.finding(
        Place(limit),
        f"The memory limit '{limit.text}' is below the '{size.text}' that /dev/shm may hold; pages written there count "
        "against it, and the container is killed.",
        help=f"Give the container more than {size.text} of memory, or the volume a smaller sizeLimit.",
        related=(Related(Place(size), "The size of /dev/shm."),),
    )
