"""The examples: the correct sets lint clean, the broken ones do not. Run as a user runs them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
FABRICS = sorted(p.name for p in (ROOT / "examples").iterdir() if p.is_dir())
EXPECTED = {
    "gke-tcpxo": {"TRN001", "TRN005", "TCPXO003", "TCPXO012", "POD002", "POD003"},
    "eks-efa": {"TRN006"},
    "aks-ib": {"TRN001"},
}


def check(folder: str) -> tuple[int, Any]:
    """Exit code and JSON report of `fabriclint check` over one folder, from the root of the checkout."""
    run = subprocess.run(
        [sys.executable, "-m", "fabriclint", "check", "-o", "json", folder],
        cwd=ROOT,
        env=os.environ | {"NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in run.stderr
    return run.returncode, json.loads(run.stdout)


def test_every_fabric_of_the_examples_has_its_expected_findings_written_down() -> None:
    assert set(FABRICS) == set(EXPECTED)


@pytest.mark.parametrize("fabric", FABRICS)
def test_a_correct_example_has_neither_error_nor_warning(fabric: str) -> None:
    code, report = check(f"examples/{fabric}/correct")
    assert [f for f in report["findings"] if f["severity"] != "note"] == []
    assert code == 0
    assert report["summary"]["workloads"] > 0, "nothing was looked at, so nothing was proved"


@pytest.mark.parametrize("fabric", FABRICS)
def test_a_broken_example_is_reported_with_its_faults(fabric: str) -> None:
    code, report = check(f"examples/{fabric}/broken")
    found = {f["code"] for f in report["findings"] if f["severity"] != "note"}
    assert code == 1
    assert found >= EXPECTED[fabric]


@pytest.mark.parametrize("fabric", FABRICS)
def test_every_finding_of_a_broken_example_names_a_line_of_its_file(fabric: str) -> None:
    _, report = check(f"examples/{fabric}/broken")
    for finding in report["findings"]:
        lines = (ROOT / finding["path"]).read_text(encoding="utf-8").splitlines()
        assert 1 <= finding["line"] <= len(lines)
        assert lines[finding["line"] - 1].strip(), "a finding points at an empty line"
