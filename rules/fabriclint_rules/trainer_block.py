"""TRN: the blocks of a TrainJob, what of them the runtime takes, and what it does with the rest."""

from __future__ import annotations

from collections.abc import Iterator

from fabriclint.kinds import ANCESTOR_LABEL
from fabriclint.launch import Launch
from fabriclint.node import Mapping, Node, Scalar, Sequence
from fabriclint.pod import ContainerView, PodView
from fabriclint.rule import AddField, Applicability, Finding, Fix, Place, Related, Remove, Severity, rule
from fabriclint.start import place_of
from fabriclint.views import TrainJobView
from fabriclint_rules.trainer_resources import launch_of, node_container, trainer_pods
from fabriclint_schemas.trainer.load import names


def _set(node: Node | None) -> bool:
    return node is not None and not (isinstance(node, Scalar) and node.value is None)


def _entries(view: TrainJobView) -> dict[str, Mapping]:
    """The variables of the trainer block by name."""
    block = view.trainer
    return {e.string("name") or "": e for e in (block.mappings("env") if block is not None else [])}


def _value(entry: Mapping) -> str | None:
    """A value that is written out."""
    node = entry.scalar("value")
    return node.text if node is not None and not node.open and "$(" not in node.text else None


@rule("TRN014", "reserved-env", Severity.ERROR, on=TrainJobView, also=(Severity.WARNING, Severity.NOTE))
def reserved_env(view: TrainJobView) -> Iterator[Finding]:
    """The variables by which the ranks find each other are left to Trainer.

    Trainer's webhook rejects PET_* variables in spec.trainer.env under a torch policy, DMLC_* under xgboost, and from
    2.3 OMPI_MCA_* of its own under mpi. What it does not reject wins over the value that Trainer sets: a rank or a count
    that is written out is the same in each pod. `torchrun --nnodes` on the command line wins over PET_NNODES.

    Fix: remove the variable, and give counts as numNodes and numProcPerNode.
    Silent: the value that Trainer sets too; variables that are read, not set; policies that own none of them.
    Bad: a count that belongs to Trainer (trainer-torch)
        @@ kind: TrainJob
          env:
        +   - name: PET_NNODES # <-
        +     value: "2"
    Bad: torchrun is told another number of nodes (trainer-torch)
        @@ kind: TrainJob
          numNodes: 2
        + command: [torchrun, --nnodes=4, --nproc-per-node=8, train.py] # <-
    Good: the number that the TrainJob has (trainer-torch)
        @@ kind: TrainJob
          numNodes: 2
        + command: [torchrun, --nnodes=2, train.py]
    Good: variables of torchrun that Trainer does not own (trainer-torch)
        @@ kind: TrainJob
          env:
        +   - name: PET_MAX_RESTARTS
        +     value: "3"
    Source: kubeflow/trainer@dc7656a pkg/runtime/framework/plugins/{torch,xgboost,jax}; kubeflow/trainer@658725b
    pkg/runtime/framework/plugins/mpi.
    """
    rejected: set[str] = set()
    for reason in view.reasons("R7", "R10", "R11"):
        entry = reason.node
        name = entry.string("name")
        if not isinstance(entry.parent, Sequence) or entry.parent.key != "env" or name is None:
            continue
        rejected.add(name)
        yield Finding(
            Place(entry.nearest("name")),
            f"'{name}' is Trainer's own under the {view.policy} policy; its webhook rejects the TrainJob.",
            help="Remove it; give counts as numNodes and numProcPerNode.",
            fix=Fix(f"remove {name}", (Remove(entry),), Applicability.UNSAFE),
        )
    nodes = view.meant.num_nodes if view.meant is not None else None
    pod = next(iter(trainer_pods(view)), None)
    container = node_container(pod) if pod is not None else None
    if container is None or nodes is None:
        return
    yield from _overruled(view, container, nodes, rejected)
    yield from _command_nodes(view, container, nodes)


def _by_torchrun(launch: Launch) -> bool:
    return launch.main is not None and any(item.family == "torchrun" for item in launch.main.launchers)


