"""TRN: what a TrainJob's counts and resources leave of its runtime's."""

from __future__ import annotations

from collections.abc import Iterator

from fabriclint.launch import Launch, read_launch
from fabriclint.node import UNKNOWN, Mapping, Node, Scalar, Unknown
from fabriclint.pod import ContainerView, PodView
from fabriclint.rule import AddField, Applicability, Finding, Fix, Place, Related, Severity, rule
from fabriclint.trainer.mended import lost_devices, worker_of
from fabriclint.views import TrainJobView

_LABEL = "trainer.kubeflow.org/trainjob-ancestor-step"


def trainer_pods(view: TrainJobView) -> list[PodView]:
    """The pods that run the TrainJob's ranks: those of the labelled job; under mpi those of the job `node`."""
    pods = view.job.pods if view.job is not None else []
    if view.policy == "mpi":
        return [p for p in pods if p.name == "node"]
    return [
        p
        for p in pods
        if p.site.owner is not None and p.site.owner.string("template", "metadata", "labels", _LABEL) == "trainer"
    ]


def node_container(pod: PodView) -> ContainerView | None:
    """The container that Trainer writes to."""
    return next((c for c in pod.main_containers if c.name == "node"), None)


def launch_of(container: ContainerView) -> Launch:
    """What the container's command starts, with the variables that it has."""
    env = container.env

    def value(name: str) -> str | Unknown | None:
        found = env.get(name)
        return found.value if found is not None else (UNKNOWN if env.open else None)

    return read_launch([w.text for w in container.words], value)


def _set(node: Node | None) -> bool:
    return node is not None and not (isinstance(node, Scalar) and node.value is None)


def _adding_back(given: Mapping, had: Mapping | None, lost: dict[str, Node]) -> Fix:
    """Writes the lost resources into the halves that the runtime had them in."""
    changes: list[AddField] = []
    for name, node in lost.items():
        halves = [h for h in ("limits", "requests") if had is not None and had.at(h, name) is not None]
        for half in halves if "limits" in halves else [*halves, "limits"]:
            changes.append(AddField(given, (half, name), node.plain()))
    return Fix(f"add {', '.join(lost)}", tuple(changes), Applicability.UNSAFE)


@rule("TRN006", "resources-replace-runtime", Severity.ERROR, on=TrainJobView)
def resources_replace_runtime(view: TrainJobView) -> Iterator[Finding]:
    """resourcesPerNode repeats every device that the runtime's container asks for.

    Up to Trainer 2.2 it replaces the worker's resources, it does not merge: a job that asks for memory alone loses the
    runtime's GPUs and its fabric devices, and a claim of the runtime is lost in any case.

    Fix: repeat every resource in it, or leave resourcesPerNode out.
    Silent: Trainer 2.3, which merges; all devices repeated and no claim lost.
    Bad: memory alone, over a runtime with GPUs (trainer-torch)
        @@ kind: TrainJob
          numNodes: 2
        + resourcesPerNode:
        +   limits: # <-
        +     memory: 500Gi
    Bad: the GPUs without the fabric's device (trainer-fabric)
        @@ kind: TrainJob
          numNodes: 2
        + resourcesPerNode:
        +   limits: # <-
        +     memory: 500Gi
        +     nvidia.com/gpu: 8
    Bad: nothing at all, which counts as well (trainer-torch)
        @@ kind: TrainJob
          numNodes: 2
        + resourcesPerNode:
        +   limits: {} # <-
    Good: everything repeated (trainer-torch)
        @@ kind: TrainJob
          numNodes: 2
        + resourcesPerNode:
        +   limits:
        +     memory: 500Gi
        +     nvidia.com/gpu: 8
    Good: a release that merges (trainer-torch; trainer-version=2.3)
        @@ kind: TrainJob
          numNodes: 2
        + numProcPerNode: 8
        + resourcesPerNode:
        +   limits:
        +     memory: 500Gi
    Source: kubeflow/trainer@dc7656a pkg/runtime/framework/plugins/jobset; NVIDIA/aicr#2280.
    """
    given = view.manifest.root.mapping("spec", "trainer", "resourcesPerNode")
    if view.runtime is None or given is None or view.version == "2.3":
        return
    worker = worker_of(view.runtime.root)
    if worker is None or not (_set(given.at("limits")) or _set(given.at("requests"))):
        return
    had = worker.mapping("resources")
    lost = lost_devices(view.manifest.root, worker, view.version)
    claims = had.mappings("claims") if had is not None else []
    names = [*lost, *(f"claim {c.string('name')}" for c in claims)]
    if not names:
        return
    section = given.at("limits") if _set(given.at("limits")) else given.at("requests")
    related = [
        Related(Place(node, on_key=True), f"The runtime sets '{name}: {getattr(node, 'text', '')}' here.")
        for name, node in lost.items()
    ]
    related += [Related(Place(c), "The runtime's claim, which no resourcesPerNode can keep.") for c in claims]
    listed = "', '".join(names)
    yield Finding(
        Place(section if section is not None else given, on_key=True),
        f"'resourcesPerNode' replaces the runtime's resources and drops '{listed}'; the worker gets none of them.",
        help=f"Repeat {', '.join(lost)} here, or remove resourcesPerNode and let the runtime own the resources."
        if lost
        else "Remove resourcesPerNode: a TrainJob cannot keep the runtime's claims beside it.",
        related=tuple(related),
        fix=_adding_back(given, had, lost) if lost and not claims else None,
    )


