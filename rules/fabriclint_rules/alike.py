"""One finding for what several pod templates of one job have alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from fabriclint.pod import PodView, WorkerPod
from fabriclint.rule import Finding, Place, Related
from fabriclint.views import JobView


def once(job: JobView, judge: Callable[[WorkerPod], Iterable[Finding]]) -> Iterator[Finding]:
    """What a rule says of the job's workers, once for all templates that need the same edit."""
    workers = [p for p in job.pods if isinstance(p, WorkerPod)]
    return _merged((pod, judge(pod)) for pod in workers)


def once_a_pod(job: JobView, judge: Callable[[PodView], Iterable[Finding]]) -> Iterator[Finding]:
    """The same for all pods of the job, whether or not they have GPUs."""
    return _merged((pod, judge(pod)) for pod in job.pods)


def together(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Findings that say the same of several templates of one job, as one with the other places beside it."""
    first: dict[tuple[object, ...], Finding] = {}
    for finding in findings:
        key = (finding.message, finding.severity)
        known = first.get(key)
        first[key] = finding if known is None else _also_at(known, finding.place)
    yield from first.values()


def _merged(said: Iterable[tuple[PodView, Iterable[Finding]]]) -> Iterator[Finding]:
    first: dict[tuple[object, ...], Finding] = {}
    for pod, findings in said:
        seen: Counter[tuple[object, ...]] = Counter()
        for finding in findings:
            alike = (finding.code, finding.severity, finding.help)
            seen[alike] += 1
            key = (*alike, seen[alike])
            known = first.get(key)
            if known is None:
                first[key] = replace(
                    finding,
                    subject=finding.subject or pod,
                    fabric=finding.fabric or (pod.fabric.name if pod.fabric is not None else None),
                )
                continue
            first[key] = _also_at(known, finding.place)
    yield from first.values()


def _also_at(known: Finding, place: Place) -> Finding:
    """A finding that holds for another place too, which is named once."""
    if _spot(place) in {_spot(known.place), *(_spot(r.place) for r in known.related)}:
        return known
    return replace(known, related=(*known.related, Related(place, "The same stands here.")))


def _spot(place: Place) -> tuple[object, ...]:
    node = place.node.source
    return id(node.doc), node.start, place.within
