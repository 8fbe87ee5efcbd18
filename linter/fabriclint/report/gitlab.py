"""GitLab's code quality report."""

from __future__ import annotations

import json

from fabriclint.report.model import Report

_SEVERITY = {"error": "major", "warning": "minor", "note": "info"}


def render(report: Report) -> str:
    """A JSON array, notes only with --verbose; equal fingerprints would collapse, so a repeated one gets a number."""
    seen: dict[str, int] = {}
    out = []
    for f in report.findings:
        if f.suppressed is not None or (f.severity == "note" and not report.options.verbose):
            continue
        seen[f.fingerprint] = seen.get(f.fingerprint, 0) + 1
        number = seen[f.fingerprint]
        out.append(
            {
                "description": f.message,
                "check_name": f.code,
                "fingerprint": f.fingerprint if number == 1 else f"{f.fingerprint}-{number}",
                "severity": _SEVERITY[f.severity],
                "location": {"path": report.options.uri_prefix + f.region.path, "lines": {"begin": f.region.line}},
            }
        )
    return json.dumps(out, ensure_ascii=False, indent=2) + "\n"
