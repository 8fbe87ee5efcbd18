"""From a fix to edits of files that are known to do what it says, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from fabriclint.document import Document, Source
from fabriclint.finding import EditText, Fix, NodeChange, RenameKey, ReplaceText
from fabriclint.fix.edit import Edit, document_of, edits_of
from fabriclint.fix.model import Model, RefusedError, canonical
from fabriclint.fix.style import Style, style_of
from fabriclint.node import Node, Scalar


class Part(NamedTuple):
    """What a fix does in one file: edits of its text, and the changes as its documents' trees know them."""

    source: Source
    edits: tuple[Edit, ...]
    changes: tuple[tuple[Document, NodeChange], ...]


@dataclass(frozen=True, eq=False)
class Plan:
    """A fix as edits that were checked one by one."""

    parts: tuple[Part, ...]

    @property
    def renames(self) -> bool:
        """Whether it gives a key another name."""
        return any(isinstance(change, RenameKey) for part in self.parts for _, change in part.changes)


class Planner:
    """Turns fixes into plans; what it learns of a document is kept for the next fix there."""

    def __init__(self) -> None:
        self._styles: dict[int, tuple[Document, Style]] = {}
        self._read: dict[int, tuple[Source, list[tuple[int, int, str]]]] = {}

    def plan(self, fix: Fix) -> Plan:
        """The edits of a fix. Raises RefusedError with the reason when it is not to be made."""
        edits: dict[int, list[Edit]] = {}
        changes: dict[int, list[tuple[Document, NodeChange]]] = {}
        sources: dict[int, Source] = {}
        for change in fix.changes:
            if isinstance(change, EditText):
                sources[id(change.source)] = change.source
                edits.setdefault(id(change.source), []).append(Edit(change.start, change.end, change.text))
                continue
            document = document_of(change)
            made = edits_of(change, document, self._style(document))
            for outer, its_change, its_edits in self._outer(document, change, made):
                source = outer.source
                sources[id(source)] = source
                edits.setdefault(id(source), []).extend(its_edits)
                changes.setdefault(id(source), []).append((outer, its_change))
        parts = []
        for key, source in sources.items():
            if not source.reported:
                raise RefusedError(f"it stands in '{source.uri}', which is not among the files that are checked")
            if "\ufffd" in source.text:
                raise RefusedError("the file holds bytes that are no text")
            part = Part(source, _merged(edits[key], source.text), tuple(changes.get(key, ())))
            if overlap(part.edits):
                raise RefusedError("its changes overlap")
            if not self.holds(source, part.edits, part.changes):
                raise RefusedError(_why(part))
            parts.append(part)
        return Plan(tuple(parts))

    def _style(self, document: Document) -> Style:
        known = self._styles.get(id(document))
        if known is None:
            known = self._styles[id(document)] = (document, style_of(document))
        return known[1]

    def _outer(
        self, document: Document, change: NodeChange, edits: list[Edit]
    ) -> Iterable[tuple[Document, NodeChange, list[Edit]]]:
        """A change of a text inside a string is a change of that string, in the file's own document."""
        host = document.host
        if host is None:
            yield document, change, edits
            return
        host_node: Node = host.source
        if not isinstance(host_node, Scalar) or host_node.doc is None:
            raise RefusedError("the text stands in no file")
        if host_node.via is not None:
            raise RefusedError(f"the text is reached through the alias '*{host_node.via.anchor}'")
        self._inner_holds(document, change, edits)
        for edit in edits:
            replaced = ReplaceText(host_node, (edit.start, edit.end), edit.text)
            made = edits_of(replaced, host_node.doc, self._style(host_node.doc))
            yield from self._outer(host_node.doc, replaced, made)

    def _inner_holds(self, document: Document, change: NodeChange, edits: list[Edit]) -> None:
        from fabriclint.embedded import EmbeddedError, parse_embedded

        text = apply_edits(document.text, edits)
        is_json = document.text.lstrip()[:1] in ("{", "[")
        read = parse_embedded(Scalar(None, 0, len(text), text), json=is_json)
        if isinstance(read, EmbeddedError):
            raise RefusedError("the edited text would not read as meant")
        assert document.root is not None
        model = Model(document.root)
        model.change([change])
        if read.root is None or canonical(read.root) != model.canonical():
            raise RefusedError("the edited text would not read as meant")

    def holds(self, source: Source, edits: Iterable[Edit], changes: Iterable[tuple[Document, NodeChange]]) -> bool:
        """Whether the edited text reads as the original does after the changes, document by document.

        Of edits within one document only that one is read again: a stream may hold hundreds.
        """
        edits = list(edits)
        known = self._documents(source)
        wanted = {number: value for number, (_, _, value) in enumerate(known)}
        by_document: dict[int, tuple[Document, list[NodeChange]]] = {}
        for document, change in changes:
            by_document.setdefault(id(document), (document, []))[1].append(change)
        for document, some in by_document.values():
            if document.root is None or document.index not in wanted:
                return False
            model = Model(document.root)
            model.change(some)
            wanted[document.index] = model.canonical()
        first, last = min(e.start for e in edits), max(e.end for e in edits)
        for number, (start, end, _) in enumerate(known):
            if start <= first and last <= end and {d.index for d, _ in by_document.values()} <= {number}:
                inside = [Edit(e.start - start, e.end - start, e.text) for e in edits]
                return _values(source.uri, apply_edits(source.text[start:end], inside)) == [wanted[number]]
        return _values(source.uri, apply_edits(source.text, edits)) == list(wanted.values())

    def _documents(self, source: Source) -> list[tuple[int, int, str]]:
        """Start, end and value of each document of a source."""
        from fabriclint.source import parse

        known = self._read.get(id(source))
        if known is None:
            documents = parse(Source(source.uri, source.text))
            known = self._read[id(source)] = (source, [(d.start, d.end, canonical(d.root)) for d in documents])
        return known[1]


