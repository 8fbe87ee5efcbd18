"""Manifests in the shapes that public ones have: nothing in them keeps the ranks apart, and nothing is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.report.model import ReportOptions

SHAPES = sorted((Path(__file__).parent.parent / "data" / "meeting").glob("*.yaml"))


@pytest.mark.parametrize("shape", SHAPES, ids=lambda p: p.stem)
def test_a_job_that_meets_is_left_alone(shape: Path) -> None:
    made = Settings(isolated=True)
    result = lint([], made, stdin=("job.yaml", shape.read_bytes()))
    assert not [n for n in result.notes if n.code == "internal-error"], result.notes
    assert result.jobs, "the shape holds a job"
    found = assemble(result, made, ReportOptions()).findings
    assert [(f.code, f.region.line, f.message) for f in found if f.severity != "note"] == []


def test_thirty_shapes_are_read() -> None:
    assert len(SHAPES) >= 30
