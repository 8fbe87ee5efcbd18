"""RUN: how many processes are started, beside the GPUs and pods that there are."""

from __future__ import annotations

from collections.abc import Iterator

from fabriclint.group import GroupView
from fabriclint.group.started import Started
from fabriclint.launch import Fact, Launcher
from fabriclint.launch.commands import MPIRUN
from fabriclint.node import Unknown
from fabriclint.rule import Finding, Place, Related, Severity, rule

#: Launchers that start one process for each GPU of their own container, so that any other number is a fault.
_ONE_EACH = ("torchrun", "accelerate", "deepspeed")
#: Launchers whose number of nodes is that of the job's pods.
_PER_POD = ("torchrun", "accelerate", "srun", "deepspeed", "vllm", "sglang")

#: Launchers whose number of processes is that of the whole job.
_OVER_ALL = (*MPIRUN, "srun", "horovodrun")

#: By this a controller tells Open MPI its list of hosts.
_LIST_OF_OPENMPI = "OMPI_MCA_orte_default_hostfile"


def _certain(fact: Fact) -> int | None:
    """A number that the start text itself writes; what comes by a variable of the controller's is right by itself."""
    return fact.number if fact.place is not None and fact.place.source >= 0 else None


@rule(
    "RUN006",
    "processes-and-gpus",
    Severity.WARNING,
    on=GroupView,
    yields_to=("TRN006", "TRN008", "TCPXO026", "TCPX026", "GIB026", "POD006"),
    yields_on_line=("TRN014", "TRN025"),
)
def processes_and_gpus(group: GroupView) -> Iterator[Finding]:
    """The launcher starts as many processes as there are GPUs, on as many nodes as there are pods.

    Two ranks on one GPU end NCCL's initialization with "Duplicate GPU detected"; GPUs without a rank stay idle; a
    rendezvous for more nodes than there are pods waits until it times out. An mpirun whose list of hosts has fewer slots
    than it is to start ranks ends at once.

    Fix: write the number of GPUs of the container, or of the job's pods; or leave the number out where the launcher
    finds it itself (`--nproc-per-node=gpu`).

    Silent: counts that are not in view; chips that take several ranks each; fewer ranks than GPUs under mpirun; `--oversubscribe`; elastic ranges that hold
    the pods; workers without GPUs; options of the program behind the launcher. Trainer's own kinds: TRN014, TRN025.

    Bad: eight processes for one GPU (run-pytorchjob)
        @@ Worker:
        ~ [torchrun, train.py] => [torchrun, --nproc-per-node=8, train.py]  # <-
    Bad: six ranks on two workers of one GPU (run-mpijob)
        ~ [mpirun, -np, "2", ./reduce] => [mpirun, -np, "6", ./reduce]  # <-
    Bad: sixteen ranks on two workers of one slot (pod-mpijob)
        ~ slotsPerWorker: 8 => slotsPerWorker: 1  # <-
    Bad: a rendezvous of three nodes for two pods (run-jobset)
        ~ [python, forecast.py] => [torchrun, --nnodes=3, --nproc-per-node=1, --rdzv-backend=c10d, --rdzv-endpoint=weather-ranks-0-0.weather, forecast.py]  # <-
    Bad: a Ray worker is told of four GPUs and has one (run-raycluster)
        - rayStartParams: {}
        + rayStartParams: {num-gpus: "4"}  # <-
    Good: as many as the container has GPUs, found by torchrun, as public manifests have it (run-pytorchjob)
        @@ Worker:
        ~ [torchrun, train.py] => [torchrun, --nproc-per-node=gpu, train.py]
    Good: the program's own -n (run-mpijob)
        ~ [mpirun, -np, "2", ./reduce] => [mpirun, -np, "2", ./reduce, -n, "20"]
    Good: an elastic range that holds the pods (run-jobset)
        ~ [python, forecast.py] => [torchrun, "--nnodes=1:4", --nproc-per-node=1, --rdzv-backend=c10d, --rdzv-endpoint=weather-ranks-0-0.weather, forecast.py]
    Good: Ray workers that are to take no work on GPUs (run-raycluster)
        - rayStartParams: {}
        + rayStartParams: {num-gpus: "0"}
    Source: torch 2.15.0 distributed/run.py; Open MPI 5.0.11; NCCL init.cc (duplicate GPU)
    """
    if any(not c.one_rank_each for r in group.ranks_on for c in r.pod.main_containers if c.has_gpus):
        return
    starts = list(_starts(group))
    seen: dict[str, Finding] = {}
    said = any(launcher.processes_per_node.place is not None for _, launcher in starts)
    findings = [] if said else list(_field(group))
    findings += _told(group)
    for started, launcher in starts:
        findings += [*_processes(group, started, launcher), *_nodes(group, started, launcher)]
    for finding in findings:
        same = seen.get(finding.message)
        if same is None:
            seen[finding.message] = finding
        else:
            seen[finding.message] = same.with_(related=(*same.related, Related(finding.place, "The same here.")))
    yield from seen.values()


