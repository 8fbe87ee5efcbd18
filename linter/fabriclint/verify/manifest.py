"""The static half: for each job of a manifest, the command that shows its transport and what it is to show."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from fabriclint.finding import Place
from fabriclint.locate import locate
from fabriclint.node import Scalar, Unknown
from fabriclint.verify.command import logs_command

if TYPE_CHECKING:
    from fabriclint.pod import ContainerView, PodView
    from fabriclint.views import JobView
    from fabriclint.workload import Workload

#: Levels at which NCCL prints the line that names the network.
_TELLING = ("INFO", "ABORT", "TRACE")


@cache
def _selectors() -> dict[str, dict[str, dict[str, Any]]]:
    text = (files("fabriclint_schemas") / "tables" / "log_selectors.json").read_text(encoding="utf-8")
    made: dict[str, dict[str, dict[str, Any]]] = json.loads(text)
    return made


@dataclass(slots=True)
class Command:
    """How to read one job's log. `level`: the ranks' NCCL_DEBUG, None when unset, UNKNOWN when it cannot be seen."""

    title: str
    line: str
    fabric: str | None
    network: str | None
    level: str | Unknown | None
    #: Where the level comes from, and the profile that is sourced behind it, as `file:line`.
    level_at: str | None = None
    profile_at: str | None = None
    hints: list[str] = field(default_factory=list)

    @property
    def hidden(self) -> bool | None:
        """Whether the telling line is not printed; None when the level cannot be seen."""
        if self.profile_at is not None:
            return True
        if isinstance(self.level, Unknown):
            return None
        return self.level is None or self.level.strip().upper() not in _TELLING


def commands(jobs: list[JobView], fabrics: set[str]) -> list[Command]:
    """A command for each job with GPU workers. `fabrics`: the names that the log half knows to expect."""
    out = []
    for job in jobs:
        made = _command(job, fabrics)
        if made is not None:
            out.append(made)
    return out


def _command(job: JobView, fabrics: set[str]) -> Command | None:
    workload = job.workload
    workers = job.workers
    row = _selectors().get(workload.group, {}).get(workload.kind)
    if not workers or row is None:
        return None
    worker = workers[0]
    launchers = worker.launchers
    speaker = launchers[0] if launchers else worker
    container = _container(speaker)
    manifest = workload.manifest
    name = manifest.name or "NAME"
    if row.get("pod"):
        line = "kubectl logs" + (f" -n {manifest.namespace}" if manifest.namespace else "")
        line += f" {name}" + (f" -c {container.name}" if container is not None and container.name else "")
    else:
        labels = _labels(workload, speaker, row, name)
        if labels is None:
            return None
        line = logs_command(manifest.namespace, labels, container.name if container is not None else None)
    where = locate(Place(manifest.root.at("kind") or manifest.root))
    match = worker.fabric
    made = Command(
        f"{manifest.kind} {manifest.namespace + '/' if manifest.namespace else ''}{name} ({where.uri}:{where.line})",
        line,
        match.name if match is not None and match.name in fabrics else None,
        match.profile.get("network") if match is not None and isinstance(match.profile, dict) else None,
        worker.ranks_env.value("NCCL_DEBUG"),
        hints=[str(row["hint"])] if "hint" in row else [],
    )
    found = worker.ranks_env.get("NCCL_DEBUG")
    if found is not None:
        made.level_at = _at(found.place)
    _after_profile(worker, made)
    if launchers:
        made.hints.append("mpirun gathers what the ranks print: the workers' own logs hold nothing")
    return made


def _labels(workload: Workload, speaker: PodView, row: dict[str, Any], name: str) -> dict[str, str] | None:
    if row.get("own_selector"):
        chosen = workload.manifest.root.mapping("spec", "selector", "matchLabels")
        labels = {k: v.text for k, v in (chosen.fields if chosen else {}).items() if isinstance(v, Scalar)}
        return labels or None
    return {k: v.format(name=name, role=speaker.name) for k, v in row["labels"].items()}


def _container(pod: PodView) -> ContainerView | None:
    if pod.worker is not None:
        return pod.worker
    return pod.main_containers[0] if pod.main_containers else None


def _after_profile(worker: PodView, made: Command) -> None:
    """A profile that the start text sources sets NCCL_DEBUG itself, whatever the environment says."""
    container = worker.worker
    match = worker.fabric
    if container is None or match is None or not isinstance(match.profile, dict):
        return
    script = match.profile.get("profile") or {}
    level = worker.ranks_env.get("NCCL_DEBUG")
    for path, place, _ in container.start.sourced:
        if not script.get("sets_level") or not isinstance(path, str) or not any(n in path for n in script["names"]):
            continue
        if level is not None and level.origin == "export" and locate(level.place).line > locate(place).line:
            continue
        made.profile_at = _at(place)


def _at(place: Place) -> str:
    region = locate(place)
    return f"{region.uri}:{region.line}"


def as_text(found: list[Command]) -> str:
    """The commands for people: what to run, what to expect, and what hides it."""
    out: list[str] = []
    for c in found:
        expect = f" --expect {c.fabric}" if c.fabric else ""
        out += [f"# {c.title}", f"{c.line} | fabriclint verify -{expect}"]
        if c.network:
            out.append(f"expect: NCCL INFO Using network {c.network}")
        out += [f"note: {h}" for h in c.hints]
        if c.profile_at is not None:
            out.append(
                f"The profile sourced at {c.profile_at} sets NCCL_DEBUG itself; the line that names the network is not printed."
            )
            out.append("For a short run, write behind that line:")
            out.append("  export NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,ENV")
        elif isinstance(c.level, Unknown):
            out.append("NCCL_DEBUG is not visible here; below INFO the line that names the network is not printed.")
        elif c.hidden:
            shown = f"NCCL_DEBUG is '{c.level}' ({c.level_at})" if c.level else "NCCL_DEBUG is not set"
            out.append(f"{shown}; the line that names the network is not printed.")
            out.append("For a short run, set in the ranks' environment:")
            out.append('  - {name: NCCL_DEBUG, value: "INFO"}')
            out.append('  - {name: NCCL_DEBUG_SUBSYS, value: "INIT,NET,ENV"}')
        out.append("")
    return "\n".join(out).rstrip("\n") + "\n"


def as_json(found: list[Command]) -> str:
    """The same as data."""
    jobs = [
        {
            "object": c.title,
            "command": c.line,
            "expected": c.fabric,
            "network": c.network,
            "nccl_debug": c.level if isinstance(c.level, str) else None,
            "nccl_debug_known": not isinstance(c.level, Unknown),
            "profile": c.profile_at,
            "hidden": c.hidden,
            "hints": c.hints,
        }
        for c in found
    ]
    return json.dumps({"version": 1, "jobs": jobs}, indent=2, ensure_ascii=False) + "\n"
