"""Launchers that only need a few options: srun, horovodrun, ray."""

from __future__ import annotations

from fabriclint.launch.facts import Fact, Forwarded, Launcher, hosts_in, integer
from fabriclint.launch.options import parse
from fabriclint.launch.word import HOLE, Word, text_of
from fabriclint.node import UNKNOWN

SRUN_VALUED = {
    "-N": "nodes",
    "--nodes": "nodes",
    "-n": "ntasks",
    "--ntasks": "ntasks",
    "--ntasks-per-node": "ntasks_per_node",
    "--export": "export",
    "-c": "cpus",
    "--cpus-per-task": "cpus",
    "-G": "gpus",
    "--gpus": "gpus",
    "--gpus-per-node": "gpus_per_node",
    "--gpus-per-task": "gpus_per_task",
    "--gres": "gres",
    "-p": "partition",
    "--partition": "partition",
    "-w": "nodelist",
    "--nodelist": "nodelist",
    "-t": "time",
    "--time": "time",
    "-J": "name",
    "--job-name": "name",
    "-o": "output",
    "--output": "output",
    "-e": "error",
    "--error": "error",
    "--mpi": "mpi",
    "--cpu-bind": "bind",
    "--mem": "mem",
    "-D": "chdir",
    "--chdir": "chdir",
    "--container-image": "image",
    "--container-mounts": "mounts",
    "--container-name": "container",
    "--container-workdir": "workdir",
    "-A": "account",
    "--account": "account",
    "--jobid": "jobid",
    "--kill-on-bad-exit": "kill",
    "-x": "exclude",
    "--exclude": "exclude",
    "-m": "distribution",
    "--distribution": "distribution",
    "--gpu-bind": "gpu_bind",
    "--network": "network",
}
SRUN_FLAGS = {
    f: f
    for f in (
        "-l",
        "--label",
        "--exclusive",
        "--overlap",
        "-u",
        "--unbuffered",
        "--container-mount-home",
        "--no-container-mount-home",
        "-K",
        "-v",
        "-Q",
        "--pty",
        "-O",
        "--overcommit",
        "--no-container-entrypoint",
        "--container-writable",
        "-s",
        "--oversubscribe",
    )
}


def srun(words: list[Word]) -> Launcher:
    """Read the words behind `srun` (Slurm's manual)."""
    made = Launcher("srun", words)
    got = parse(words, SRUN_VALUED, SRUN_FLAGS)
    made.inner = got.rest
    if got.unclear or got.errors:
        made.forget()
        made.forwards = UNKNOWN
        return made

    def say(name: str) -> Fact:
        value = got.values.get(name)
        return integer(value[0], value[1]) if value else Fact()

    nodes = say("nodes")
    if isinstance(nodes.value, str):
        low, _, high = nodes.value.partition("-")
        nodes = Fact((int(low[:6]), int(high[:6])) if low.isdigit() and high.isdigit() else UNKNOWN, nodes.place)
    made.nodes, made.processes, made.processes_per_node = nodes, say("ntasks"), say("ntasks_per_node")
    made.gpus = say("gpus")
    for fact in (made.processes, made.processes_per_node, made.gpus):
        if isinstance(fact.value, str):
            made.unclear = True
    if made.processes.value is None and isinstance(nodes.value, int):
        per = made.processes_per_node.value
        if per is None or isinstance(per, int):
            made.processes = Fact(nodes.value * (per if isinstance(per, int) else 1), nodes.place)
    export = got.values.get("export")
    if export:
        text, place = export
        if HOLE in text:
            made.forwards = UNKNOWN
            return made
        made.forwards = "listed"
        for entry in text.split(","):
            name, equals, value = entry.partition("=")
            if name.upper() == "ALL" and not equals:
                made.forwards = "all"
            elif name and (name.upper() != "NONE" or equals):
                made.forwarded.append(Forwarded(name, text_of(value) if equals else None, place, "export"))
    return made


