"""RUN: a container's own command that keeps away what the operator needs in it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fabriclint.group import GroupView, RoleGroup
from fabriclint.group.started import BY_SSH, Started
from fabriclint.launch import Certainty, read_launch
from fabriclint.launch.word import Word
from fabriclint.node import UNKNOWN
from fabriclint.rule import Finding, Place, Related, Severity, rule
from fabriclint.workload import PodRole

#: Operands by which sleep does not end while the job runs.
_EVER = re.compile(r"inf(inity)?|\d+d|\d{6,}s?|\d{5,}[mh]")


@rule(
    "RUN023",
    "operator-start-displaced",
    Severity.WARNING,
    on=GroupView,
    yields_to=("RUN007", "RUN016"),
    yields_on_line=("RUN005", "DOC003", "DOC004"),
)
def operator_start_displaced(group: GroupView) -> Iterator[Finding]:
    """A container's own command leaves room for what has to run there: sshd for mpirun, Ray for a Ray cluster.

    mpirun starts its ranks through sshd. The mpi-operator starts sshd in workers that have neither command nor args;
    Volcano, JobSet and LeaderWorkerSet never do. KubeRay puts `ray start` behind the container's own command, joined by `&&`: it runs when
    that command has ended well. A `sleep infinity`, there to keep the pod alive, keeps away the one thing that the pod is
    for: the launcher finds no host, or the cluster stays without nodes.

    Fix: remove command and args, or start sshd (or `ray start`) in them.

    Silent: commands that are scripts, programs that are not known, and images that decide; commands that name ssh or end;
    jobs whose launcher is not seen to use ssh, or has an agent of its own; workers that are reached without sshd; Ray
    commands that hold `ray start`, or that an annotation leaves alone.

    Bad: a worker that only sleeps (run-mpijob)
        @@ Worker:
        - - name: worker
        + - name: worker
        +   command: [sleep, infinity]  # <-
    Bad: by its args (run-mpijob)
        @@ Worker:
        - - name: worker
        + - name: worker
        +   args: [tail, -f, /dev/null]  # <-
    Bad: the ranks of a Volcano Job wait for mpirun (run-volcano-mpi)
        @@ name: rank
        - command: ...
        + command: [sh, -c, "echo ready; sleep infinity"]  # <-
    Bad: the pods of a JobSet that its launcher names (run-jobset-mpi)
        ~ [/usr/sbin/sshd, -D] => [sleep, infinity]  # <-
    Bad: the nodes of Trainer's MPI runtime (trainer-mpi)
        - command: [/usr/sbin/sshd, ...]
        + command: [tail, -f, /dev/null]  # <-
    Bad: the rest of a leader's group (run-lws-mpi)
        ~ [/usr/sbin/sshd, -D] => [sleep, infinity]  # <-
    Bad: Ray workers that sleep first (run-raycluster)
        @@ workerGroupSpecs
        - - name: worker
        + - name: worker
        +   command: [sleep, infinity]  # <-
    Bad: the head of a RayJob (run-rayjob)
        @@ headGroupSpec
        @@ - name
        +   args: [tail, -F, /var/log/ray.log]  # <-
    Good: sshd is started (run-mpijob)
        @@ Worker:
        - - name: worker
        + - name: worker
        +   command: [sh, -c, "mkdir -p /run/sshd; /usr/sbin/sshd -D"]
    Good: a script may start it (run-mpijob)
        @@ Worker:
        - - name: worker
        + - name: worker
        +   command: [/opt/worker.sh]
    Good: workers that are reached without sshd may sleep (run-mpijob-exec)
        @@ Worker:
        - - name: worker
        + - name: worker
        +   command: [sleep, 365d]
    Good: a task whose script may start it (run-volcano-mpi)
        @@ name: rank
        - command: ...
        + command: [bash, /opt/rank.sh]
    Good: a node's own sshd, and a wait behind it (trainer-mpi)
        - command: [/usr/sbin/sshd, ...]
        + command: [bash, -c, "/usr/sbin/sshd -f /home/mpiuser/.sshd_config && sleep infinity"]
    Good: a group whose leader names no other pod (run-lws-mpi)
        ~ -H, "poems-0.poems,poems-0-1.poems" => -H, localhost
        ~ [/usr/sbin/sshd, -D] => [sleep, infinity]
    Good: a command that ends before Ray starts (run-raycluster)
        @@ workerGroupSpecs
        - - name: worker
        + - name: worker
        +   command: [ldconfig]
    Good: Ray is started by hand (run-raycluster)
        @@ workerGroupSpecs
        - - name: worker
        + - name: worker
        +   command: [bash, -c, "ray start --address=search-head-svc:6379; sleep infinity"]
    Source: kubeflow/mpi-operator@101db14 pkg/controller/mpi_job_controller.go; ray-project/kuberay@59d663a
    ray-operator/controllers/ray/common/pod.go; volcano-sh/volcano@0a56ed3 pkg/controllers/job/plugins/distributed-framework/mpi
    """
    yield from _without_sshd(group)
    for role in group.roles:
        if role.joined:
            yield from _before_ray(group, role)


def _without_sshd(group: GroupView) -> Iterator[Finding]:
    """Workers that are seen to do nothing but wait, beside an mpirun that is to reach them."""
    calling = next((s for r in group.roles for s in r.started if _calls(s)), None)
    if calling is None:
        return
    waiting = [
        s for r in group.roles if r.pod.role is PodRole.WORKER for s in (r.start,) if s is not None and _waits(s)
    ]
    waiting = [s for s in waiting if s.role.all_pods != 0 and (group.ssh or _named(calling, s.role))]
    if not waiting:
        return
    first, *rest = waiting
    launcher = calling.launch.launcher
    by = "mpirun" if launcher is None or launcher.family != "horovodrun" else "horovodrun"
    own = next((s.role.default_start for s in waiting if s.role.default_start), None)
    word = first.launch.programs[-1].invocation.words[0]
    yield Finding(
        first.place(word.place),
        f"The workers run '{word.raw}' and no sshd; {by} does not reach them and no rank starts.",
        f"Remove the command and args: {group.maker} starts '{own}' then." if own else "Start '/usr/sbin/sshd -D'.",
        related=(
            *(Related(s.place(s.launch.programs[-1].invocation.words[0].place), "Here too.") for s in rest),
            Related(_called(calling), f"{by} is to reach them."),
        ),
    )


def _named(calling: Started, role: RoleGroup) -> bool:
    """Whether the launcher is seen to name pods of the role as its hosts, where the kind itself has no launcher."""
    main, launcher = calling.launch.main, calling.launch.launcher
    if main is None or launcher is None or main.invocation.certainty <= Certainty.MAYBE or role.hosts is None:
        return False
    return any(role.hosts.has(host.split(".")[0]) is True for host, _ in launcher.hosts or ())


def _called(started: Started) -> Place:
    main = started.launch.main
    return started.place(main.invocation.words[0].place) if main is not None else started.container.name_place


def _calls(started: Started) -> bool:
    """Whether a container is seen to start ranks elsewhere by ssh."""
    launcher = started.launch.launcher
    if launcher is None or launcher.family not in BY_SSH or launcher.unclear or launcher.refused:
        return False
    if any("rsh_agent" in name or "launch_agent" in name for name in launcher.options):
        return False
    if any(w.raw in ("-launcher", "-bootstrap", "-launcher-exec", "-bootstrap-exec") for w in launcher.words):
        return False
    named = started.role.environment(started.container)
    return not any("rsh_agent" in name or name.rpartition("HYDRA_")[2] == "BOOTSTRAP" for name in named)


def _waits(started: Started) -> bool:
    launch = started.launch
    if not started.container.words or not launch.programs or not launch.idle or launch.sourced:
        return False
    if launch.hidden or any(
        "ssh" in c.start_text or "dropbear" in c.start_text for c in started.role.pod.main_containers
    ):
        return False
    return started.container.node.at("lifecycle") is None


def _before_ray(group: GroupView, role: RoleGroup) -> Iterator[Finding]:
    """A command that does not end, in front of the controller's own start."""
    container = role.container
    if container is None or any(w.open or not isinstance(w.value, str) for w in container.words):
        return
    texts = [w.text for w in container.words]
    env = container.env
    launch = read_launch(
        ["bash", "-c", " ".join(texts)],
        lambda name: env.value(name) if name in env else UNKNOWN,
    )
    if launch.open or launch.refused:
        return
    for program in launch.programs:
        words = program.invocation.words
        if program.invocation.certainty is Certainty.MAYBE or program.invocation.background:
            return
        if not _ends(words):
            at = next((n for n in container.words if words[0].raw in n.text), container.words[0])
            yield Finding(
                Place(at),
                f"'{' '.join(w.raw for w in words)}' does not end, and {group.maker} runs '{role.default_start}' behind it by "
                "'&&'; Ray never starts in this pod.",
                "Remove the command: Ray keeps the container running.",
            )
            return


def _ends(words: list[Word]) -> bool:
    """Whether a program is not seen to run for ever."""
    name, rest = words[0].raw.rsplit("/", 1)[-1], [w.raw for w in words[1:]]
    if name == "sleep":
        return not any(_EVER.fullmatch(w) for w in rest)
    if name == "tail":
        return not any(w.startswith("--follow") or re.fullmatch(r"-[a-zA-Z]*[fF][a-zA-Z]*", w) for w in rest)
    return name != "sshd" or not any(w.startswith("-D") for w in rest)
