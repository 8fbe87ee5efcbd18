"""What a role's container starts, read with the variables that the controller adds to its env."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fabriclint.finding import Place
from fabriclint.launch import Launch, read_launch
from fabriclint.launch.commands import MPIRUN
from fabriclint.launch.expansion import arguments
from fabriclint.node import UNKNOWN, Unknown

if TYPE_CHECKING:
    from fabriclint.group import GroupView, RoleGroup
    from fabriclint.launch import Place as LaunchPlace
    from fabriclint.pod import ContainerView


#: Variables that hold the address, by the programs that read them.
ADDRESS_VARIABLES = (
    "MASTER_ADDR",
    "PET_MASTER_ADDR",
    "PET_RDZV_ENDPOINT",
    "COORDINATOR_ADDRESS",
    "JAX_COORDINATOR_ADDRESS",
)
#: Hosts that are another one on each node.
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
#: What accelerate takes for a host when it is told of none.
NO_HOST = "None"
#: Launchers that start ranks on other hosts by ssh.
BY_SSH = (*MPIRUN, "horovodrun")
#: Launchers that read no variable with the ranks' address.
WITHOUT_ADDRESS = ("deepspeed", *BY_SSH, "srun")
#: Variables that say where a pod stands among the others, which no image does.
_PLACE = re.compile(r"ADDR|RANK|INDEX|ENDPOINT|WORLD_SIZE|GROUP_SIZE|MASTER_PORT|PROCESS_ID")
_DOLLAR = re.compile(r"\$(?:\{([A-Za-z_]\w*)|([A-Za-z_]\w*))")


@dataclass(eq=False)
class Started:
    """A container with what it starts; `place` turns the reader's places into nodes."""

    role: RoleGroup
    container: ContainerView
    launch: Launch

    def place(self, where: LaunchPlace | None) -> Place:
        """The place of a word (or of a part of one) in the manifest; the container's name when there is none."""
        from fabriclint.start import place_of

        return place_of(self.container, where)


def started(role: RoleGroup, container: ContainerView) -> Started:
    """Read a container's command and args as the pod will see them."""
    from fabriclint.start import UNSET_ENDS

    launch = _read(role, container)
    if launch.main is None and UNSET_ENDS.search(container.start_text):
        # The shell does not end there when the image, or a template, sets the name.
        launch = _read(role, container, _set_elsewhere(role, container))
    return Started(role, container, _as_the_image_may_have_it(role, container, launch))


def _as_the_image_may_have_it(role: RoleGroup, container: ContainerView, launch: Launch) -> Launch:
    """The reading without refusals that an empty `$NAME` causes: what no file sets may well be set by the image."""
    refusals = _refusals(launch)
    if not refusals:
        return launch
    set_elsewhere = _set_elsewhere(role, container)
    if not set_elsewhere:
        return launch
    again = _read(role, container, set_elsewhere)
    return again if refusals - _refusals(again) else launch


def _set_elsewhere(role: RoleGroup, container: ContainerView) -> frozenset[str]:
    """Names in the start text that no file sets and no controller would: the image may well."""
    from fabriclint.group.injection import given_names

    read = {m[1] or m[2] for m in _DOLLAR.finditer(container.start_text)}
    return frozenset(read - {*role.environment(container), *given_names()})


def options_seen(started: Started) -> bool:
    """Whether all options of the launcher are seen: none may come by a variable that the image sets."""
    set_elsewhere = _set_elsewhere(started.role, started.container)
    if not set_elsewhere:
        return True
    launcher = _read(started.role, started.container, set_elsewhere).launcher
    return launcher is not None and not launcher.unclear


def _refusals(launch: Launch) -> set[tuple[str, str]]:
    """What launchers refuse and why, in all programs."""
    return {(r.text, r.reason) for program in launch.programs for one in program.launchers for r in one.refusals}


def _read(role: RoleGroup, container: ContainerView, unseen: frozenset[str] = frozenset()) -> Launch:
    """What a container starts, when variables of some names may hold anything."""
    env = container.env
    values = role.environment(container)

    def environment(name: str) -> str | Unknown | None:
        if name in unseen:
            return UNKNOWN
        if name in values:
            value = values[name]
            return UNKNOWN if value is None else value
        return UNKNOWN if env.open else None

    from fabriclint.start import files_for

    texts = [w.text for w in container.words]
    return read_launch(
        texts,
        environment,
        words=arguments(texts, environment),
        files=files_for(container),
        folder=container.folder,
    )


def ungiven(started: Started) -> tuple[list[str], LaunchPlace | None]:
    """Variables that controllers set, this one does not, and without which the launcher refuses its words; and where."""
    from fabriclint.group.injection import given_names

    main = started.launch.main
    before = [r for one in main.launchers for r in one.refusals] if main is not None else []
    if not before or started.container.env.open:
        return [], None
    text = started.container.start_text
    values = started.role.environment(started.container)
    lacking: list[str] = []
    where: LaunchPlace | None = None
    for name in given_names():
        if name not in text or name in values or _PLACE.search(name) is None:
            continue
        other = _read(started.role, started.container, frozenset((name,))).main
        after = [r for one in other.launchers for r in one.refusals] if other is not None else before
        if len(after) < len(before):
            lacking.append(name)
            where = where or next((r.place for r in before if r not in after), None)
    return lacking, where


def processes_per_node(group: GroupView) -> int | Unknown:
    """Ranks on each node."""
    gpus = group.gpus_per_node
    start = group.starting
    said = start.launch.processes_per_node.value if start is not None else None
    if isinstance(said, int):
        return said
    if said is None and group.slots is not None:
        said = group.slots
        if isinstance(said, int):
            return said
    if isinstance(said, str):
        if said in ("auto", "gpu") and isinstance(gpus, int):
            return gpus if gpus > 0 or said == "gpu" else UNKNOWN
        return int(said) if said.isdecimal() else UNKNOWN
    if said is None and start is not None and start.launch.main is not None:
        in_all = start.launch.processes.value
        nodes = group.nodes
        if isinstance(in_all, int) and isinstance(nodes, int) and nodes and in_all % nodes == 0:
            return in_all // nodes
    return UNKNOWN


def ranks(group: GroupView) -> int | Unknown:
    """Ranks in all."""
    start = group.starting
    said = start.launch.processes.value if start is not None and start.launch.main is not None else None
    if isinstance(said, int):
        return said
    nodes, each = group.nodes, group.processes_per_node
    if isinstance(nodes, Unknown) or isinstance(each, Unknown):
        return UNKNOWN
    return nodes * each


def rendezvous(group: GroupView) -> tuple[str | Unknown | None, str | Unknown | None]:
    """Host and port where the ranks meet."""
    start = group.starting
    host: str | Unknown | None = None
    port: str | Unknown | None = None
    if start is not None and start.launch.main is not None:
        said, at = start.launch.host.value, start.launch.port.value
        host = said if isinstance(said, str | Unknown) else None
        port = str(at) if isinstance(at, int | str) else (UNKNOWN if isinstance(at, Unknown) else None)
    if host is None:
        for role in group.ranks_on:
            values = role.environment()
            for name in group.address:
                value = values.get(name)
                if value is None:
                    continue
                if isinstance(value, Unknown):
                    return UNKNOWN, port
                head, colon, tail = value.rpartition(":")
                if colon and tail.isdecimal():
                    return head, port or tail
                port_value = values.get(name.removesuffix("ESS").removesuffix("_ADDR") + "_PORT")
                return value, port or (port_value if isinstance(port_value, str) else None)
    return host, port
