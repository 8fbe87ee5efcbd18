"""From what a run found to a report: places resolved, suppressions applied, findings merged and sorted."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from fabriclint import __version__
from fabriclint.document import Document, Manifest, Problem, Role, Source
from fabriclint.engine import DOCS, Lint, fingerprint, ignored_by_path
from fabriclint.finding import Finding, Fix, Severity
from fabriclint.locate import Region as Located
from fabriclint.locate import anchor_of, locate, region_of
from fabriclint.node import Node
from fabriclint.report.model import (
    Edit,
    Notification,
    ObjectRef,
    Region,
    RelatedPlace,
    Report,
    ReportedFinding,
    ReportedFix,
    ReportOptions,
    RuleInfo,
    RulesOnDemand,
    Summary,
    Suppression,
    ToolInfo,
)
from fabriclint.suppress import Suppressions, directives, judge, removal

if TYPE_CHECKING:
    from fabriclint.config import Settings
    from fabriclint.fix.plan import Planner
    from fabriclint.rendered import RenderedSource
    from fabriclint.rule import Rule

URL = "https://fabriclint.dev"
_CONTRACT = " This holds by the contract of Kubeflow Trainer's kinds; 'contract: generic' in the configuration ends it."


def _region(r: Located) -> Region:
    return Region(r.uri, r.line, r.column, r.end_line, r.end_column)


def _home(node: Node, owners: dict[int, Manifest]) -> Manifest | None:
    at: Node | None = node.source
    while at is not None:
        if id(at) in owners:
            return owners[id(at)]
        if at.parent is None and at.doc is not None and at.doc.host is not None:
            at = at.doc.host
            continue
        at = at.parent
    return None


def _pointer(node: Node) -> str:
    """The pointer in the file's own document: an embedded document's route goes on from its host."""
    root = node.source
    while root.parent is not None:
        root = root.parent
    if root.doc is not None and root.doc.host is not None:
        return _pointer(root.doc.host)
    return node.pointer


@cache
def rule_info(rule: Rule) -> RuleInfo:
    """What a report says of a rule, from its docstring."""
    from fabriclint.rule_page import page

    text = page(rule)
    fabric = rule.fabrics[0] if len(rule.fabrics) == 1 else None
    tags = tuple(t for t in (rule.family.lower(), fabric, rule.category) if t)
    url = f"{DOCS}{rule.code}"
    return RuleInfo(
        rule.code, rule.name, rule.summary, text.description, text.plain, text.markdown, rule.severity.value, fabric,
        rule.category, tags, "high" if rule.severity is Severity.ERROR else "medium", url,
    )  # fmt: skip


def assemble(lint: Lint, settings: Settings, options: ReportOptions, *, minimum: str = "note") -> Report:
    """The report of a run."""
    owners = {id(m.root): m for m in lint.workspace.manifests}
    #: The reader's rules are always among those that ran.
    enabled = {r.code: r for r in lint.ran}
    codes = cache(lambda: _codes(lint, settings))
    out: list[ReportedFinding] = []
    documents: dict[int, list[Document]] = {}
    for view in lint.workspace.documents:
        documents.setdefault(id(view.document.source), []).append(view.document)
    by_source: dict[int, list[Finding]] = {}
    for f in lint.findings:
        document = f.place.node.source.doc
        if document is not None:
            by_source.setdefault(id(document.source), []).append(f)
    suppressed = 0
    fixes = _Fixes()
    texts = {s.uri: s.text for s in lint.workspace.sources if s.reported}
    for source in lint.workspace.sources:
        found = by_source.get(id(source), [])
        if not source.reported and not found:
            continue
        held, faults = directives(source, documents.get(id(source), []))
        begin = len(out)
        wanted: dict[int, Fix] = {}
        suppressions = Suppressions(held) if held else None
        for f in found:
            if ignored_by_path(source.uri, f.code, settings):
                continue
            reason = None
            for d in suppressions.of(f) if suppressions is not None else ():
                d.used.add(f.code)
                reason = reason if reason is not None else d.reason
            made = _reported(f, owners, settings)
            if f.fix is not None and reason is None:
                wanted[len(out)] = f.fix
            if reason is not None:
                suppressed += 1
                made = replace(made, suppressed=Suppression("inSource", reason))
            out.append(made)
        if not source.reported:
            continue
        for problem in source.problems:
            if problem.code in enabled and not ignored_by_path(source.uri, problem.code, settings):
                if problem.fix is not None:
                    wanted[len(out)] = problem.fix
                out.append(_problem(source, problem, enabled[problem.code], settings))
        for fault in faults:
            if fault.code in enabled:
                span = (fault.start, fault.end)
                out.append(_at_span(source, enabled[fault.code], Severity.WARNING, fault.message, span, settings))
        # What a document holds that cannot be read is not known, so neither is what its suppressions are good for.
        unread = any(p.code == "DOC001" for p in source.problems) or any(
            d.role is Role.TEMPLATE for d in documents.get(id(source), [])
        )
        for code, severity, message, d in judge(held, *codes()) if held else ():
            if code in enabled and not (unread and code == "SUP003"):
                fix = removal(source, d, codes()[1]) if code == "SUP003" else None
                if fix is not None:
                    wanted[len(out)] = fix
                out.append(_at_span(source, enabled[code], severity, message, (d.start, d.end), settings))
        for index, planned in zip(wanted, fixes.reported(wanted.values()), strict=True):
            out[index] = replace(out[index], fix=planned)
        streamed = None if settings.isolated else _rendered(source, documents.get(id(source), []))
        if streamed is not None:
            out[begin:] = [streamed.moved(f) for f in out[begin:]]
            texts.update(streamed.texts)
    out = [f for f in _unique(out) if Severity(f.severity).rank <= Severity(minimum).rank]
    live = [f for f in out if f.suppressed is None]
    summary = Summary(
        lint.files,
        sum(1 for d in lint.workspace.documents if d.document.source.reported),
        len(lint.jobs) + lint.unresolved,
        errors=sum(1 for f in live if f.severity == "error"),
        warnings=sum(1 for f in live if f.severity == "warning"),
        notes=sum(1 for f in live if f.severity == "note"),
        suppressed=suppressed,
    )
    notes = sorted(
        {(n.level, n.code, n.path or "", n.message, n.line) for n in lint.notes},
        key=lambda n: (n[2], n[1], n[3]),
    )
    return Report(
        ToolInfo("fabriclint", __version__, URL),
        tuple(out),
        tuple(Notification(lv, c, p or None, m, ln) for lv, c, p, m, ln in notes),
        RulesOnDemand(lambda: (rule_info(r) for r in lint.rules())),
        summary,
        texts,
        options,
        _unseen(lint) if lint.jobs and not summary.errors and not summary.warnings else (),
    )


def _unseen(lint: Lint) -> tuple[str, ...]:
    """What a clean run could not look at."""
    from fabriclint.unseen import unseen

    return unseen(lint.jobs)


def _codes(lint: Lint, settings: Settings) -> tuple[frozenset[str], frozenset[str]]:
    """The codes of all rules there are, and of those that are enabled."""
    from fabriclint.packs import pack_of

    return frozenset(r.code for r in pack_of(settings.packs).load()), frozenset(r.code for r in lint.rules())


def _rendered(source: Source, documents: list[Document]) -> RenderedSource | None:
    """The way back from a rendered stream to its templates, loaded only where there is one."""
    if "# Source: " not in source.text and "config.kubernetes.io/origin" not in source.text:
        return None
    from fabriclint.rendered import RenderedSource, is_rendered

    return RenderedSource(source, documents) if is_rendered(source, documents) else None


class _Fixes:
    """Fixes as edits; what reads and writes texts is loaded with the first one."""

    def __init__(self) -> None:
        self._planner: Planner | None = None

    def reported(self, fixes: Collection[Fix]) -> Iterator[ReportedFix]:
        """Fixes as a report holds them: checked edits, or the reason why there are none."""
        if not fixes:
            return
        from fabriclint.fix.model import RefusedError
        from fabriclint.fix.plan import Planner

        self._planner = self._planner or Planner()
        for fix, plan in zip(fixes, self._planner.plans(fixes), strict=True):
            if isinstance(plan, RefusedError):
                yield ReportedFix(fix.applicability.value, fix.message, (), str(plan))
                continue
            edits = []
            for part in plan.parts:
                for edit in part.edits:
                    line, column = part.source.position(edit.start)
                    region = Region(part.source.uri, line, column, *part.source.position(edit.end))
                    edits.append(Edit(region, edit.text))
            yield ReportedFix(fix.applicability.value, fix.message, tuple(edits), plans=(plan,))


def _stretch(edit: Edit) -> tuple[tuple[str, int, int], tuple[str, int, int]]:
    r = edit.region
    return (r.path, r.line, r.column), (r.path, r.end_line, r.end_column)


def _joined_fix(fixes: list[ReportedFix | None]) -> ReportedFix | None:
    """The fix of several findings of one rule on one line: all of them where they do not touch, else the first."""
    made = [f for f in fixes if f is not None]
    if len(made) < 2:
        return made[0] if made else None
    from fabriclint.fix.apart import Apart

    first = made[0]
    message, edits, plans = first.message, list(first.edits), list(first.plans)
    apart = Apart()
    apart.take(map(_stretch, first.edits))
    for fix in made[1:]:
        if fix.edits and edits and fix.applicability == first.applicability and apart.take(map(_stretch, fix.edits)):
            message = message if fix.message in message else f"{message}; {fix.message}"
            edits += fix.edits
            plans += fix.plans
    return replace(first, message=message, edits=tuple(edits), plans=tuple(plans))


def _severity(code: str, severity: Severity, settings: Settings) -> str:
    return settings.severity.get(code, severity.value)


def _reported(f: Finding, owners: dict[int, Manifest], settings: Settings) -> ReportedFinding:
    manifest = _home(f.place.node, owners)
    about = None
    if manifest is not None:
        about = ObjectRef(manifest.api_version, manifest.kind, manifest.namespace, manifest.name)
    pointer = _pointer(f.place.node)
    severity = f.severity or Severity.ERROR
    related = [RelatedPlace(_region(locate(r.place)), r.message) for r in f.related]
    anchor = anchor_of(f.place.node)
    if anchor is not None:
        related.append(RelatedPlace(_region(anchor[1]), f"The value stands at the anchor '&{anchor[0]}'."))
    message = f.message
    if manifest is not None and manifest.overlay and ("missing" in f.name):
        severity = Severity.NOTE
        message += f" '{manifest.overlay}' builds on this file and may add it."
    return ReportedFinding(
        f.code, f.name, _severity(f.code, severity, settings), message, f.help + (_CONTRACT if f.by_contract else ""),
        f"{DOCS}{f.code}", _region(locate(f.place)), about, pointer, f.fabric,
        fingerprint(f.code, manifest, pointer, ""), tuple(related),
    )  # fmt: skip


def _at_span(
    source: Source,
    rule: Rule,
    severity: Severity,
    message: str,
    span: tuple[int, int],
    settings: Settings,
    *,
    help_text: str = "",
    related: tuple[RelatedPlace, ...] = (),
) -> ReportedFinding:
    """A finding about a stretch of a source's text, which belongs to no object."""
    region = _region(region_of(source, *span))
    return ReportedFinding(
        rule.code, rule.name, _severity(rule.code, severity, settings), message, help_text, f"{DOCS}{rule.code}", region,
        None, "", None, fingerprint(rule.code, None, "", source.line(region.line).strip()), related,
    )  # fmt: skip


