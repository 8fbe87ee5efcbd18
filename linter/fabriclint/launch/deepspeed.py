"""The deepspeed launcher. Source: deepspeed 0.19.8 launcher/runner.py, multinode_runner.py."""

from __future__ import annotations

import re

from fabriclint.launch.facts import Fact, Launcher, Lookup, integer, lines_of
from fabriclint.launch.options import parse
from fabriclint.launch.word import HOLE, Place, Word
from fabriclint.node import UNKNOWN

_NAMES = (
    "hostfile",
    "include",
    "exclude",
    "num_nodes",
    "num_gpus",
    "master_port",
    "master_addr",
    "node_rank",
    "launcher",
    "launcher_args",
    "min_elastic_nodes",
    "max_elastic_nodes",
    "ssh_port",
    "autotuning",
    "venv_script",
    "bind_core_list",
    "enable_each_rank_log",
    "log_level",
    "save_pid_",
    "timeout",
)
VALUED = {"--" + n: n for n in _NAMES} | {"-H": "hostfile", "-i": "include", "-e": "exclude"}
FLAGS = {
    "--" + n: n
    for n in (
        "module",
        "no_python",
        "no_local_rank",
        "no_ssh",
        "no_ssh_check",
        "force_multi",
        "elastic_training",
        "save_pid",
        "bind_cores_to_rank",
        "help",
    )
} | {"-h": "help"}
#: What the runners hand on, by the beginning of the name.
_PREFIXES = ("NCCL", "PYTHON", "MLFLOW", "MV2", "UCX")
_LINE = re.compile(r"^(\S+)\s+slots=(\d{1,6})")


def hosts_of(file: Word) -> list[tuple[str, int]] | tuple[str, str, Place]:
    """The hosts of a hostfile, or the line that is refused, why, and where it stands."""
    hosts: list[tuple[str, int]] = []
    for line, place in lines_of(file):
        match = _LINE.match(line)
        if match is None:
            return line, f"the line '{line}' is not 'NAME slots=N'", place
        if any(h == match.group(1) for h, _ in hosts):
            return line, f"the host '{match.group(1)}' stands there twice", place
        hosts.append((match.group(1), int(match.group(2))))
    return hosts


def read(words: list[Word], lookup: Lookup, *, hostfile: Word | None = None) -> Launcher:
    """Read the words behind `deepspeed`. `hostfile`: its text when it is in view."""
    made = Launcher("deepspeed", words, forwards="patterns", prefixes=_PREFIXES)
    got = parse(words, VALUED, FLAGS)
    made.inner = got.rest
    for text, reason, place in got.errors:
        made.refuse(text, reason, place)
    facts: dict[str, Fact] = {}
    for name in ("num_nodes", "num_gpus", "master_port", "node_rank"):
        value = got.values.get(name)
        facts[name] = integer(value[0], value[1]) if value else Fact()
        if isinstance(facts[name].value, str) and value:
            made.refuse(value[0], f"'{value[0]}' is no number", value[1])
            facts[name] = Fact(UNKNOWN, value[1])
    if got.unclear:
        made.forget()
        made.forwards = UNKNOWN
        return made
    launcher = got.values.get("launcher")
    if launcher and launcher[0].lower() == "slurm":
        made.forwards = "all"
    made.backend = (
        Fact("pdsh") if launcher is None else Fact(UNKNOWN if HOLE in launcher[0] else launcher[0], launcher[1])
    )
    if "include" in got.values and "exclude" in got.values:
        made.refuse(got.values["exclude"][0], "--include and --exclude exclude each other", got.values["exclude"][1])
    made.node_rank, made.port = (
        facts["node_rank"],
        facts["master_port"] if facts["master_port"].value is not None else Fact(29500),
    )
    if "no_ssh" in got.flags:
        made.options["no_ssh"] = Fact(1, got.flags["no_ssh"])
    if "no_ssh" in got.flags and "node_rank" not in got.values:
        made.refuse("--no_ssh", "'--no_ssh' needs the node's '--node_rank'", got.flags["no_ssh"])
    path = got.values.get("hostfile")
    made.hostfile = Fact(
        UNKNOWN if path and HOLE in path[0] else path[0] if path else "/job/hostfile",
        path[1] if path else None,
    )
    address = got.values.get("master_addr")
    made.master = Fact(UNKNOWN if HOLE in address[0] else address[0], address[1]) if address else Fact()
    gpus, nodes = facts["num_gpus"], facts["num_nodes"]
    made.options["num_nodes"] = nodes
    if hostfile is None:
        # Whether the file is there, and what it says, is not in view.
        made.nodes, made.processes_per_node = (
            Fact(UNKNOWN, nodes.place),
            gpus if isinstance(gpus.value, int) and gpus.value > 0 else Fact(UNKNOWN),
        )
        made.host = made.master if made.master.value is not None else Fact(UNKNOWN)
        return made
    hosts = hosts_of(hostfile)
    if isinstance(hosts, tuple):
        text, reason, place = hosts
        host, count = re.match(r"[\w.-]+", text), re.search(r"[=:]\s*(\d+)$", text)
        way = f"{host[0]} slots={count[1] if count else 'N'}" if host else ""
        made.refuse(text, reason, place, instead=way if "twice" not in reason else "", what="its hostfile")
        return made
    chosen = [(h, list(range(n))) for h, n in hosts]
    for name in ("include", "exclude"):
        if name in got.values:
            made.nodes = made.processes_per_node = Fact(UNKNOWN, got.values[name][1])
            return made
    if isinstance(nodes.value, int) and nodes.value > 0:
        chosen = chosen[: nodes.value]
    made.hosts = [(h, gpus.value if isinstance(gpus.value, int) and gpus.value > 0 else len(d)) for h, d in chosen]
    made.nodes = Fact(len(chosen), made.hostfile.place)
    made.processes = Fact(sum(n or 0 for _, n in made.hosts), gpus.place)
    made.host = made.master if made.master.value is not None else Fact(chosen[0][0] if chosen else UNKNOWN)
    return made
