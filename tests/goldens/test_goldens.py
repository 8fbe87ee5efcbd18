"""Every format's report of one sample, as a file that is read in review; FABRICLINT_UPDATE_GOLDENS=1 writes them anew."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sample import report

from fabriclint.report import FORMATS, render

HERE = Path(__file__).parent
NAMES = {
    "text": "report.txt", "concise": "concise.txt", "json": "report.json", "sarif": "report.sarif",
    "github": "github.txt", "gitlab": "gitlab.json", "junit": "junit.xml", "markdown": "report.md",
}  # fmt: skip
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    **{NAMES[f]: (f, {}) for f in FORMATS},
    "verbose.txt": ("text", {"verbose": True, "show_suppressed": True}),
    "colour.txt": ("text", {"colour": True}),
    "narrow.txt": ("text", {"width": 60}),
    "verbose-gitlab.json": ("gitlab", {"verbose": True}),
    "suppressed.sarif": ("sarif", {"show_suppressed": True, "sarif_category": "nightly", "exit_code": 2}),
}


@pytest.mark.parametrize("name", CASES)
def test_the_report_is_the_golden_file(name: str) -> None:
    form, options = CASES[name]
    made = report()
    text = render(form, replace(made, options=replace(made.options, **options)))
    path = HERE / name
    if os.environ.get("FABRICLINT_UPDATE_GOLDENS"):
        path.write_text(text, encoding="utf-8", newline="")
    assert text == path.read_bytes().decode("utf-8")


def test_every_format_has_a_golden_file() -> None:
    assert {form for form, _ in CASES.values()} == set(FORMATS)
