"""One cause, one finding: drops what follows from a reported cause, and what two TrainJobs say of one runtime's line.

A cause in a pod template silences nothing in another template; one that stands outside of all templates (or is about
the whole object) silences what it names in the whole object.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from fabriclint.finding import Applicability, Finding, Fix, Place, Related, Severity
from fabriclint.group import GroupView
from fabriclint.node import Node
from fabriclint.pod import PodView
from fabriclint.workload import Workload

if TYPE_CHECKING:
    from fabriclint.rule import Rule
    from fabriclint.views import JobView


_SEVERAL_LINES = re.compile(r"\S[^\n]*\n\s*\S")


class Scope(NamedTuple):
    """What a finding is about: the objects, by the id of their roots, the pod template (or None), and its pod's view."""

    objects: tuple[int, ...]
    template: int | None
    pod: PodView | None


def silence(findings: list[Finding], rules: Iterable[Rule], jobs: Iterable[JobView] = ()) -> list[Finding]:
    """Drop consequences of reported causes, and what stands twice."""
    rules = list(rules)
    yields = {r.code: frozenset(r.yields_to) for r in rules}
    on_line = {r.code: frozenset(r.yields_on_line) for r in rules}
    findings = _visible(findings)
    kept = _without_consequences(findings, yields, _templates(jobs)) if any(yields.values()) else findings
    kept = _once_a_job(_once_a_runtime(_not_silenced(kept, findings)))
    if not any(on_line.get(f.code) for f in kept):
        return kept
    spots = [_spot(f.place) for f in kept]
    lines: dict[tuple[int, int], list[Finding]] = {}
    for f, spot in zip(kept, spots, strict=True):
        lines.setdefault(spot, []).append(f)
    return [
        f
        for f, spot in zip(kept, spots, strict=True)
        if not any(
            o.code in on_line.get(f.code, frozenset()) and (not _in_one_line(f.place.node) or _beside(f, o))
            for o in lines[spot]
        )
    ]


def _in_one_line(node: Node) -> bool:
    """Whether the whole object stands in one line (minified JSON), so that a line says nothing."""
    root = _root(node)
    return root.doc is not None and _SEVERAL_LINES.search(root.doc.source.text, root.start, root.end) is None


def _beside(one: Finding, other: Finding) -> bool:
    """Whether two findings of one line are of one entry: at one node, within each other, or of one parent."""
    a, b = one.place.node.source, other.place.node.source
    return a is b or a.parent is b.parent or _holds(a, b) or _holds(b, a)


def _holds(above: Node, node: Node) -> bool:
    at: Node | None = node
    while at is not None and at is not above:
        at = at.parent
    return at is not None


def _visible(findings: list[Finding]) -> list[Finding]:
    """Without those about files that only answer questions."""
    return [f for f in findings if (doc := f.place.node.source.doc) is None or doc.source.reported]


def _templates(jobs: Iterable[JobView]) -> frozenset[int]:
    return frozenset(id(pod.site.holder.source) for job in jobs for pod in job.pods)


def _root(node: Node) -> Node:
    node = node.source
    while node.parent is not None:
        node = node.parent
    return node


def _scope(finding: Finding, templates: frozenset[int]) -> Scope:
    subject = finding.subject
    pod = subject if isinstance(subject, PodView) else None
    workload = getattr(subject, "workload", None) or getattr(getattr(subject, "job", None), "workload", None)
    manifest = getattr(subject, "manifest", None) or getattr(workload, "manifest", None)
    objects = [id(_root(finding.place.node))]
    if manifest is not None and id(manifest.root) not in objects:
        objects.insert(0, id(manifest.root))
    runtime = getattr(getattr(workload, "resolved", None), "runtime", None)
    if runtime is not None and id(runtime.root.source) not in objects:
        objects.append(id(runtime.root.source))
    if pod is not None:
        return Scope(tuple(objects), id(pod.site.holder.source), pod)
    node: Node | None = finding.place.node.source
    while node is not None and id(node) not in templates:
        node = node.parent
    return Scope(tuple(objects), id(node) if node is not None else None, None)


def _without_consequences(
    findings: list[Finding], yields: dict[str, frozenset[str]], templates: frozenset[int]
) -> list[Finding]:
    wanted = frozenset(code for codes in yields.values() for code in codes)
    by_subject: dict[int, set[str]] = {}
    #: By object: (template or None, whether a pod's own, code).
    causes: dict[int, set[tuple[int | None, bool, str]]] = {}
    for f in findings:
        if f.severity is Severity.NOTE or f.code not in wanted:
            continue
        by_subject.setdefault(id(f.subject), set()).add(f.code)
        scope = _scope(f, templates)
        # A cause counts for the object it is about; a TrainJob's says nothing of another TrainJob on one runtime.
        causes.setdefault(scope.objects[0], set()).add((scope.template, scope.pod is not None, f.code))
    kept: list[Finding] = []
    for f in findings:
        codes = yields.get(f.code, frozenset())
        if codes:
            if codes & by_subject.get(id(f.subject), set()):
                continue
            scope = _scope(f, templates)
            if isinstance(f.subject, GroupView):  # what is said of a whole job follows from each of its pods
                scope = scope._replace(template=None)
            if any(
                code in codes and _reaches(template, of_pod, scope)
                for about in scope.objects
                for template, of_pod, code in causes.get(about, ())
            ):
                continue
        kept.append(f)
    return kept


