"""One line per finding, for problem matchers and grep."""

from __future__ import annotations

from fabriclint.report.model import Report


def render(report: Report) -> str:
    """`path:line:col: severity[CODE] message`, never wrapped, never coloured."""
    out = []
    for f in report.findings:
        if f.suppressed is not None or (f.severity == "note" and not report.options.verbose):
            continue
        out.append(f"{f.region.path}:{f.region.line}:{f.region.column}: {f.severity}[{f.code}] {f.message}\n")
    return "".join(out)
