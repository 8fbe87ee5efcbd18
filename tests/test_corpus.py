"""Over the public manifests that FABRICLINT_CORPUS points to: no rule fails, and every report can be read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CORPUS = os.environ.get("FABRICLINT_CORPUS")


@pytest.mark.skipif(CORPUS is None, reason="FABRICLINT_CORPUS points to no folder of public manifests")
def test_every_public_manifest_is_linted_without_an_internal_error() -> None:
    assert CORPUS is not None
    ran = subprocess.run(
        [sys.executable, "-m", "fabriclint", "check", "--isolated", "-o", "json", "."],
        cwd=CORPUS, capture_output=True, text=True, check=False, env=_env(),
    )  # fmt: skip
    assert "Traceback" not in ran.stderr
    report = json.loads(ran.stdout)
    assert report["summary"]["files"] > 300
    assert [n for n in report["notifications"] if n["level"] == "error"] == []


@pytest.mark.skipif(CORPUS is None, reason="FABRICLINT_CORPUS points to no folder of public manifests")
def test_no_file_that_was_judged_good_gets_an_error() -> None:
    assert CORPUS is not None
    good: set[str] = set()
    for table in sorted(Path(CORPUS).glob("*/MANIFEST.tsv")):
        rows = [line.split("\t") for line in table.read_text(encoding="utf-8").split("\n") if line]
        verdict = rows[0].index("verdict")
        note = rows[0].index("note")
        for row in rows[1:]:
            named = " ".join(row[note:]) if len(row) > note else ""
            if len(row) > verdict and row[verdict].split()[:1] == ["good"] and "DOC0" not in named:
                good.add(f"{table.parent.name}/{row[0]}")
    ran = subprocess.run(
        [sys.executable, "-m", "fabriclint", "check", "--isolated", "--severity", "error", "-o", "json", "."],
        cwd=CORPUS, capture_output=True, text=True, check=False, env=_env(),
    )  # fmt: skip
    found = json.loads(ran.stdout)["findings"]
    wrong = [(f["path"], f["line"], f["code"]) for f in found if f["path"] in good and f["code"] not in ("DOC003",)]
    assert wrong == []


def _env() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
