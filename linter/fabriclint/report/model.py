"""A report as plain data: what all formats are made from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import overload


@dataclass(frozen=True, slots=True)
class Region:
    """A place in a file: 1-based line and column in code points, end exclusive."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class ObjectRef:
    """The Kubernetes object a finding is about."""

    api_version: str
    kind: str
    namespace: str | None
    name: str | None


@dataclass(frozen=True, slots=True)
class RelatedPlace:
    """Another place that explains a finding."""

    region: Region
    message: str


@dataclass(frozen=True, slots=True)
class Edit:
    """Text that replaces a region."""

    region: Region
    text: str


@dataclass(frozen=True, slots=True)
class ReportedFix:
    """A fix as edits. `applicability`: safe or unsafe. Without edits `refused` says why there are none.

    `plans`: how the edits came about, for the module that writes them; no format shows it.
    """

    applicability: str
    message: str
    edits: tuple[Edit, ...]
    refused: str = ""
    plans: tuple[object, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Suppression:
    """Why a finding is not counted. `kind`: inSource or external."""

    kind: str
    reason: str


@dataclass(frozen=True, slots=True)
class ReportedFinding:
    """A finding with its place resolved."""

    code: str
    name: str
    severity: str
    message: str
    help: str
    url: str
    region: Region
    object: ObjectRef | None
    pointer: str
    fabric: str | None
    fingerprint: str
    related: tuple[RelatedPlace, ...] = ()
    fix: ReportedFix | None = None
    suppressed: Suppression | None = None


@dataclass(frozen=True, slots=True)
class Notification:
    """What the run itself has to say. `level`: error, warning, note."""

    level: str
    code: str
    path: str | None
    message: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class RuleInfo:
    """What a report says of a rule."""

    code: str
    name: str
    summary: str
    description: str
    help_text: str
    help_markdown: str
    severity: str
    fabric: str | None
    category: str
    tags: tuple[str, ...]
    precision: str
    url: str


@dataclass(frozen=True, slots=True)
class Summary:
    """Counts."""

    files: int = 0
    documents: int = 0
    workloads: int = 0
    errors: int = 0
    warnings: int = 0
    notes: int = 0
    suppressed: int = 0
    baselined: int = 0


@dataclass(frozen=True, slots=True)
class ToolInfo:
    """The tool's name, version and home."""

    name: str
    version: str
    url: str


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """How it is shown."""

    colour: bool = False
    width: int | None = None
    show_suppressed: bool = False
    verbose: bool = False
    uri_prefix: str = ""
    sarif_category: str | None = None
    exit_code: int = 0
    footer: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """All of a run, sorted."""

    tool: ToolInfo
    findings: tuple[ReportedFinding, ...]
    notifications: tuple[Notification, ...]
    rules: Sequence[RuleInfo]
    summary: Summary
    sources: Mapping[str, str] = field(default_factory=dict)
    options: ReportOptions = field(default_factory=ReportOptions)
    #: Objects that the jobs hang on and that are in none of the files, as `ConfigMap 'nccl'`.
    unseen: tuple[str, ...] = ()


class RulesOnDemand(Sequence[RuleInfo]):
    """The rules of a run, read from their docstrings only when a format asks for them."""

    def __init__(self, make: Callable[[], Iterable[RuleInfo]]) -> None:
        self._make = make
        self._made: tuple[RuleInfo, ...] | None = None

    def _all(self) -> tuple[RuleInfo, ...]:
        if self._made is None:
            self._made = tuple(self._make())
        return self._made

    def __len__(self) -> int:
        return len(self._all())

    @overload
    def __getitem__(self, index: int) -> RuleInfo: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[RuleInfo, ...]: ...
    def __getitem__(self, index: int | slice) -> RuleInfo | tuple[RuleInfo, ...]:
        return self._all()[index]


def counted(number: int, word: str) -> str:
    """`1 error`, `2 errors`."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
