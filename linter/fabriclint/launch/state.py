"""What a shell knows at one point of its text: variables, words, files it wrote, how sure it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

from fabriclint.launch.word import HOLE, Place, Word
from fabriclint.node import Unknown

if TYPE_CHECKING:
    from fabriclint.launch.script_tree import Body


class Certainty(IntEnum):
    """Whether a command runs: surely; if what stands before succeeds; in one branch of an open choice."""

    MAYBE = 0
    EXPECTED = 1
    CERTAIN = 2


@dataclass(slots=True)
class Variable:
    """A variable that the text touched. `value` None: unset. `items`: an array's, `written`: as the words that they are."""

    value: str | None
    exported: bool = False
    place: Place | None = None
    items: list[str] | None = None
    order: int = 0
    certainty: Certainty = Certainty.CERTAIN
    written: list[Word] | None = None


@dataclass(slots=True)
class Origin:
    """Where the characters of a script come from: a source and offsets in it."""

    source: int
    base: int = 0
    starts: list[int] | None = None
    ends: list[int] | None = None

    @staticmethod
    def of(word: Word) -> Origin:
        """That of a script which is the text of a word."""
        if word.starts is None and len(word.raw) != word.end - word.start:
            return Origin(word.source, word.start, [word.start] * len(word.raw), [word.end] * len(word.raw))
        return Origin(word.source, word.start, word.starts, word.ends)

    def start(self, at: int) -> int:
        """Offset in the source of the character at `at`."""
        if self.starts is None:
            return self.base + at
        if not self.starts:
            return self.base
        return self.starts[at] if at < len(self.starts) else (self.ends or self.starts)[-1]

    def end(self, at: int) -> int:
        """Offset in the source of the end of the character before `at`."""
        if self.ends is None:
            return self.base + at
        if at <= 0 or not self.ends:
            return self.start(0)
        return self.ends[min(at, len(self.ends)) - 1]

    def place(self, start: int, end: int) -> Place:
        """The stretch start..end of the script in the source."""
        first = self.start(start)
        return Place(self.source, first, max(first, self.end(end)) if end > start else first)


_SPECIAL = frozenset(
    [
        "$",
        "!",
        "-",
        "_",
        "RANDOM",
        "SRANDOM",
        "SECONDS",
        "LINENO",
        "PPID",
        "UID",
        "EUID",
        "HOSTNAME",
        "SHLVL",
        "BASH",
        "BASH_VERSION",
        "BASHPID",
        "BASH_SOURCE",
        "BASHOPTS",
        "SHELLOPTS",
        "EPOCHSECONDS",
        "EPOCHREALTIME",
        "PIPESTATUS",
        "FUNCNAME",
        "HOSTTYPE",
        "MACHTYPE",
        "OSTYPE",
        "GROUPS",
        "OPTIND",
        "OPTARG",
        "REPLY",
        "COLUMNS",
        "LINES",
        "PATH",
        "TERM",
        "PWD",
        "OLDPWD",
        "HOME",
    ]
)


@dataclass(slots=True)
class State:
    """A shell's state."""

    environment: Callable[[str], str | Unknown | None]
    bash: bool
    under_sh: bool = False
    variables: dict[str, Variable] = field(default_factory=dict)
    positional: list[Word] = field(default_factory=list)
    #: The positional words are those of a caller out of view.
    positional_open: bool = False
    name: str = "bash"
    functions: dict[str, tuple[Body, Origin]] = field(default_factory=dict)
    files: dict[str, Word] = field(default_factory=dict)
    options: set[str] = field(default_factory=set)
    certainty: Certainty = Certainty.CERTAIN
    #: Exit status of the last command; None = unknown. `asked`: it was a question (test, grep, ...).
    status: int | None = 0
    asked: bool = False
    cwd: str | None = None
    #: A file out of view was sourced: any name may have a value now.
    open_names: bool = False
    cleared: bool = False
    local_scopes: list[dict[str, Variable | None]] = field(default_factory=list)
    origin: Origin = field(default_factory=lambda: Origin(0))

    def get(self, name: str) -> str | None:
        """A variable's text (HOLE for what is unknown), or None when it is certainly unset."""
        known = self.variables.get(name)
        if known is not None:
            if known.items is not None:
                return known.items[0] if known.items else None
            return known.value
        return self.inherited(name)

    def inherited(self, name: str) -> str | None:
        """What the container's environment gives."""
        if self.cleared:
            return HOLE if name in _SPECIAL else None
        value = self.environment(name)
        if isinstance(value, Unknown):
            return HOLE
        if value is None:
            return HOLE if self.open_names or name in _SPECIAL else None
        return value.replace(HOLE, "\ufffd")

    def file(self, path: str) -> Word | None:
        """The text of a file that is known, by its path from the working folder or the root."""
        found = self.files.get(path)
        if found is None and self.files and self.cwd is not None and not path.startswith("/"):
            found = self.files.get(f"{self.cwd.rstrip('/')}/{path.removeprefix('./')}")
        return found

    def exported(self, name: str) -> bool:
        """Whether a child would see the variable."""
        known = self.variables.get(name)
        if known is not None:
            return known.exported
        return not self.cleared and self.environment(name) is not None

    def copy(self) -> State:
        """An independent copy."""
        return State(
            self.environment,
            self.bash,
            self.under_sh,
            dict(self.variables),
            list(self.positional),
            self.positional_open,
            self.name,
            dict(self.functions),
            dict(self.files),
            set(self.options),
            self.certainty,
            self.status,
            self.asked,
            self.cwd,
            self.open_names,
            self.cleared,
            list(self.local_scopes),
            self.origin,
        )

    def become(self, other: State) -> None:
        """Take over all of another state."""
        for name in State.__slots__:
            setattr(self, name, getattr(other, name))

    def forget(self) -> None:
        """Something out of view may have changed every variable."""
        self.open_names = True
        for name, known in self.variables.items():
            self.variables[name] = Variable(HOLE, known.exported, known.place, None, known.order, Certainty.MAYBE)

    def join(self, others: list[State]) -> None:
        """Become what holds whichever of the states (this one included) is the real one."""
        for other in others:
            for name in self.variables.keys() | other.variables.keys():
                mine, theirs = self.variables.get(name), other.variables.get(name)
                if mine is theirs:
                    continue
                one = mine.value if mine else self.inherited(name)
                two = theirs.value if theirs else other.inherited(name)
                latest = max((v for v in (mine, theirs) if v), key=lambda v: v.order)
                exported = self.exported(name) or other.exported(name)
                items = mine.items if mine and theirs and mine.items == theirs.items else None
                value = one if one == two else HOLE
                sure = (
                    min(v.certainty for v in (mine, theirs) if v) if mine and theirs and one == two else Certainty.MAYBE
                )
                self.variables[name] = Variable(value, exported, latest.place, items, latest.order, sure)
            for path in self.files.keys() | other.files.keys():
                if self.files.get(path) is not other.files.get(path):
                    self.files[path] = Word(HOLE, 0, 0, 0)
            for function in self.functions.keys() | other.functions.keys():
                if self.functions.get(function) is not other.functions.get(function):
                    self.functions.pop(function, None)
            self.options &= other.options
            self.open_names |= other.open_names
            self.cwd = self.cwd if self.cwd == other.cwd else None
            self.certainty = min(self.certainty, other.certainty)
            if [w.raw for w in self.positional] != [w.raw for w in other.positional] or other.positional_open:
                self.positional, self.positional_open = [], True
