"""What a small shell writes down: assignments, sourced files, started programs; and how it leaves a script early."""

from __future__ import annotations

from dataclasses import dataclass, field

from fabriclint.launch.state import Certainty
from fabriclint.launch.word import Place, Word, pieces_of, text_of
from fabriclint.node import Unknown


@dataclass(slots=True)
class Assignment:
    """A variable that was given to child processes; `raw` None: taken away from them."""

    name: str
    raw: str | None
    place: Place | None
    order: int
    certainty: Certainty

    @property
    def value(self) -> str | Unknown | None:
        """The value, UNKNOWN when part of it is, None when the variable was removed."""
        return None if self.raw is None else text_of(self.raw)

    @property
    def pieces(self) -> tuple[str | Unknown, ...]:
        """The known stretches of the value."""
        return pieces_of(self.raw or "")


@dataclass(slots=True)
class Sourced:
    """A file that was read by `.` or `source`. `works` False: this shell has no `source`."""

    path: Word
    place: Place
    order: int
    certainty: Certainty
    under_sh: bool
    by_source: bool
    works: bool = True
    in_view: bool = False


@dataclass(slots=True)
class Invocation:
    """A program that is started. `environment`: what differs from the container's; `cleared`: it is all."""

    words: list[Word]
    environment: dict[str, Assignment]
    certainty: Certainty
    order: int
    background: bool = False
    substitution: bool = False
    under_sh: bool = False
    cleared: bool = False
    open_names: bool = False
    cwd: str | None = None

    @property
    def name(self) -> str | Unknown:
        """The program's name without its folder."""
        text = self.words[0].text
        return text if isinstance(text, Unknown) else text.rsplit("/", 1)[-1]


@dataclass(slots=True)
class Transcript:
    """All that was seen."""

    invocations: list[Invocation] = field(default_factory=list)
    assignments: list[Assignment] = field(default_factory=list)
    sourced: list[Sourced] = field(default_factory=list)
    #: Scripts and commands that are out of view.
    unseen: list[Word] = field(default_factory=list)
    refused: list[tuple[Place, str]] = field(default_factory=list)
    #: The reader gave up somewhere: more may happen than is listed.
    open: bool = False
    files: dict[str, Word] = field(default_factory=dict)


class GiveUpError(Exception):
    """Too much work, or too deep."""


class LeaveError(Exception):
    """`return`, `break`, `continue`."""

    def __init__(self, kind: str, count: int = 1, status: int | None = 0) -> None:
        super().__init__(kind)
        self.kind = kind
        self.count = count
        self.status = status


class Sink:
    """Collects output."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def add(self, text: str) -> None:
        self.parts.append(text)
