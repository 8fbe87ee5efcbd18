"""Public manifests, when FABRICLINT_CORPUS names a folder of them: none may break the program."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from fabriclint.cli.check import Options, read_report
from fabriclint.report import render

FOLDER = os.environ.get("FABRICLINT_CORPUS", "")
pytestmark = pytest.mark.skipif(not FOLDER, reason="FABRICLINT_CORPUS names no folder of manifests")


def folders() -> list[str]:
    root = Path(FOLDER) if FOLDER else None
    if root is None or not root.is_dir():
        return ["."]
    return sorted(p.name for p in root.iterdir() if p.is_dir())


@pytest.mark.parametrize("folder", folders())
def test_public_manifests_lint_without_an_internal_error(folder):
    report = read_report(Options(paths=(str(Path(FOLDER) / folder),), isolated=True))
    assert report.summary.files > 0
    assert [(n.path, n.message) for n in report.notifications if n.level == "error"] == []
    told = json.loads(render("json", report))
    assert len(told["findings"]) == len(report.findings)
    lines = {uri: text.count("\n") + 1 for uri, text in report.sources.items()}
    for f in report.findings:
        assert 1 <= f.region.line <= lines[f.region.path], (f.code, f.region)
        assert (f.region.line, f.region.column) <= (f.region.end_line, f.region.end_column), (f.code, f.region)


@pytest.mark.parametrize("folder", folders())
def test_every_format_can_show_what_public_manifests_give(folder):
    report = read_report(Options(paths=(str(Path(FOLDER) / folder),), isolated=True))
    for form in ("text", "concise", "sarif", "github", "gitlab", "junit", "markdown"):
        assert isinstance(render(form, report), str)
