"""RUN: what belongs to the role that starts the ranks, and what happens when a pod ends."""

from __future__ import annotations

from collections.abc import Iterator

from fabriclint.group import GroupView, RoleGroup
from fabriclint.group.started import BY_SSH
from fabriclint.launch import Certainty
from fabriclint.node import Mapping, Node, Scalar, open_value
from fabriclint.rule import Finding, Place, Related, Severity, rule
from fabriclint.workload import PodRole, is_accelerator
from fabriclint_rules.attachment import asked, fabric_devices_of

#: A group's policies by which a pod comes back alone; the second is the first one's old name.
_ALONE = ("None", "Default")
#: A controller empties it where a launcher has no GPUs to see.
_VISIBLE = "NVIDIA_VISIBLE_DEVICES"
#: What is asked of pods with ranks, and so of no launcher that runs none.
_OF_RANKS = ("POD001", "POD003", "POD008", "POD017")
#: Engines that load a model for minutes before they answer.
_ENGINES = ("vllm", "sglang", "trtllm")


@rule("RUN010", "launcher-takes-gpus", Severity.WARNING, on=GroupView, yields_to=("TRN023",))
def launcher_takes_gpus(group: GroupView) -> Iterator[Finding]:
    """GPUs and fabric devices go to pods with ranks.

    A launcher that only starts ranks elsewhere is in no list of hosts: what it asks for stays idle as long as the job
    runs, and on nodes that are sold whole it takes a node.

    Fix: remove the resource from the launcher, or let the launcher be a worker too (`runLauncherAsWorker: true`).

    Silent: launchers that run ranks as well, or name themselves as a host; jobs whose workers have no GPUs; a launcher
    whose program is not seen, unless the operator hides GPUs from it (mpi-operator without `runLauncherAsWorker`).

    Bad: a GPU for mpirun (run-mpijob)
        - command: [mpirun, -np, "2", ./reduce]
        + command: [mpirun, -np, "2", ./reduce]
        + resources:
        +   limits:
        +     nvidia.com/gpu: 1  # <-
    Bad: devices of the fabric (run-mpijob)
        - command: [mpirun, -np, "2", ./reduce]
        + command: [mpirun, -np, "2", ./reduce]
        + resources:
        +   limits:
        +     rdma/ib: 1  # <-
    Bad: GPUs for horovodrun (run-mpijob)
        - command: [mpirun, -np, "2", ./reduce]
        + command: [horovodrun, -np, "2", ./reduce]
        + resources:
        +   limits:
        +     nvidia.com/gpu: 1  # <-
    Bad: a Volcano task whose hosts are the other task's (run-volcano-mpi)
        - image: registry.example/tides:7
        + image: registry.example/tides:7
        + resources:
        +   limits:
        +     nvidia.com/gpu: 1  # <-
    Bad: the launcher of a JobSet, whose hosts are the other pods (run-jobset-mpi)
        - image: registry.example/waves:4
        + image: registry.example/waves:4
        + resources:
        +   limits:
        +     nvidia.com/gpu: 1  # <-
    Bad: the launcher of Trainer's MPI runtime is in no list of hosts (trainer-mpi)
        - command: [mpirun, -np, "32", python, train.py]
        + command: [mpirun, -np, "32", python, train.py]
        + resources:
        +   limits:
        +     nvidia.com/gpu: 8  # <-
    Bad: a script that finds none of its GPUs (run-mpijob)
        - command: [mpirun, -np, "2", ./reduce]
        + command: [/opt/start.sh]
        + resources:
        +   limits:
        +     nvidia.com/gpu: 1  # <-
    Good: a leader that is one of its hosts (run-lws-mpi)
        @@ leaderTemplate
    Good: the launcher runs ranks (run-mpijob)
        ~ slotsPerWorker: 1 => runLauncherAsWorker: true
        - command: [mpirun, -np, "2", ./reduce]
        + command: [mpirun, -np, "3", ./reduce]
        + resources:
        +   limits:
        +     nvidia.com/gpu: 1
    Good: cores and memory (run-mpijob)
        - command: [mpirun, -np, "2", ./reduce]
        + command: [mpirun, -np, "2", ./reduce]
        + resources:
        +   limits:
        +     cpu: 4
    Good: Trainer lists the launcher as a node (trainer-mpi)
              mpiImplementation: OpenMPI
        +     runLauncherAsNode: true
        @@ name: launcher
          containers:
            - name: node
              image: registry.example/mpi-launcher:1
              command: [mpirun, -np, "32", python, train.py]
        +     resources:
        +       limits:
        +         nvidia.com/gpu: 8
        +     volumeMounts:
        +       - name: dshm
        +         mountPath: /dev/shm
        + volumes:
        +   - name: dshm
        +     emptyDir:
        +       medium: Memory
    Good: a master that is a rank (run-volcano)
        ~ minAvailable: 3 => minAvailable: 2
    Source: kubeflow/mpi-operator@101db14 pkg/controller; kubeflow/trainer@dc7656a pkg/runtime/framework/plugins/mpi
    """
    for role in group.roles:
        others = [r for r in group.ranks_on if r is not role and r.pod.is_worker]
        if not others or role.pod.site.runs_ranks or role.pods == 0:
            continue
        elsewhere = _starts_elsewhere(role, others)
        hidden = role.pod.role is PodRole.LAUNCHER and role.injected.get(_VISIBLE) == ""
        if not elsewhere and not (hidden and _not_seen(role)):
            continue
        taken: list[tuple[str, Node]] = []
        for container in role.pod.main_containers:
            names = [n for n in sorted(container.resource_names) if is_accelerator(n) and asked(container, n)]
            devices = fabric_devices_of(container) if elsewhere else []
            for name in [*names, *devices]:
                node = container.resource_node(name)
                if node is not None:
                    taken.append((name, node))
        if taken:
            listed = " and ".join(repr(n) for n in dict.fromkeys(n for n, _ in taken))
            said = f"The launcher '{role.name}' asks for {listed} and runs no rank; they stay idle while the job runs."
            if not elsewhere:
                said = f"The launcher '{role.name}' asks for {listed}, and {group.maker} hides GPUs from it; they stay idle."
            yield Finding(
                Place(taken[0][1]),
                said,
                "Remove them from the launcher, or let it run ranks too.",
                silences=_OF_RANKS,
                subject=role.pod,
                related=tuple(Related(Place(node), "This too.") for _, node in taken[1:]),
            )