_NPROC = ("--nproc-per-node", "--nproc_per_node", "--nproc-per-machine", "--num_processes", "--num-processes")


@rule("TRN007", "processes-not-inferred", Severity.WARNING, on=TrainJobView, yields_to=("TRN006", "TRN008"))
def processes_not_inferred(view: TrainJobView) -> Iterator[Finding]:
    """torchrun is told how many processes a node runs, or can infer it from the GPUs.

    Trainer counts GPUs in resourcesPerNode when that is present, even empty, and in the runtime's container else; a
    claim is not counted. Without a GPU there it counts CPUs: PET_NPROC_PER_NODE becomes their number, or 1, and seven of
    eight GPUs stay idle.

    Fix: set spec.trainer.numProcPerNode, name the GPUs in resourcesPerNode, or remove resourcesPerNode.
    Silent: CPU jobs; numProcPerNode set; a command that says the number itself; policies other than torch.
    Bad: an empty block over a runtime with GPUs (trainer-torch)
        @@ kind: TrainJob
          numNodes: 2
        + resourcesPerNode: {} # <-
    Bad: memory alone, where 2.3 keeps the GPUs (trainer-torch; trainer-version=2.3)
        @@ kind: TrainJob
          numNodes: 2
        + resourcesPerNode: # <-
        +   limits:
        +     memory: 500Gi
    Good: the count (trainer-torch)
        @@ kind: TrainJob
          numNodes: 2
        + numProcPerNode: 8
        + resourcesPerNode: {}
    Good: the command says it (trainer-torch)
        @@ kind: TrainJob
          numNodes: 2
        + command: [torchrun, --nproc-per-node=8, train.py]
        + resourcesPerNode: {}
    Source: kubeflow/trainer@dc7656a pkg/runtime/framework/plugins/torch/torch.go; kubeflow/trainer#3974.
    """
    trainer = view.trainer
    if view.policy != "torch" or trainer is None or _set(trainer.at("numProcPerNode")):
        return
    for pod in trainer_pods(view)[:1]:
        container = node_container(pod)
        if container is None or container.start.idle or container.start.probe:
            continue
        said = container.env.value("PET_NPROC_PER_NODE")
        if not isinstance(said, str) or not said.isdigit():
            continue
        gpus = container.gpus
        claimed = any(pod.claim_is_gpu(c.string("name") or "") for c in container.claims)
        names = [n for n in container.resource_names if "gpu" in n.lower()]
        if not claimed and (isinstance(gpus, Unknown) or not names or gpus <= int(said)):
            continue
        if any(option in container.start_text for option in _NPROC):
            continue
        given = trainer.at("resourcesPerNode")
        where = given if _set(given) else None
        many = f"{gpus} GPUs" if not claimed else "GPUs by a claim"
        if where is not None:
            what = f"'resourcesPerNode' names no GPU, so PET_NPROC_PER_NODE is {said} and the worker has {many}"
        else:
            what = f"The worker has {many} and Trainer counts none of them, so PET_NPROC_PER_NODE is {said}"
        source = container.resource_node(names[0]) if names else None
        yield Finding(
            Place(where if where is not None else trainer, on_key=True),
            f"{what}; the other GPUs stay idle.",
            help="Set spec.trainer.numProcPerNode to the number of GPUs"
            + (", name them in resourcesPerNode, or remove resourcesPerNode." if where is not None else "."),
            related=(Related(Place(source, on_key=True), f"The worker gets '{names[0]}' here."),) if source else (),
        )


