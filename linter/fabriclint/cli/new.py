"""`fabriclint new`: the first manifest for a fabric, from options and a snapshot."""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fabriclint.cli.said import complain, say
from fabriclint.disk import exists
from fabriclint.scaffold import Value, fill, left

_LABEL = r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?"
#: What an option's value looks like, and how to say it.
_FORMS = {
    "name": (_LABEL, "a name of lower-case letters, digits and dashes that begins with a letter"),
    "namespace": (r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", "a namespace's name"),
    "nodes": (r"[1-9][0-9]{0,4}", "a number of nodes"),
    "gpus": (r"[1-9][0-9]?", "a number of GPUs"),
    "efa-count": (r"[1-9][0-9]?", "a number of EFA devices"),
    "image": (r"[a-z0-9][\w./:@-]*", "an image reference"),
    "rxdm-tag": (r"v?[0-9][\w.-]*", "a tag like v1.0.21"),
    "instance-type": (r"[A-Za-z0-9][\w.-]*", "a machine type"),
    "library-path": (r"/[\w./:-]*", "absolute folders, joined by colons"),
    "command": (r"[^\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff<]+", "one line of shell"),
}
_NETWORK = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_SELECTOR = re.compile(r"(?P<key>[\w./-]+)=(?P<value>[\w.-]*)")
_TOLERATION = re.compile(r"(?P<key>[\w./-]+)(?:=(?P<value>[\w.-]+))?:(?P<effect>NoSchedule|NoExecute)")


class UnusableError(Exception):
    """An option that cannot be used; the text is a sentence."""


@dataclass(slots=True)
class Asked:
    """The options as given: texts by name, and the repeated ones."""

    texts: dict[str, str | None]
    networks: str | None = None
    node_selector: list[str] = field(default_factory=list)
    toleration: list[str] = field(default_factory=list)
    snapshot: str | None = None


def run(fabric: str, asked: Asked, output: str | None) -> int:
    """Print or write the manifest; name on stderr what is left to fill in. Returns 0, or 2 with a sentence."""
    from fabriclint_schemas.scaffolds import scaffold_text, scaffolds

    try:
        if fabric not in scaffolds():
            from fabriclint.schema.suggest import hint

            raise UnusableError(
                f"'{fabric}' is no fabric that a manifest can be written for{hint(fabric, scaffolds())} "
                f"Known: {', '.join(scaffolds())}."
            )
        values, told = _values(fabric, scaffolds()[fabric], asked)
        text = fill(scaffold_text(fabric), values)
        if output is not None:
            path = Path(output)
            if exists(path):
                raise UnusableError(f"'{output}' is there already; give another --output, or remove it.")
            path.write_text(text, encoding="utf-8")
        else:
            sys.stdout.write(text)
    except UnusableError as error:
        complain(error)
        return 2
    except OSError as error:
        complain(f"'{output}' cannot be written: {error.strerror or 'unknown error'}.")
        return 2
    for line in told:
        say(f"{line}")
    missing = left(text)
    if missing:
        options = _by_option(scaffolds()[fabric], missing, unasked=asked.snapshot is None)
        say(f"left to fill in: {', '.join(f'<{m}>' for m in missing)} (options {', '.join(options)})")
    where = shlex.quote(output) if output else "FILE"
    say(f"next: fabriclint check {where}")
    return 0


def _by_option(table: dict[str, Any], missing: list[str], *, unasked: bool) -> list[str]:
    """The options that fill in what is missing; a snapshot too, when none was given."""
    out: list[str] = []
    for name, row in table["options"].items():
        mine = row.get("as", name)
        if name == "instance-type":
            # It tells all of these at once, so it stands in front of the options for each.
            out += ["--instance-type"] * ("node selector" in missing)
        elif mine in missing or (name == "networks" and any(m.startswith("network ") for m in missing)):
            out.append(f"--{name}")
    if unasked and table.get("snapshot") and missing != ["image"]:
        out.append("or --from-snapshot")
    return out


def _values(fabric: str, table: dict[str, Any], asked: Asked) -> tuple[dict[str, Value], list[str]]:
    """Placeholder -> value: options first, then what the snapshot tells, then what the machine type tells, then defaults."""
    options: dict[str, dict[str, Any]] = table["options"]
    given = {n: t for n, t in asked.texts.items() if t is not None}
    for name, text in given.items():
        if name not in options:
            raise UnusableError(
                f"--{name} says nothing for '{fabric}'; its options are {', '.join(f'--{o}' for o in options)}."
            )
        form, words = _FORMS[name]
        if not re.fullmatch(form, text):
            raise UnusableError(f"--{name} takes {words}, not '{text}'.")
    values: dict[str, Value] = {options[n].get("as", n): t for n, t in given.items()}
    if asked.networks is not None:
        values |= _networks(asked.networks, fabric, options)
    if asked.node_selector:
        values["node selector"] = _selector(asked.node_selector)
    if asked.toleration:
        values["tolerations"] = _tolerations(asked.toleration)
    told: list[str] = []
    machine = given.get("instance-type")
    if machine is not None:
        _choose_machine(machine, options["instance-type"], values)
    if asked.snapshot is not None:
        told = _from_snapshot(asked.snapshot, table, options, values)
    if machine is not None:
        told += _count_devices(machine, options["instance-type"], values, from_snapshot=asked.snapshot is not None)
    for name, row in options.items():
        if "default" in row:
            values.setdefault(row.get("as", name), row["default"])
    return values, told


def _networks(text: str, fabric: str, options: dict[str, dict[str, Any]]) -> dict[str, Value]:
    if "networks" not in options:
        raise UnusableError(f"--networks says nothing for '{fabric}', which has no networks of its own.")
    count = options["networks"]["count"]
    names = [n.strip() for n in text.split(",") if n.strip()]
    if len(names) != count or len(set(names)) != count:
        raise UnusableError(
            f"--networks takes the {count} different names of the GPU NICs' networks, joined by commas, and {len(set(names))} were given."
        )
    for name in names:
        if not _NETWORK.fullmatch(name):
            raise UnusableError(f"--networks: '{name}' is no bare name of a Network object.")
    return {f"network {n}": name for n, name in enumerate(names, 1)}


def _selector(pairs: list[str]) -> dict[str, str]:
    made: dict[str, str] = {}
    for pair in pairs:
        found = _SELECTOR.fullmatch(pair)
        if found is None:
            raise UnusableError(f"--node-selector takes KEY=VALUE, not '{pair}'.")
        made[found["key"]] = found["value"]
    return made


def _tolerations(texts: list[str]) -> list[dict[str, str]]:
    if texts == ["none"]:
        return []
    made: list[dict[str, str]] = []
    for text in texts:
        found = _TOLERATION.fullmatch(text)
        if found is None:
            raise UnusableError(
                f"--toleration takes KEY[=VALUE]:NoSchedule, KEY[=VALUE]:NoExecute or none, not '{text}'."
            )
        entry = {"key": found["key"], "operator": "Equal" if found["value"] else "Exists"}
        if found["value"]:
            entry["value"] = found["value"]
        made.append(entry | {"effect": found["effect"]})
    return made


def _from_snapshot(
    path: str, table: dict[str, Any], options: dict[str, dict[str, Any]], values: dict[str, Value]
) -> list[str]:
    """Fill in what the snapshot tells and no option gave; returns what it could not tell, a line each."""
    from fabriclint.cluster.snapshot import SnapshotError, load
    from fabriclint.cluster.survey import UnfitError, survey

    wanted = values.get("node selector")
    try:
        found = survey(
            load(path),
            table["snapshot"],
            wanted if isinstance(wanted, dict) else dict(options["node-selector"].get("default", {})),
        )
    except UnfitError as error:
        raise UnusableError(f"{error}{_for_them(error.key, error.there)}") from None
    except SnapshotError as error:
        raise UnusableError(str(error)) from None
    told = [f"not told by the snapshot: {line}" for line in found.open]
    values.setdefault("node selector", found.selector)
    values.setdefault("tolerations", found.tolerations)
    for name, amount in found.amounts.items():
        values.setdefault(name, amount)
    if "networks" in options and "network 1" not in values:
        count = options["networks"]["count"]
        names = [n for n in found.networks if n != "default"]
        if len(names) == count:
            values |= {f"network {n}": name for n, name in enumerate(names, 1)}
        else:
            told.append(
                f"not told by the snapshot: the names of the {count} networks; it has {len(names) or 'none'} of their kind"
                + (f": {', '.join(names)}" if names else "")
            )
    if found.installed is not None and "rxdm-tag" in options:
        from fabriclint_schemas.pairs import paired_daemon

        tag = paired_daemon(table["snapshot"]["pairs"], found.installed)
        if tag is not None:
            values.setdefault("rxdm tag", tag)
        else:
            told.append(f"not told by the snapshot: the daemon that goes with the plugin '{found.installed}'")
    return told


def _for_them(label: str, values: list[str]) -> str:
    """The way out for nodes that have another fabric: the manifest that is for them."""
    from fabriclint_schemas.scaffolds import scaffolds

    theirs = [n for n, t in scaffolds().items() if set(values) & set(t["snapshot"].get("fits", {}).get(label, ()))]
    if theirs:
        written = " or ".join(f"'fabriclint new {n}'" for n in theirs)
        return f"; {written} is for them, or choose others with --node-selector."
    return "; choose others with --node-selector, or take the snapshot of the right cluster."


def _choose_machine(machine: str, row: dict[str, Any], values: dict[str, Value]) -> None:
    """What selects the machine type's nodes; in a snapshot, these alone are looked at."""
    fills = row.get("fills")
    if fills is not None:
        if machine not in fills:
            raise UnusableError(f"--instance-type takes {' or '.join(fills)} here, not '{machine}'.")
        for name, value in fills[machine].items():
            values.setdefault(name, value)
        return
    values.setdefault("node selector", {"node.kubernetes.io/instance-type": machine})


def _count_devices(machine: str, row: dict[str, Any], values: dict[str, Value], *, from_snapshot: bool) -> list[str]:
    """The machine type's GPUs and EFA devices, where neither an option nor the snapshot tells them.

    Returns what is to be said of a type that the tables do not know.
    """
    if "fills" in row:
        return []
    from fabriclint_schemas.machines import gpus_of_type, has_fabric, names

    gpus = gpus_of_type(machine)
    if row.get("fabric") and has_fabric(machine, row["fabric"]) is False:
        raise UnusableError(f"The instance type '{machine}' has no {row['fabric']}; choose another.")
    if gpus:
        values.setdefault("gpus", str(gpus))
    if row.get("devices") == "efa count":
        from fabriclint_schemas.eks import instance

        found = instance(machine)
        if found is not None and found.efa == 0:
            raise UnusableError(f"The instance type '{machine}' has no EFA; choose another.")
        if found is not None and not gpus:
            raise UnusableError(
                f"The instance type '{machine}' has no NVIDIA GPUs, which this manifest is for; choose another."
            )
        if found is not None:
            values.setdefault("efa count", str(found.efa))
    if gpus or from_snapshot:
        return []
    from fabriclint.schema.suggest import hint

    counts = "--gpus and --efa-count" if row.get("devices") == "efa count" else "--gpus"
    meant = hint(machine, names(), f"; if it is right, give its counts with {counts}.")
    return [f"not known: the machine type '{machine}'{meant}"]