def _problem(source: Source, problem: Problem, rule: Rule, settings: Settings) -> ReportedFinding:
    from fabriclint.rule_page import page

    return _at_span(
        source, rule, Severity(problem.severity), problem.message, (problem.start, problem.end), settings,
        help_text=page(rule).fix,
        related=tuple(RelatedPlace(_region(region_of(source, s, e)), text) for s, e, text in problem.related),
    )  # fmt: skip


_QUOTED = re.compile(r"'[^']{160,}'")
#: How many messages of one rule on one line are written out.
_TOLD = 3
#: More than this is told of a line only when its first message alone is longer.
_LONGEST = 300
#: What would break a message over lines, or hide in it.
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+ *")


def _told(messages: list[str]) -> str:
    """The messages of one rule on one line as one text; long values and long lists are cut."""
    told = [_cut(m) for m in dict.fromkeys(messages)]
    shown = told[:1]
    for message in told[1:_TOLD]:
        if sum(len(m) + 1 for m in shown) + len(message) > _LONGEST - len(" And 99 more on this line."):
            break
        shown.append(message)
    more = f" And {len(told) - len(shown)} more on this line." if len(told) > len(shown) else ""
    return " ".join(shown) + more


def _cut(message: str) -> str:
    """A message in one line, its long values cut."""
    text = _UNSEEN.sub(" ", message)
    return _QUOTED.sub(lambda m: f"{m[0][:120]}...'", text) if len(text) > 160 else text


def _unique(found: list[ReportedFinding]) -> list[ReportedFinding]:
    """Sorted; one finding per rule and line, which says what each of them says and is as severe as the worst."""
    kept: dict[tuple[str, int, str], list[ReportedFinding]] = {}
    order = sorted(
        found,
        key=lambda f: (f.region.path, f.region.line, f.region.column, f.code, Severity(f.severity).rank, f.message),
    )
    for f in order:
        kept.setdefault((f.region.path, f.region.line, f.code), []).append(f)
    return [
        replace(
            same[0],
            message=_told([f.message for f in same]),
            severity=min((f.severity for f in same), key=lambda s: Severity(s).rank),
            fix=_joined_fix([f.fix for f in same if f.suppressed is None]),
        )
        for same in kept.values()
    ]
