"""RUN: which of the variables in the file the ranks get, and whose value counts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fabriclint.group import GroupView, RoleGroup
from fabriclint.group.started import Started, options_seen
from fabriclint.launch import Launcher
from fabriclint.launch.commands import MPIRUN
from fabriclint.node import UNKNOWN, Unknown
from fabriclint.pod import ContainerView, Variable
from fabriclint.rule import Finding, Place, Related, Severity, rule
from fabriclint.workload import PodRole
from fabriclint_rules.alike import together

#: What NCCL, libfabric and the loader read in the ranks.
_READ_BY_RANKS = ("NCCL_", "FI_", "LD_LIBRARY_PATH")
#: Makes of mpirun, by the variables that a controller sets for each.
_PREPARED = {"openmpi": ("OMPI_MCA_",), "hydra": ("I_MPI_", "HYDRA_")}
#: UCX's transports that do not leave the host.
_INSIDE = frozenset(("self", "sm", "shm", "mm", "posix", "sysv", "cma", "cuda_copy", "cuda_ipc"))
#: Variables of a controller on which nothing hangs.
_HARMLESS = frozenset(("PYTHONUNBUFFERED",))


@rule(
    "RUN009",
    "environment-not-forwarded",
    Severity.WARNING,
    on=GroupView,
    yields_to=("TRN001",),
    yields_on_line=("RUN004", "EFA006", "NCCL001"),
)
def environment_not_forwarded(group: GroupView) -> Iterator[Finding]:
    """What the launcher sets for NCCL reaches the ranks on the other pods.

    Open MPI hands nothing of its environment on but what `-x` names, one name at a time; deepspeed over pdsh only names
    that begin with NCCL, PYTHON, UCX, MLFLOW and MV2. A variable that stays with the launcher has no effect: the ranks
    run with NCCL's own choice, often TCP.

    Where sshd starts the ranks, their pods' own env does not reach them either. An mpirun of which nothing tells the make is
    the one that the operator prepares for (`mpiImplementation`, Open MPI by default).

    Fix: `-x NAME` for each variable, or set it where the ranks start.

    Silent: hydra and srun, which hand everything on; an mpirun whose make, or options, are not seen; workers that set it
    themselves, that hand their own env to sshd, or whose start is a script; jobs of one pod; an mpirun that stays in its pod.

    Bad: set and not named (run-mpijob)
        - command: [mpirun, -np, "2", ./reduce]
        + command: [mpirun, -np, "2", ./reduce]
        + env:
        +   - name: NCCL_ALGO
        +     value: Ring  # <-
    Bad: one of two is named (run-mpijob)
        - command: [mpirun, -np, "2", ./reduce]
        + command: [mpirun, -np, "2", -x, NCCL_DEBUG, ./reduce]
        + env:
        +   - name: NCCL_DEBUG
        +     value: WARN
        +   - name: NCCL_PROTO
        +     value: Simple  # <-
    Bad: two names in one -x (run-mpijob)
        - command: [mpirun, -np, "2", ./reduce]
        + command: [mpirun, -np, "2", -x, "NCCL_ALGO,NCCL_PROTO", ./reduce]
        + env:
        +   - name: NCCL_ALGO
        +     value: Ring  # <-
    Bad: in the env of workers whose ranks sshd starts (run-mpijob)
        @@ Worker:
        - - name: worker
        + - name: worker
        +   env:
        +     - name: NCCL_ALGO
        +       value: Ring  # <-
    Bad: the launcher of a Volcano Job (run-volcano-mpi)
        @@ name: launcher
        - - name: main
        + - name: main
        +   env:
        +     - name: LD_LIBRARY_PATH
        +       value: /opt/nccl/lib  # <-
    Bad: a leader that starts ranks in the rest of its group (run-lws-mpi)
        @@ leaderTemplate
        - - name: engine
        + - name: engine
        +   env:
        +     - name: NCCL_ALGO
        +       value: Ring  # <-
    Bad: a launcher of Trainer's MPI runtime (trainer-mpi)
        - command: [mpirun, -np, "32", python, train.py]
        + command: [mpirun, -np, "32", python, train.py]
        + env:
        +   - name: NCCL_ALGO
        +     value: Ring  # <-
    Good: each by its name, as public manifests have it (run-mpijob)
        - command: [mpirun, -np, "2", ./reduce]
        + command: [mpirun, -np, "2", -x, NCCL_ALGO, ./reduce]
        + env:
        +   - name: NCCL_ALGO
        +     value: Ring
    Good: the implementation is Intel's, which hands everything on (run-mpijob)
        ~ slotsPerWorker: 1 => mpiImplementation: Intel
        - command: [mpirun, -np, "2", ./reduce]
        + command: [mpirun, -np, "2", ./reduce]
        + env:
        +   - name: NCCL_ALGO
        +     value: Ring
    Good: an MPIJob without sshd gives its workers their own env (run-mpijob-exec)
        @@ Worker:
        - - name: worker
        + - name: worker
        +   env:
        +     - name: NCCL_ALGO
        +       value: Ring
    Good: hydra hands everything on (run-mpijob)
        - command: [mpirun, -np, "2", ./reduce]
        + command: [mpiexec.hydra, -np, "2", ./reduce]
        + env:
        +   - name: NCCL_ALGO
        +     value: Ring
    Good: ranks in the pods themselves (run-pytorchjob)
        @@ Worker:
        - command: [torchrun, train.py]
        + command: [torchrun, train.py]
        + env:
        +   - name: NCCL_ALGO
        +     value: Ring
    Source: Open MPI 4.1 and 5.0; MPICH; deepspeed 0.19 launcher/multinode_runner.py; kubeflow/mpi-operator#429
    """
    if group.multi_node is not True:
        return
    workers = [r for r in group.ranks_on if r.pod.is_worker]
    if not workers or any(r.pod.hands_env_to_ssh or r.pod.workload.runtime_alone for r in workers):
        return
    for role in (*group.launchers, *(r for r in workers if r.pod.role is not PodRole.LAUNCHER)):
        for started in role.started:
            launcher = started.launch.launcher
            if launcher is None or launcher.unclear or launcher.refused or started.launch.open:
                continue
            if role in workers and role not in group.launchers and not _leads(role, launcher):
                continue
            family, forwards = _handing(role, started, launcher)
            if forwards not in ("all", "listed", "patterns") or not options_seen(started):
                continue
            others = [r for r in workers if r.pod is not role.pod]
            yield from _lost(family, forwards, role, started, launcher, others, group.ssh)


def _lost(
    family: str,
    forwards: str,
    role: RoleGroup,
    started: Started,
    launcher: Launcher,
    workers: list[RoleGroup],
    ssh: bool,
) -> Iterator[Finding]:
    """The variables of the launcher, and of workers whose ranks sshd starts, that no rank on another pod gets."""
    # A script may call the launcher several times, to wait for the workers first: a name that one call hands on is no slip.
    calls = [one for program in started.launch.programs for one in program.launchers]
    passed = [f.name for one in (launcher, *calls) for f in one.forwarded if f.works is not False]
    own = started.container.seen_env

    def handed(name: str) -> bool:
        if name in passed or any(p.endswith("*") and name.startswith(p[:-1]) for p in passed):
            return True
        return bool(launcher.prefixes) and name.startswith(launcher.prefixes)

    lost: list[Variable] = []
    if forwards != "all":
        lost = [
            v
            for v in own.starting(*_READ_BY_RANKS)
            if v.origin in ("env", "export") and not handed(v.name) and not any(_has(r, v.name) for r in workers)
        ]
    names = {v.name for v in lost}
    # What stands on the workers is lost where sshd starts the ranks, unless the launcher hands its own on.
    asleep = [r for r in workers if ssh and _by_sshd(r)]
    beside = [
        v
        for r in asleep
        for c in (r.container,)
        if c is not None
        for v in c.env.starting(*_READ_BY_RANKS)
        if v.origin == "env" and not handed(v.name) and not _exports(r, v.name)
    ]
    if forwards == "all":
        beside = [] if own.open or started.launch.unseen else [v for v in beside if v.name not in own]
    if not lost and len(asleep) < len(workers):
        beside = []
    only = list(dict.fromkeys(v.name for v in beside if v.name not in names))
    if not lost and not only:
        return
    listed = list(dict.fromkeys(v.name for v in lost)) or only
    shown = ", ".join(f"'{n}'" for n in listed[:4]) + (f" and {len(listed) - 4} more" if len(listed) > 4 else "")
    one = len(listed) == 1
    first, *rest = [*lost, *beside]
    if lost:
        what = f"{family} does not hand {shown} to its ranks; {'it has' if one else 'they have'} no effect on the other pods."
    else:
        what = (
            f"sshd starts the ranks and does not give them {shown} of their pods' env; {'it has' if one else 'they have'} no "
            "effect."
        )
    values = {v.name: v.value for v in reversed([*lost, *beside])}
    options = [f"-x {n}" if n in names else f"-x {n}={_word(values[n])}" for n in listed[:4]]
    if family == "openmpi":
        edit = f"Name {'it' if one else 'each'} for the launcher: {' '.join(options)}."
    elif lost:
        edit = "Set it where the ranks start."
    else:
        edit = f"Set {'it' if one else 'them'} in the launcher's env, which {family} hands on."
    yield Finding(first.place, what, edit, related=tuple(Related(v.place, "This one too.") for v in rest))


def _word(value: str | Unknown | None) -> str:
    return value if isinstance(value, str) and value and not re.search(r"[\s'\"$]", value) else "..."


def _leads(role: RoleGroup, launcher: Launcher) -> bool:
    """Whether a pod with ranks of its own starts others on other hosts: it names them, or starts more than it has GPUs."""
    if launcher.family not in MPIRUN or role.pods != 1:
        return False
    processes, gpus = launcher.processes.number, role.gpus
    more = processes is not None and isinstance(gpus, int) and processes > gpus > 0
    return more or len({host for host, _ in launcher.named}) > 1


def _handing(role: RoleGroup, started: Started, launcher: Launcher) -> tuple[str, str | Unknown]:
    """The launcher's make and what it hands on; an mpirun of unknown make is the one that the controller prepares for."""
    if launcher.family != "mpi":
        return launcher.family, launcher.forwards
    if started.container.env.open or started.launch.unseen:
        return launcher.family, UNKNOWN
    values = role.environment(started.container)
    makes = {make for make, prefix in _PREPARED.items() if any(n.startswith(prefix) for n in values)}
    if "OMPI_MCA_mca_base_env_list" in values or len(makes) != 1:
        return launcher.family, UNKNOWN
    return ("openmpi", "listed") if makes == {"openmpi"} else ("hydra", "all")