def _not_seen(role: RoleGroup) -> bool:
    """Whether nothing tells where the launcher's program starts ranks: it may well do so by the controller's list."""
    start = role.start
    launch = start.launch if start is not None else None
    return launch is not None and launch.launcher is None and not launch.probe


def _starts_elsewhere(role: RoleGroup, others: list[RoleGroup]) -> bool:
    """Whether it is seen to start ranks on other pods only: by the controller's list of hosts, or by their names."""
    start = role.start
    main = start.launch.main if start is not None else None
    launcher = start.launch.launcher if start is not None else None
    if main is None or launcher is None or launcher.unclear or launcher.family not in BY_SSH:
        return False
    if main.invocation.certainty <= Certainty.MAYBE:
        return False
    if launcher.hosts is not None:
        labels = [host.split(".")[0] for host, _ in launcher.hosts]
        return bool(labels) and all(any(r.hosts is not None and r.hosts.has(n) is True for r in others) for n in labels)
    if launcher.hosts_place is not None:
        return False
    if role.listed is not False and (role.pod.role is not PodRole.LAUNCHER or role.pod.is_worker):
        return False
    lists = {v for n, v in role.injected.items() if n.upper().endswith(("HOSTFILE", "HOST_FILE"))}
    return launcher.hostfile.value is None or launcher.hostfile.value in lists


@rule(
    "RUN012",
    "restart-policy",
    Severity.ERROR,
    on=GroupView,
    also=(Severity.NOTE,),
    yields_on_line=("RUN016", "DOC005", "DOC012", "DOC003"),
)
def restart_policy(group: GroupView) -> Iterator[Finding]:
    """A pod's restart policy is one that its job takes, and restarts what has to start again.

    A Job takes Never and OnFailure only, and with a podFailurePolicy Never only; so do the Jobs that a CronJob, a JobSet, a
    TrainJob's runtime and a RayJob (for its submitter) make of their templates. JobSet fills in OnFailure where nothing is
    written; a Job by itself gets Always, which it does not take. Ranks that lose one of theirs have to start again together.

    Fix: `restartPolicy: Never` beside a podFailurePolicy; RecreateGroupOnPodRestart for a group; a startupProbe before a
    livenessProbe.

    Silent: policies that a template fills in; controllers with pods of their own, which take Always; a RayJob's submitter in
    a mode that makes no Job of it.

    Bad: Always in a JobSet (run-jobset)
        @@ completions
        @@ template:
        - spec:
        + spec:
        +   restartPolicy: Always  # <-
    Bad: a podFailurePolicy beside OnFailure (run-jobset)
        - backoffLimit: 0
        + backoffLimit: 0
        + podFailurePolicy:
        +   rules:
        +     - action: Ignore
        +       onPodConditions:
        +         - type: DisruptionTarget
        +           status: "True"
        @@ template:
        - spec:
        + spec:
        +   restartPolicy: OnFailure  # <-
    Bad: a podFailurePolicy, and the default of JobSet (run-jobset)
        - backoffLimit: 0
        + backoffLimit: 0
        + podFailurePolicy:  # <-
        +   rules:
        +     - action: FailJob
        +       onExitCodes:
        +         operator: In
        +         values: [42]
    Bad: Always in a Job (gib-job)
        ~ restartPolicy: Never => restartPolicy: Always  # <-
    Bad: nothing in a Job (job)
        @@ template:
          spec:  # <-
        -   restartPolicy: Never
    Bad: Always in the Jobs of a CronJob (run-cronjob)
        ~ restartPolicy: Never => restartPolicy: Always  # <-
    Bad: Always in a runtime (trainer-torch)
        @@ ancestor-step: trainer
          nodeSelector:
            pool: h100
        + restartPolicy: Always  # <-
    Bad: nothing for the Job that submits (run-rayjob)
          shutdownAfterJobFinishes: true
        + submitterPodTemplate:
        +   spec:  # <-
        +     containers:
        +       - name: submitter
        +         image: registry.example/ray:2.52
    Good: Never beside a podFailurePolicy (run-jobset)
        - backoffLimit: 0
        + backoffLimit: 0
        + podFailurePolicy:
        +   rules:
        +     - action: Ignore
        +       onPodConditions:
        +         - type: DisruptionTarget
        +           status: "True"
        @@ template:
        - spec:
        + spec:
        +   restartPolicy: Never
    Good: OnFailure alone (run-jobset)
        @@ completions
        @@ template:
        - spec:
        + spec:
        +   restartPolicy: OnFailure
    Good: a runtime leaves it to JobSet (trainer-torch)
        @@ ancestor-step: trainer
    Good: a Job that submits, once (run-rayjob)
          shutdownAfterJobFinishes: true
        + submitterPodTemplate:
        +   spec:
        +     restartPolicy: Never
        +     containers:
        +       - name: submitter
        +         image: registry.example/ray:2.52
    Good: a group starts again as one (run-leaderworkerset)
        @@ restartPolicy: RecreateGroupOnPodRestart
    Good: another controller makes the pods (run-pytorchjob)
        @@ Worker:
        ~ restartPolicy: OnFailure => restartPolicy: Always
    Source: kubernetes v1.35.2 pkg/apis/batch/validation; kubernetes-sigs/jobset@f22e565 pkg/webhooks;
    kubernetes-sigs/lws@2161f38 pkg/webhooks; ray-project/kuberay@59d663a ray-operator/controllers/ray/common/job.go;
    ray-project/kuberay#2210
    """
    for role in group.roles:
        yield from _of_job(role)
        yield from _probes(role)
    if group.restart in _ALONE and group.multi_node is True:
        holder = next((r.pod.site.holder.parent for r in group.roles), None)
        node = holder.at("restartPolicy") if holder is not None else None
        if node is not None:
            yield Finding(
                Place(node),
                f"restartPolicy is '{group.restart}': a pod that ends comes back alone; the ranks that are left wait for the "
                "old one.",
                "Write RecreateGroupOnPodRestart when the ranks meet only once.",
                Severity.NOTE,
            )


