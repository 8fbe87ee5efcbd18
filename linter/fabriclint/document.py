"""A text that was read, and the documents in it: the stage between bytes and the workspace."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from fabriclint.finding import Fix
    from fabriclint.node import Mapping, Node, Scalar


_LINE_END = re.compile(r"\r\n|\n|\r")


class Role(Enum):
    """What a document is to the linter."""

    MANIFEST = "manifest"
    #: Named by a kustomization as a patch, or holding `$patch`: only part of an object.
    PARTIAL = "partial"
    #: Not valid before a template engine ran over it; skipped with a notification.
    TEMPLATE = "template"
    #: Anything else (values files, compose files, workflows): counted, never judged.
    OTHER = "other"


#: With what a comment for us begins.
MARKER = "fabriclint:"


class Problem(NamedTuple):
    """What the reader itself noticed about a text: a finding in waiting, at offsets of `Source.text`."""

    code: str  # DOC001, DOC002, DOC009 ...
    severity: str  # error, warning, note
    start: int
    end: int
    message: str
    related: tuple[tuple[int, int, str], ...] = ()  # (start, end, message) in the same text
    fix: Fix | None = None


@dataclass(slots=True)
class Source:
    """One file or stream, decoded.

    `uri`: POSIX path relative to the working directory (`stdin` for a stream without a name). `text`:
    decoded, line ends as found, without BOM. All offsets count code points of `text`.
    """

    uri: str
    text: str
    bom: bool = False
    encoding: str = "utf-8"
    problems: list[Problem] = field(default_factory=list)
    #: Whether findings about it are reported; False for the reference set, which only answers questions.
    reported: bool = True
    _lines: list[int] | None = None
    _marked: bool | None = None

    @property
    def marked(self) -> bool:
        """Whether it may hold comments for us, which accept findings line by line: each has to stand at its own."""
        if self._marked is None:
            self._marked = MARKER in self.text
        return self._marked

    @property
    def line_starts(self) -> list[int]:
        """Offsets at which lines begin. LF, CR and CRLF end a line, nothing else does."""
        if self._lines is None:
            starts = [0]
            text = self.text
            if "\r" in text:
                starts.extend(found.end() for found in _LINE_END.finditer(text))
            else:
                at = text.find("\n")
                while at != -1:
                    starts.append(at + 1)
                    at = text.find("\n", at + 1)
            self._lines = starts
        return self._lines

    def position(self, offset: int) -> tuple[int, int]:
        """1-based line and column (code points) of an offset."""
        starts = self.line_starts
        line = bisect_right(starts, offset) - 1
        return line + 1, offset - starts[line] + 1

    def line(self, number: int) -> str:
        """The text of a 1-based line, without its end."""
        return self.text[self.line_starts[number - 1] : self.line_end(number)]

    def line_end(self, number: int) -> int:
        """The offset at which a 1-based line ends, its line break left out."""
        starts = self.line_starts
        start = starts[number - 1]
        end = starts[number] if number < len(starts) else len(self.text)
        while end > start and self.text[end - 1] in "\r\n":
            end -= 1
        return end


@dataclass(slots=True, eq=False)
class Document:
    """One document of a stream, or a text embedded in a string of another document.

    `start`, `end`: its chunk in `source.text`. `text` is what its nodes' offsets count in: the source's text,
    or, for an embedded document, the decoded value of `host`.
    """

    source: Source
    index: int
    start: int
    end: int
    root: Node | None = None
    role: Role = Role.OTHER
    host: Scalar | None = None
    #: Path given by a `# Source:` comment of a rendered stream (Helm), as written.
    rendered_from: str | None = None

    @property
    def text(self) -> str:
        """The text that offsets of this document's nodes count in."""
        if self.host is not None and isinstance(self.host.value, str):
            return self.host.value
        return self.source.text


@dataclass(slots=True, eq=False)
class Manifest:
    """One Kubernetes object: a document's root, or an item of a `kind: List`."""

    document: Document
    root: Mapping
    api_version: str
    kind: str
    #: A base that another kustomization lists (what is missing may stand in the overlay), by file name.
    overlay: str | None = None
    #: Judged only as far as a partial document can be.
    partial: bool = False

    @property
    def group(self) -> str:
        """API group; empty for the core group."""
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        """API version without its group."""
        return self.api_version.rpartition("/")[2]

    @property
    def name(self) -> str | None:
        """metadata.name, or None when absent (generateName) or no string."""
        return self.root.string("metadata", "name")

    @property
    def namespace(self) -> str | None:
        """metadata.namespace, or None when absent."""
        return self.root.string("metadata", "namespace")

    @property
    def uri(self) -> str:
        """Where it was read from."""
        return self.document.source.uri
