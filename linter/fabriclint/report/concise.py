"""One line per finding, for problem matchers and grep."""

from __future__ import annotations

from fabriclint.report.model import Report


def _one_line(text: str) -> str:
    """Control characters and line ends replaced, so that no message or path can start a line of its own."""
    return "".join(c if c.isprintable() else " " for c in text)


def render(report: Report) -> str:
    """`path:line:col: severity[CODE] message`, never wrapped, never coloured."""
    out = []
    for f in report.findings:
        if f.suppressed is not None or (f.severity == "note" and not report.options.verbose):
            continue
        place = f"{f.region.path}:{f.region.line}:{f.region.column}"
        out.append(_one_line(f"{place}: {f.severity}[{f.code}] {f.message}") + "\n")
    return "".join(out)
