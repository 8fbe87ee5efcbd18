"""POD003, POD004, POD005: whether a worker on a fabric may lock the memory that it registers."""

from __future__ import annotations

from collections.abc import Iterator

from fabriclint.node import Node, Scalar, open_value
from fabriclint.pod import ContainerView, PodView, WorkerPod
from fabriclint.rule import Finding, Fix, Place, Related, SetValue, Severity, rule
from fabriclint.schema.suggest import nearest
from fabriclint.views import JobView
from fabriclint.workload import PodRole
from fabriclint_rules.alike import once
from fabriclint_rules.attachment import asked, family, merged_elsewhere, only_probes
from fabriclint_rules.pod_mending import add_capability, carries_security, stands_in_trainjob
from fabriclint_schemas.pods import pods

_LOCK = "IPC_LOCK"


def _sort_of(container: ContainerView) -> str | None:
    """The sort of the container's RDMA device, by its resource's name; the one that needs the capability most first."""
    sorts: list[str] = []
    for row in pods()["ipc_lock"]:
        names = [n for n in sorted(container.resource_names) if n.startswith(tuple(row["begins"]))]
        if any(asked(container, n) for n in names):
            sorts.append(row["sort"])
    return sorts[0] if sorts else None


def _attached(pod: PodView) -> bool:
    worker = pod.worker
    return worker is not None and (_sort_of(worker) is not None or family(pod) == "TCPXO")


def _on_azure(pod: PodView) -> bool:
    table = pods()["azure"]
    for name, _, values in pod.node_labels():
        if name.startswith(tuple(table["labels"])) or any(v.text.startswith(tuple(table["values"])) for v in values):
            return True
    return any(isinstance(c.image, str) and any(i in c.image for i in table["images"]) for c in pod.containers)


def _moves_gpu_memory_by_nixl(container: ContainerView) -> bool:
    return any(word in container.start_text for word in pods()["nixl"])


def _generic_severity(pod: PodView, worker: ContainerView) -> Severity:
    table = pods()
    sort = _sort_of(worker)
    moves = _moves_gpu_memory_by_nixl(worker)
    # The ranks of one node meet without the fabric; an engine may move its memory over it to another job.
    alone = pod.role is PodRole.WORKER and pod.multi_node is False and not moves
    if only_probes(worker) or alone:
        return Severity.NOTE
    if sort in table["ipc_lock_warned"]:
        return Severity.WARNING
    more = table["ipc_lock_warned_with"]
    if sort in more["azure"] and _on_azure(pod):
        return Severity.WARNING
    if sort in more["nixl"] and moves:
        return Severity.WARNING
    return Severity.NOTE


def _severity(pod: PodView, worker: ContainerView) -> Severity:
    named = family(pod)
    by_contract = named in pods()["ipc_lock_contract"] if named else True
    if pod.contract != "aicr" or not by_contract:
        return _generic_severity(pod, worker)
    # On one node the fabric is not used, whatever the pod may lock.
    return Severity.WARNING if pod.multi_node is False else Severity.ERROR


@rule(
    "POD003",
    "missing-ipc-lock",
    Severity.ERROR,
    on=JobView,
    also=(Severity.WARNING, Severity.NOTE),
    yields_to=("POD005",),
)
def missing_ipc_lock(job: JobView) -> Iterator[Finding]:
    """A worker on the fabric may lock memory: IPC_LOCK in its own securityContext.

    RDMA registers pinned buffers. Without the capability the limit for locked memory holds, registration fails after
    the device was given, and it reads like a fault of NCCL.

    Fix: add IPC_LOCK to the container's `securityContext.capabilities.add`; a TrainJob does it in a runtimePatches
    entry for the container.

    Silent: privileged containers, ALL. A note only, under the generic contract, where providers lift the limit for
    every container or their own samples go without: EFA, GKE's fabrics, CoreWeave's and SR-IOV's `rdma/ib`; and for
    jobs on one node, which register nothing.

    Bad: a shared RDMA device and no capability (pod-mpijob)
          - name: worker  # <-
            image: registry.example/train:1
        -   securityContext:
        -     capabilities:
        -       add: [IPC_LOCK]
    Bad: a TrainJob that brings the device itself (pod-trainjob)
          securityContext:  # <-
        -   capabilities:
        -     add: [IPC_LOCK]
        +   runAsUser: 0
    Good: privileged (pod-mpijob)
          securityContext:
        -   capabilities:
        -     add: [IPC_LOCK]
        +   privileged: true
    Good: all capabilities (pod-trainjob)
        ~ add: [IPC_LOCK] => add: [ALL]
    Source: NVIDIA AICR, "Attaching a Training Workload to the Cluster Fabric"; Mellanox/k8s-rdma-shared-dev-plugin@410b0f3
        README; NVIDIA/nccl-tests#206.
    """
    yield from once(job, _without_lock)