def _by_sshd(role: RoleGroup) -> bool:
    """Whether a worker is seen to start sshd, and nothing else that may hand its env on."""
    container, started = role.container, role.start
    if container is None or started is None:
        return False
    if not container.words:
        return "sshd" in (role.default_start or "")
    launch = started.launch
    if launch.hidden or launch.sourced:
        return False
    return "sshd" in container.start_text and not any(p.launchers for p in launch.programs)


def _has(role: RoleGroup, name: str) -> bool:
    """Whether a worker's ranks have a variable by its own start text or, where sshd does not stand between, its env."""
    if _exports(role, name):
        return True
    own = role.container.env if role.container is not None else None
    return name in role.pod.ranks_env or (own is not None and (name in own or own.open) and not _by_sshd(role))


def _exports(role: RoleGroup, name: str) -> bool:
    return any(name in c.start_text for c in role.pod.main_containers)


@rule(
    "RUN017",
    "variable-replaced",
    Severity.WARNING,
    on=GroupView,
    also=(Severity.NOTE,),
    yields_on_line=("TRN014", "DOC003", "DOC008", "RUN004", "RUN016"),
)
def variable_replaced(group: GroupView) -> Iterator[Finding]:
    """The variables that the controller sets are left to it.

    Most controllers append theirs to the container's list, where the last one counts: an address, a rank or a number of
    processes in the file is dead text, and the job does not do what the file says. Where the file wins, each pod gets
    the same value. Trainer writes over what the runtime says.

    Fix: remove the variable, and use the kind's own field for the count.

    Silent: the same value as the controller's, also by a field of the pod that holds it; containers that the controller does not touch; variables that it does not
    set for this shape. A value that is not known, or on which nothing hangs, is a note.

    Bad: an address of its own (run-pytorchjob)
        @@ Worker:
        - command: [torchrun, train.py]
        + command: [torchrun, train.py]
        + env:
        +   - name: MASTER_ADDR
        +     value: head.vision  # <-
    Bad: a rank that is replaced (run-volcano)
        @@ name: worker
        - command: [python, train.py]
        + command: [python, train.py]
        + env:
        +   - name: RANK
        +     value: "1"  # <-
    Bad: the size of the group (run-leaderworkerset)
        - command: [serve-engine]
        + command: [serve-engine]
        + env:
        +   - name: LWS_GROUP_SIZE
        +     value: "8"  # <-
    Bad: a count that Trainer writes over (trainer-torch)
        - command: [torchrun, train.py]
        + command: [torchrun, train.py]
        + env:
        +   - name: PET_NNODES
        +     value: "4"  # <-
    Good: the count that the TrainJob has (trainer-torch)
        - command: [torchrun, train.py]
        + command: [torchrun, train.py]
        + env:
        +   - name: PET_NNODES
        +     value: "2"
    Good: the controller's own value (run-pytorchjob)
        @@ Worker:
        - command: [torchrun, train.py]
        + command: [torchrun, train.py]
        + env:
        +   - name: MASTER_ADDR
        +     value: captions-master-0
    Good: nobody sets it here (run-jobset)
        - command: [python, forecast.py]
        + command: [python, forecast.py]
        + env:
        +   - name: MASTER_ADDR
        +     value: weather-ranks-0-0.weather
    Good: a name of its own (run-leaderworkerset)
        - command: [serve-engine]
        + command: [serve-engine]
        + env:
        +   - name: GROUP_SIZE
        +     value: "8"
    Source: kubeflow/trainer@c77ee3f pkg/controller.v1; kubeflow/mpi-operator@101db14 pkg/controller;
    kubernetes-sigs/lws@2161f38 pkg/utils/pod; volcano-sh/volcano@0a56ed3 pkg/controllers/job/plugins
    """
    yield from together(_variables_replaced(group))