@rule("TRN008", "no-gpu-source", Severity.ERROR, on=TrainJobView, yields_to=("TRN006", "TRN005", "TRN009", "TRN020"))
def no_gpu_source(view: TrainJobView) -> Iterator[Finding]:
    """A worker that is wired to a fabric has GPUs, from the runtime or from the TrainJob.

    Trainer's own torch-distributed runtime has no resources at all: what resourcesPerNode does not name, no pod gets. A
    worker with fabric devices or variables and without GPUs starts, and NCCL finds no device.

    Fix: add the GPUs to spec.trainer.resourcesPerNode.limits (with every other resource).
    Silent: jobs on CPUs: an image or a command that speaks of NCCL is no sign of a fabric.
    Bad: the device of a fabric without GPUs, on a runtime without resources (trainer-shipped)
          limits: # <-
        -   nvidia.com/gpu: 1
        +   vpc.amazonaws.com/efa: 1
    Bad: the same with another device, in requests as well (trainer-shipped)
          resourcesPerNode:
            limits: # <-
        -     nvidia.com/gpu: 1
        +     rdma/hca_shared_devices_a: 1
        +   requests:
        +     rdma/hca_shared_devices_a: 1
    Good: the GPUs (trainer-fabric)
        @@ kind: TrainJob
    Good: a job on CPUs (trainer-shipped)
        - nvidia.com/gpu: 1
        + cpu: "4"
    Source: NVIDIA AICR, "Attaching a Training Workload to the Cluster Fabric"; NVIDIA/aicr#2280.
    """
    for pod in trainer_pods(view):
        container = node_container(pod)
        if container is None or pod.fabric is None or container.has_gpus or container.resources_open:
            continue
        if container.claims or pod.spec.at("resourceClaims") is not None or container.start.idle:
            continue
        if any(c.has_gpus for c in pod.main_containers):
            continue
        signs = [e for e in pod.fabric.evidence if e.strong and not e.signal.startswith("image")]
        if not signs or any("no-gpu" in e.signal for e in signs):
            continue
        sign = signs[0]
        related = (Related(Place(sign.node, on_key=isinstance(sign.node.key, str)), f"The fabric: {sign.signal}."),)
        yield Finding(
            container.missing("resources", "limits"),
            f"The worker asks for a fabric ({sign.signal}) and gets no GPU, neither from its runtime nor from "
            "'resourcesPerNode'; NCCL finds no device.",
            help="Name the GPUs in spec.trainer.resourcesPerNode.limits, beside every other resource.",
            related=related if sign.node.source.doc is not None else (),
        )
        return


@rule(
    "TRN012",
    "single-node-default",
    Severity.WARNING,
    on=TrainJobView,
    also=(Severity.NOTE,),
    yields_to=("TRN005", "TRN006", "TRN008", "TRN009", "TRN020"),
)
def single_node_default(view: TrainJobView) -> Iterator[Finding]:
    """A job that is wired to a fabric runs on more than one node.

    mlPolicy.numNodes is 1 when nobody sets it, also in Trainer's torch-distributed. A job on one node never uses the
    fabric that it reserves.

    Fix: set spec.trainer.numNodes.
    Silent: jobs without a fabric; probes. A 1 that the TrainJob writes out is a note.
    Bad: the runtime's default (trainer-fabric)
        ~ numNodes: 2 => numNodes: 1
        @@ kind: TrainJob
        ~ trainer: => trainer: # <-
        - numNodes: 2
    Bad: no number anywhere (trainer-fabric)
        - numNodes: 2
        @@ kind: TrainJob
        ~ trainer: => trainer: # <-
        - numNodes: 2
    Good: the runtime says two (trainer-fabric)
        @@ kind: TrainJob
        - numNodes: 2
    Good: no fabric (trainer-torch)
        ~ numNodes: 2 => numNodes: 1
        @@ kind: TrainJob
        - numNodes: 2
    Source: kubeflow/trainer@dc7656a pkg/runtime/core/trainingruntime.go; NVIDIA AICR, "Attaching a Training Workload to
    the Cluster Fabric".
    """
    if view.meant is None or view.meant.num_nodes != 1:
        return
    root = view.manifest.root
    for pod in trainer_pods(view):
        worker = pod.worker
        if worker is None or pod.fabric is None or worker.start.probe or worker.start.idle:
            continue
        if not any(e.strong and not e.signal.startswith(("image", "node label")) for e in pod.fabric.evidence):
            continue
        written = root.at("spec", "trainer", "numNodes")
        if _set(written):
            yield Finding(
                Place(written if written is not None else root),
                "The job is wired to a fabric and runs on one node; it never uses it.",
                help="Set numNodes to the number of nodes, or leave the fabric's devices out.",
                severity=Severity.NOTE,
            )
            return
        policy = view.runtime.root.at("spec", "mlPolicy", "numNodes") if view.runtime is not None else None
        where = root.at("spec", "trainer")
        yield Finding(
            Place(where if where is not None else root.nearest("spec", "runtimeRef"), on_key=True),
            "'numNodes' is not set and the runtime's is 1; the job is wired to a fabric and runs on one node.",
            help="Set spec.trainer.numNodes to the number of nodes.",
            related=(Related(Place(policy, on_key=True), "The runtime's number of nodes."),)
            if policy is not None and view.own_runtime
            else (),
        )
        return