def _values(uri: str, text: str) -> list[str]:
    from fabriclint.source import parse

    return [canonical(d.root) for d in parse(Source(uri, text))]


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text after edits that do not overlap."""
    out = []
    at = 0
    for edit in sorted(edits):
        out += [text[at : edit.start], edit.text]
        at = edit.end
    return "".join([*out, text[at:]])


def _merged(edits: list[Edit], text: str) -> tuple[Edit, ...]:
    """The edits of one fix in the order of the text; insertions at one place become one, in the fix's order.

    Lines that are added at the end of lines that are taken away take their place.
    """
    out: list[Edit] = []
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        before = out[-1] if out else None
        if before is not None and before.start < edit.start == edit.end <= before.end and not before.text:
            out[-1] = Edit(before.start, before.end, _in_place(text[before.start : before.end], edit.text))
        elif before is not None and edit.start == edit.end == before.start == before.end:
            if edit.text != before.text:
                out[-1] = Edit(edit.start, edit.end, before.text + edit.text)
        else:
            out.append(edit)
    return tuple(out)


def _in_place(gone: str, lines: str) -> str:
    """Lines that begin with a line break in the place of whole lines, whose line break is at their end or in front."""
    if not gone.endswith("\n") or not lines.startswith(("\n", "\r\n")):
        return lines
    first = lines.index("\n") + 1
    return lines[first:] + lines[:first]


def _why(part: Part) -> str:
    roots = [document.root for document, _ in part.changes]
    if any(node.via is not None for root in roots if root is not None for node in root.walk()):
        return "an alias uses the place too, and would change with it"
    return "the edited text would not read as meant"


def overlap(edits: Iterable[Edit]) -> bool:
    """Whether two edits share a character or a place of insertion."""
    before: Edit | None = None
    for edit in sorted(edits):
        if before is not None and (edit.start < before.end or edit.start == before.start):
            return True
        before = edit
    return False


def combine(plans: Iterable[Plan], planner: Planner) -> tuple[dict[str, str], list[Plan]]:
    """The new texts of the files, by path, and the plans that are in them; the others wait for the next pass."""
    made: list[Plan] = []
    edits: dict[int, list[Edit]] = {}
    sources: dict[int, Source] = {}
    # A misspelt key first: another finding may miss what the right key holds, and be gone with it.
    for plan in sorted(plans, key=lambda p: not p.renames):
        if any(overlap([*edits.get(id(p.source), ()), *p.edits]) for p in plan.parts):
            continue
        made.append(plan)
        for part in plan.parts:
            sources[id(part.source)] = part.source
            edits.setdefault(id(part.source), []).extend(part.edits)
    if not all(_together(source, made, planner) for source in sources.values()):
        made = _one_by_one(made, planner)
    texts = {}
    for source in sources.values():
        chosen = [e for plan in made for part in plan.parts if part.source is source for e in part.edits]
        if chosen:
            texts[source.uri] = apply_edits(source.text, chosen)
    return texts, made


def _together(source: Source, plans: Iterable[Plan], planner: Planner) -> bool:
    parts = [part for plan in plans for part in plan.parts if part.source is source]
    edits = [e for part in parts for e in part.edits]
    try:
        return not edits or planner.holds(source, edits, (c for part in parts for c in part.changes))
    except RefusedError:
        return False


def _one_by_one(plans: list[Plan], planner: Planner) -> list[Plan]:
    """Plans that hold by themselves and not together: as many as do, in their order."""
    kept: list[Plan] = []
    for plan in plans:
        if all(_together(part.source, [*kept, plan], planner) for part in plan.parts):
            kept.append(plan)
    return kept