def _overruled(view: TrainJobView, container: ContainerView, nodes: int, rejected: set[str]) -> Iterator[Finding]:
    """Variables that stay, and differ from what the job needs."""
    launch = launch_of(container)
    torchrun = _by_torchrun(launch)
    table = names()
    for name, entry in _entries(view).items():
        value = _value(entry)
        if value is None or name in rejected:
            continue
        place = Place(entry.nearest("value"))
        if view.policy == "torch" and name in table["pet"]:
            yield Finding(
                place,
                f"'{name}' is set by Trainer too, which writes over it; the value here is not used.",
                help="Remove it.",
                severity=Severity.NOTE,
            )
        elif view.policy == "torch" and name in ("RANK", "NODE_RANK", "WORLD_SIZE", "GROUP_RANK"):
            if torchrun:
                yield Finding(
                    place,
                    f"'{name}' is set by torchrun for each rank; the value here is not used.",
                    help="Remove it.",
                    severity=Severity.NOTE,
                )
            elif nodes > 1 and name != "WORLD_SIZE" and launch.main is not None:
                yield Finding(
                    place,
                    f"'{name}' is {value} in each of the {nodes} pods; the ranks take each other's place and the job hangs.",
                    help="Remove it and start the ranks with torchrun, which reads PET_NODE_RANK.",
                    severity=Severity.WARNING,
                )
        elif view.policy == "jax" and name in table["jax"][:2] and nodes > 1:
            right = str(nodes)
            if name == table["jax"][0] and value == right:
                continue
            what = f"the job has {nodes} nodes" if name == table["jax"][0] else "it is the same in each pod"
            yield Finding(
                place,
                f"'{name}' is {value} and {what}; it wins over the value that Trainer sets, and the job hangs.",
                help="Remove it.",
                severity=Severity.WARNING,
            )
        elif view.policy == "mpi" and name in table["ompi"][:1] and view.version != "2.3":
            yield Finding(
                place,
                f"'{name}' wins over the hostfile that Trainer writes; mpirun starts its ranks on other hosts, or none.",
                help="Remove it.",
                severity=Severity.WARNING,
            )


def _command_nodes(view: TrainJobView, container: ContainerView, nodes: int) -> Iterator[Finding]:
    if view.policy != "torch":
        return
    launch = launch_of(container)
    said = launch.nodes
    if not _by_torchrun(launch) or said.place is None or said.place.source < 0:
        return
    value = said.value
    if isinstance(value, tuple):
        low, high = value
        if low <= nodes <= high:
            return
        shown = f"{low}:{high}"
    elif isinstance(value, int):
        if value == nodes:
            return
        shown = str(value)
    else:
        return
    where = view.manifest.root.at("spec", "trainer", "numNodes")
    waits = (
        "torchrun waits for the others for ever"
        if not isinstance(value, int) or value > nodes
        else "the pods form jobs of their own"
    )
    yield Finding(
        place_of(container, said.place),
        f"torchrun is told '--nnodes={shown}' and the job has {nodes} nodes; {waits}.",
        help=f"Write {nodes}, or leave it out: PET_NNODES has it.",
        severity=Severity.WARNING,
        related=(Related(Place(where), "The number of nodes."),) if _set(where) and where is not None else (),
    )


_DAEMONS = ("tcpxo-daemon", "tcpx-daemon", "fastrak-daemon", "rxdm")
_SIDECAR_FABRICS = ("gke-tcpxo", "gke-tcpx")


def _has_daemon(pod: PodView, runtime_job: Mapping | None) -> bool:
    """Whether the runtime's own job has the daemon, by its name or its image."""
    held = (
        []
        if runtime_job is None
        else [
            c
            for listed in ("initContainers", "containers")
            for c in runtime_job.mappings("template", "spec", "template", "spec", listed)
        ]
    )
    for container in held:
        image = container.string("image") or ""
        name = container.string("name") or ""
        if name in _DAEMONS or "tcpgpudmarxd" in image or "rxdm" in image or "rxdm" in name:
            return True
    return False


