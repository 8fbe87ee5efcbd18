"""Markdown for a job's summary page."""

from __future__ import annotations

from fabriclint.finding import Severity
from fabriclint.report.model import Report, counted


def _cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("\n", " ").replace("\r", " ")


def render(report: Report) -> str:
    """A table of findings, the most severe first, and the counts."""
    s = report.summary
    out = ["### fabriclint", ""]
    found = [f for f in report.findings if f.suppressed is None and (f.severity != "note" or report.options.verbose)]
    found.sort(key=lambda f: Severity(f.severity).rank)
    if found:
        out += ["| place | severity | rule | message |", "|---|---|---|---|"]
        for f in found:
            help_text = f"<br>{_cell(f.help)}" if f.help else ""
            where = f"`{_cell(f.region.path)}:{f.region.line}`"
            out.append(f"| {where} | {f.severity} | [{f.code}]({f.url}) | {_cell(f.message)}{help_text} |")
        out.append("")
    out.append(
        f"{counted(s.errors, 'error')}, {counted(s.warnings, 'warning')}, {counted(s.notes, 'note')} "
        f"in {counted(s.workloads, 'workload')} of {counted(s.files, 'file')}"
        + (f"; {s.suppressed} suppressed" if s.suppressed else "")
        + "."
    )
    return "\n".join(out) + "\n"
