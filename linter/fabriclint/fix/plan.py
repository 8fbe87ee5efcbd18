"""From a fix to edits of files that are known to do what it says, and nothing else."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from fabriclint.document import Document, Source
from fabriclint.finding import EditText, Fix, NodeChange, RenameKey, ReplaceText
from fabriclint.fix.apart import Apart
from fabriclint.fix.edit import Edit, document_of, edits_of
from fabriclint.fix.model import Model, RefusedError, canonical
from fabriclint.fix.style import Style, style_of
from fabriclint.node import Node, Scalar

#: Fixes of one document that are checked one by one.
_SINGLY = 24
#: How often a text is read again for fixes that do not hold, and for how many characters more often.
_READINGS = 256
_CHARACTERS = 5_000_000
_TOO_MANY = "too many fixes of this document cannot be made; the first ones say why"


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

    def edits_of(self, source: Source) -> Iterator[Edit]:
        """Its edits of one text."""
        return (edit for part in self.parts if part.source is source for edit in part.edits)


class Planner:
    """Turns fixes into plans; what it learns of a document is kept for the next fix there."""

    def __init__(self) -> None:
        self._styles: dict[int, tuple[Document, Style]] = {}
        self._read: dict[int, tuple[Source, list[tuple[int, int, str]]]] = {}

    def plan(self, fix: Fix) -> Plan:
        """The edits of a fix. Raises RefusedError with the reason when it is not to be made."""
        draft = self._draft(fix)
        self._check(draft)
        return draft

    def plans(self, fixes: Iterable[Fix]) -> list[Plan | RefusedError]:
        """The plan of each fix, or why there is none.

        Where a document has many fixes, those that do not touch are checked together, by halves where that fails: one
        by one, each would have the whole document read again.
        """
        made: list[Plan | RefusedError] = []
        waiting: dict[tuple[int, ...], list[int]] = {}
        for fix in fixes:
            try:
                draft = self._draft(fix)
            except RefusedError as reason:
                made.append(reason)
                continue
            waiting.setdefault(self._where(draft), []).append(len(made))
            made.append(draft)
        for indices in waiting.values():
            drafts = [d for i in indices if isinstance(d := made[i], Plan)]
            refused = self._singly(drafts) if len(drafts) <= _SINGLY else self._by_halves(drafts)
            for index, draft in zip(indices, drafts, strict=True):
                made[index] = refused.get(id(draft), draft)
        return made

    def _where(self, draft: Plan) -> tuple[int, ...]:
        """What is read again to check a draft: the source and the number of the document in it, or whole sources."""
        if len(draft.parts) == 1:
            source, edits, _ = draft.parts[0]
            number = self._document_at(source, edits)
            if number is not None:
                return id(source), number
        return tuple(-id(part.source) for part in draft.parts)

    def _singly(self, drafts: Iterable[Plan]) -> dict[int, RefusedError]:
        refused = {}
        for draft in drafts:
            try:
                self._check(draft)
            except RefusedError as reason:
                refused[id(draft)] = reason
        return refused

    def _by_halves(self, drafts: list[Plan]) -> dict[int, RefusedError]:
        """Check many drafts of one text: by id, those that are refused."""
        refused: dict[int, RefusedError] = {}
        size = sum(len(source.text) for source in _sources(drafts[:1]))
        left = max(_READINGS, _CHARACTERS // (size + 1))
        pending: list[list[Plan]] = []
        while drafts:
            taken, drafts = _apart(drafts)
            pending.append(taken)
        while pending:
            some = pending.pop()
            left -= 1
            if left < 0:
                refused.update((id(d), RefusedError(_TOO_MANY)) for d in some)
            elif len(some) == 1:
                refused.update(self._singly(some))
            elif not all(_together(s, some, self) for s in _sources(some)):
                half = len(some) // 2
                pending += [some[half:], some[:half]]
        return refused

    def _check(self, draft: Plan) -> None:
        for part in draft.parts:
            if not self.holds(part.source, part.edits, part.changes):
                raise RefusedError(_why(part))

    def _draft(self, fix: Fix) -> Plan:
        """The edits of a fix, before it is known that they do what it says."""
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
            if not Apart().take(map(_stretch, part.edits)):
                raise RefusedError("its changes overlap")
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
        by_document: dict[int, tuple[Document, list[NodeChange]]] = {}
        for document, change in changes:
            by_document.setdefault(id(document), (document, []))[1].append(change)
        wanted: dict[int, str] = {}
        for document, some in by_document.values():
            if document.root is None or not 0 <= document.index < len(known):
                return False
            model = Model(document.root)
            model.change(some)
            wanted[document.index] = model.canonical()
        number = self._document_at(source, edits)
        if number is not None and wanted.keys() <= {number}:
            start, end, value = known[number]
            inside = [Edit(e.start - start, e.end - start, e.text) for e in edits]
            return _values(source.uri, apply_edits(source.text[start:end], inside)) == [wanted.get(number, value)]
        values = [wanted.get(n, value) for n, (_, _, value) in enumerate(known)]
        return _values(source.uri, apply_edits(source.text, edits)) == values

    def _document_at(self, source: Source, edits: Iterable[Edit]) -> int | None:
        """The number of the one document that all edits are in."""
        known = self._documents(source)
        edits = list(edits)
        first, last = min(e.start for e in edits), max(e.end for e in edits)
        # Documents touch where one ends: of two that an edit may belong to, the first.
        number = bisect_left(known, last, key=lambda d: d[1])
        return number if number < len(known) and known[number][0] <= first else None

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


def combine(plans: Iterable[Plan], planner: Planner) -> tuple[dict[str, str], list[Plan]]:
    """The new texts of the files, by path, and the plans that are in them; the others wait for the next pass."""
    # A misspelt key first: another finding may miss what the right key holds, and be gone with it.
    made, _ = _apart(sorted(plans, key=lambda p: not p.renames))
    broken = {id(source) for source, some in _by_source(made) if not _together(source, some, planner)}
    if broken:
        doubtful = [p for p in made if any(id(part.source) in broken for part in p.parts)]
        others = [p for p in made if p not in doubtful]
        kept = {id(p) for p in (*others, *_as_many(doubtful, others, planner))}
        made = [p for p in made if id(p) in kept]
    texts = {
        source.uri: apply_edits(source.text, (e for plan in some for e in plan.edits_of(source)))
        for source, some in _by_source(made)
    }
    return texts, made


def _stretch(edit: Edit) -> tuple[int, int]:
    return edit.start, edit.end


def _apart(plans: Iterable[Plan]) -> tuple[list[Plan], list[Plan]]:
    """Plans that do not touch, each taken that can be in the given order, and the others."""
    taken: list[Plan] = []
    others: list[Plan] = []
    held: dict[int, Apart] = {}
    for plan in plans:
        mine = [(held.setdefault(id(part.source), Apart()), edit) for part in plan.parts for edit in part.edits]
        if any(there.touches(_stretch(edit)) for there, edit in mine):
            others.append(plan)
            continue
        taken.append(plan)
        for there, edit in mine:
            there.take([_stretch(edit)])
    return taken, others


def _by_source(plans: Iterable[Plan]) -> list[tuple[Source, list[Plan]]]:
    """The sources that plans edit, each with its plans."""
    found: dict[int, tuple[Source, list[Plan]]] = {}
    for plan in plans:
        for part in plan.parts:
            found.setdefault(id(part.source), (part.source, []))[1].append(plan)
    return list(found.values())


def _sources(plans: Iterable[Plan]) -> list[Source]:
    return [source for source, _ in _by_source(plans)]


def _together(source: Source, plans: Iterable[Plan], planner: Planner) -> bool:
    parts = [part for plan in plans for part in plan.parts if part.source is source]
    edits = [e for part in parts for e in part.edits]
    try:
        return not edits or planner.holds(source, edits, (c for part in parts for c in part.changes))
    except RefusedError:
        return False


def _as_many(plans: list[Plan], kept: list[Plan], planner: Planner) -> list[Plan]:
    """Of plans that hold by themselves and not together: as many as hold with those kept, in their order."""
    everything = [*kept, *plans]
    if all(_together(source, everything, planner) for source in _sources(plans)):
        return plans
    if len(plans) == 1:
        return []
    half = len(plans) // 2
    first = _as_many(plans[:half], kept, planner)
    return first + _as_many(plans[half:], [*kept, *first], planner)
