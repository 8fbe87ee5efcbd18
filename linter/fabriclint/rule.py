"""The public rule API: the only module of the engine, beside the views, that a rule pack imports.

A rule is a typed generator with metadata; its docstring is its documentation, its help and its test.

Docstring form (headings at the start of a line, `Bad`/`Good` repeated as often as wanted)::

    One line that says what is right.

    Why it matters: what happens at run time ...

    Fix: the edit to make.

    Silent: when it says nothing although one might expect it.

    Bad: what this example shows (tcpxo-jobset)
        @@ name: tcpxo-daemon
        - restartPolicy: Always
    Good: ...

An example is a named complete manifest (tests/bases) with the lines changed that it shows, as a diff; ` # <-` marks the
line of the finding (tests/rules/example.py has the whole language). Where one function carries the codes of several
families, `Bad TCPX:` and `Good TCPX:` are the examples of that family. `Source:` comes last: repository@commit path, or a
page's name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from fabriclint.finding import (
    AddField,
    Applicability,
    Change,
    Finding,
    Fix,
    Place,
    Related,
    Remove,
    RenameKey,
    ReplaceText,
    SetValue,
    Severity,
)

if TYPE_CHECKING:
    from fabriclint.node import Node

__all__ = [
    "AddField",
    "Applicability",
    "Change",
    "Finding",
    "Fix",
    "Pack",
    "Place",
    "Related",
    "Remove",
    "RenameKey",
    "ReplaceText",
    "Rule",
    "SetValue",
    "Severity",
    "rule",
]

F = TypeVar("F", bound=Callable[..., Iterable[Finding]])


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule's metadata and its function.

    `on`: the class of view the function is called with (Manifest, PodView, WorkerPod, GroupView, TrainJobView,
    RuntimeView, Workspace ...). `fabrics`: profile names or families it is limited to; empty for all.
    `yields_to`: codes that, when reported on the same pod or job, silence this rule's findings there.
    `yields_on_line`: codes that silence this rule's findings on the very same line only.
    `default`: whether it runs without being selected.
    """

    code: str
    name: str
    severity: Severity
    on: type
    check: Callable[..., Iterable[Finding]]
    fabrics: tuple[str, ...] = ()
    yields_to: tuple[str, ...] = ()
    yields_on_line: tuple[str, ...] = ()
    default: bool = True
    category: str = "correctness"
    #: Every severity the rule can give, for the tables; the first is the default.
    severities: tuple[Severity, ...] = ()

    @property
    def family(self) -> str:
        """The code without its number."""
        return self.code.rstrip("0123456789")

    @property
    def doc(self) -> str:
        """The dedented docstring."""
        return inspect.cleandoc(self.check.__doc__ or "")

    @property
    def summary(self) -> str:
        """The docstring's first line."""
        return self.doc.split("\n", 1)[0].strip()


_DECLARED = "__fabriclint_rules__"


def rule(
    code: str,
    name: str,
    severity: Severity,
    *,
    on: type,
    fabric: str | tuple[str, ...] = (),
    yields_to: tuple[str, ...] = (),
    yields_on_line: tuple[str, ...] = (),
    default: bool = True,
    category: str = "correctness",
    also: tuple[Severity, ...] = (),
) -> Callable[[F], F]:
    """Declare a generator function as a rule. One function may carry several codes (sister fabrics share one
    mechanism): stack the decorator; the function then receives the `Rule` it runs as when it has a parameter `rule`.
    """

    def declare(function: F) -> F:
        made = Rule(
            code,
            name,
            severity,
            on,
            function,
            (fabric,) if isinstance(fabric, str) else tuple(fabric),
            yields_to,
            yields_on_line,
            default,
            category,
            (severity, *also),
        )
        declared: list[Rule] = getattr(function, _DECLARED, [])
        setattr(function, _DECLARED, [made, *declared])
        return function

    return declare


def rules_of(module: Any) -> Iterator[Rule]:
    """The rules that a module's functions declare, in the order they stand."""
    for value in vars(module).values():
        if inspect.isfunction(value) and value.__module__ == module.__name__:
            yield from getattr(value, _DECLARED, ())


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a pod is taken to belong to a fabric: the place and the signal in words (`resource vpc.amazonaws.com/efa`)."""

    node: Node
    signal: str
    strong: bool = True


@dataclass(frozen=True, slots=True)
class FabricMatch:
    """The fabric of a pod: profile name, its family (gke-tcpxo, eks-efa, ib ...), evidence, and rivals seen."""

    name: str
    declared: bool = False
    evidence: tuple[Evidence, ...] = ()
    rivals: tuple[tuple[str, Evidence], ...] = ()
    profile: Any = None


@dataclass(frozen=True, slots=True)
class Pack:
    """A rule pack: its rules, lazily, and how it tells a pod's fabric (called once per pod, memoised by the engine).

    `load_for`: of its rules, at least those that can speak when nothing is in view but what is named: classes of views
    (with the classes they derive from), kinds of objects, names and families of fabrics, `snapshot`.
    """

    name: str
    load: Callable[[], Iterable[Rule]]
    fabric_of: Callable[[Any], FabricMatch | None] | None = None
    codes: frozenset[str] = field(default_factory=frozenset)
    load_for: Callable[[frozenset[str]], Iterable[Rule]] | None = None
