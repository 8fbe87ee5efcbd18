"""GitHub workflow commands: annotations on the lines of a pull request."""

from __future__ import annotations

from fabriclint.finding import Severity
from fabriclint.report.model import Report

_LEVELS = {"error": "error", "warning": "warning", "note": "notice"}
#: GitHub shows ten annotations of each level a step and drops the rest without a word.
_SHOWN = 10


def _data(text: str) -> str:
    """Line ends escaped; other control characters would act on the log that shows them."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() or c in "\r\n" else "\N{REPLACEMENT CHARACTER}" for c in text)
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def render(report: Report) -> str:
    """Commands, the most severe first; the last one tells how many GitHub will not show."""
    found = [f for f in report.findings if f.suppressed is None and (f.severity != "note" or report.options.verbose)]
    found.sort(key=lambda f: Severity(f.severity).rank)
    out = []
    counts = {"error": 0, "warning": 0, "note": 0}
    for f in found:
        counts[f.severity] += 1
        r = f.region
        where = f"file={_property(report.options.uri_prefix + r.path)},line={r.line},endLine={r.end_line}"
        if r.line == r.end_line:
            where += f",col={r.column},endColumn={r.end_column}"
        text = f"{r.path}:{r.line}: {f.message}" + (f"\nhelp: {f.help}" if f.help else "")
        out.append(f"::{_LEVELS[f.severity]} {where},title={_property(f'{f.code} {f.name}')}::{_data(text)}\n")
    left = sum(max(0, n - _SHOWN) for n in counts.values())
    if left:
        out.append(
            "::notice title=fabriclint::GitHub shows ten annotations of each level a step; "
            f"{left} more findings are in the log.\n"
        )
    return "".join(out)