def _starts(group: GroupView) -> Iterator[tuple[Started, Launcher]]:
    for role in (*group.launchers, *(r for r in group.ranks_on if r.pod.is_worker)):
        for started in role.started:
            main = started.launch.main
            if main is None or (started.launch.probe and not main.launchers):
                continue
            for launcher in main.launchers:
                # Too many processes for the hosts that it names is what is looked for here.
                refused = any(not r.by and "more processes" not in r.reason for r in launcher.refusals)
                if not launcher.unclear and not refused:
                    yield started, launcher


def _processes(group: GroupView, started: Started, launcher: Launcher) -> Iterator[Finding]:
    """Processes of one container's launcher beside its GPUs, or of the whole job's beside all GPUs."""
    own = started.container.gpus
    each, in_all = _certain(launcher.processes_per_node), _certain(launcher.processes)
    if launcher.family in _ONE_EACH and isinstance(own, int) and own > 0:
        nodes = launcher.nodes.number if launcher.nodes.number is not None else group.nodes
        if launcher.family == "torchrun" or each is not None:
            if each is not None and each != own:
                yield _differs(started, launcher.processes_per_node, each, own, "its container asks for")
        elif in_all is not None and isinstance(nodes, int) and nodes > 0 and in_all != own * nodes:
            yield _differs(started, launcher.processes, in_all, own * nodes, "the job has")
        return
    total = group.gpus
    parallel = launcher.gpus
    wanted = _certain(parallel)
    if launcher.family == "ray start":
        if wanted is not None and isinstance(own, int) and own > 0 and wanted != own:
            yield _differs(started, parallel, wanted, own, "its container asks for")
        return
    if wanted is not None and launcher.family not in ("srun",) and isinstance(total, int) and 0 < total < wanted:
        place = started.place(parallel.place)
        yield Finding(
            place,
            f"{launcher.family} splits the model over {wanted} GPUs and the job has {total}; the engine ends at start.",
            f"Write sizes whose product is no more than {total}, or ask for more GPUs.",
        )
    if launcher.oversubscribe or not isinstance(total, int) or total < 1:
        return
    if isinstance(group.nodes, int) and len({host for host, _ in launcher.named}) > group.nodes:
        return  # hosts of other objects: their GPUs are not counted here
    if in_all is not None and in_all > total and launcher.family in _OVER_ALL:
        yield _differs(started, launcher.processes, in_all, total, "the job has")
    elif in_all is not None and (places := _slots(group, started, launcher)) is not None and in_all > places:
        yield _beyond_slots(group, started, launcher, in_all, places)
    elif (
        each is not None
        and launcher.family in _OVER_ALL
        and isinstance(group.gpus_per_node, int)
        and 0 < group.gpus_per_node < each
    ):
        yield _differs(started, launcher.processes_per_node, each, group.gpus_per_node, "each node has")


def _slots(group: GroupView, started: Started, launcher: Launcher) -> int | None:
    """The slots in the controller's list of hosts, where mpirun reads that list and keeps to it; None for any other."""
    listed = started.role.injected.get(_LIST_OF_OPENMPI)
    if launcher.family not in ("openmpi", "mpi") or not isinstance(listed, str) or started.role not in group.launchers:
        return None
    env = started.role.environment(started.container)
    own = (
        launcher.hosts is not None or launcher.hosts_place is not None or launcher.hostfile.value not in (None, listed)
    )
    if own or started.container.env.open or env.get(_LIST_OF_OPENMPI) != listed:
        return None
    if any("oversubscribe" in text.lower() for text in (started.container.start_text, *env)):
        return None
    if (
        launcher.processes_per_node.value is not None
        or started.launch.sourced
        or "rankfile" in started.container.start_text
    ):
        return None
    nodes, each = group.nodes, group.slots
    return nodes * each if isinstance(nodes, int) and isinstance(each, int) else None


