"""Where a line of a rendered stream comes from: the template's own file and line, when that is certain.

`helm template` names the template above each document, `kustomize build` the resource in an annotation when it is asked to.
A line is taken over when it stands in that file as it does in the stream, indentation aside; else it stays in the stream.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from dataclasses import replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import NamedTuple

from fabriclint.discover import SKIPPED
from fabriclint.disk import contents, exists
from fabriclint.document import Document, Source
from fabriclint.report.model import Region, RelatedPlace, ReportedFinding, ReportedFix

_ORIGIN = "config.kubernetes.io/origin"
_ORIGIN_PATH = re.compile(r"^path: *[\"']?([^\"'\r\n]+?)[\"']? *$", re.MULTILINE)
#: Files that are looked at for one that a stream names.
_FILE_LIMIT = 20_000
#: Files with one ending among which the object's own is looked for.
_ALIKE = 40
#: Lines in a row that are the same in stream and template, from which on each of them is taken for the same one.
_CERTAIN = 4


class Origin(NamedTuple):
    """A line of a template: its file, that file's text, the 1-based line, and how far the line is shifted to the right."""

    uri: str
    text: str
    line: int
    shift: int


class Templates:
    """The files below the working directory that rendered documents name; each is read once."""

    def __init__(self) -> None:
        self._files: list[str] | None = None
        self._texts: dict[tuple[str, str], tuple[str, str] | None] = {}
        self._lines: dict[int, tuple[Document, dict[int, Origin]]] = {}

    def origin(self, document: Document, line: int) -> Origin | None:
        """The place in its template of a line of the stream that the document stands in."""
        known = self._lines.get(id(document))
        if known is None:
            known = self._lines[id(document)] = (document, self._aligned(document))
        return known[1].get(line)

    def _aligned(self, document: Document) -> dict[int, Origin]:
        named = document.rendered_from or _origin_of(document)
        found = self._template(named, _name_of(document)) if named is not None else None
        if found is None:
            return {}
        uri, text = found
        source = document.source
        first = source.position(document.start)[0]
        last = source.position(max(document.end - 1, document.start))[0]
        ours = [source.line(number) for number in range(first, last + 1)]
        theirs = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        pairs = _pairs([line.strip() for line in ours], [line.strip() for line in theirs])
        made = {}
        for our, their in pairs.items():
            shift = _indent(theirs[their]) - _indent(ours[our])
            made[first + our] = Origin(uri, text, their + 1, shift)
        return made

    def _template(self, named: str, of: str) -> tuple[str, str] | None:
        if (named, of) not in self._texts:
            self._texts[named, of] = self._read(named, of)
        return self._texts[named, of]

    def _read(self, named: str, of: str) -> tuple[str, str] | None:
        # Helm begins with the chart's name, which need not be its folder's; kustomize may begin with `../`.
        steps = [s for s in named.replace("\\", "/").split("/") if s not in ("", ".", "..")]
        for wanted in (steps, steps[1:]):
            ending = "/".join(wanted)
            if not ending or (wanted is not steps and "templates" not in wanted):
                continue
            fitting = [f for f in self._all() if f == ending or f.endswith(f"/{ending}")]
            if wanted is not steps:
                fitting = [f for f in fitting if _chart_name(f, ending) in (steps[0], None)]
            if fitting:
                return _only(fitting, of)
        return None

    def _all(self) -> list[str]:
        if self._files is None:
            self._files = []
            for folder, folders, files in os.walk("."):
                folders[:] = sorted(f for f in folders if f not in SKIPPED)
                base = Path(folder).as_posix()
                self._files += [f if base == "." else f"{base}/{f}" for f in sorted(files)]
                if len(self._files) > _FILE_LIMIT:
                    break
        return self._files


class RenderedSource:
    """A stream whose documents say where they come from: its findings at the templates' own lines."""

    def __init__(self, source: Source, documents: list[Document]) -> None:
        self.source = source
        self.templates = Templates()
        self.documents = sorted((d for d in documents if d.host is None), key=lambda d: d.start)
        self.starts = [d.start for d in self.documents]
        #: The texts of the templates that findings stand in, by path.
        self.texts: dict[str, str] = {}

    def moved(self, finding: ReportedFinding) -> ReportedFinding:
        """The finding at its template's line, where that is known; a template is not mended."""
        region = self._region(finding.region)
        related = tuple(RelatedPlace(self._region(r.region), r.message) for r in finding.related)
        fix = finding.fix
        if region is not finding.region and fix is not None:
            fix = ReportedFix(fix.applicability, fix.message, (), "the line is rendered from this template")
        return replace(finding, region=region, related=related, fix=fix)

    def _region(self, region: Region) -> Region:
        if region.path != self.source.uri or region.line > len(self.source.line_starts):
            return region
        index = bisect_right(self.starts, self.source.line_starts[region.line - 1] + region.column - 1) - 1
        found = self.templates.origin(self.documents[index], region.line) if index >= 0 else None
        if found is None or region.end_line != region.line or region.column + found.shift < 1:
            return region
        self.texts[found.uri] = found.text
        columns = (region.column + found.shift, region.end_column + found.shift)
        return Region(found.uri, found.line, columns[0], found.line, columns[1])


def is_rendered(source: Source, documents: list[Document]) -> bool:
    """Whether it is a stream, and no file, of which some documents say where they come from."""
    return any(d.rendered_from or _origin_of(d) for d in documents) and not exists(source.uri)


def _chart_name(path: str, ending: str) -> str | None:
    """The name in the Chart.yaml of the chart that a template belongs to; None when that cannot be read."""
    chart = Path(path.removesuffix(ending)) / "Chart.yaml"
    try:
        found = re.search(r"^name: *[\"']?([^\"'\s]+)", contents(chart).decode("utf-8-sig"), re.MULTILINE)
    except (OSError, UnicodeDecodeError):
        return None
    return found[1] if found is not None else None


def _only(fitting: list[str], of: str) -> tuple[str, str] | None:
    """The one file of these, with its text; of several the one that writes the object's name out."""
    found: list[tuple[str, str]] = []
    for path in fitting[:_ALIKE]:
        try:
            text = contents(path).decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
        except (OSError, UnicodeDecodeError):
            continue
        if len(fitting) == 1 or (
            of and re.search(rf"^ +name: *[\"']?{re.escape(of)}[\"']? *(?:#.*)?$", text, re.MULTILINE)
        ):
            found.append((path, text))
    return found[0] if len(found) == 1 and len(fitting) <= _ALIKE else None


def _name_of(document: Document) -> str:
    said = document.root.string("metadata", "name") if document.root is not None else None
    return said or ""


def _origin_of(document: Document) -> str | None:
    said = document.root.string("metadata", "annotations", _ORIGIN) if document.root is not None else None
    found = _ORIGIN_PATH.search(said) if said is not None and "repo:" not in said else None
    return found[1] if found is not None else None


def _pairs(ours: list[str], theirs: list[str]) -> dict[int, int]:
    """Lines of the stream by the line of the template that says the same: in order, or the only one of its kind."""
    made: dict[int, int] = {}
    for match in SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks():
        for step in range(match.size):
            line = ours[match.a + step]
            # A line that stands twice in the template could be either, unless its neighbours tell.
            if line and (match.size >= _CERTAIN or theirs.count(line) == 1):
                made[match.a + step] = match.b + step
    for number, line in enumerate(ours):
        # A loop writes one line of the template several times.
        if line and number not in made and theirs.count(line) == 1:
            made[number] = theirs.index(line)
    return made


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
