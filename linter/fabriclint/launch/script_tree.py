"""A script as a tree: its lines, commands and words, every part with its offsets in the text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias


class ShellError(Exception):
    """The shell refuses the text here: nothing of this line runs."""

    def __init__(self, at: int, message: str) -> None:
        super().__init__(message)
        self.at = at
        self.message = message


class TooDeepError(Exception):
    """The text nests deeper than this reader goes; nothing can be said about it."""


@dataclass(slots=True)
class Literal:
    """Characters that stand for themselves."""

    text: str
    start: int
    end: int
    quoted: bool = False


@dataclass(slots=True)
class Parameter:
    """`$NAME`, `${NAME...}`: operator and its words."""

    name: str
    start: int
    end: int
    quoted: bool
    op: str = ""
    arg: Raw | None = None
    second: Raw | None = None
    index: Raw | None = None
    length: bool = False
    indirect: bool = False
    bad: bool = False


@dataclass(slots=True)
class Substitution:
    """`$(...)`, backquotes, `<(...)`: the commands, None when they could not be read."""

    body: Body | None
    start: int
    end: int
    quoted: bool
    process: bool = False
    detached: bool = False


@dataclass(slots=True)
class Arithmetic:
    """`$((...))`, `$[...]`."""

    body: Raw
    start: int
    end: int
    quoted: bool


Part: TypeAlias = "Literal | Parameter | Substitution | Arithmetic"


Raw: TypeAlias = "list[Part]"


@dataclass(slots=True)
class Token:
    """A word as written."""

    parts: Raw
    start: int
    end: int

    @property
    def plain(self) -> str | None:
        """Its text when it is one unquoted stretch."""
        if all(isinstance(p, Literal) and not p.quoted for p in self.parts):
            return "".join(p.text for p in self.parts if isinstance(p, Literal))
        return None


@dataclass(slots=True)
class Assign:
    """`NAME=word`, `NAME+=word`, `NAME[i]=word`, `NAME=(words)`."""

    name: str
    append: bool
    value: Token | list[Token]
    start: int
    end: int
    index: str | None = None


@dataclass(slots=True)
class Redirect:
    """A redirection; for heredocs `body` is the text."""

    op: str
    fd: int | None
    target: Token | None
    body: Raw | None = None
    start: int = 0
    end: int = 0


@dataclass(slots=True)
class Simple:
    """Assignments, words, redirections."""

    assigns: list[Assign]
    words: list[Token | Assign]
    redirects: list[Redirect]
    start: int
    end: int


@dataclass(slots=True)
class Pipeline:
    """Commands joined by `|`."""

    commands: list[Command]
    negated: bool
    start: int
    end: int


@dataclass(slots=True)
class Chain:
    """Pipelines joined by `&&` and `||`."""

    first: Pipeline
    rest: list[tuple[str, Pipeline]]
    background: bool = False


Body: TypeAlias = "list[Chain]"


@dataclass(slots=True)
class Compound:
    """Everything that holds other commands; `kind` says which fields are used.

    group, subshell, if (`clauses`, `other`), while, until (`clauses`), for (`name`, `words`, `body`), cfor
    (`arith`), case (`subject`, `cases`), cond (`words`), arith, function (`name`, `body`), coproc.
    """

    kind: str
    start: int
    end: int
    body: Body = field(default_factory=list)
    clauses: list[tuple[Body, Body]] = field(default_factory=list)
    other: Body | None = None
    name: str = ""
    words: list[Token] | None = None
    arith: list[Raw] = field(default_factory=list)
    subject: Token | None = None
    cases: list[tuple[list[Token], Body, str]] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)


Command: TypeAlias = "Simple | Compound"


@dataclass(slots=True)
class Script:
    """The lines that were read, and the first that the shell refuses."""

    lines: list[Body]
    error: ShellError | None = None