def _beyond_slots(group: GroupView, started: Started, launcher: Launcher, ranks: int, places: int) -> Finding:
    """More ranks than the controller's list of hosts has slots."""
    nodes = group.nodes if isinstance(group.nodes, int) else 1
    wanted = -(-ranks // nodes)
    asked = started.place(launcher.processes.place)
    field = "slotsPerWorker" if group.slots_place is None else str(group.slots_place.node.key)
    # The job has a GPU for each rank: it is the slots that are too few.
    return Finding(
        group.slots_place or asked,
        f"mpirun is to start {ranks} ranks and the list of hosts has {places} slots ({nodes} nodes with {group.slots} each); it "
        "ends with 'not enough slots'.",
        f"Write '{field}: {wanted}', or start {places} ranks.",
        related=(Related(asked, f"{ranks} ranks."),) if group.slots_place is not None else (),
    )


def _field(group: GroupView) -> Iterator[Finding]:
    """The kind's own field for ranks per node beside the GPUs of a node; slots that stay free are no fault."""
    each, gpus = group.slots, group.gpus_per_node
    if not isinstance(each, int) or group.slots_place is None or not isinstance(gpus, int) or gpus < 1 or each == gpus:
        return
    if each < gpus and group.launchers:
        return
    field = str(group.slots_place.node.key)
    then = (
        "two ranks share a GPU and NCCL ends with 'Duplicate GPU detected'"
        if each > gpus
        else "the other GPUs stay idle"
    )
    yield Finding(
        group.slots_place,
        f"'{field}' says {each} process{'es' if each != 1 else ''} a node and each node's container asks for {gpus} "
        f"GPU{'s' if gpus != 1 else ''}; {then}.",
        f"Write {gpus}, or ask for {each} GPUs.",
    )


def _told(group: GroupView) -> Iterator[Finding]:
    """A field that tells the program of other GPUs than its pods have; none at all is meant to keep work away."""
    for role in group.roles:
        node, container = role.told_gpus, role.container
        if node is None or node.open or not node.text.isdecimal() or container is None or container.resources_open:
            continue
        told, own = int(node.text[:6]), container.gpus
        if not isinstance(own, int) or own < 1 or told in (0, own):
            continue
        then = (
            "more work is placed on the GPUs than they can take"
            if told > own
            else f"{own - told} of the GPUs stay idle"
        )
        yield Finding(
            Place(node),
            f"'{node.key}' says {told} GPU{'s' if told != 1 else ''} and the container '{container.name}' asks for {own}; {then}.",
            f"Leave '{node.key}' out, or write {own}.",
        )


def _differs(started: Started, fact: Fact, said: int, gpus: int, whose: str) -> Finding:
    more = said > gpus
    what = f"{said} process{'es' if said != 1 else ''} {'are' if said != 1 else 'is'} started"
    then = (
        "two ranks share a GPU and NCCL ends with 'Duplicate GPU detected'"
        if more
        else f"{gpus - said} of the GPUs stay idle"
    )
    return Finding(
        started.place(fact.place),
        f"{what} and {whose} {gpus} GPU{'s' if gpus != 1 else ''}; {then}.",
        f"Start {gpus}, or ask for {said} GPUs.",
    )


def _nodes(group: GroupView, started: Started, launcher: Launcher) -> Iterator[Finding]:
    """Nodes that the launcher waits for, beside the pods that run ranks."""
    value = launcher.nodes.value
    pods = group.nodes
    if launcher.family not in _PER_POD or launcher.nodes.place is None or launcher.nodes.place.source < 0:
        return
    if isinstance(pods, Unknown) or pods < 1 or isinstance(value, Unknown) or value is None or isinstance(value, str):
        return
    low, high = value if isinstance(value, tuple) else (value, value)
    if pods == 1 and _elsewhere(group, launcher.host.string):
        return  # the other ranks may well be another object's
    if low <= pods <= high:
        return
    shown = f"{low}" if low == high else f"{low} to {high}"
    if pods < low:
        then = "the rendezvous waits for the rest and times out"
    else:
        then = "the pods beyond it are turned away, or start a job of their own"
    yield Finding(
        started.place(launcher.nodes.place),
        f"{launcher.family} is told of {shown} node{'s' if high != 1 else ''} and the job has {pods} pod{'s' if pods != 1 else ''} with ranks; {then}.",
        f"Write {pods}, or change the number of pods.",
        related=tuple(Related(r.count_place, "The number of pods.") for r in group.ranks_on[:1]),
    )


def _elsewhere(group: GroupView, host: str | None) -> bool:
    """Whether the ranks meet at a name that is neither this host's own nor that of one of the job's pods."""
    if host is None or host in ("localhost", "127.0.0.1", "::1"):
        return False
    label = host.split(".")[0]
    return label not in group.services and all(hosts.has(label) is False for _, hosts in group.hosts())