def missing_lock(pod: PodView) -> Severity | None:
    """How heavy it is that a pod's worker may not lock memory; None where it may, or need not."""
    worker = pod.worker
    if worker is None or not _attached(pod) or worker.has_capability(_LOCK) or worker.capabilities_open:
        return None
    return None if merged_elsewhere(pod) else _severity(pod, worker)


def _without_lock(pod: PodView) -> Iterator[Finding]:
    worker, severity = pod.worker, missing_lock(pod)
    if worker is None or severity is None:
        return
    by_contract = severity is not _generic_severity(pod, worker)
    help = f"Add {_LOCK} to securityContext.capabilities.add of this container."
    if stands_in_trainjob(worker):
        if carries_security(worker):
            help = f"Add {_LOCK} to securityContext.capabilities.add in a runtimePatches entry for this container."
        else:
            help = (
                f"The overrides of Trainer 2.0 and 2.1 cannot give a container a capability: add {_LOCK} in a runtime of your "
                "own, or in runtimePatches of Trainer 2.2."
            )
    yield pod.finding(
        worker.missing("securityContext", "capabilities", "add"),
        f"The container '{worker.name}' uses the fabric without the capability {_LOCK}; NCCL may fail to register its "
        "buffers.",
        help=help,
        severity=severity,
        fix=add_capability(worker, _LOCK) if severity is not Severity.NOTE else None,
        by_contract=by_contract,
    )


def _user_of(container: ContainerView, key: str) -> Scalar | None:
    own = container.node.scalar("securityContext", key)
    return own if own is not None else container.pod.spec.scalar("securityContext", key)


def _not_root(container: ContainerView) -> tuple[Node, str] | None:
    """The field that keeps the process from being root of the host, with what it says."""
    users = container.pod.spec.scalar("hostUsers")
    if users is not None and users.value is False:
        return users, "the pod has a user namespace of its own, whose root is no root of the host"
    user = _user_of(container, "runAsUser")
    if user is not None and isinstance(user.value, int) and not isinstance(user.value, bool):
        if user.value == 0:
            return None
        return user, f"the container runs as user {user.value}, and a process that is not root has no added capability"
    never = _user_of(container, "runAsNonRoot")
    if user is None and never is not None and never.value is True:
        return never, "the container never runs as root, and a process that is not root has no added capability"
    return None


@rule("POD004", "ipc-lock-inert", Severity.WARNING, on=WorkerPod)
def ipc_lock_inert(pod: WorkerPod) -> Iterator[Finding]:
    """IPC_LOCK is given to a process that can use it.

    Capabilities that a container adds are empty for a process that is not root, unless the program's file carries
    them: the limit for locked memory holds. A pod with a user namespace of its own has no root of the host at all.

    Fix: run the worker as root, or raise the limit for locked memory at the node's container runtime.

    Silent: images whose user is not known from the file, privileged containers.

    Bad: added for user 1000 (pod-jobset)
          securityContext:
        +   runAsUser: 1000
            capabilities:
              add: [IPC_LOCK]  # <-
    Bad: the pod's user counts for its containers (pod-mpijob)
        @@ mpirun
        + securityContext:
        +   runAsUser: 1000
          containers:
            - name: worker
        @@ add: [IPC_LOCK]  # <-
    Good: root, written out (pod-jobset)
          securityContext:
        +   runAsUser: 0
    Good: the container's own user wins (pod-mpijob)
        @@ mpirun
        + securityContext:
        +   runAsUser: 1000
          containers:
            - name: worker
              image: registry.example/train:1
              securityContext:
        +       runAsUser: 0
    Source: kubernetes/kubernetes#56374 (ambient capabilities); containerd/containerd@301026e
        internal/cri/server/container_create.go; NVIDIA/nvcf#1354.
    """
    worker = pod.worker
    if worker is None or worker.privileged or not _attached(pod):
        return
    added = next((c for c in worker.added_capabilities if c.text.upper().removeprefix("CAP_") == _LOCK), None)
    found = _not_root(worker)
    if added is None or found is None:
        return
    node, why = found
    yield pod.finding(
        Place(added),
        f"{_LOCK} does nothing here: {why}.",
        help="Run the worker as root (runAsUser: 0, hostUsers left out), or raise the limit for locked memory at the node.",
        related=(Related(Place(node), "This is set here."),),
    )


