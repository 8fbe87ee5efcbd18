"""Mend pass by pass: fix, lint the result, fix what that shows, until nothing is left to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fabriclint.fix.plan import Plan, Planner, combine

if TYPE_CHECKING:
    from fabriclint.report.model import Report, ReportedFinding

#: A fix may uncover another one; more passes than this mean that two fixes undo each other.
_PASSES = 10


@dataclass(slots=True)
class Mended:
    """What was fixed: for each path the text before and after, and the findings that were mended.

    `texts` are the texts after, as the bytes to write; `report` is what is left. `encodings`: by path, and whether
    the file has a byte order mark, which is no part of its text.
    """

    report: Report
    before: dict[str, str] = field(default_factory=dict)
    after: dict[str, str] = field(default_factory=dict)
    texts: dict[str, bytes] = field(default_factory=dict)
    fixed: list[ReportedFinding] = field(default_factory=list)
    plans: list[Plan] = field(default_factory=list)
    encodings: dict[str, tuple[str, bool]] = field(default_factory=dict)


def mend(lint: Callable[[dict[str, bytes]], Report], *, unsafe: bool) -> Mended:
    """Apply the fixes that `lint` reports: the safe ones, and with `unsafe` the others too.

    `lint` is given the texts that stand in for files, by path.
    """
    mended = Mended(lint({}))
    for _ in range(_PASSES):
        chosen = _chosen(mended.report, unsafe=unsafe)
        if not chosen:
            break
        for _, plan in chosen:
            for part in plan.parts:
                mended.encodings.setdefault(part.source.uri, (part.source.encoding, part.source.bom))
        texts, made = combine([plan for _, plan in chosen], Planner())
        if not texts:
            break
        kept = {id(plan) for plan in made}
        mended.fixed += list({id(f): f for f, plan in chosen if id(plan) in kept}.values())
        mended.plans += made
        for path, text in texts.items():
            mended.before.setdefault(path, mended.report.sources[path])
            mended.after[path] = text
            mended.texts[path] = encode(text, *mended.encodings[path])
        mended.report = lint(mended.texts)
    return mended


def _chosen(report: Report, *, unsafe: bool) -> list[tuple[ReportedFinding, Plan]]:
    out = []
    for f in report.findings:
        if f.suppressed is None and f.fix is not None and f.fix.edits and (unsafe or f.fix.applicability == "safe"):
            out += [(f, plan) for plan in f.fix.plans if isinstance(plan, Plan)]
    return out


def encode(text: str, encoding: str, bom: bool) -> bytes:
    """A text as the bytes it was read from: the same encoding, with its byte order mark when there was one."""
    return ("\ufeff" if bom else "").encode(encoding) + text.encode(encoding)
