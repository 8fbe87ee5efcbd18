"""Suppressions: comments `# fabriclint: ignore[CODE] reason`, `ignore-file[CODE]`, and `fabriclint.dev/ignore.CODE`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from fabriclint.comments import scan
from fabriclint.document import MARKER, Document, Source
from fabriclint.finding import EditText, Finding, Fix, Place, Remove, Severity
from fabriclint.locate import locate
from fabriclint.node import Mapping, Node, Scalar

_DIRECTIVE = re.compile(r"#\s*fabriclint:\s*(ignore|ignore-file)\s*\[([^\]]*)\]\s*(.*)", re.S)
_ANNOTATION = "fabriclint.dev/ignore."
#: Wrong codes of a file for which the likely one is looked up.
_MEANT = 200


@dataclass(slots=True)
class Directive:
    """One suppression in a file. `line`: the line it covers; 0 for the whole file; -1 for an object (`scope`)."""

    codes: tuple[str, ...]
    reason: str
    line: int
    start: int
    end: int
    scope: Node | None = None
    node: Node | None = None
    #: The codes of which a finding was suppressed.
    used: set[str] = field(default_factory=set)
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Fault:
    """A suppression that is itself wrong, at offsets of the source or at a node."""

    code: str
    message: str
    start: int
    end: int
    node: Node | None = None


def directives(source: Source, documents: list[Document]) -> tuple[list[Directive], list[Fault]]:
    """All suppressions of a file, and what is malformed."""
    out: list[Directive] = []
    faults: list[Fault] = []
    if source.marked:
        following: dict[int, int] = {}
        for comment in scan(source, documents, MARKER):
            match = _DIRECTIVE.match(comment.text)
            if match is None:
                text = "This comment is no suppression: write '# fabriclint: ignore[CODE] reason'."
                faults.append(Fault("SUP001", text, comment.start, comment.end))
                continue
            line, _ = source.position(comment.start)
            if match.group(1) == "ignore-file":
                line = 0
            elif comment.own_line:
                line = _next_line(source, line, following)
            codes = tuple(c.strip() for c in match.group(2).split(",") if c.strip())
            out.append(Directive(codes, match.group(3).strip(), line, comment.start, comment.end))
    for document in documents:
        if document.root is None:
            continue
        for node in document.root.walk():
            if isinstance(node, Mapping) and node.key == "annotations":
                for key, value in node.fields.items():
                    if key.startswith(_ANNOTATION) and isinstance(value, Scalar) and node.parent is not None:
                        scope = node.parent.parent if node.parent.key == "metadata" else node.parent
                        code = key[len(_ANNOTATION) :]
                        out.append(
                            Directive(
                                (code,),
                                value.text.strip(),
                                -1,
                                value.key_start,
                                value.key_end,
                                scope,
                                value,
                                cut=_is_cut(source, value),
                            )
                        )
    return out, faults


def _next_line(source: Source, line: int, known: dict[int, int]) -> int:
    """The next line that is neither empty nor a comment; `known` remembers it for every line passed on the way."""
    last = len(source.line_starts)
    passed = [line]
    line += 1
    while line <= last and (not (text := source.line(line).lstrip()) or text.startswith("#")):
        if line in known:
            line = known[line]
            break
        passed.append(line)
        line += 1
    known.update(dict.fromkeys(passed, line))
    return line


class Suppressions:
    """The suppressions of a file, by the lines they cover."""

    def __init__(self, directives: list[Directive]) -> None:
        self.by_line: dict[int, list[Directive]] = {}
        for directive in directives:
            self.by_line.setdefault(directive.line, []).append(directive)

    def of(self, finding: Finding) -> list[Directive]:
        """Those that speak of a finding, in the order in which they stand."""
        lines = {locate(finding.place).line}
        lines.update(locate(Place(n, on_key=True)).line for n in (finding.place.node, *finding.hidden))
        near = [d for line in (0, -1, *sorted(lines)) for d in self.by_line.get(line, ())]
        return sorted((d for d in near if _covers(d, finding)), key=lambda d: d.start)


def _covers(directive: Directive, finding: Finding) -> bool:
    """Whether a suppression that stands near enough names the finding's code, and has it in its object."""
    if finding.code not in directive.codes or finding.code.startswith("SUP"):
        return False
    if directive.line >= 0:
        return True
    node_up: Node | None = finding.place.node.source
    while node_up is not None:
        if node_up is directive.scope:
            return True
        node_up = node_up.parent
    return False


