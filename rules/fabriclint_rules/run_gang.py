"""RUN: pods that wait for one another before all of them are made."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fabriclint.group import GroupView, RoleGroup, Unmade
from fabriclint.pod import ContainerView
from fabriclint.rule import Finding, Place, Related, Severity, rule

#: A script gives a variable its value itself.
_GIVEN = r"\b{name}\+?=|\b(read|for|mapfile|readarray|printf -v)\b[^\n;]*\b{name}\b"


@rule("RUN011", "gang-deadlock", Severity.WARNING, on=GroupView, yields_on_line=("RUN016",))
def gang_deadlock(group: GroupView) -> Iterator[Finding]:
    """A gang counts only pods that are made before it starts.

    A gang scheduler starts no pod until as many are there as the gang counts. A launcher that is made when the workers are
    ready is never there in time; nor are the pods behind a `dependsOn`, a start in order, or the first pod of a StatefulSet.
    Those that are there wait for them, and nothing runs. (Volcano's scheduler can be run without its gang plugin, as its
    documents ask for where tasks depend on each other; it is on by default.)

    Fix: have the pods made at once (no launcherCreationPolicy, `podManagementPolicy: Parallel`), or let the gang count those
    that are (minAvailable, minMember).

    Silent: jobs without a gang in view; gangs that do not need the pods that come later; counts that are filled in later;
    pods that go to a scheduler which does not look at the gang; PodGroups to which pods of another object belong as well,
    or must, since the job has fewer than are counted; roles that wait for others, each with a gang of its own; controllers
    that see to it (a LeaderWorkerSet's own gang counts the leader alone under LeaderReady).

    Bad: a gang of launcher and workers (run-mpijob)
        @@ spec:
        +   launcherCreationPolicy: WaitForWorkersReady  # <-
        @@ runPolicy:
        +   schedulingPolicy: {minAvailable: 3}
    Bad: a gang of all by default (run-mpijob)
        @@ spec:
        +   launcherCreationPolicy: WaitForWorkersReady  # <-
        @@ runPolicy:
        +   schedulingPolicy: {queue: research}
    Bad: of four (run-mpijob)
        @@ spec:
        +   launcherCreationPolicy: WaitForWorkersReady  # <-
        @@ runPolicy:
        +   schedulingPolicy: {minAvailable: 4}
        ~ "2" => "3"
        @@ Worker:
        ~ replicas: 2 => replicas: 3
    Bad: nodes that wait for the data (trainer-steps)
            torch: {}
        + podGroupPolicy:
        +   coscheduling: {}  # <-
    Bad: a task that waits for another (run-volcano)
        ~ minAvailable: 3 => minAvailable: 3  # <-
        @@ name: worker
        - replicas: 2
        + replicas: 2
        + dependsOn:
        +   name: [master]
    Bad: the pods of a StatefulSet come one by one (run-statefulset)
        ~ podManagementPolicy: Parallel => podManagementPolicy: OrderedReady  # <-
        @@ template:
            app: engine
        +   scheduling.x-k8s.io/pod-group: engine
        @@ resources:
                        nvidia.com/gpu: 1
        + ---
        + apiVersion: scheduling.x-k8s.io/v1alpha1
        + kind: PodGroup
        + metadata:
        +   name: engine
        +   namespace: serving
        + spec:
        +   minMember: 2
    Bad: replicated jobs in order (run-jobset-mpi)
        - successPolicy:
        + startupPolicy:
        +   startupPolicyOrder: InOrder
        + successPolicy:
        @@ completions: 1
          template:
        +   metadata:
        +     labels:
        +       scheduling.x-k8s.io/pod-group: waves
        @@ completions: 2
          template:
        +   metadata:
        +     labels:
        +       scheduling.x-k8s.io/pod-group: waves
        @@ resources:
                                nvidia.com/gpu: 1
        + ---
        + apiVersion: scheduling.x-k8s.io/v1alpha1
        + kind: PodGroup
        + metadata:
        +   name: waves
        +   namespace: ocean
        + spec:
        +   minMember: 3  # <-
    Bad: a gang of more pods than there are (run-pytorchjob)
          nprocPerNode: "1"
        + runPolicy:
        +   schedulingPolicy: {minAvailable: 5}  # <-
    Good: the workers only (run-mpijob)
        @@ spec:
        +   launcherCreationPolicy: WaitForWorkersReady
        @@ runPolicy:
        +   schedulingPolicy: {minAvailable: 2}
    Good: all at once (run-mpijob)
        @@ runPolicy:
        +   schedulingPolicy: {minAvailable: 3}
    Good: no gang (run-mpijob)
        @@ spec:
        +   launcherCreationPolicy: WaitForWorkersReady
    Good: one step needs no other (trainer-torch)
            torch: {}
        + podGroupPolicy:
        +   coscheduling: {}
    Good: all pods of a StatefulSet at once (run-statefulset)
        @@ template:
            app: engine
        +   scheduling.x-k8s.io/pod-group: engine
        @@ resources:
                        nvidia.com/gpu: 1
        + ---
        + apiVersion: scheduling.x-k8s.io/v1alpha1
        + kind: PodGroup
        + metadata:
        +   name: engine
        +   namespace: serving
        + spec:
        +   minMember: 2
    Good: a leader's own gang (run-leaderworkerset)
        @@ spec:
        +   startupPolicy: LeaderReady
        @@ workerTemplate:
          spec:
        +   schedulerName: volcano
    Good: the gang starts with the first task (run-volcano)
        ~ minAvailable: 3 => minAvailable: 1
        @@ name: worker
        - replicas: 2
        + replicas: 2
        + dependsOn:
        +   name: [master]
    Source: kubeflow/mpi-operator@101db14 pkg/controller/podgroup.go; kubeflow/mpi-operator#608;
    kubernetes-sigs/scheduler-plugins@40c0fee pkg/coscheduling/core/core.go; kubeflow/trainer@dc7656a
    pkg/runtime/framework/plugins/{coscheduling,volcano}; volcano-sh/volcano@0a56ed3 pkg/scheduler/plugins/gang, pkg/scheduler/api/job_info.go, docs/design
    task-launch-order-within-job.md; volcano-sh/volcano#2944; kubernetes/enhancements#6298
    """
    short = group.shortfall
    if short is None or group.suspended:
        return
    gang, later = short.gang, short.later
    there = f"{short.there} is" if short.there == 1 else f"{short.there} are"
    if later is None:
        said = f"The gang counts {gang.count} pods and only {there} made; the scheduler starts none of them."
    elif gang.count is None:
        said = f"{later.said}, and the gang counts them all; the scheduler starts no pod before all are there."
    else:
        said = f"{later.said}: of the {gang.count} pods that the gang counts {there} there by then; the scheduler starts none."
    fewer = gang.edit.format(there=short.there)
    if later is None or (gang.place is not None and not later.edit):
        assert gang.place is not None
        related = (Related(later.place, "These pods come later."),) if later is not None else ()
        yield Finding(gang.place, said, fewer, related=related)
    else:
        related = (Related(gang.place, "The gang."),) if gang.place is not None else ()
        yield Finding(later.place, said, later.edit or fewer, related=related)


@rule("RUN019", "scheduler-plugin-missing", Severity.WARNING, on=GroupView, yields_on_line=("RUN004", "DOC004"))
def scheduler_plugin_missing(group: GroupView) -> Iterator[Finding]:
    """A start text that reads a plugin's variables stands in a job that names the plugin.

    A scheduler's plugins set the list of hosts, the index and the master's address. Without the plugin the variable is
    empty and the file is missing, and the launcher starts with no hosts, or every pod as the first. The plugins belong to
    Volcano's own Job: a job of another kind has none of it, also where Volcano schedules its pods.

    Fix: name the plugin under `plugins`; in a job of another kind, use what its controller sets.

    Silent: variables that the file itself sets, the script assigns, asks for, or gives a default; env from objects that are
    not in view; scripts that read another file in; plugins that bring another with them; plugins that are filled in later;
    kinds whose controller is not known.

    Bad: the hosts of a task without svc (run-volcano)
        - plugins:
        -   pytorch: [--master=master, --worker=worker, --port=23456]
        @@ name: master
        ~ [python, train.py] => [sh, -c, "mpirun --host ${VC_WORKER_HOSTS} train"]  # <-
    Bad: the index without env (run-volcano)
        @@ name: worker
        ~ [python, train.py] => [sh, -c, "python train.py --node $VC_TASK_INDEX"]  # <-
    Bad: the master's address without pytorch (run-volcano)
        ~ pytorch: [--master=master, --worker=worker, --port=23456] => svc: []
        @@ name: worker
        ~ [python, train.py] => [sh, -c, "python train.py --at $MASTER_ADDR"]  # <-
    Bad: a JobSet that Volcano schedules (run-jobset)
        - containers:
        + schedulerName: volcano
        + containers:
        ~ [python, forecast.py] => [sh, -c, "torchrun --nnodes=2 --node-rank=$VC_TASK_INDEX --master-addr=weather-ranks-0-0.weather forecast.py"]  # <-
    Bad: a list of hosts in a PyTorchJob (run-pytorchjob)
        @@ Master:
        ~ [torchrun, train.py] => [bash, -c, "mpirun --host $VC_WORKER_HOSTS train"]  # <-
    Bad: the plugin's file in an Indexed Job (run-indexed)
        - command: ...
        + command:
        +   - bash
        +   - -c
        +   - |
        +     first=$(head -n 1 /etc/volcano/map.host)  # <-
        +     torchrun --nnodes=2 --nproc-per-node=1 --rdzv-backend=c10d --rdzv-endpoint=$first:29500 map.py
    Good: the plugin is there (run-volcano)
        @@ name: worker
        ~ [python, train.py] => [sh, -c, "python train.py --at $MASTER_ADDR"]
    Good: pytorch brings svc (run-volcano)
        @@ name: worker
        ~ [python, train.py] => [sh, -c, "python train.py --hosts $VC_MASTER_HOSTS"]
    Good: the script sets it (run-volcano)
        ~ pytorch: [--master=master, --worker=worker, --port=23456] => svc: []
        @@ name: worker
        ~ [python, train.py] => [sh, -c, "MASTER_ADDR=speech-master-0.speech; python train.py --at $MASTER_ADDR"]
    Good: one script for several kinds, with a default (run-jobset)
        ~ [python, forecast.py] => [sh, -c, "python forecast.py --node ${VC_TASK_INDEX:-$JOB_COMPLETION_INDEX}"]
    Good: the file sets it (run-pytorchjob)
        @@ Worker:
        - command: [torchrun, train.py]
        + command: [sh, -c, "python train.py --node $VC_TASK_INDEX"]
        + env:
        +   - name: VC_TASK_INDEX
        +     value: "1"
    Source: volcano-sh/volcano@0a56ed3 pkg/controllers/job/plugins
    """
    if not group.unmade:
        return
    for role in group.roles:
        for container in role.pod.main_containers:
            if container.env.open or _sourced(container.start_text):
                continue
            for unmade in group.unmade:
                found = _read_of(container, unmade)
                if found is not None:
                    place, what, read = found
                    who = f"the plugin '{unmade.plugin}'" + (f" of {unmade.maker}" if unmade.maker else "")
                    lacks = "the job does not name that plugin"
                    edit = f"Add '{unmade.plugin}: []' under 'plugins'."
                    if unmade.maker:
                        lacks = f"{group.maker} has no such plugins"
                        edit = _number(role) if what.endswith("INDEX") else _names(group)
                    then = "the variable is empty" if read == "sets" else "there is no such file"
                    yield Finding(
                        place, f"The start text reads '{what}', which {who} {read}, and {lacks}; {then}.", edit
                    )


def _sourced(text: str) -> bool:
    """Whether a file that is not in view may set anything."""
    return re.search(r"(^|[\n;&|({]\s*|\b(then|do|else)\s+)(source|\.|eval)\s", text) is not None


def _read_of(container: ContainerView, unmade: Unmade) -> tuple[Place, str, str] | None:
    """Where a start text reads a variable, or a file, that the plugin would make; what it is; what the plugin does with it."""
    text = container.start_text
    for word in container.words:
        for found in re.finditer(r"\$(?:\{#?)?(" + unmade.names + r")(?![A-Za-z0-9_])(:?[-+=])?", word.text):
            name = found[1]
            if found[0].startswith("${") and found[found.re.groups]:
                continue
            if name in container.env or re.search(_GIVEN.format(name=name), text) or _asked(name, text):
                continue
            return Place(word, within=(found.start(), found.end(1))), name, "sets"
        folder = re.escape(unmade.folder)
        file = re.search(rf"(?<![\w/.-]){folder}/[\w.-]+", word.text) if folder else None
        if file is None or re.search(rf"(>|\b(mkdir|tee|cp|mv)\b[^\n;|]*|-[efrs])\s*\"?{folder}", text) or "||" in text:
            continue
        paths = [m.string("mountPath") or "" for m in container.mounts]
        if not container.mounts_open and not any(file[0].startswith(p) for p in paths if p.strip("/")):
            return Place(word, within=file.span()), file[0], "writes"
    return None


def _asked(name: str, text: str) -> bool:
    """Whether the script asks first if it has a value."""
    return re.search(rf"-[nzv]\s+\"?\$?\{{?{name}\b|\$\{{{name}:?[-+=]", text) is not None


def _number(role: RoleGroup) -> str:
    """What the pods have in place of another controller's index."""
    numbers = [n for n, v in role.injected.items() if v is None and re.search("INDEX|RANK|PROCESS_ID", n)]
    return f"Use '{numbers[0]}', the pod's number." if numbers else "The pod's number ends its host name."


def _names(group: GroupView) -> str:
    """What the pods are called, in place of another controller's list."""
    named = []
    for role in group.ranks_on:
        hosts = role.hosts
        if hosts is None or (not hosts.bare and not isinstance(group.subdomain, str)):
            continue
        behind = "" if hosts.bare else f".{group.subdomain}"
        first, last = hosts.first, hosts.last
        if isinstance(last, str):
            named.append(f"'{first}{behind}'" if first == last else f"'{first}{behind}' to '{last}{behind}'")
    return (
        f"The pods are {' and '.join(named)}."
        if named
        else "Name the pods of this job by the names that they have here."
    )


@rule("RUN020", "ordered-start", Severity.WARNING, on=GroupView, yields_to=("RUN011",))
def ordered_start(group: GroupView) -> Iterator[Finding]:
    """Pods that wait for each other are made at the same time.

    A StatefulSet makes its second pod when the first one is ready. If the first one runs rank 0 of an engine that is
    ready when all ranks are there, neither ever happens.

    Fix: `podManagementPolicy: Parallel`.

    Silent: Parallel; pods without a readiness or startup probe, or whose probe only opens a port or runs a command; start
    texts that name no other pod; one replica.

    Bad: rank 0 is ready when the engine answers (run-statefulset)
          spec:  # <-
            serviceName: engine
            replicas: 2
        -   podManagementPolicy: Parallel
    Bad: written out (run-statefulset)
        ~ podManagementPolicy: Parallel => podManagementPolicy: OrderedReady  # <-
    Bad: a startup probe (run-statefulset)
        ~ podManagementPolicy: Parallel => podManagementPolicy: OrderedReady  # <-
        ~ readinessProbe => startupProbe
    Bad: an engine of two nodes that Ray brings together (near-set)
        ~ podManagementPolicy: Parallel => podManagementPolicy: OrderedReady  # <-
        - command: ...
        + command: [bash, -c]
        + args:
        +   - |
        +     if [ "${HOSTNAME##*-}" = 0 ]; then
        +       ray start --head && vllm serve m --tensor-parallel-size 8 --pipeline-parallel-size 2
        +     else
        +       ray start --address=engine-0.engine:6379 --block
        +     fi
    Good: all at once (run-statefulset)
        @@ kind: StatefulSet
    Good: ready as soon as it runs (run-statefulset)
        ~ podManagementPolicy: Parallel => podManagementPolicy: OrderedReady
        - readinessProbe:
        -   httpGet: {path: /health, port: 8000}
    Good: servers that do not know each other (run-statefulset)
        ~ podManagementPolicy: Parallel => podManagementPolicy: OrderedReady
        ~ [torchrun, --nnodes=2, --nproc-per-node=gpu, --rdzv-backend=c10d, "--rdzv-endpoint=engine-0.engine:29400", serve.py] => [python, serve.py]
    Source: kubernetes/api@3fde3c4 apps/v1 StatefulSetSpec podManagementPolicy
    """
    if group.ordered is None or group.suspended:
        return
    for role in group.ranks_on:
        if not isinstance(role.pods, int) or role.pods < 2 or not (_named(group) or _joined(group, role)):
            continue
        for container in role.pod.main_containers:
            for name in ("readinessProbe", "startupProbe"):
                probe = container.node.mapping(name)
                if probe is not None and (probe.at("httpGet") is not None or probe.at("grpc") is not None):
                    yield Finding(
                        group.ordered,
                        f"The pods are made one after the other and the first has a '{name}' that passes when all ranks "
                        "are there; the second pod is never made.",
                        "Write 'podManagementPolicy: Parallel'.",
                        related=(Related(Place(probe, on_key=True), "The probe."),),
                    )
                    return


def _named(group: GroupView) -> bool:
    """Whether the ranks are told of each other: a launcher for several nodes, at the name of one of the pods."""
    start, host = group.starting, group.rendezvous[0]
    if start is None or not isinstance(host, str) or group.knows(host) is False:
        return False
    low = start.launch.nodes.value
    low = low[0] if isinstance(low, tuple) else low
    return isinstance(low, int) and low > 1


def _joined(group: GroupView, role: RoleGroup) -> bool:
    """Whether an engine needs more GPUs than one pod has, and the pods join one of them by its name."""
    launchers = [one for s in role.started for program in s.launch.programs for one in program.launchers]
    own = role.gpus
    wide = isinstance(own, int) and any(
        isinstance(one.gpus.value, int) and one.gpus.value > own > 0 for one in launchers if one.family != "ray start"
    )
    return wide and any(one.host.string and group.knows(one.host.string) is not False for one in launchers)