def _reaches(template: int | None, of_pod: bool, scope: Scope) -> bool:
    """Whether a cause in a template (of a pod's own finding, or of the object's) reaches a finding's scope."""
    if scope.template is None or template is None:
        return True
    return template == scope.template and not (of_pod and scope.pod is not None and len(scope.objects) > 1)


def _not_silenced(kept: list[Finding], findings: list[Finding]) -> list[Finding]:
    """Drop what findings name themselves (`TCPXO*` is a family), on their subject and, of a TrainJob or a runtime, on its pods."""
    silenced: dict[int, set[str]] = {}
    for f in findings:
        for code in f.silences:
            silenced.setdefault(id(f.subject), set()).add(code)
            for owner in (f.subject, *getattr(f.subject, "users", ())):
                job = getattr(owner, "job", None)
                if getattr(owner, "meant", None) is not None and job is not None:
                    for view in (job, *job.pods):
                        silenced.setdefault(id(view), set()).add(code)
    if not silenced:
        return kept
    out = []
    for f in kept:
        codes = silenced.get(id(f.subject)) or silenced.get(id(getattr(f.subject, "job", None)), set())
        if f.code not in codes and f"{f.code.rstrip('0123456789')}*" not in codes:
            out.append(f)
    return out


def _once_a_runtime(findings: list[Finding]) -> list[Finding]:
    """What several TrainJobs say of one line of their runtime is said once: by the first that says it at its worst."""
    groups: dict[tuple[str, tuple[int, int]], list[int]] = {}
    owners: dict[int, object] = {}
    for index, f in enumerate(findings):
        workload = getattr(f.subject, "workload", None)
        if not isinstance(workload, Workload) or workload.landing is None:
            continue
        if _root(f.place.node) is workload.manifest.root:
            continue
        owners[index] = workload
        groups.setdefault((f.code, _spot(f.place)), []).append(index)
    dropped: set[int] = set()
    for indices in groups.values():
        if len({id(owners[i]) for i in indices}) > 1:
            worst = min(indices, key=lambda i: (_rank(findings[i]), i))
            dropped.update(i for i in indices if owners[i] is not owners[worst])
    return [f for i, f in enumerate(findings) if i not in dropped] if dropped else findings


def _once_a_job(findings: list[Finding]) -> list[Finding]:
    """The same warning on each template of one job is one finding, which names the other places."""
    first: dict[tuple[object, ...], int] = {}
    seen: Counter[tuple[object, ...]] = Counter()
    out: list[Finding | None] = list(findings)
    for index, f in enumerate(findings):
        pod = f.subject
        if f.severity is Severity.ERROR or not isinstance(pod, PodView) or _accepted_by_line(f):
            continue
        # Another amount or another name in the message is something else to say.
        alike = (f.code, f.severity, f.message, f.help, id(pod.workload))
        template = id(pod.site.holder.source)
        seen[(*alike, template)] += 1
        # The second of a template goes with the second of the next one.
        key = (*alike, seen[(*alike, template)])
        at = first.setdefault(key, index)
        known = out[at]
        if at == index or known is None or _spot(f.place) == _spot(known.place):
            continue
        out[at] = known.with_(related=(*known.related, Related(f.place, "The same stands here.")), fix=_both(known, f))
        out[index] = None
    return [f for f in out if f is not None]


def _accepted_by_line(finding: Finding) -> bool:
    document = finding.place.node.source.doc
    return document is not None and document.source.marked


def _both(one: Finding, other: Finding) -> Fix | None:
    """One fix for both, or none where one of them has none."""
    if one.fix is None or other.fix is None:
        return None
    unsafe = Applicability.UNSAFE in (one.fix.applicability, other.fix.applicability)
    changes = (*one.fix.changes, *(c for c in other.fix.changes if c not in one.fix.changes))
    return Fix(one.fix.message, changes, Applicability.UNSAFE if unsafe else Applicability.SAFE)


def _rank(finding: Finding) -> int:
    return finding.severity.rank if finding.severity is not None else 0


def _spot(place: Place) -> tuple[int, int]:
    document = place.node.source.doc
    if document is None:
        return (id(place.node.source), 0)
    from fabriclint.locate import locate

    return (id(document.source), locate(place).line)
