"""What a container starts: its command and args read into programs, launchers and their environment.

Certain facts only: what cannot be seen or followed is UNKNOWN, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from fabriclint.launch import programs
from fabriclint.launch.facts import Fact, Forwarded, Launcher, Refusal
from fabriclint.launch.shell import Shell
from fabriclint.launch.state import Certainty, State
from fabriclint.launch.transcript import Assignment, Invocation, Sourced
from fabriclint.launch.word import Place, Word, argument
from fabriclint.node import UNKNOWN, Unknown

__all__ = [
    "Assignment",
    "Certainty",
    "Fact",
    "Forwarded",
    "Invocation",
    "Launch",
    "Launcher",
    "Place",
    "Program",
    "Refusal",
    "Sourced",
    "Word",
    "read_launch",
]


@dataclass(slots=True)
class Program:
    """A program that is started, with the launchers that its words call, outermost first."""

    invocation: Invocation
    launchers: list[Launcher]
    #: The words of the innermost program (what the last launcher starts, or the program itself).
    inner: list[Word]
    #: What the ranks set for themselves behind the launcher (`mpirun ... env A=1 prog`).
    ranks: dict[str, Assignment] = field(default_factory=dict)

    @property
    def name(self) -> str | Unknown:
        """The innermost program's name without folder."""
        text = self.inner[0].text if self.inner else self.invocation.words[0].text
        return text if isinstance(text, Unknown) else text.rsplit("/", 1)[-1]


@dataclass(slots=True)
class Launch:
    """All that a container's command and args say."""

    programs: list[Program] = field(default_factory=list)
    exports: list[Assignment] = field(default_factory=list)
    sourced: list[Sourced] = field(default_factory=list)
    unseen: list[Word] = field(default_factory=list)
    refused: list[tuple[Place, str]] = field(default_factory=list)
    #: No command in view: the image decides.
    image: bool = False
    #: The reader gave up: more may happen than is listed.
    open: bool = False
    idle: bool = False
    probe: bool = False

    @property
    def hidden(self) -> bool:
        """Whether the image, a script out of view or a text that cannot be read decides on part of what is started."""
        return self.image or self.open or bool(self.unseen) or bool(self.refused)

    @property
    def main(self) -> Program | None:
        """The program that starts ranks: the last certain one with a launcher, else the last with one."""
        with_launcher = [p for p in self.programs if p.launchers]
        sure = [p for p in with_launcher if p.invocation.certainty > Certainty.MAYBE]
        return (sure or with_launcher or [None])[-1]  # type: ignore[list-item]

    @property
    def launcher(self) -> Launcher | None:
        """The innermost launcher of the main program."""
        main = self.main
        return main.launchers[-1] if main else None

    @property
    def program(self) -> str | Unknown | None:
        """The family of the innermost launcher, None when there is none, UNKNOWN when that cannot be seen."""
        launcher = self.launcher
        if launcher is not None:
            return launcher.family
        return UNKNOWN if self.hidden else None

    @property
    def forwarded(self) -> list[Forwarded]:
        """What launchers of the main program hand to their ranks."""
        main = self.main
        return [f for one in main.launchers for f in one.forwarded] if main else []

    def _said(self, name: str) -> Fact:
        main = self.main
        for one in reversed(main.launchers if main else []):
            fact: Fact = getattr(one, name)
            if fact.value is not None:
                return fact
        return Fact(UNKNOWN) if main is None and self.program is UNKNOWN else Fact()

    @property
    def nodes(self) -> Fact:
        """Nodes that the innermost launcher names."""
        return self._said("nodes")

    @property
    def processes_per_node(self) -> Fact:
        """Processes it starts on each."""
        return self._said("processes_per_node")

    @property
    def processes(self) -> Fact:
        """Processes in all."""
        return self._said("processes")

    @property
    def host(self) -> Fact:
        """Host of the rendezvous."""
        return self._said("host")

    @property
    def port(self) -> Fact:
        """Port of the rendezvous."""
        return self._said("port")