@rule("TRN020", "fabric-needs-runtime", Severity.ERROR, on=TrainJobView)
def fabric_needs_runtime(view: TrainJobView) -> Iterator[Finding]:
    """GPUDirect-TCPXO and TCPX are wired in a runtime, not in a TrainJob.

    Both need a daemon beside the worker, and a TrainJob cannot add a container. Annotations and variables that a
    TrainJob brings to a runtime without the daemon ask for interfaces that nothing serves, and the job runs over TCP.

    Fix: write a TrainingRuntime of your own with the daemon (`fabriclint new gke-tcpxo` makes one) and name it in
    runtimeRef; the TrainJob then carries no fabric configuration at all.
    Silent: runtimes that have the daemon; fabrics without one (gIB, EFA, InfiniBand).
    Bad: the worker's variable on a generic runtime (trainer-torch)
        @@ kind: TrainJob
          - name: EPOCHS
            value: "3"
        + - name: NCCL_FASTRAK_LLCM_DEVICE_DIRECTORY # <-
        +   value: /dev/aperture_devices
    Bad: the daemon's annotation in a patch (trainer-torch)
        @@ manager: vision.example/pool
          template:
        +   metadata:
        +     annotations:
        +       devices.gke.io/container.tcpxo-daemon: "- path: /dev/nvidia0" # <-
            spec:
              nodeSelector:
    Good: no fabric of that kind (trainer-torch)
        @@ kind: TrainJob
    Good: a fabric without a daemon (trainer-fabric)
        @@ kind: TrainJob
    Source: NVIDIA AICR, "Attaching a Training Workload to the Cluster Fabric".
    """
    for pod in trainer_pods(view):
        if pod.fabric is None or pod.fabric.name not in _SIDECAR_FABRICS:
            continue
        job = next((j for j in view.runtime_jobs if j.string("name") == pod.name), None)
        if _has_daemon(pod, job):
            continue
        own = [e for e in pod.fabric.evidence if e.strong and e.node.source.doc is view.manifest.document]
        if not own:
            continue
        node = own[0].node.source
        entry = node.parent
        by_key = not (isinstance(entry, Mapping) and "name" in entry.fields and entry.key != "annotations")
        place = Place(node, on_key=True) if by_key or entry is None else Place(entry.nearest("name"))
        title = pod.fabric.profile["title"] if pod.fabric.profile else pod.fabric.name
        yield Finding(
            place,
            f"The TrainJob wires the pod for {title} ({own[0].signal}) and its runtime has no daemon for it; a TrainJob cannot "
            "add one, and the job runs over TCP.",
            help=f"Write a TrainingRuntime with the daemon ('fabriclint new {pod.fabric.name}') and name it in runtimeRef.",
            related=tuple(
                Related(Place(e.node, on_key=isinstance(e.node.key, str)), f"Also: {e.signal}.") for e in own[1:3]
            ),
            silences=("TCPXO*", "TCPX*", "TRN003", "TRN008", "TRN012", "POD001", "POD002", "POD003", "POD008", "FIT*"),
        )
        return