def _variables_replaced(group: GroupView) -> Iterator[Finding]:
    for role in group.roles:
        yield from _overwritten(group, role)
        if role.pod.workload.landing is not None or role.pod.workload.runtime_alone:
            continue
        for container in role.reached:
            for name, value in role.injected.items():
                own = container.env.get(name)
                if own is None or own.origin != "env":
                    continue
                finding = _replaced(group, role, container, own, value)
                if finding is not None:
                    yield finding


def _overwritten(group: GroupView, role: RoleGroup) -> Iterator[Finding]:
    """Variables of a runtime in whose place the controller writes its own."""
    for own in role.overwritten:
        value = role.injected.get(own.name)
        if isinstance(own.value, Unknown) or own.value == value:
            continue
        theirs = _shown(value)
        # A word such as `auto` becomes a number in the pod, which may well be the file's.
        sure = value is None or (isinstance(value, str) and not value.isalpha())
        yield Finding(
            own.place,
            f"'{own.name}' ('{own.value}') has no effect: {group.maker} writes its own{theirs} in its place.",
            "Remove it; give counts as numNodes and numProcPerNode.",
            Severity.WARNING if sure else Severity.NOTE,
        )


def _shown(value: str | Unknown | None) -> str:
    """A value in a sentence; nothing where it is not known, or too long for one."""
    return f" ('{value}')" if isinstance(value, str) and value and len(value) <= 60 else ""