def _of_job(role: RoleGroup) -> Iterator[Finding]:
    """The policies that a batch Job refuses."""
    holder = role.pod.site.holder.parent
    if role.restart_of_job is None or not isinstance(holder, Mapping):
        return
    node = role.pod.spec.at("restartPolicy")
    policy = node.value if isinstance(node, Scalar) else None
    if isinstance(node, Scalar) and (node.open or not isinstance(policy, str | None)):
        return
    rules = holder.at("podFailurePolicy")
    failure = isinstance(rules, Mapping) and "rules" in rules.fields
    if policy == "Always" and node is not None:
        yield Finding(
            Place(node),
            "restartPolicy is 'Always' in the pod template of a Job; the API refuses it and no pod is made.",
            "Write Never, or OnFailure.",
        )
    elif failure and rules is not None and policy == "OnFailure" and node is not None:
        yield Finding(
            Place(node),
            "restartPolicy is 'OnFailure' beside a podFailurePolicy; the API refuses the Job and no pod is made.",
            "Write Never.",
            related=(Related(Place(rules, on_key=True), "The policy that needs Never."),),
        )
    elif failure and rules is not None and policy is None:
        yield Finding(
            Place(rules, on_key=True),
            "podFailurePolicy needs restartPolicy 'Never', and the pod template has none; the API refuses the Job and no "
            "pod is made.",
            "Write `restartPolicy: Never` in the pod template's spec.",
        )
    elif policy is None and not role.restart_of_job and not any(open_value(key) for key in role.pod.spec.fields):
        based = role.pod.workload.manifest.overlay
        yield Finding(
            role.pod.missing_field("restartPolicy"),
            "The pod template of the Job has no restartPolicy; Always is filled in, which the API refuses for a Job, and no "
            "pod is made.",
            "Write `restartPolicy: Never`, or OnFailure." + (f" It may stand in '{based}'." if based else ""),
            Severity.NOTE if based else Severity.ERROR,
        )


def _probes(role: RoleGroup) -> Iterator[Finding]:
    """A liveness probe that kills an engine while it loads."""
    for started in role.started:
        launcher = started.launch.launcher
        node = started.container.node
        probe = node.at("livenessProbe")
        if launcher is None or launcher.family not in _ENGINES or not isinstance(probe, Mapping):
            continue
        delay = probe.at("initialDelaySeconds")
        seconds = delay.value if isinstance(delay, Scalar) else 0
        if node.at("startupProbe") is None and isinstance(seconds, int) and seconds < 120:
            yield Finding(
                Place(probe, on_key=True),
                f"The liveness probe of '{started.container.name}' begins while {launcher.family} loads its model; the "
                "container is killed before it answers.",
                "Add a startupProbe with time enough to load, or a long initialDelaySeconds.",
                Severity.NOTE,
            )