@rule(
    "TRN022",
    "initializer-without-job",
    Severity.ERROR,
    on=TrainJobView,
    also=(Severity.WARNING,),
    yields_to=("TRN017",),
)
def initializer_without_job(view: TrainJobView) -> Iterator[Finding]:
    """spec.initializer is for runtimes that have a job for it.

    Trainer looks for a replicated job called dataset-initializer or model-initializer with a container of that name, and
    rejects the TrainJob without. It fills in the job that carries the ancestor label of that name. What it loads reaches
    the node by a volume called initializer: a container that mounts none loads into itself (2.3 rejects that too).

    Fix: name a runtime that has the job, or add it to yours.
    Silent: a runtime that is not in view.
    Bad: a dataset for a runtime without the job (trainer-torch)
        @@ kind: TrainJob
        + initializer:
        +   dataset: # <-
        +     storageUri: hf://datasets/example
          trainer:
    Bad: a model beside the dataset (trainer-steps)
        @@ initializer:
        + model: # <-
        +   storageUri: hf://models/example
          dataset:
    Bad: nothing of it reaches the node (trainer-steps)
        ~ - name: initializer => - name: cache
        ~ - name: initializer => - name: cache
        @@ initializer:
        ~ dataset: => dataset: # <-
    Good: the job and its volume (trainer-steps)
        @@ kind: TrainJob
    Good: no initializer (trainer-steps)
        - initializer:
        -   dataset:
        -     storageUri: hf://datasets/example
    Source: kubeflow/trainer@dc7656a pkg/runtime/framework/plugins/jobset/jobset.go; kubeflow/trainer@658725b.
    """
    block = view.manifest.root.mapping("spec", "initializer")
    jobs = view.runtime_jobs
    if block is None or not jobs:
        return
    mount = names()["initializer_mount"]
    for step in ("dataset", "model"):
        given = block.at(step)
        if not _set(given) or given is None:
            continue
        name = f"{step}-initializer"
        job = next((j for j in jobs if j.string("name") == name), None)
        place = Place(given, on_key=True)
        if job is None:
            listed = ", ".join(f"'{j.string('name')}'" for j in jobs)
            yield Finding(
                place,
                f"The runtime has no replicated job '{name}' (it has {listed}); Trainer's webhook rejects the TrainJob.",
                help=f"Name a runtime with the job '{name}', or load the {step} in the training script.",
            )
            continue
        spec = job.mapping("template", "spec", "template", "spec")
        main = next((c for c in (spec.mappings("containers") if spec else []) if c.string("name") == name), None)
        init = next((c for c in (spec.mappings("initContainers") if spec else []) if c.string("name") == name), None)
        if main is None and init is None:
            yield Finding(
                place,
                f"The runtime's job '{name}' has no container '{name}'; Trainer's webhook rejects the TrainJob.",
                help=f"Call the container of that job '{name}'.",
                related=(Related(Place(job.nearest("name")), "The job stands here."),) if view.own_runtime else (),
            )
            continue
        label = job.string("template", "metadata", "labels", ANCESTOR_LABEL)
        if label != name:
            yield Finding(
                place,
                f"The runtime's job '{name}' lacks the label '{ANCESTOR_LABEL}: {name}'; what stands here reaches no pod.",
                help="Add the label to template.metadata.labels of that job.",
                related=(Related(Place(job.nearest("name")), "The job stands here."),) if view.own_runtime else (),
                fix=Fix("add the label", (AddField(job, ("template", "metadata", "labels", ANCESTOR_LABEL), name),))
                if view.own_runtime
                else None,
            )
            continue
        container = main if main is not None else init
        mounts = container.mappings("volumeMounts") if container is not None else []
        if container is not None and not any(m.string("name") == mount for m in mounts):
            newer = view.version == "2.3"
            then = "Trainer's webhook rejects the TrainJob" if newer else f"the {step} never reaches the node"
            yield Finding(
                place,
                f"The runtime's container '{name}' mounts nothing called '{mount}'; {then}.",
                help=f"Mount a volume '{mount}' in that container and in node.",
                severity=Severity.ERROR if newer else Severity.WARNING,
                related=(Related(Place(container.nearest("name")), "The container stands here."),)
                if view.own_runtime
                else (),
            )


def _raw_container(view: TrainJobView, pod: PodView) -> Mapping | None:
    """The runtime's own container `node` of a pod's job."""
    job = next((j for j in view.runtime_jobs if j.string("name") == pod.name), None)
    held = job.mappings("template", "spec", "template", "spec", "containers") if job is not None else []
    return next((c for c in held if c.string("name") == "node"), None)


def _texts(container: Mapping, key: str) -> list[str]:
    listed = container.at(key)
    return [i.text for i in listed.items if isinstance(i, Scalar)] if isinstance(listed, Sequence) else []


