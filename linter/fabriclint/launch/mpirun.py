"""mpirun and mpiexec: Open MPI 4 and 5, and hydra (MPICH, Intel MPI)."""

from __future__ import annotations

import re

from fabriclint.launch.facts import Fact, Forwarded, Launcher, Lookup, hosts_in, integer, table
from fabriclint.launch.word import HOLE, Place, Word, text_of
from fabriclint.node import UNKNOWN, Unknown

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def read(words: list[Word], lookup: Lookup, *, program: str = "mpirun") -> Launcher:
    """Read the words behind the program's name."""
    if "hydra" in program or "mpich" in program:
        return _hydra(words, lookup)
    if "openmpi" in program or program in ("orterun", "prterun"):
        return _open(words, lookup)
    openmpi, hydra = table("openmpi"), table("hydra")
    for word in words:
        if word.raw == ":" or not word.raw.startswith("-"):
            continue
        name = word.raw.lstrip("-").partition("=")[0]
        if name in hydra["only"] and name not in openmpi["only"]:
            return _hydra(words, lookup)
        if name in openmpi["only"]:
            return _open(words, lookup)
    made = _open(words, lookup)
    made.family = "mpi"
    made.forwards = UNKNOWN
    return made


def _hosts(texts: list[tuple[str, Place]], made: Launcher, default: int | None) -> None:
    hosts: list[tuple[str, int | None]] = []
    for text, place in texts:
        made.hosts_place = place
        if HOLE in text:
            made.hosts = None
            return
        for entry in text.split(","):
            name, colon, count = entry.partition(":")
            slots = int(count[:6]) if colon and count.isdigit() else default if not colon else None
            if name:
                hosts.append((name, slots))
    made.hosts = hosts
    names = {h for h, _ in hosts}
    made.nodes = Fact(len(names), made.hosts_place)


