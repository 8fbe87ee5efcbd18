"""JUnit XML: a suite per file, a case per object and rule that found something, a passed case for a clean file."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from fabriclint.report.model import Report, ReportedFinding


def _legal(text: str) -> str:
    """XML 1.0 has no place for most control characters, not even escaped."""
    return "".join(
        c if c in "\t\n\r" or " " <= c <= "\ud7ff" or "\ue000" <= c <= "\ufffd" or c > "\uffff" else "\ufffd"
        for c in text
    )


def _attr(text: str) -> str:
    return quoteattr(_legal(text))


def _name(f: ReportedFinding) -> str:
    about = [f.object.kind, f.object.namespace or "", f.object.name or ""] if f.object else []
    return f"{f.code} {'/'.join(p for p in about if p)}".strip()


def render(report: Report) -> str:
    """XML with a final newline; no times, so that equal runs give equal bytes."""
    by_path: dict[str, list[ReportedFinding]] = {path: [] for path in sorted(report.sources)}
    for f in report.findings:
        if f.suppressed is None and f.severity != "note":
            by_path.setdefault(f.region.path, []).append(f)
    total = sum(max(1, len(fs)) for fs in by_path.values())
    failed = sum(len(fs) for fs in by_path.values())
    out = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites name="fabriclint" tests="{total}" failures="{failed}" errors="0">',
    ]
    for path, found in sorted(by_path.items()):
        out.append(f'  <testsuite name={_attr(path)} tests="{max(1, len(found))}" failures="{len(found)}" errors="0">')
        if not found:
            out.append(f'    <testcase name="no findings" classname={_attr(path)}/>')
        for f in found:
            where = f"{path}:{f.region.line}:{f.region.column}: {f.message}" + (f"\nhelp: {f.help}" if f.help else "")
            out.append(f"    <testcase name={_attr(_name(f))} classname={_attr(path)}>")
            out.append(
                f"      <failure message={_attr(f.message)} type={_attr(f.severity)}>{escape(_legal(where))}</failure>"
            )
            out.append("    </testcase>")
        out.append("  </testsuite>")
    out.append("</testsuites>")
    return "\n".join(out) + "\n"