@rule("TRN026", "command-overrides-profile", Severity.WARNING, on=TrainJobView, also=(Severity.NOTE,))
def command_overrides_profile(view: TrainJobView) -> Iterator[Finding]:
    """A TrainJob that brings its own command still sources the fabric's profile.

    spec.trainer.command and args replace those of the runtime. Where the runtime's text sourced the fabric's
    environment profile, the ranks start without its variables: the job attaches to the fabric and runs well under its
    bandwidth, or over TCP.

    Fix: source the profile in the new command, or leave command and args to the runtime.
    Silent: a command that sources it; a runtime that does not. A script out of view is a note.
    Bad: torchrun in place of the wrapper (trainer-tcpxo)
        @@ kind: TrainJob
          numNodes: 2
        + command: [torchrun, train.py] # <-
        + args: []
    Bad: other arguments for the same shell (trainer-tcpxo)
        @@ kind: TrainJob
          numNodes: 2
        + args: ["torchrun train.py"] # <-
    Good: the profile again (trainer-tcpxo)
        @@ kind: TrainJob
          numNodes: 2
        + args: ["source /usr/local/nvidia/lib64/nccl-env-profile.sh && torchrun other.py"]
    Good: the runtime's command (trainer-tcpxo)
        @@ kind: TrainJob
    Source: NVIDIA AICR, "Attaching a Training Workload to the Cluster Fabric"; kubeflow/trainer@dc7656a
    pkg/runtime/framework/plugins/jobset.
    """
    trainer = view.trainer
    if trainer is None or not (_set(trainer.at("command")) or _set(trainer.at("args"))):
        return
    for pod in trainer_pods(view):
        container, raw = node_container(pod), _raw_container(view, pod)
        profile = pod.fabric.profile.get("profile") if pod.fabric is not None and pod.fabric.profile else None
        if container is None or raw is None or not isinstance(profile, dict):
            continue
        words = [*profile.get("names", ()), *profile.get("also", ())]
        before = "\n".join(_texts(raw, "command") + _texts(raw, "args"))
        found = next((w for w in words if w in before), None)
        if found is None or any(w in container.start_text for w in words):
            continue
        if any(container.env.get(v) is not None for v in profile.get("variables", ())):
            continue
        given = trainer.at("args") if not _set(trainer.at("command")) else trainer.at("command")
        if given is None:
            continue
        source = raw.at("args") if any(found in t for t in _texts(raw, "args")) else raw.at("command")
        unseen = container.start.unseen and not container.start.starts_ranks
        yield Finding(
            Place(given, on_key=True),
            f"'{given.key}' replaces the runtime's, which sources '{found}'; the ranks start without the fabric's variables.",
            help="Source the profile in the new command as well, or leave command and args to the runtime.",
            severity=Severity.NOTE if unseen else Severity.WARNING,
            related=(Related(Place(source, on_key=True), "The runtime sources it here."),)
            if source is not None and view.own_runtime
            else (),
        )


_NO_PROCESSES = {
    "jax": "jax starts one process a node",
    "xgboost": "xgboost counts GPUs",
    "plainml": "there is no policy that reads it",
}


@rule(
    "TRN028",
    "no-trainer-block-effect",
    Severity.WARNING,
    on=TrainJobView,
    also=(Severity.NOTE,),
    yields_to=("TRN005", "TRN023"),
)
def no_trainer_block_effect(view: TrainJobView) -> Iterator[Finding]:
    """What a TrainJob sets is read by its runtime.

    numProcPerNode is read by torch, mpi and flux policies only. Claims in resourcesPerNode reach no pod. Under mpi with
    a labelled launcher the image reaches the launcher alone.

    Fix: remove the field, or name a runtime whose policy reads it.
    Silent: fields that the policy reads; a runtime that is not in view.
    Bad: processes for a policy that starts one (trainer-torch)
        ~ torch: {} => jax: {}
        @@ kind: TrainJob
          numNodes: 2
        + numProcPerNode: 8 # <-
    Bad: claims beside the limits (trainer-torch; trainer-version=2.2)
        @@ kind: TrainJob
          numNodes: 2
        + resourcesPerNode:
        +   limits:
        +     nvidia.com/gpu: 8
        +   claims: # <-
        +     - name: nics
    Good: torch reads it (trainer-torch)
        @@ kind: TrainJob
          numNodes: 2
        + numProcPerNode: 8
    Good: mpi reads it (trainer-mpi)
        @@ kind: TrainJob
          numNodes: 4
        + numProcPerNode: 8
    Source: kubeflow/trainer@dc7656a pkg/runtime/framework/plugins.
    """
    trainer = view.trainer
    if trainer is None or view.meant is None or view.meant.intended is None:
        return
    processes = trainer.at("numProcPerNode")
    if _set(processes) and processes is not None and view.policy in _NO_PROCESSES:
        yield Finding(
            Place(processes, on_key=True),
            f"'numProcPerNode' has no effect: the runtime's policy is {'none' if view.policy == 'plainml' else view.policy}, and "
            f"{_NO_PROCESSES[view.policy]}.",
            help="Remove it, or start the processes in the command.",
        )
    claims = trainer.at("resourcesPerNode", "claims")
    if isinstance(claims, Sequence) and claims.items and view.version != "2.3":
        yield Finding(
            Place(claims, on_key=True),
            "'claims' of resourcesPerNode reach no pod; the container gets none of these devices.",
            help="Put the claims into a runtime of your own.",
        )
    if view.policy == "mpi":
        labelled = [
            p.name
            for p in (view.job.pods if view.job is not None else [])
            if p.site.owner is not None
            and p.site.owner.string("template", "metadata", "labels", ANCESTOR_LABEL) == "trainer"
        ]
        image = trainer.at("image")
        if labelled == ["launcher"] and _set(image) and image is not None:
            yield Finding(
                Place(image, on_key=True),
                "'image' reaches the launcher only; the workers keep the runtime's image.",
                help="Put the workers' image into a runtime of your own.",
                severity=Severity.NOTE,
            )


