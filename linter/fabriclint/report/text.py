"""The report for people: a header, the line with the span underlined, help, related places, and a summary."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from fabriclint.report.model import Region, Report, ReportedFinding, counted

_COLOURS = {
    "error": "\x1b[1;31m",
    "warning": "\x1b[1;33m",
    "note": "\x1b[1;36m",
    "dim": "\x1b[34m",
    "bold": "\x1b[1m",
}
_RESET = "\x1b[0m"
#: Columns of a line that are shown at most.
_ROOM = 160
#: How many objects that were not seen a clean run names.
_NAMED = 3
#: Rules whose notes say that something decisive was not among the files: a clean run says so too.
_UNSEEN = frozenset(("runtime-not-found",))


def _line(report: Report, region: Region) -> str | None:
    text = report.sources.get(region.path)
    if text is None:
        return None
    lines = _lines(text)
    return lines[region.line - 1] if 0 < region.line <= len(lines) else None


@lru_cache(maxsize=8)
def _lines(text: str) -> list[str]:
    """The lines of a file; findings come file by file, so a few are remembered."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _shown(text: str) -> str:
    """Tabs and control characters made visible with a known width."""
    return "".join("    " if c == "\t" else c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _width(text: str) -> int:
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _snippet(report: Report, region: Region, gutter: int, paint: str, plain: bool) -> list[str]:
    line = _line(report, region)
    if line is None:
        return []
    room = max(min(_ROOM, (report.options.width or _ROOM) - gutter - 6), 20)
    start = region.column - 1
    last = region.end_column - 1 if region.end_line == region.line else len(line)
    # A line that is wider than the room shows what is marked, and something of what stands in front of it.
    inside = room if len(line) <= room else room - 3
    end = min(max(last, region.column), start + inside - min(start, inside // 3))
    cut = 0 if end <= inside else min(start, max(start - inside // 2, end - inside))
    before, marked, after = line[cut:start], line[start:end], line[end : max(end, cut + inside)]
    lead = "..." if cut else ""
    bar = f"{'':>{gutter}} |"
    number = f"{region.line:>{gutter}} |"
    carets = "^" * max(1, _width(_shown(marked)))
    text = lead + _shown(before) + _shown(marked) + _shown(after)
    pad = " " * (_width(lead + _shown(before)))
    if not plain:
        carets = paint + carets + _RESET
        bar, number = _COLOURS["dim"] + bar + _RESET, _COLOURS["dim"] + number + _RESET
    return [bar, f"{number} {text}".rstrip(), f"{bar} {pad}{carets}"]


def _one(report: Report, f: ReportedFinding) -> list[str]:
    plain = not report.options.colour
    paint = "" if plain else _COLOURS[f.severity]
    reset = "" if plain else _RESET
    bold = "" if plain else _COLOURS["bold"]
    where = f"{_shown(f.region.path)}:{f.region.line}:{f.region.column}"
    state = f" (suppressed: {_shown(f.suppressed.reason)})" if f.suppressed else ""
    out = [f"{bold}{where}:{reset} {paint}{f.severity}[{f.code}]{reset} {_shown(f.message)}{state}"]
    gutter = len(str(max([f.region.line, *(r.region.line for r in f.related)])))
    out += _snippet(report, f.region, gutter, paint, plain)
    space = " " * gutter
    if f.help:
        out.append(f"{space} = {bold}help:{reset} {_shown(f.help)}")
    for related in f.related:
        r = related.region
        out.append(f"{space} = {bold}note:{reset} {_shown(r.path)}:{r.line}: {_shown(related.message)}")
    if f.fix is not None:
        flag = "--fix" if f.fix.applicability == "safe" else "--unsafe-fixes"
        flag = flag if f.fix.edits else f"by hand: {_shown(f.fix.refused)}"
        out.append(f"{space} = {bold}fix:{reset} {_shown(f.fix.message)} ({flag})")
    out.append("")
    return out


def render(report: Report) -> str:
    """The text report; notes only with --verbose, suppressed findings only with --show-suppressed."""
    out: list[str] = []
    hidden = 0
    for f in report.findings:
        if f.suppressed is not None and not report.options.show_suppressed:
            continue
        if f.severity == "note" and not report.options.verbose and f.suppressed is None:
            hidden += 1
            continue
        out += _one(report, f)
    s = report.summary
    said = [counted(s.errors, "error"), counted(s.warnings, "warning")]
    rest = []
    unseen = sum(1 for f in report.findings if f.name in _UNSEEN and f.severity == "note" and f.suppressed is None)
    if unseen:
        rest.append(f"{counted(unseen, 'runtime')} not seen and the pods not checked (explain says more)")
    if report.unseen and not s.errors and not s.warnings:
        more = f" and {len(report.unseen) - _NAMED} more" if len(report.unseen) > _NAMED else ""
        rest.append(f"not seen: {_shown(', '.join(report.unseen[:_NAMED]))}{more} (explain says more)")
    if hidden:
        rest.append(f"{counted(hidden, 'note')} (--verbose shows them)")
    if s.suppressed:
        rest.append(f"{s.suppressed} suppressed")
    if s.baselined:
        rest.append(f"{s.baselined} in the baseline")
    skipped = sum(n.code == "skipped-template" for n in report.notifications)
    if skipped:
        rest.append(f"{counted(skipped, 'template')} skipped")
    fixes = [f.fix for f in report.findings if f.fix is not None and f.fix.edits and f.suppressed is None]
    safe = sum(1 for fix in fixes if fix.applicability == "safe")
    if safe:
        rest.append(f"{safe} fixable with --fix")
    if len(fixes) > safe:
        rest.append(f"{len(fixes) - safe} fixable with --unsafe-fixes")
    looked = f"{counted(s.workloads, 'workload')} in {counted(s.files, 'file')}"
    tail = f"; {', '.join(rest)}" if rest else ""
    if s.errors or s.warnings:
        out.append(f"Found {' and '.join(said)} ({looked}){tail}.")
    else:
        seen = " in what could be read" if any(n.level == "error" for n in report.notifications) else ""
        out.append(f"No errors or warnings{seen} ({looked}){tail}.")
    out += list(report.options.footer)
    return "\n".join(out) + "\n"