def _open(words: list[Word], lookup: Lookup) -> Launcher:
    made = Launcher("openmpi", words, forwards="listed")
    data = table("openmpi")
    valued: dict[str, int] = data["valued"]
    flags = frozenset(data["flags"])
    totals: list[Fact] = []
    hosts: list[tuple[str, Place]] = []
    per_node = made.processes_per_node
    listed = lookup("OMPI_MCA_mca_base_env_list")
    i = 0
    pending: Fact | None = None
    while i < len(words):
        word = words[i]
        raw = word.raw
        if word.open or raw[:1] == HOLE:
            made.forget()
            made.forwards = UNKNOWN
            made.inner = words[i:]
            break
        if raw == "--":
            made.inner = words[i + 1 :]
            totals.append(pending or Fact())
            break
        if not raw.startswith("-"):
            end = next((k for k in range(i, len(words)) if words[k].raw == ":"), len(words))
            if not made.inner:
                made.inner = words[i:end]
            totals.append(pending or Fact())
            pending = None
            i = end + 1
            continue
        dashes = 2 if raw.startswith("--") else 1
        name, equals, glued = raw[dashes:].partition("=")
        if equals and name in valued and valued[name] == 1:
            apart = f"--{name} {glued}" if dashes == 2 else f"-{name} {glued}"
            made.refuse(raw, f"'{raw}' joins option and value by '='", word.place, "Open MPI 4", apart)
            arguments, taken = [Word(glued, *word.part(len(raw) - len(glued), len(raw)))], 1
        elif name in valued and not equals:
            count = valued[name]
            arguments, taken = words[i + 1 : i + 1 + count], 1 + count
            if len(arguments) < count:
                made.refuse(raw, f"the option '{raw}' needs a value", word.place)
                break
        elif name in flags:
            arguments, taken = [], 1
        else:
            made.refuse(raw, f"the option '{raw}' does not exist in Open MPI", word.place)
            made.unclear = True
            arguments, taken = [], 1
        if dashes == 1 and name in ("map-by", "bind-to", "rank-by"):
            made.refuse(raw, f"'{raw}' is written with one dash", word.place, "Open MPI 5.0.10 and later", f"--{name}")
        if name in ("np", "n", "c"):
            pending = integer(arguments[0].text, arguments[0].place)
            if isinstance(pending.value, str):
                made.refuse(pending.value, f"'{pending.value}' is no number of processes", pending.place, "Open MPI 4")
                pending = Fact(UNKNOWN, pending.place)
            elif isinstance(pending.value, int) and pending.value < 0:
                made.refuse(str(pending.value), "the number of processes is negative", pending.place)
            elif pending.value == 0:
                pending = None
        elif name in ("N", "npernode"):
            per_node = integer(arguments[0].text, arguments[0].place)
        elif name == "pernode":
            per_node = Fact(1, word.place)
        elif name in ("map-by",):
            made.options["map-by"] = Fact(arguments[0].text, arguments[0].place)
            match = re.match(r"ppr:(\d{1,6}):node", arguments[0].raw)
            if match:
                per_node = Fact(int(match.group(1)), arguments[0].place)
            if "oversubscribe" in arguments[0].raw.lower() and "no" + "oversubscribe" not in arguments[0].raw.lower():
                made.oversubscribe = True
        elif name == "oversubscribe":
            made.oversubscribe = True
        elif name in ("H", "host"):
            hosts.append((arguments[0].raw, arguments[0].place))
            made.named += hosts_in(arguments[0])
        elif name in ("hostfile", "machinefile", "default-hostfile"):
            made.hostfile = Fact(arguments[0].text, arguments[0].place)
        elif name == "x":
            _x(arguments[0], made, len(totals))
        elif name in ("mca", "omca", "gmca"):
            key, value = arguments
            made.options["mca " + key.raw] = Fact(value.text, value.place)
            if key.raw == "mca_base_env_list":
                _env_list(value, made)
        elif name == "allow-run-as-root":
            made.options["allow-run-as-root"] = Fact(1, word.place)
        i += taken
    if isinstance(listed, Unknown):
        made.forwards = UNKNOWN
    elif listed and made.forwards == "listed":
        for entry in listed.split(";"):
            name, equals, text = entry.partition("=")
            made.forwarded.append(Forwarded(name, text if equals else None, Place(-1, 0, 0), "env_list"))
    if made.unclear:
        return made
    if hosts:
        _hosts(hosts, made, 1)
    if made.inner and "=" in made.inner[0].raw and "/" not in made.inner[0].raw:
        made.refuse(
            made.inner[0].raw,
            f"'{made.inner[0].raw}' stands where the program is expected",
            made.inner[0].place,
        )
    made.processes_per_node = per_node
    values = [t.value for t in totals]
    if values and all(isinstance(v, int) for v in values):
        made.processes = Fact(sum(v for v in values if isinstance(v, int)), totals[0].place)
        most = (
            per_node.value * made.nodes.value
            if len(totals) == 1 and isinstance(per_node.value, int) and isinstance(made.nodes.value, int)
            else None
        )
        if most is not None and isinstance(made.processes.value, int) and made.processes.value > most:
            made.refuse(str(made.processes.value), "more processes than per-node places", made.processes.place)
        if made.hosts is not None and not made.oversubscribe and per_node.value is None:
            slots = [c for _, c in made.hosts]
            total = made.processes.value
            if all(c is not None for c in slots) and isinstance(total, int) and total > sum(c or 0 for c in slots):
                made.refuse(str(total), "more processes than slots", made.processes.place)
    elif any(isinstance(v, Unknown) for v in values):
        made.processes = Fact(UNKNOWN, totals[0].place)
    elif isinstance(per_node.value, int) and isinstance(made.nodes.value, int):
        made.processes = Fact(per_node.value * made.nodes.value, per_node.place)
    elif per_node.value is None and made.hosts is not None and all(c is not None for _, c in made.hosts):
        made.processes = Fact(sum(c or 0 for _, c in made.hosts), made.hosts_place)
    return made


def _x(word: Word, made: Launcher, app: int) -> None:
    """`-x NAME`, `-x NAME=VALUE`."""
    name, equals, value = word.raw.partition("=")
    if HOLE in name:
        made.forwards = UNKNOWN
        return
    if equals:
        made.forwarded.append(Forwarded(name, text_of(value), word.place, "x", bool(_NAME.fullmatch(name)), app))
        return
    works: bool | Unknown = bool(_NAME.fullmatch(name))
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*\*", name):
        # A trailing star is a pattern in Open MPI 5 only.
        works = UNKNOWN
    made.forwarded.append(Forwarded(name, None, word.place, "x", works, app))