@rule(
    "TRN025",
    "nproc-per-node-mismatch",
    Severity.WARNING,
    on=TrainJobView,
    also=(Severity.NOTE,),
    yields_to=("TRN006", "TRN008"),
)
def nproc_per_node_mismatch(view: TrainJobView) -> Iterator[Finding]:
    """A node runs one process for each GPU.

    spec.trainer.numProcPerNode (or `--nproc-per-node` in the command, which wins) is how many ranks start on each node.
    More ranks than GPUs fail in NCCL with a duplicate GPU; with fewer, GPUs stay idle.

    Fix: write the number of GPUs, or leave it out: Trainer infers it from the GPUs.
    Silent: numbers or GPUs that are not known; fewer slots than GPUs under mpi. One process is a note: frameworks of one
    process per node, and inference, are started so.
    Bad: half as many as GPUs (trainer-torch)
        @@ kind: TrainJob
          numNodes: 2
        + numProcPerNode: 4 # <-
    Bad: the command says more (trainer-torch)
        @@ kind: TrainJob
          numNodes: 2
        + command: [torchrun, --nproc-per-node=16, train.py] # <-
    Good: as many (trainer-torch)
        @@ kind: TrainJob
          numNodes: 2
        + numProcPerNode: 8
    Good: inferred (trainer-torch)
        @@ kind: TrainJob
    Source: kubeflow/trainer@dc7656a pkg/runtime/framework/plugins/torch/torch.go.
    """
    trainer = view.trainer
    if view.policy not in ("torch", "mpi"):
        return
    for pod in trainer_pods(view)[:1]:
        container = node_container(pod)
        gpus = container.gpus if container is not None else UNKNOWN
        if container is None or isinstance(gpus, Unknown) or gpus < 1:
            continue
        given = trainer.at("numProcPerNode") if trainer is not None else None
        count: int | None = None
        place: Place | None = None
        name = "numProcPerNode"
        if view.policy == "torch":
            from fabriclint.start import place_of

            launch = launch_of(container)
            said = launch.processes_per_node
            if (
                launch.main is not None
                and said.place is not None
                and said.place.source >= 0
                and said.number is not None
            ):
                count, place, name = said.number, place_of(container, said.place), "--nproc-per-node"
            elif launch.main is not None and said.place is not None and said.place.source >= 0:
                return
        if (
            count is None
            and isinstance(given, Scalar)
            and isinstance(given.value, int)
            and not isinstance(given.value, bool)
        ):
            count, place = given.value, Place(given)
        if count is None or place is None or count == gpus or count < 1:
            continue
        if view.policy == "mpi" and count < gpus:
            continue
        source = next(
            (
                n
                for r in sorted(container.resource_names)
                if (n := container.resource_node(r)) and "/" in r and "gpu" in r
            ),
            None,
        )
        idle = count < gpus
        yield Finding(
            place,
            f"'{name}' is {count} and the worker has {gpus} GPUs; "
            + (f"{gpus - count} of them stay idle." if idle else "NCCL finds one GPU twice and ends the job."),
            help=f"Write {gpus}, or leave it out: Trainer infers it from the GPUs.",
            severity=Severity.NOTE if count == 1 and name == "numProcPerNode" else Severity.WARNING,
            related=(Related(Place(source, on_key=True), "The GPUs are asked for here."),)
            if source is not None and source.source.doc is not None
            else (),
        )
