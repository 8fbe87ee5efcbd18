"""Markdown for a job's summary page."""

from __future__ import annotations

from fabriclint.finding import Severity
from fabriclint.one_line import one_line
from fabriclint.report.model import Report, counted

_SIGNS = str.maketrans(
    {"\\": "\\\\", "|": "\\|", "<": "&lt;", "&": "&amp;", "[": "\\[", "`": "\\`", "*": "\\*", "\n": " ", "\r": " "}
)


def _cell(text: str) -> str:
    """Text of a cell: what it quotes is neither markup nor a link, and starts no line."""
    return one_line(text.translate(_SIGNS))


def _code(text: str) -> str:
    """A name as code, in which only the cell's end has to be escaped."""
    shown = one_line(text).replace("|", "\\|")
    return f"`` {shown} ``" if "`" in shown else f"`{shown}`"


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
            where = _code(f"{f.region.path}:{f.region.line}")
            out.append(f"| {where} | {f.severity} | [{f.code}]({f.url}) | {_cell(f.message)}{help_text} |")
        out.append("")
    out.append(
        f"{counted(s.errors, 'error')}, {counted(s.warnings, 'warning')}, {counted(s.notes, 'note')} "
        f"in {counted(s.workloads, 'workload')} of {counted(s.files, 'file')}"
        + (f"; {s.suppressed} suppressed" if s.suppressed else "")
        + "."
    )
    return "\n".join(out) + "\n"
