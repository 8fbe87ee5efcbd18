"""Reports: one module per format, each a function from a Report to text."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabriclint.report.model import Report

FORMATS = ("text", "concise", "json", "sarif", "github", "gitlab", "junit", "markdown")


def render(format_name: str, report: Report) -> str:
    """The report in one of FORMATS. Raises ValueError for another name."""
    if format_name not in FORMATS:
        raise ValueError(format_name)
    names = {"json": "json_format", "github": "github_annotations"}
    module = import_module(f"fabriclint.report.{names.get(format_name, format_name)}")
    text: str = module.render(report)
    return text