def _is_cut(source: Source, value: Scalar) -> bool:
    """Whether a plain value ends where a comment begins: YAML took the rest of the reason away."""
    if value.style != "plain" or value.doc is None or value.doc.host is not None:
        return False
    rest = source.text[value.end : source.text.find("\n", value.end) if "\n" in source.text[value.end :] else None]
    return rest.lstrip(" \t").startswith("#")


def judge(
    found: list[Directive], known: frozenset[str], enabled: frozenset[str]
) -> list[tuple[str, Severity, str, Directive]]:
    """SUP001-003 for the directives of a file, after they were used."""
    out: list[tuple[str, Severity, str, Directive]] = []
    meant: dict[str, str | None] = {}
    for d in found:
        unknown = [c for c in d.codes if c not in known]
        if unknown or not d.codes:
            what = f"There is no rule '{unknown[0]}'" if unknown else "The suppression names no rule"
            near = _meant(unknown[0].upper(), known, meant) if unknown else None
            hint = (
                f"; did you mean '{near}'? This suppression does nothing."
                if near is not None
                else "; this suppression does nothing."
            )
            out.append(("SUP001", Severity.WARNING, what + hint, d))
            continue
        listed = ", ".join(d.codes)
        if not d.reason:
            where = "behind the bracket" if d.line >= 0 else "as the annotation's value"
            out.append(
                ("SUP002", Severity.WARNING, f"The suppression of '{listed}' gives no reason; say why {where}.", d)
            )
        elif d.cut:
            text = f"The reason for suppressing '{listed}' ends at a '#'; YAML reads the rest as a comment. Quote it."
            out.append(("SUP002", Severity.WARNING, text, d))
        idle = [c for c in d.codes if c not in d.used]
        if idle:
            on = [c for c in idle if c in enabled]
            if on:
                out.append(
                    ("SUP003", Severity.WARNING, f"Nothing here is suppressed by '{', '.join(on)}'; remove it.", d)
                )
            elif not d.used:
                text = f"The suppression of '{listed}' was not tried; the rule is not enabled in this run."
                out.append(("SUP003", Severity.NOTE, text, d))
    return out


def _meant(code: str, known: frozenset[str], found: dict[str, str | None]) -> str | None:
    """The code that is likely meant, for as many wrong ones as a person may write; `found` remembers them."""
    if code not in found and len(found) < _MEANT:
        from fabriclint.schema.suggest import meant

        found[code] = meant(code, known)
    return found.get(code)


_CODES = re.compile(r"\[[^\]]*\]")


def removal(source: Source, directive: Directive, enabled: frozenset[str]) -> Fix | None:
    """Take out the codes that suppress nothing: the whole comment or annotation when no code is left."""
    idle = [c for c in directive.codes if c not in directive.used and c in enabled]
    if not idle:
        return None
    left = [c for c in directive.codes if c not in idle]
    if directive.node is not None:
        held = directive.node.parent
        whole = isinstance(held, Mapping) and len(held.entries) == 1
        return Fix("remove the annotation", (Remove(held if whole and held is not None else directive.node),))
    text = source.text
    if left:
        found = _CODES.search(text, directive.start, directive.end)
        if found is None:
            return None
        change = EditText(source, found.start(), found.end(), f"[{','.join(left)}]")
        return Fix(f"remove {', '.join(idle)} from the comment", (change,))
    number, column = source.position(directive.start)
    begin = directive.start - column + 1
    start, end = directive.start, directive.end
    if not text[begin:start].strip():
        start = begin
        end = source.line_starts[number] if number < len(source.line_starts) else len(text)
    else:
        start = begin + len(text[begin:start].rstrip())
    return Fix("remove the comment", (EditText(source, start, end, ""),))
