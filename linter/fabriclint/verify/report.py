"""Writes a verdict as text or JSON."""

from __future__ import annotations

import json

from fabriclint.one_line import one_line
from fabriclint.verify.tables import tables
from fabriclint.verify.verdict import Verdict


def as_json(verdict: Verdict) -> str:
    """The JSON contract, version 1."""
    return (
        json.dumps(
            {
                "version": 1,
                "verdict": verdict.verdict,
                "reason": verdict.reason,
                "expected": verdict.expected,
                "fabric": verdict.fabric,
                "gpudirect": verdict.gpudirect,
                "strength": verdict.strength,
                "ranks": {"seen": verdict.seen, "of": verdict.of},
                "nodes": verdict.nodes,
                "nccl": verdict.nccl,
                "plugins": verdict.plugins,
                "communicators": verdict.communicators,
                "evidence": [{"line": p.line, "text": p.text, "proves": p.proves} for p in verdict.evidence],
                "causes": [{"line": n, "message": m, "rule": r} for n, m, r in verdict.causes],
                "notes": verdict.notes,
                "next": verdict.next,
            },
            indent=2,
            ensure_ascii=False,
        )
        + "\n"
    )


def as_text(verdict: Verdict) -> str:
    """The verdict for people."""
    out = [f"{verdict.verdict}: {verdict.reason}."]
    if verdict.expected:
        out.append(f"expected: {tables().title(verdict.expected)}")
    seen = f"{verdict.seen} of {verdict.of}" if verdict.of else str(verdict.seen)
    facts = [f"ranks {seen}", f"GPUDirect {verdict.gpudirect}", f"evidence {verdict.strength}"]
    if verdict.nodes:
        facts.insert(1, f"nodes {verdict.nodes}")
    if verdict.nccl:
        facts.append(f"NCCL {verdict.nccl}")
    out.append(", ".join(facts))
    out += [f"note: {n}" for n in verdict.notes]
    for p in verdict.evidence[:6]:
        out += [f"  line {p.line}: {p.text}", f"    {p.proves}"]
    for line, message, rule in verdict.causes:
        out.append(f"cause, line {line}: {message}" + (f" ({rule})" if rule else ""))
    if verdict.next:
        out.append(f"next: {verdict.next}")
    return "".join(f"{one_line(row)}\n" for row in out)
