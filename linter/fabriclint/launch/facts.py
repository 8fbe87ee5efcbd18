"""What a launcher's command line says, each fact with its place."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, TypeAlias

from fabriclint.launch.word import HOLE, Place, Word
from fabriclint.node import UNKNOWN, Unknown

#: Looks up a variable as the program sees it: text, UNKNOWN, or None when certainly unset.
Lookup: TypeAlias = Callable[[str], "str | Unknown | None"]
Value: TypeAlias = "int | str | tuple[int, int] | Unknown | None"


@dataclass(frozen=True, slots=True)
class Fact:
    """A value (UNKNOWN: it is said, but not what; None: not said) and where it is said."""

    value: Value = None
    place: Place | None = None

    @property
    def number(self) -> int | None:
        """The value when it is a number."""
        return self.value if isinstance(self.value, int) else None

    @property
    def string(self) -> str | None:
        """The value when it is a text."""
        return self.value if isinstance(self.value, str) else None


NOT_SAID = Fact()


@dataclass(frozen=True, slots=True)
class Forwarded:
    """A variable that the launcher hands to its ranks.

    `value` None: the launcher's own value goes. `form`: x, env_list, genv, list, export. `works`: False when
    the text has no effect (`-x A,B`), UNKNOWN when that depends on the launcher's version.
    """

    name: str
    value: str | Unknown | None
    place: Place
    form: str
    works: bool | Unknown = True
    #: Which of the programs joined by `:` it is written for.
    app: int = 0


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something in the command line that the launcher refuses.

    `by`: the versions, "" for all. `instead`: the words that all versions take in its place, "" where there are none.
    `what`: what is refused, when it is no option.
    """

    text: str
    reason: str
    place: Place | None
    by: str = ""
    instead: str = ""
    what: str = "an option"


@dataclass(slots=True)
class Launcher:
    """One launcher as called.

    `forwards`: which of its variables the ranks get: all, listed (`forwarded` only), patterns (names that
    begin with one of `prefixes`), or UNKNOWN. `inner`: the words of the program that it starts. `unclear`: an
    unknown word among the options; facts that were read may be changed by it.
    """

    family: str
    words: list[Word]
    nodes: Fact = NOT_SAID
    node_rank: Fact = NOT_SAID
    processes: Fact = NOT_SAID
    processes_per_node: Fact = NOT_SAID
    backend: Fact = NOT_SAID
    host: Fact = NOT_SAID
    port: Fact = NOT_SAID
    master: Fact = NOT_SAID
    standalone: Fact = NOT_SAID
    tensor: Fact = NOT_SAID
    pipeline: Fact = NOT_SAID
    data: Fact = NOT_SAID
    gpus: Fact = NOT_SAID
    hosts: list[tuple[str, int | None]] | None = None
    hosts_place: Place | None = None
    #: The hosts that its words, or a hostfile in view, name, each where it stands.
    named: list[tuple[str, Place]] = field(default_factory=list)
    hostfile: Fact = NOT_SAID
    oversubscribe: bool = False
    head: bool = False
    forwards: str | Unknown = "all"
    prefixes: tuple[str, ...] = ()
    forwarded: list[Forwarded] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    options: dict[str, Fact] = field(default_factory=dict)
    inner: list[Word] = field(default_factory=list)
    unclear: bool = False

    @property
    def refused(self) -> bool:
        """Whether it would not start at all, whatever its version."""
        return any(not r.by for r in self.refusals)

    def refuse(
        self,
        text: str,
        reason: str,
        place: Place | None,
        by: str = "",
        instead: str = "",
        what: str = "an option",
    ) -> None:
        """Note a refusal."""
        self.refusals.append(Refusal(text, reason, place, by, instead, what))

    def forget(self) -> None:
        """An unknown word may overrule everything that was read."""
        self.unclear = True
        for name in (
            "nodes",
            "node_rank",
            "processes",
            "processes_per_node",
            "backend",
            "host",
            "port",
            "tensor",
            "pipeline",
            "data",
        ):
            setattr(self, name, Fact(UNKNOWN, getattr(self, name).place))


def hosts_in(word: Word) -> list[tuple[str, Place]]:
    """The hosts of a list `a:2,b:2`, each with its place; those that hold something unknown are left out."""
    found: list[tuple[str, Place]] = []
    at = 0
    for entry in word.raw.split(","):
        name = entry.partition(":")[0]
        if name.strip() and HOLE not in name:
            found.append((name, word.part(at, at + len(name))))
        at += len(entry) + 1
    return found


def lines_of(file: Word) -> list[tuple[str, Place]]:
    """The lines of a hostfile that name a host, without blanks around them, each with its place."""
    found: list[tuple[str, Place]] = []
    at = 0
    for line in file.raw.split("\n"):
        text = line.strip()
        if text and not text.startswith("#"):
            start = at + len(line) - len(line.lstrip())
            found.append((text, file.part(start, start + len(text))))
        at += len(line) + 1
    return found


def refuse_lines(made: Launcher, file: Word) -> None:
    """Note the first line of a hostfile that mpirun does not take: each make has a form of its own."""
    for line, place in lines_of(file):
        if HOLE in line:
            continue
        name, *rest = line.partition("#")[0].split()
        if made.family == "hydra" and any(w.startswith("slots") for w in rest):
            count = re.search(r"slots\s*=\s*(\d+)", line)
            way = f"{name}:{count[1] if count else 'N'}"
            made.refuse(line, f"the line '{line}' is not 'NAME:N'", place, instead=way, what="its hostfile")
            return
        if made.family == "openmpi" and re.fullmatch(r"[A-Za-z][\w.-]*:\d+", name):
            way = name.replace(":", " slots=")
            made.refuse(line, f"the line '{line}' is not 'NAME slots=N'", place, instead=way, what="its hostfile")
            return


def hosts_of_file(file: Word) -> list[tuple[str, Place]]:
    """The hosts of a hostfile, each with its place; lines that hold something unknown are left out."""
    found: list[tuple[str, Place]] = []
    at = 0
    for line in file.raw.split("\n"):
        text = line.lstrip()
        words = text.partition("#")[0].split()
        name = words[0].partition(":")[0] if words else ""
        if name and HOLE not in line:
            start = at + len(line) - len(text)
            found.append((name, file.part(start, start + len(name))))
        at += len(line) + 1
    return found


def integer(text: str | Unknown | None, place: Place | None) -> Fact:
    """A number as Python's int() reads it; UNKNOWN for an unknown text, the text itself when it is none."""
    if text is None:
        return NOT_SAID
    if isinstance(text, Unknown) or HOLE in text:
        return Fact(UNKNOWN, place)
    try:
        return Fact(int(text[:30]), place)
    except ValueError:
        return Fact(text, place)


@cache
def table(name: str) -> dict[str, Any]:
    """A launcher's options from the data files."""
    text = (resources.files("fabriclint_schemas") / "launchers" / f"{name}.json").read_text("utf-8")
    data: dict[str, Any] = json.loads(text)
    return data
