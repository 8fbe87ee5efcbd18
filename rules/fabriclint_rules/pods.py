"""POD: shared memory and capabilities of a worker, whatever its fabric."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from fabriclint.node import Mapping, Scalar, Unknown, open_value
from fabriclint.pod import ContainerView, PodView, WorkerPod
from fabriclint.quantity import parse_quantity
from fabriclint.rule import Finding, Fix, Place, Related, SetValue, Severity, rule

_SHM = "/dev/shm"
#: Kinds whose controller mounts /dev/shm itself.
_BRINGS_SHM = ("RayCluster", "RayJob", "RayService", "RayCronJob", "DynamoGraphDeployment", "DynamoComponentDeployment", "NIMService", "RayClusterFleet")  # fmt: skip
_SMALL = Decimal(64 * 1024 * 1024)


@rule("POD001", "missing-shm", Severity.WARNING, on=WorkerPod, also=(Severity.ERROR, Severity.NOTE))
def missing_shm(pod: WorkerPod) -> Iterator[Finding]:
    """A worker with several GPUs has a memory-backed /dev/shm.

    A container's own /dev/shm is 64 MiB. NCCL's ranks of one node talk through it, and so do data loaders: they fail
    with 'No space left on device' or a bus error.

    Fix: add a volume `emptyDir: {medium: Memory}` and mount it at /dev/shm.
    Silent: kinds whose controller mounts it (Ray, Dynamo, NIM), hostIPC, NCCL_SHM_DISABLE=1, one GPU.
    Bad: eight GPUs and no mount
        resources: {limits: {nvidia.com/gpu: 8}}
    Good: the mount
        volumeMounts: [{name: dshm, mountPath: /dev/shm}]
    Source: NVIDIA AICR; NVIDIA NCCL user guide, troubleshooting, shared memory.
    """
    worker = pod.worker
    if worker is None or pod.workload.kind in _BRINGS_SHM or worker.mounts_open:
        return
    gpus = worker.gpus
    if isinstance(gpus, Unknown) or gpus < 2:
        return
    host_ipc = pod.spec.scalar("hostIPC")
    if (host_ipc is not None and host_ipc.value is True) or worker.mount_at(_SHM) or worker.mount_at("/dev"):
        return
    if pod.ranks_env.value("NCCL_SHM_DISABLE") == "1" or not any(
        n.startswith("nvidia.com/") for n in worker.resource_names
    ):
        return
    start = worker.start
    fabric = pod.fabric.name if pod.fabric is not None else None
    severity = Severity.WARNING
    if start.probe or start.idle or (pod.workload.runtime_alone and fabric is None):
        severity = Severity.NOTE
    elif fabric == "gke-tcpxo" and pod.contract == "aicr":
        severity = Severity.ERROR
    yield pod.finding(
        worker.missing("volumeMounts"),
        f"The container '{worker.name}' has {gpus} GPUs and nothing mounted at /dev/shm; its 64 MiB are too small for the "
        "ranks of one node.",
        help="Add a volume 'dshm' with emptyDir {medium: Memory} and mount it at /dev/shm.",
        severity=severity,
        by_contract=severity is Severity.ERROR,
    )


@rule("POD002", "shm-not-memory", Severity.WARNING, on=WorkerPod, also=(Severity.ERROR,), yields_on_line=("DOC005",))
def shm_not_memory(pod: WorkerPod) -> Iterator[Finding]:
    """The volume at /dev/shm is memory.

    An emptyDir without `medium: Memory` is a folder on the node's disk: shared memory becomes disk writes.

    Fix: write `emptyDir: {medium: Memory}`.
    Silent: hostPath /dev/shm.
    Bad: an empty emptyDir
        volumes: [{name: dshm, emptyDir: {}}]
    Good: memory
        volumes: [{name: dshm, emptyDir: {medium: Memory}}]
    Source: kubernetes/api core/v1 EmptyDirVolumeSource; NVIDIA AICR.
    """
    worker = pod.worker
    mount = worker.mount_at(_SHM) if worker is not None else None
    if mount is None:
        return
    volume = pod.volumes.get(mount.string("name") or "")
    empty = volume.at("emptyDir") if volume is not None else None
    if empty is None or (isinstance(empty, Scalar) and empty.value is not None):
        return
    medium = empty.at("medium") if isinstance(empty, Mapping) else None
    if medium is None or (isinstance(medium, Scalar) and medium.value in ("", None)):
        error = pod.contract == "aicr" and pod.fabric is not None
        yield pod.finding(
            Place(empty, on_key=True),
            f"The volume '{volume.string('name') if volume else ''}' at /dev/shm has no 'medium: Memory'; it is a folder on "
            "the node's disk.",
            help="Write emptyDir: {medium: Memory}.",
            severity=Severity.ERROR if error else Severity.WARNING,
            by_contract=error,
        )
        return
    if (
        isinstance(medium, Scalar)
        and not medium.open
        and medium.text != "Memory"
        and not medium.text.startswith("HugePages")
    ):
        yield pod.finding(
            Place(medium),
            f"The medium '{medium.text}' does not exist; the API server refuses the pod.",
            help="Write 'Memory'.",
            severity=Severity.ERROR,
            fix=Fix("write Memory", (SetValue(medium, "Memory"),)),
        )
        return
    size = empty.at("sizeLimit") if isinstance(empty, Mapping) else None
    if isinstance(size, Scalar) and size.value is not None and not isinstance(size.value, bool) and not size.open:
        amount = parse_quantity(size.value)
        if amount is not None and amount <= _SMALL:
            yield pod.finding(
                Place(size),
                f"The size limit '{size.text}' of /dev/shm is no more than the 64 MiB a container has anyway.",
                help="Give it some GiB, or leave sizeLimit out.",
                severity=Severity.WARNING,
            )


def _attached(pod: PodView) -> bool:
    worker = pod.worker
    if worker is None:
        return False
    names = worker.resource_names
    return any(n.startswith("rdma/") or n == "vpc.amazonaws.com/efa" for n in names) or (
        pod.fabric is not None and pod.fabric.name == "gke-tcpxo"
    )


@rule(
    "POD003",
    "missing-ipc-lock",
    Severity.ERROR,
    on=WorkerPod,
    also=(Severity.WARNING, Severity.NOTE),
    yields_to=("POD005",),
)
def missing_ipc_lock(pod: WorkerPod) -> Iterator[Finding]:
    """A worker on the fabric may lock memory: IPC_LOCK in its own securityContext.

    RDMA registers pinned buffers. Without the capability the limit for locked memory holds, registration fails after
    the device was given, and it reads like a fault of NCCL.

    Fix: add IPC_LOCK to the container's `securityContext.capabilities.add`; a TrainJob does it in a runtimePatches
    entry for the container.
    Silent: privileged containers, ALL; clusters whose runtime lifts the limit are a note under the generic contract.
    Bad: a device and no capability
        resources: {limits: {nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 32}}
    Good: with it
        securityContext: {capabilities: {add: [IPC_LOCK]}}
    Source: NVIDIA AICR, "Attaching a Training Workload to the Cluster Fabric".
    """
    worker = pod.worker
    if worker is None or not _attached(pod) or worker.has_capability("IPC_LOCK") or worker.capabilities_open:
        return
    if worker.start.probe and pod.contract != "aicr":
        return
    names = worker.resource_names
    shared = any("shared_device" in n or "hostdev" in n for n in names)
    if pod.contract == "aicr":
        severity = Severity.ERROR
    else:
        severity = Severity.WARNING if shared else Severity.NOTE
    yield pod.finding(
        worker.missing("securityContext", "capabilities", "add"),
        f"The container '{worker.name}' uses the fabric without the capability IPC_LOCK; NCCL may fail to register its buffers.",
        help="Add IPC_LOCK to securityContext.capabilities.add of this container.",
        severity=severity,
        by_contract=severity is Severity.ERROR,
    )


def _runs_as_user(container: ContainerView) -> Scalar | None:
    own = container.node.scalar("securityContext", "runAsUser")
    return own if own is not None else container.pod.spec.scalar("securityContext", "runAsUser")


@rule("POD004", "ipc-lock-inert", Severity.WARNING, on=WorkerPod)
def ipc_lock_inert(pod: WorkerPod) -> Iterator[Finding]:
    """IPC_LOCK is given to a process that can use it.

    Capabilities that a container adds are empty for a process that is not root, unless the program's file carries
    them: the limit for locked memory holds.

    Fix: run the worker as root, or raise the limit at the node's container runtime.
    Silent: images whose user is not known from the file.
    Bad: added for user 1000
        securityContext: {runAsUser: 1000, capabilities: {add: [IPC_LOCK]}}
    Good: root
        securityContext: {runAsUser: 0, capabilities: {add: [IPC_LOCK]}}
    Source: kubernetes/kubernetes#56374 (ambient capabilities).
    """
    worker = pod.worker
    if worker is None or worker.privileged or not _attached(pod):
        return
    added = next((c for c in worker.added_capabilities if c.text.upper().removeprefix("CAP_") == "IPC_LOCK"), None)
    user = _runs_as_user(worker)
    if (
        added is None
        or user is None
        or not isinstance(user.value, int)
        or isinstance(user.value, bool)
        or user.value == 0
    ):
        return
    yield pod.finding(
        Place(added),
        f"IPC_LOCK does nothing here: the container runs as user {user.value}, and a process that is not root has no added "
        "capability.",
        help="Run the worker as root (runAsUser: 0), or raise the limit for locked memory at the node.",
        related=(Related(Place(user), "The user is set here."),),
    )


@rule("POD005", "capability-spelling", Severity.ERROR, on=WorkerPod, also=(Severity.WARNING,))
def capability_spelling(pod: WorkerPod) -> Iterator[Finding]:
    """Capabilities are spelt as Kubernetes spells them, on the worker's own container.

    A container with a capability that the runtime does not know is not created; one on the pod's securityContext is
    refused; one on another container does not help the worker.

    Fix: write IPC_LOCK in the worker's securityContext.capabilities.add.
    Silent: ALL.
    Bad: with a dash
        capabilities: {add: [IPC-LOCK]}
    Good: as it is called
        capabilities: {add: [IPC_LOCK]}
    Source: containerd and runc capability names; kubernetes/api core/v1 PodSecurityContext.
    """
    worker = pod.worker
    if worker is None:
        return
    for capability in worker.added_capabilities:
        text = capability.text
        if open_value(text):
            continue
        bare = text.upper().replace("-", "_").removeprefix("CAP_")
        if text != bare and ("-" in text or text.upper().startswith("CAP_")):
            yield pod.finding(
                Place(capability),
                f"The capability '{text}' is not spelt as Kubernetes does; the container is not created, or lacks it.",
                help=f"Write '{bare}'.",
                fix=Fix(f"write {bare}", (SetValue(capability, bare),)),
            )
        elif text != text.upper():
            yield pod.finding(
                Place(capability),
                f"The capability '{text}' is in lower case; runtimes grant it, policies that look for '{bare}' do not see it.",
                help=f"Write '{bare}'.",
                severity=Severity.WARNING,
                fix=Fix(f"write {bare}", (SetValue(capability, bare),)),
            )
    wrong = pod.spec.at("securityContext", "capabilities")
    if wrong is not None:
        yield pod.finding(
            Place(wrong, on_key=True),
            "A pod's securityContext has no capabilities; the API server refuses the field.",
            help=f"Move it to the securityContext of the container '{worker.name}'.",
        )
