"""RUN: the address and the rank that a job of some shape does not get from its controller."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fabriclint.group import GroupView, RoleGroup
from fabriclint.group.started import ADDRESS_VARIABLES, LOCAL_HOSTS, NO_HOST, Started, ungiven
from fabriclint.launch import Certainty, Fact, Launcher
from fabriclint.node import Unknown
from fabriclint.rule import Finding, Place, Related, Severity, rule

#: Words by which a start text brings an address of its own.
_OWN = re.compile(
    r"rdzv|master[-_]?(addr|ip|host)|main_process_ip|init[-_]method|init[-_]file|tcp://|file://|etcd|coordinator|"
    r"dist[-_]init|dist[-_]url|nslookup|getent|HOSTNAME|\bdig\b",
    re.IGNORECASE,
)
#: Launchers that take the rank of their node by an option, which is 0 where it is left out; and that option.
_RANKED = {
    "torchrun": "--node-rank",
    "vllm": "--node-rank",
    "sglang": "--node-rank",
    "accelerate": "--machine_rank",
    "deepspeed": "--node_rank",
}


@rule(
    "RUN008",
    "no-rendezvous-injected",
    Severity.WARNING,
    on=GroupView,
    yields_to=("RUN005", "RUN007", "RUN016", "TRN005", "TRN006", "TRN014", "TRN017"),
    yields_on_line=("RUN016", "DOC005", "RUN004", "RUN006", "RUN019", "DOC003"),
)
def no_rendezvous_injected(group: GroupView) -> Iterator[Finding]:
    """A job of this shape gets its address and ranks from the controller, or brings its own.

    A PyTorchJob with Workers only gets no MASTER_ADDR, no RANK and no endpoint unless it has an elasticPolicy; a
    TrainJob without a trainer block gets nothing from Trainer's torch policy. Every pod then trains as if it were alone,
    or waits at localhost. Jobs, JobSets, StatefulSets and LeaderWorkerSets number their pods and set no rank that a launcher
    reads: a node that is told no rank is node 0, all nodes are, and none finds the others. A variable that another kind's
    controller sets is empty.

    Fix: add a Master, an elasticPolicy or a trainer block; name the endpoint in the command; hand the pod's number on as
    the rank (`--node-rank=$(JOB_COMPLETION_INDEX)`), or let torchrun's c10d hand out ranks.

    Silent: commands that bring an address and a rank; commands, scripts and ConfigMaps that are not in view; jobs of one
    pod; branches of a script; kinds whose controller is not known.

    Bad: Workers only (run-workers)
          Worker:  # <-
        @@ image:
        - command: ...
        + command: [torchrun, map.py]
    Bad: the number of nodes is no address (run-workers)
          Worker:  # <-
        @@ image:
        - command: ...
        + command: [torchrun, --nnodes=3, map.py]
    Bad: a TrainJob without a trainer block (trainer-torch)
        @@ kind: TrainJob
          runtimeRef:  # <-
            apiGroup: trainer.kubeflow.org
            kind: TrainingRuntime
            name: torch-gpu
        - trainer:
        -   numNodes: 2
        -   image: registry.example/train:2
        -   env:
        -     - name: EPOCHS
        -       value: "3"
    Bad: a JobSet sets no rank (run-jobset)
        ~ [python, forecast.py] => [torchrun, --nnodes=2, --master-addr=weather-ranks-0-0.weather, --master-port=29500, forecast.py]  # <-
    Bad: variables of a PyTorchJob in a LeaderWorkerSet (run-leaderworkerset)
        ~ [serve-engine] => [bash, -c, "torchrun --nnodes=4 --node-rank=$RANK --master-addr=$LWS_LEADER_ADDRESS --master-port=29500 serve.py"]  # <-
    Bad: an engine whose nodes are all the first (run-leaderworkerset)
        ~ [serve-engine] => [vllm, serve, /model, --tensor-parallel-size=4, --nnodes=4, --master-addr=$(LWS_LEADER_ADDRESS)]  # <-
    Good: the pod's number as its rank (run-jobset)
        ~ [python, forecast.py] => [torchrun, --nnodes=2, --node-rank=$(JOB_COMPLETION_INDEX), --master-addr=weather-ranks-0-0.weather, --master-port=29500, forecast.py]
    Good: c10d hands out ranks, as public manifests have it (run-jobset)
        ~ [python, forecast.py] => [torchrun, --nnodes=2, --rdzv-backend=c10d, "--rdzv-endpoint=weather-ranks-0-0.weather:29500", forecast.py]
    Good: the number in the group, as public manifests have it (run-leaderworkerset)
        ~ [serve-engine] => [bash, -c, "vllm serve /model --tensor-parallel-size=4 --nnodes=4 --node-rank=$LWS_WORKER_INDEX --master-addr=$LWS_LEADER_ADDRESS"]
    Good: Workers with an elasticPolicy, as public manifests have it (run-workers)
        ~ nprocPerNode: "1" => elasticPolicy: {minReplicas: 3, maxReplicas: 3}
        - command: ...
        + command: [torchrun, map.py]
    Good: one Worker is alone anyway (run-workers)
        ~ replicas: 3 => replicas: 1
        - command: ...
        + command: [torchrun, map.py]
    Good: a script that is not in view (run-workers)
        - command: ...
        + command: [bash, /scripts/start.sh]
    Good: Trainer fills in what a block asks for (trainer-torch)
        @@ kind: TrainJob
    Source: kubeflow/trainer@c77ee3f pkg/controller.v1/pytorch/envvar.go; kubeflow/trainer@dc7656a
    pkg/runtime/framework/plugins/torch; torch 2.15.0 distributed/run.py; kubernetes-sigs/lws@2161f38 pkg/utils/pod
    """
    shape = list(_by_shape(group))
    yield from shape or _by_rank(group)


def _by_shape(group: GroupView) -> Iterator[Finding]:
    """A kind whose controller hands out an address, in a shape for which it does not."""
    if not group.gives_address or group.multi_node is not True or group.own_rendezvous or group.ssh:
        return
    for role in group.ranks_on:
        container, started = role.container, role.start
        if container is None or started is None or container.env.open:
            return
        if any(name in role.environment(container) for name in ADDRESS_VARIABLES) or not _alone(started):
            return
    role = group.ranks_on[0]
    if group.workload.landing is not None:
        reference = group.workload.manifest.root.nearest("spec", "runtimeRef")
        place = Place(reference, on_key=True)
        edit = "Add a trainer block ('trainer: {}' is enough), or name the endpoint in the command."
        shape = "The TrainJob has no trainer block"
    else:
        owner = role.pod.site.owner
        place = Place(owner, on_key=True) if owner is not None else role.count_place
        edit = "Make one of the pods a Master, add an elasticPolicy, or name the endpoint in the command."
        shape = f"The job has '{role.name}' pods only"
    yield Finding(
        place,
        f"{shape} and {group.maker} sets no address and no rank for several nodes then; the pods do not find each other.",
        edit,
    )


def _alone(started: Started) -> bool:
    """Whether all that the container starts is in view, and none of it brings an address."""
    launch = started.launch
    if launch.hidden or launch.probe or launch.idle:
        return False
    if not launch.programs or _OWN.search(started.container.start_text):
        return False
    main = launch.main
    if main is None:
        name = launch.programs[-1].name
        return not isinstance(name, Unknown) and name.startswith("python")
    launcher = main.launchers[-1]
    nodes = launcher.nodes.value
    if launcher.standalone.value == 1 and nodes != 1:
        return False  # RUN001 says where it meets
    return launcher.family == "torchrun" and not launcher.unclear


def _by_rank(group: GroupView) -> Iterator[Finding]:
    """Launchers that read what nothing sets, or that are the same node in each pod."""
    if group.multi_node is not True or not group.known or group.own_rendezvous or group.ssh:
        return
    alike: dict[int, list[tuple[RoleGroup, Started, Launcher]]] = {}
    for role in group.ranks_on:
        started = role.start
        if started is None or started.container.env.open:
            continue
        main = started.launch.main
        if main is None or main.invocation.certainty <= Certainty.MAYBE or started.launch.open:
            continue
        names, where = ungiven(started)
        names = [n for n in names if not any(re.fullmatch(u.names, n) for u in group.unmade)]
        launcher = main.launchers[-1]
        if names:
            listed = " and ".join(f"'{n}'" for n in names)
            yield Finding(
                started.place(where),
                f"Nothing sets {listed} here: {group.maker} gives the pods no such variable, and {launcher.family} ends at an "
                "empty value.",
                _edit(role, "Use what the pods have"),
            )
            return
        if len(main.launchers) > 1 or launcher.unclear:
            continue
        if any("--machine_rank" in r.reason for r in launcher.refusals):
            yield Finding(
                started.place(launcher.nodes.place),
                f"accelerate is told of {launcher.nodes.value} machines and not which of them it is on, and {group.maker} does "
                "not say so either; it ends before any rank starts.",
                _edit(role, "Add --machine_rank"),
            )
            return
        rank = _same_rank(role, started, launcher)
        if rank is not None:
            alike.setdefault(rank, []).append((role, started, launcher))
    for rank, several in alike.items():
        pods = [r.pods for r, _, _ in several]
        if any(isinstance(n, Unknown) for n in pods) or sum(n for n in pods if isinstance(n, int)) < 2:
            continue
        role, started, launcher = several[0]
        said = launcher.node_rank.place is not None and launcher.node_rank.place.source >= 0
        total = sum(n for n in pods if isinstance(n, int))
        told = f"is told node rank {rank}" if said else "is told no node rank"
        yield Finding(
            _place(started, launcher),
            f"{launcher.family} {told} in each of {total} pods and waits for {_nodes(launcher).value} nodes; all are node {rank}, "
            "and the others never come.",
            _edit(role, f"{'Write' if said else 'Add'} {_RANKED[launcher.family]}"),
            related=tuple(Related(_place(s, la), "The same here.") for _, s, la in several[1:]),
        )


def _place(started: Started, launcher: Launcher) -> Place:
    for fact in (launcher.node_rank, launcher.nodes, launcher.host):
        if fact.place is not None and fact.place.source >= 0:
            return started.place(fact.place)
    main = started.launch.main
    return started.place(main.invocation.words[0].place if main is not None else None)


def _nodes(launcher: Launcher) -> Fact:
    """The nodes that a launcher is told of; without ssh deepspeed's own word counts, whatever its hostfile holds."""
    if launcher.family == "deepspeed":
        return launcher.options.get("num_nodes", launcher.nodes) if "no_ssh" in launcher.options else Fact()
    return launcher.nodes


def _same_rank(role: RoleGroup, started: Started, launcher: Launcher) -> int | None:
    """The rank that the launcher of every pod of a role has; None when it may differ, or does not matter."""
    nodes = _nodes(launcher).value
    several = nodes[0] if isinstance(nodes, tuple) else nodes
    if launcher.family not in _RANKED or not isinstance(several, int) or several < 2 or launcher.refused:
        return None
    if launcher.family == "torchrun" and launcher.backend.value != "static":
        return None
    if launcher.host.value is None or launcher.host.value in (*LOCAL_HOSTS, NO_HOST):
        return None  # RUN001 says where it meets
    if launcher.family in ("torchrun", "accelerate", "deepspeed"):
        return launcher.node_rank.number
    rank = launcher.node_rank.value
    return 0 if rank is None else launcher.node_rank.number


def _edit(role: RoleGroup, what: str) -> str:
    """The way out, with the variable by which the controller numbers the pods of the role."""
    numbers = [n for n, v in role.injected.items() if v is None and re.search("INDEX|RANK|PROCESS_ID", n)]
    if numbers:
        return f"{what}: '$({numbers[0]})' is the pod's number."
    return f"{what}: the pod's number is the last part of its host name."
