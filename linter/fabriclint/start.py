"""A container's start text as pod views see it: what the command reader says, with places as nodes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabriclint.finding import Place
from fabriclint.node import UNKNOWN, Scalar, Unknown
from fabriclint.pod import StartText, Variable

if TYPE_CHECKING:
    from fabriclint.launch import Place as LaunchPlace
    from fabriclint.launch import Word
    from fabriclint.pod import ContainerView

#: Programs that prepare a pod and start no ranks: a text of these and a sleep is idle.
_PREPARES = frozenset(
    ("service", "sshd", "ssh-keygen", "mkdir", "cp", "ln", "chmod", "chown", "echo", "printf", "cat", "apt-get", "apt",
     "sleep", "tail", "ldconfig", "nvidia-smi", "true", "test", "date", "env", "export", "cd", "sed", "touch", "rm")
)  # fmt: skip

#: Where a shell ends at a name that nothing sets.
UNSET_ENDS = re.compile(r"set\s+-[a-z]*u|nounset")


def place_of(container: ContainerView, where: LaunchPlace | None) -> Place:
    """A place of the command reader in the manifest; the container's name when there is none."""
    words = [*container.words, *container.files.values()]
    if where is None or not 0 <= where.source < len(words):
        return container.name_place
    word: Scalar = words[where.source]
    if not isinstance(word.value, str):
        return Place(word)
    return Place(word, within=(where.start, max(where.end, where.start + 1)))


def files_for(container: ContainerView) -> dict[str, Word]:
    """The files in view of a container as the command reader takes them: their sources follow those of the words."""
    if not container.files:
        return {}
    from fabriclint.launch.word import argument

    first = len(container.words)
    return {path: argument(node.text, first + n) for n, (path, node) in enumerate(container.files.items())}


def read(container: ContainerView) -> StartText:
    """Read command and args of a container."""
    words = container.words
    made = StartText()
    if not words:  # the image decides; the reader of commands is not loaded for it
        made.idle = made.probe = container.image_name.startswith("pause")
        made.unseen = True
        return made
    from fabriclint.launch import read_launch
    from fabriclint.launch.commands import MPIRUN
    from fabriclint.launch.expansion import arguments

    env = container.env

    def environment(name: str) -> str | Unknown | None:
        found = env.get(name)
        if found is not None:
            return found.value
        return UNKNOWN if env.open else None

    argv = [w.text for w in words]
    mounted, folder = files_for(container), container.folder
    launch = read_launch(argv, environment, words=arguments(argv, environment), files=mounted, folder=folder)
    if launch.main is None and UNSET_ENDS.search(container.start_text):
        # `set -u` ends at a name that nothing in view sets: the image, or a template, may well set it.
        launch = read_launch(
            argv,
            lambda name: UNKNOWN if (value := environment(name)) is None else value,
            words=arguments(argv, environment),
            files=mounted,
            folder=folder,
        )

    def place(where: LaunchPlace | None) -> Place:
        return place_of(container, where)

    for export in launch.exports:
        value = export.value
        if value is not None:
            made.exports.append(Variable(export.name, value, place(export.place), "export"))
    for sourced in launch.sourced:
        made.sourced.append((sourced.path.text, place(sourced.place), not sourced.works))
    for forwarded in launch.forwarded:
        if forwarded.works is False:
            continue
        origin = "mpirun-bare" if forwarded.value is None else "mpirun"
        value = UNKNOWN if forwarded.value is None else forwarded.value
        made.forwarded.append(Variable(forwarded.name, value, place(forwarded.place), origin))
    main = launch.main
    made.starts_ranks = main is not None
    for program in launch.programs:
        for launcher in program.launchers:
            if launcher.family in MPIRUN:
                made.forwards = launcher.forwards
    for program in launch.programs:
        for assignment in program.ranks.values():
            if assignment.value is not None:
                made.forwarded.append(Variable(assignment.name, assignment.value, place(assignment.place), "mpirun"))
    names = {p.name for p in launch.programs}
    prepares = bool(names) and not launch.open and names <= _PREPARES
    made.idle = launch.idle or prepares
    made.probe = launch.probe or made.idle
    made.unseen = launch.hidden
    first = argv[0].rsplit("/", 1)[-1] if argv else ""
    made.shell = first if first in ("sh", "bash", "dash", "ash", "zsh") else None
    return made