def _env_list(word: Word, made: Launcher) -> None:
    if HOLE in word.raw:
        made.forwards = UNKNOWN
        return
    at = 0
    for entry in word.raw.split(";"):
        name, equals, value = entry.partition("=")
        if name:
            made.forwarded.append(
                Forwarded(name, value if equals else None, word.part(at, at + len(entry)), "env_list")
            )
        at += len(entry) + 1


def _hydra(words: list[Word], lookup: Lookup) -> Launcher:
    made = Launcher("hydra", words, forwards="all")
    data = table("hydra")
    valued: dict[str, int] = data["valued"]
    flags = frozenset(data["flags"])
    totals: list[Fact] = []
    pending: Fact | None = None
    per_node = made.processes_per_node
    i = 0
    while i < len(words):
        word = words[i]
        raw = word.raw
        if word.open or raw[:1] == HOLE:
            made.forget()
            made.forwards = UNKNOWN
            made.inner = words[i:]
            return made
        if not raw.startswith("-"):
            end = next((k for k in range(i, len(words)) if words[k].raw == ":"), len(words))
            made.inner = made.inner or words[i:end]
            totals.append(pending or Fact())
            pending = None
            i = end + 1
            continue
        name, equals, glued = raw.lstrip("-").partition("=")
        if name in ("genv", "env") and i + 1 < len(words):
            first = words[i + 1]
            key, joined, text = first.raw.partition("=")
            if joined:
                made.forwarded.append(Forwarded(key, text_of(text), first.place, name, app=len(totals)))
                i += 2
            elif i + 2 < len(words):
                made.forwarded.append(Forwarded(key, words[i + 2].text, first.place, name, app=len(totals)))
                i += 3
            else:
                break
            continue
        if name in valued:
            if equals:
                argument, taken = Word(glued, *word.part(len(raw) - len(glued), len(raw))), 1
            elif i + 1 < len(words):
                argument, taken = words[i + 1], 2
            else:
                made.refuse(raw, f"the option '{raw}' needs a value", word.place)
                break
            if name in ("genvlist", "envlist"):
                if HOLE in argument.raw:
                    made.forwards = UNKNOWN
                else:
                    made.forwards = "listed"
                    at = 0
                    for entry in argument.raw.split(","):
                        made.forwarded.append(Forwarded(entry, None, argument.part(at, at + len(entry)), "list"))
                        at += len(entry) + 1
            elif name in ("np", "n"):
                if pending is not None:
                    made.refuse(raw, "the number of processes is given twice", word.place)
                pending = integer(argument.text, argument.place)
            elif name in ("ppn", "perhost"):
                per_node = integer(argument.text, argument.place)
                if name == "perhost":
                    made.refuse(raw, f"the option '{raw}' does not exist in MPICH", word.place, "MPICH", "-ppn")
            elif name in ("hosts", "host", "machine"):
                _hosts([(argument.raw, argument.place)], made, None)
                made.named += hosts_in(argument)
            elif name in ("f", "machinefile", "hostfile"):
                made.hostfile = Fact(argument.text, argument.place)
            elif name == "genvexcl":
                made.refuse(raw, f"the option '{raw}' does not exist in MPICH", word.place, "MPICH")
                made.forwards = UNKNOWN
            i += taken
            continue
        if name in ("genvnone", "envnone"):
            made.forwards = "listed"
        elif name in ("genvall", "envall"):
            made.forwards = "all"
        elif name == "rr":
            made.refuse(raw, f"the option '{raw}' does not exist in MPICH", word.place, "MPICH")
        elif name == "N":
            made.refuse(raw, "the number of processes is given twice", word.place)
            i += 1
        elif name not in flags:
            made.refuse(raw, f"the option '{raw}' does not exist in MPICH and Intel MPI", word.place)
            made.unclear = True
        i += 1
    if made.unclear:
        return made
    made.processes_per_node = per_node
    values = [t.value for t in totals]
    if values and all(isinstance(v, int) for v in values):
        made.processes = Fact(sum(v for v in values if isinstance(v, int)), totals[0].place)
    elif any(isinstance(v, Unknown | str) for v in values):
        made.processes = Fact(UNKNOWN, totals[0].place if totals else None)
    elif isinstance(made.nodes.value, int):
        each = per_node.value if isinstance(per_node.value, int) else 1 if per_node.value is None else None
        if each is not None and made.hosts is not None and all(c is None for _, c in made.hosts):
            made.processes = Fact(made.nodes.value * each, made.hosts_place)
    return made