HOROVOD_VALUED = {
    "-np": "np",
    "--num-proc": "np",
    "-H": "hosts",
    "--hosts": "hosts",
    "-hostfile": "hostfile",
    "--hostfile": "hostfile",
    "-p": "ssh_port",
    "--ssh-port": "ssh_port",
    "--mpi-args": "mpi_args",
    "--network-interfaces": "nics",
    "--min-np": "min",
    "--max-np": "max",
    "--min-num-proc": "min",
    "--max-num-proc": "max",
    "--slots-per-host": "slots",
    "--host-discovery-script": "discovery",
    "--start-timeout": "timeout",
    "--output-filename": "output",
    "-i": "identity",
    "--fusion-threshold-mb": "fusion",
    "--cycle-time-ms": "cycle",
    "--cache-capacity": "cache",
    "--log-level": "log",
    "--timeline-filename": "timeline",
    "--config-file": "config",
    "--reset-limit": "reset",
    "--slots": "slots",
}
HOROVOD_FLAGS = {
    f: f
    for f in (
        "--gloo",
        "--mpi",
        "--jsrun",
        "--verbose",
        "--disable-cache",
        "--tcp",
        "--hierarchical-allreduce",
        "--autotune",
        "-v",
        "-cb",
        "--check-build",
        "-h",
        "--help",
        "--no-stall-check",
        "--log-with-timestamp",
    )
}


def horovodrun(words: list[Word]) -> Launcher:
    """Read the words behind `horovodrun` (horovod 0.28.1 runner/launch.py)."""
    made = Launcher("horovodrun", words, forwards=UNKNOWN)
    got = parse(words, HOROVOD_VALUED, HOROVOD_FLAGS, prefixes=False)
    made.inner = got.rest
    for text, reason, place in got.errors:
        made.refuse(text, reason, place)
    if got.unclear:
        made.forget()
        return made
    if "np" in got.values:
        made.processes = integer(*got.values["np"])
    elif not got.errors:
        made.refuse("", "the number of processes (-np) is missing", None)
    if "hosts" in got.values and HOLE not in got.values["hosts"][0]:
        text, place = got.values["hosts"]
        entries = [e.partition(":") for e in text.split(",") if e]
        made.hosts = [(h, int(n[:6]) if n.isdigit() else None) for h, _, n in entries]
        made.hosts_place, made.nodes = place, Fact(len(made.hosts), place)
        made.named += hosts_in(Word(text, *place))
    if "hostfile" in got.values:
        text, place = got.values["hostfile"]
        made.hostfile = Fact(UNKNOWN if HOLE in text else text, place)
    return made


def ray(words: list[Word]) -> Launcher | None:
    """Read the words behind `ray`: start, job submit; None for its other commands (ray 2.60.0 scripts)."""
    if not words or words[0].raw not in ("start", "job"):
        return None
    rest = words[1:]
    if words[0].raw == "job":
        if not rest or rest[0].raw != "submit":
            return None
        made = Launcher("ray job submit", words)
        at = next((k for k, w in enumerate(rest) if w.raw == "--"), None)
        made.inner = rest[at + 1 :] if at is not None else []
        return made
    made = Launcher("ray start", words)
    i = 0
    while i < len(rest):
        raw = rest[i].raw
        if rest[i].open or raw[:1] == HOLE:
            made.forget()
            return made
        name, equals, value = raw.partition("=")
        if name == "--head":
            made.head = True
        if name in ("--address", "--port", "--num-gpus", "--node-ip-address"):
            if equals:
                place = rest[i].part(len(raw) - len(value), len(raw)) if value else rest[i].place
            elif i + 1 < len(rest):
                i += 1
                value, place = rest[i].raw, rest[i].place
            else:
                break
            if name == "--num-gpus":
                made.gpus = integer(value, place)
                if isinstance(made.gpus.value, str):
                    made.refuse(value, f"'{value}' is no whole number", place)
            elif name == "--address":
                host, colon, port = value.rpartition(":")
                made.host = Fact(text_of(host if colon else value), place)
                made.port = integer(port, place) if colon else Fact()
            elif name == "--port":
                made.port = integer(value, place)
        elif name in ("--num-gpu", "--num_gpus", "--num-cpu", "--num_cpus"):
            made.refuse(raw, f"ray has no option '{name}'", rest[i].place)
        i += 1
    if not made.head and made.host.value is None and not any("--help" in w.raw for w in rest):
        made.refuse(words[0].raw, "one of '--head' and '--address' is needed", words[0].place, what="to start")
    return made