@rule("TRN032", "leftover-args", Severity.WARNING, on=TrainJobView, yields_to=("TRN005",))
def leftover_args(view: TrainJobView) -> Iterator[Finding]:
    """A TrainJob that replaces the runtime's command replaces its arguments too.

    Trainer replaces command and args each by itself. The arguments that the runtime wrote for its own command are
    handed to the new one, which takes them for its own or fails on them.

    Fix: write `args` beside `command` (`args: []` takes the runtime's away).
    Silent: a runtime with arguments alone, which are meant for any command; a new shell for the same script.
    Bad: torchrun gets the shell's script (trainer-tcpxo)
        @@ kind: TrainJob
          numNodes: 2
        + command: [torchrun, train.py] # <-
    Bad: another program (trainer-leftover)
        @@ kind: TrainJob
          numNodes: 2
        + command: [torchrun, other.py] # <-
    Good: both (trainer-leftover)
        @@ kind: TrainJob
          numNodes: 2
        + command: [torchrun, other.py]
        + args: [--epochs, "3"]
    Good: the arguments taken away (trainer-leftover)
        @@ kind: TrainJob
          numNodes: 2
        + command: [torchrun, other.py]
        + args: []
    Source: kubeflow/trainer@dc7656a pkg/runtime/framework/plugins/jobset; kubeflow/trainer#4030.
    """
    trainer = view.trainer
    command = trainer.at("command") if trainer is not None else None
    if trainer is None or not isinstance(command, Sequence) or not command.items or _set(trainer.at("args")):
        return
    labelled = [
        p
        for p in (view.job.pods if view.job is not None else [])
        if p.site.owner is not None
        and p.site.owner.string("template", "metadata", "labels", ANCESTOR_LABEL) == "trainer"
    ]
    for pod in labelled[:1]:
        raw = _raw_container(view, pod)
        if raw is None or not _texts(raw, "command"):
            continue
        args = raw.at("args")
        if not isinstance(args, Sequence) or not args.items:
            continue
        last = command.items[-1]
        if isinstance(last, Scalar) and last.text.startswith("-") and last.text.endswith("c"):
            continue
        first = _texts(raw, "args")[0]
        shown = first if len(first) <= 40 and "\n" not in first else first.strip().split("\n")[0][:37] + "..."
        yield Finding(
            Place(command, on_key=True),
            f"'command' replaces the runtime's and its 'args' stay ('{shown}'); the new command gets them as its own.",
            help="Write args beside command; 'args: []' takes the runtime's away.",
            related=(Related(Place(args, on_key=True), "The runtime's arguments."),) if view.own_runtime else (),
            fix=Fix("add args: []", (AddField(trainer, ("args",), []),), Applicability.UNSAFE),
        )
