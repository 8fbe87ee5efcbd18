"""Lists of hosts that a launcher reads, and that nothing in its job makes: no controller, mount or start text.

Source: deepspeed 0.19 launcher/runner.py (fetch_hostfile); Open MPI 5.0 (prte, hostfile).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fabriclint.finding import Place
from fabriclint.group import GroupView, RoleGroup
from fabriclint.group.injection import table
from fabriclint.group.started import Started
from fabriclint.launch import Launcher, Program
from fabriclint.launch.commands import HELPERS, MPIRUN
from fabriclint.pod import ContainerView

#: Launchers that read a list of hosts from a file.
_READERS = ("deepspeed", *MPIRUN)


@dataclass(frozen=True, slots=True)
class UnmadeList:
    """A list that is not there: whose launcher reads it, where, and what would make it.

    `named`: the launcher's words name the file; else it is where the launcher looks by itself. `ends`: the launcher
    ends without it, where else it goes on in its own pod.
    """

    role: RoleGroup
    launcher: Launcher
    path: str
    place: Place
    made_by: str
    other_way: str
    named: bool
    ends: bool


def unmade_lists(group: GroupView) -> Iterator[UnmadeList]:
    """The lists of hosts that the job's launchers miss; nothing where a file may come from out of view."""
    if not group.known or group.multi_node is not True or group.launchers or group.ssh:
        return
    for role in group.roles:
        if role.pod.workload.runtime_alone or not role.pod.is_worker:
            continue
        for started in role.started:
            main = started.launch.main
            if main is None or not _whole(started, main):
                continue
            for launcher in main.launchers:
                found = _unmade(group, role, started, main, launcher)
                if found is not None:
                    yield found


def _unmade(
    group: GroupView, role: RoleGroup, started: Started, program: Program, launcher: Launcher
) -> UnmadeList | None:
    path = launcher.hostfile.string
    if launcher.family not in _READERS or launcher.unclear or path is None or launcher.hosts is not None:
        return None
    row = next((r for r in table()["host lists"] if path.startswith(r["path"])), None)
    named = launcher.hostfile.place is not None and launcher.hostfile.place.source >= 0
    if row is None or _brought(started.container, path, named) or path in role.environment(started.container).values():
        return None
    nodes = launcher.options.get("num_nodes")
    several = nodes is not None and nodes.number is not None and nodes.number > 1
    if launcher.family == "deepspeed":
        alone = role.pods == 1 or not (several or group.gives_address)
        if (launcher.backend.value != "pdsh" or alone) and not named:
            return None
    elif not named:
        return None
    where = launcher.hostfile.place if named else program.invocation.words[0].place
    ends = several or launcher.family != "deepspeed"
    return UnmadeList(role, launcher, path, started.place(where), row["by"], row.get("or", ""), named, ends)


def _whole(started: Started, main: Program) -> bool:
    """Whether all that runs before the launcher is seen, and none of it can have written a file out of view."""
    launch = started.launch
    if launch.hidden or launch.sourced or started.container.node.at("lifecycle") is not None:
        return False
    return all(p is main or (isinstance(p.name, str) and p.name in HELPERS) for p in launch.programs)


def _brought(container: ContainerView, path: str, named: bool) -> bool:
    """Whether a mount, or the start text itself, may bring the file."""
    if container.mounts_open:
        return True
    mounted = [(m.string("mountPath") or "").rstrip("/") for m in container.mounts]
    if any(path == m or path.startswith(f"{m}/") for m in mounted):
        return True
    folder = path.rpartition("/")[0]
    text = container.start_text
    return text.count(folder) > 1 or text.count("hostfile") > 2 if named else folder in text or "hostfile" in text
