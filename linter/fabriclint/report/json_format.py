"""The JSON report, version 1: a contract."""

from __future__ import annotations

import json
from typing import Any

from fabriclint.report.model import Report, ReportedFinding, ReportedFix


def _fix(fix: ReportedFix | None) -> dict[str, Any] | None:
    if fix is None or not fix.edits:
        return None
    return {
        "applicability": fix.applicability,
        "message": fix.message,
        "edits": [
            {
                "path": e.region.path,
                "line": e.region.line,
                "column": e.region.column,
                "end_line": e.region.end_line,
                "end_column": e.region.end_column,
                "text": e.text,
            }
            for e in fix.edits
        ],
    }


def _finding(f: ReportedFinding) -> dict[str, Any]:
    about = f.object
    return {
        "code": f.code,
        "name": f.name,
        "severity": f.severity,
        "message": f.message,
        "help": f.help,
        "url": f.url,
        "path": f.region.path,
        "line": f.region.line,
        "column": f.region.column,
        "end_line": f.region.end_line,
        "end_column": f.region.end_column,
        "object": None
        if about is None
        else {
            "apiVersion": about.api_version,
            "kind": about.kind,
            "namespace": about.namespace,
            "name": about.name,
        },
        "pointer": f.pointer,
        "fabric": f.fabric,
        "related": [{"path": r.region.path, "line": r.region.line, "message": r.message} for r in f.related],
        "fix": _fix(f.fix),
        "fingerprint": f.fingerprint,
    }


def render(report: Report) -> str:
    """JSON with a final newline; characters outside ASCII are written as they are."""
    shown = [f for f in report.findings if f.suppressed is None]
    data = {
        "version": 1,
        "tool": {"name": report.tool.name, "version": report.tool.version},
        "findings": [_finding(f) for f in shown],
        "notifications": [
            {"level": n.level, "code": n.code, "path": n.path, "message": n.message} for n in report.notifications
        ],
        "summary": {
            "files": report.summary.files,
            "documents": report.summary.documents,
            "workloads": report.summary.workloads,
            "findings": {
                "error": report.summary.errors,
                "warning": report.summary.warnings,
                "note": report.summary.notes,
            },
            "suppressed": report.summary.suppressed,
            "baselined": report.summary.baselined,
        },
    }
    return json.dumps(data, ensure_ascii=False, indent=2) + "\n"