@rule("POD005", "capability-spelling", Severity.ERROR, on=WorkerPod, also=(Severity.WARNING, Severity.NOTE))
def capability_spelling(pod: WorkerPod) -> Iterator[Finding]:
    """Capabilities are spelt as Kubernetes spells them, on the container that needs them.

    containerd puts `CAP_` in front of every name: `CAP_IPC_LOCK` becomes a capability that does not exist, which one
    runtime ignores in silence and another refuses. One on the pod's securityContext is refused; one on another
    container does not help the worker.

    Fix: write IPC_LOCK in the worker's securityContext.capabilities.add.

    Silent: ALL, names that are right. In a privileged container, which has every capability whatever its list says, a
    wrong name is a note.

    Bad: with a dash (pod-jobset)
        ~ add: [IPC_LOCK] => add: [IPC-LOCK]  # <-
    Bad: with the kernel's prefix (pod-mpijob)
        ~ add: [IPC_LOCK] => add: [CAP_IPC_LOCK]  # <-
    Good: all of them (pod-jobset)
        ~ add: [IPC_LOCK] => add: [ALL]
    Good: beside others (pod-mpijob)
        ~ add: [IPC_LOCK] => add: [SYS_PTRACE, IPC_LOCK]
    Source: containerd/containerd@301026e internal/cri/opts/spec_opts.go; opencontainers/runc@76d9cf5
        libcontainer/capabilities; containers/crun@ba38286 src/libcrun/linux.c; kubernetes/api core/v1 PodSecurityContext.
    """
    worker = pod.worker
    if worker is None:
        return
    for container in pod.containers:
        for capability in container.added_capabilities:
            yield from _spelt(pod, container, capability)
    wrong = pod.spec.at("securityContext", "capabilities")
    if wrong is not None:
        yield pod.finding(
            Place(wrong, on_key=True),
            "A pod's securityContext has no capabilities; the API server refuses the field.",
            help=f"Move it to the securityContext of the container '{worker.name}'.",
        )
        return
    yield from _elsewhere(pod, worker)


def _spelt(pod: PodView, container: ContainerView, capability: Scalar) -> Iterator[Finding]:
    text = capability.text
    if open_value(text) or not text:
        return
    known = pods()["capabilities"]
    bare = text.upper().replace("-", "_").replace(" ", "_").removeprefix("CAP_")
    if text in known or bare == "ALL":
        return
    if text.upper() in known:
        yield pod.finding(
            Place(capability),
            f"The capability '{text}' is in lower case; runtimes grant it, policies that look for '{bare}' do not see it.",
            help=f"Write '{bare}'.",
            severity=Severity.WARNING,
            fix=Fix(f"write {bare}", (SetValue(capability, bare),)),
        )
        return
    right = bare if bare in known else nearest(bare, known)
    if right is None:
        return
    # The list of a privileged container is replaced by all capabilities before any runtime sees it.
    then = (
        "the container is privileged and has every capability all the same"
        if container.privileged
        else "the container is not created, or lacks it"
    )
    yield pod.finding(
        Place(capability),
        f"The capability '{text}' is not spelt as Kubernetes does; {then}.",
        help=f"Write '{right}'.",
        severity=Severity.NOTE if container.privileged else Severity.ERROR,
        fix=Fix(f"write {right}", (SetValue(capability, right),)),
    )


def _elsewhere(pod: PodView, worker: ContainerView) -> Iterator[Finding]:
    """The capability on a container that has no device, while the worker that has one goes without."""
    if not _attached(pod) or worker.has_capability(_LOCK) or worker.capabilities_open:
        return
    for container in pod.containers:
        if container is worker or container.kind == "init" or container.has_gpus or _sort_of(container) is not None:
            continue
        added = next((c for c in container.added_capabilities if c.text.upper() == _LOCK), None)
        if added is None:
            continue
        yield pod.finding(
            Place(added),
            f"{_LOCK} is given to the container '{container.name}', but the device belongs to '{worker.name}', which may "
            "not lock memory.",
            help=f"Move it to the securityContext of the container '{worker.name}'.",
            severity=Severity.ERROR if _severity(pod, worker) is Severity.ERROR else Severity.WARNING,
        )
        return
