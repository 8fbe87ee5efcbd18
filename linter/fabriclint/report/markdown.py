"""Markdown for a job's summary page."""

from __future__ import annotations

from fabriclint.report.model import Report


def _cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("\n", " ").replace("\r", " ")


def render(report: Report) -> str:
    """A table of findings in the order of the files, and the counts."""
    s = report.summary
    out = ["### fabriclint", ""]
    found = [f for f in report.findings if f.suppressed is None and (f.severity != "note" or report.options.verbose)]
    if found:
        out += ["| place | severity | rule | message |", "|---|---|---|---|"]
        for f in found:
            help_text = f"<br>{_cell(f.help)}" if f.help else ""
            where = f"`{_cell(f.region.path)}:{f.region.line}`"
            out.append(f"| {where} | {f.severity} | [{f.code}]({f.url}) | {_cell(f.message)}{help_text} |")
        out.append("")
    out.append(
        f"{s.errors} errors, {s.warnings} warnings, {s.notes} notes in {s.workloads} workloads of {s.files} files"
        + (f"; {s.suppressed} suppressed" if s.suppressed else "")
        + "."
    )
    return "\n".join(out) + "\n"