def _replaced(
    group: GroupView, role: RoleGroup, container: ContainerView, own: Variable, value: str | Unknown | None
) -> Finding | None:
    """What becomes of a variable that both set."""
    known = isinstance(own.value, str)
    if (isinstance(value, str) and known and value == own.value) or role.same_by_field(own):
        return None
    shown = f"'{own.name}'" + (f" ('{own.value}')" if known and len(str(own.value)) <= 60 else "")
    if role.beats(own.name):
        differs = known and not isinstance(value, Unknown) and own.name not in _HARMLESS
        theirs = _shown(value)
        return Finding(
            own.place,
            f"{shown} has no effect: {group.maker} sets it{theirs} after the file's value.",
            "Remove it.",
            Severity.WARNING if differs else Severity.NOTE,
        )
    if not known or value is not None:
        return None
    return Finding(
        own.place,
        f"{shown} is kept in place of the value that {group.maker} sets for each pod; all pods get the same.",
        "Remove it.",
        Severity.NOTE,
    )


@rule("RUN021", "ucx-stays-inside", Severity.WARNING, on=GroupView, yields_on_line=("RUN009",))
def ucx_stays_inside(group: GroupView) -> Iterator[Finding]:
    """UCX has a transport that leaves the host where the ranks stand on several.

    UCX_TLS is the whole list of what UCX may use. With shared memory and CUDA copies alone, the first message to another
    pod ends with "no usable transports" or "Destination is unreachable".

    Fix: add a network's transport (rc, ud, dc, or tcp), or leave the variable out.

    Silent: lists of what is not to be used (`^tcp`); jobs of one pod; the pods' own env where sshd starts the ranks.

    Bad: shared memory alone (run-pytorchjob)
        @@ Worker:
        - command: [torchrun, train.py]
        + command: [torchrun, train.py]
        + env:
        +   - name: UCX_TLS
        +     value: self,sm,cuda_copy,cuda_ipc  # <-
    Bad: by mpirun (run-mpijob)
        ~ [mpirun, -np, "2", ./reduce] => [mpirun, -np, "2", -x, "UCX_TLS=sm,self", ./reduce]  # <-
    Bad: in the start text (run-jobset)
        ~ [python, forecast.py] => [bash, -c, "export UCX_TLS=shm,self; python forecast.py"]  # <-
    Good: a network's transport (run-pytorchjob)
        @@ Worker:
        - command: [torchrun, train.py]
        + command: [torchrun, train.py]
        + env:
        +   - name: UCX_TLS
        +     value: self,sm,rc_x,cuda_copy
    Good: TCP, as public manifests have it (run-mpijob)
        ~ [mpirun, -np, "2", ./reduce] => [mpirun, -np, "2", -x, "UCX_TLS=tcp,self,sm", ./reduce]
    Good: what is not to be used (run-jobset)
        ~ [python, forecast.py] => [bash, -c, "export UCX_TLS=^shm,self; python forecast.py"]
    Good: sshd does not hand it on (run-mpijob)
        - - name: worker
        + - name: worker
        +   env:
        +     - name: UCX_TLS
        +       value: self,sm
    Source: openucx/ucx src/ucp/core/ucp_context.c (UCX_TLS); NVIDIA/nccl-tests#65
    """
    if group.multi_node is not True:
        return
    seen: dict[tuple[int, bool], Place] = {}
    for role in group.ranks_on:
        if not role.pod.is_worker:
            continue
        variable = role.pod.ranks_env.get("UCX_TLS")
        if variable is None or not isinstance(variable.value, str) or variable.value.startswith("^"):
            continue
        names = [n for n in re.split(r"[,\s]+", variable.value.strip()) if n]
        if names and all(n in _INSIDE for n in names) and (id(variable.place.node), True) not in seen:
            seen[id(variable.place.node), True] = variable.place
    if seen:
        first, *rest = seen.values()
        yield Finding(
            first,
            "UCX_TLS names only transports inside one host, and the ranks stand on several pods; UCX finds no way to the "
            "others and ends.",
            "Add a network's transport (rc, ud, dc or tcp), or leave UCX_TLS out.",
            related=tuple(Related(p, "The same here.") for p in rest),
        )