def read_launch(
    argv: Sequence[str | Unknown],
    environment: Callable[[str], str | Unknown | None],
    *,
    image_shell: str = "unknown",
    words: Sequence[Word] | None = None,
    files: Mapping[str, Word] | None = None,
    folder: str | None = None,
) -> Launch:
    """Read command + args of a container.

    `argv`: the texts as the container receives them (after `$(VAR)`); `words`: the same as words with
    their places, when expansion moved them (`Expanded.word`). `environment`: UNKNOWN for names not in view,
    None for names that nothing sets (PET_* and the like: no image does). `image_shell`: what `sh` is there:
    bash, dash or unknown. `files`: those in view that are there before anything starts, by path; `folder`: the working
    folder. Never raises.
    """
    launch = Launch()
    given = list(words) if words is not None else [argument(a, i) for i, a in enumerate(argv)]
    if not given:
        launch.image = True
        return launch
    shell = Shell(image_shell)
    state = State(environment, bash=image_shell != "dash", cwd=folder)
    if files:
        state.files.update(files)
        shell.seen.files.update(files)
    shell.start(given, state)
    seen = shell.seen
    launch.exports, launch.sourced = seen.assignments, seen.sourced
    launch.unseen, launch.refused, launch.open = seen.unseen, seen.refused, seen.open
    for invocation in seen.invocations:
        launch.programs.append(_program(invocation, environment, seen.files, launch, image_shell))
    _character(launch)
    return launch


def _program(
    invocation: Invocation,
    environment: Callable[[str], str | Unknown | None],
    files: dict[str, Word],
    launch: Launch,
    image_shell: str,
) -> Program:
    def own_lookup(name: str) -> str | Unknown | None:
        changed = invocation.environment.get(name)
        if changed is not None:
            return changed.value
        if invocation.cleared:
            return None
        value = environment(name)
        return UNKNOWN if value is None and invocation.open_names else value

    lookup: Callable[[str], str | Unknown | None] = own_lookup
    launchers: list[Launcher] = []
    own: dict[str, Assignment] = {}
    inner = invocation.words
    for _ in range(6):
        found = programs.read(inner, lookup, files)
        if found is None:
            break
        launchers.append(found)
        if not found.inner or found.unclear:
            inner = found.inner
            break
        inner = found.inner
        name = inner[0].raw.rsplit("/", 1)[-1]
        if name in ("bash", "sh", "dash", "env") and len(launchers) < 4:
            # The ranks run a shell: read it with what the launcher hands on.
            handed = {f.name: f for f in found.forwarded if f.works is True}
            everything = found.forwards == "all"

            def ranks(  # what the ranks see
                variable: str,
                handed: dict[str, Forwarded] = handed,
                everything: bool = everything,
                lookup: Callable[[str], str | Unknown | None] = lookup,
            ) -> str | Unknown | None:
                if variable in handed:
                    value = handed[variable].value
                    return lookup(variable) if value is None else value
                return lookup(variable) if everything else UNKNOWN

            shell = Shell(image_shell)
            shell.start(inner, State(ranks, bash=image_shell != "dash", certainty=invocation.certainty))
            launch.exports.extend(shell.seen.assignments)
            launch.sourced.extend(shell.seen.sourced)
            launch.unseen.extend(shell.seen.unseen)
            launch.open |= shell.seen.open
            nested = [i for i in shell.seen.invocations if i.certainty > Certainty.MAYBE]
            if not nested:
                break
            last = next((i for i in reversed(nested) if programs.read(i.words, ranks, files)), nested[-1])
            inner = last.words
            own.update(last.environment)
            lookup = ranks
    return Program(invocation, launchers, programs.behind(inner) if inner else inner, own)


def _character(launch: Launch) -> None:
    """Whether the container only waits, or only tests."""
    names: list[str] = []
    for program in launch.programs:
        name = program.name
        if isinstance(name, Unknown):
            return
        names.append(name)
    if launch.hidden:
        launch.probe = bool(names) and any(programs.PROBES.fullmatch(n) for n in names)
        return
    from fabriclint.launch.commands import HELPERS

    own = [n for n in names if n not in HELPERS or n in programs.IDLE]
    if any(p.launchers and not programs.PROBES.fullmatch(str(p.name)) for p in launch.programs):
        return
    launch.idle = bool(own) and all(n in programs.IDLE for n in own)
    launch.probe = launch.idle or any(programs.PROBES.fullmatch(n) for n in names)
