"""The example sets: the correct ones are clean, each broken one has findings."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabriclint.cli.check import Options, read_report

EXAMPLES = Path(__file__).parents[1] / "examples"
FABRICS = ("gke-tcpxo", "gke-tcpx", "gke-gib", "eks-efa", "aks-ib")


@pytest.mark.parametrize("fabric", FABRICS)
def test_a_correct_set_has_no_errors_and_no_warnings(fabric):
    report = read_report(Options(paths=(str(EXAMPLES / fabric / "correct"),)))
    assert [(f.code, f.region.path, f.region.line) for f in report.findings if f.severity != "note"] == []
    assert report.summary.files == 2


@pytest.mark.parametrize("fabric", FABRICS)
def test_a_broken_set_has_errors(fabric):
    report = read_report(Options(paths=(str(EXAMPLES / fabric / "broken"),)))
    assert report.summary.errors > 0
    assert [n for n in report.notifications if n.level == "error"] == []


def test_the_broken_tcpxo_set_shows_each_of_its_faults():
    report = read_report(Options(paths=(str(EXAMPLES / "gke-tcpxo" / "broken"),)))
    found = {f.code for f in report.findings}
    assert {"TRN001", "TRN005", "TCPXO003", "TCPXO012", "POD002", "POD003"} <= found
