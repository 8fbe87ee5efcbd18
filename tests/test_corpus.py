"""Published manifests, as they are: whatever they hold, the linter comes through them.

The folder is named by FABRICLINT_CORPUS and is no part of the repository.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = os.environ.get("FABRICLINT_CORPUS")


@pytest.mark.skipif(not FOLDER, reason="FABRICLINT_CORPUS names no folder of published manifests")
def test_the_corpus_is_linted_without_an_internal_error() -> None:
    assert FOLDER is not None
    corpus = Path(FOLDER)
    assert corpus.is_dir(), f"FABRICLINT_CORPUS names '{FOLDER}', which is no folder"
    run = subprocess.run(
        [sys.executable, "-m", "fabriclint", "check", "--isolated", "-o", "json", "."],
        cwd=corpus,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert "Traceback" not in run.stderr + run.stdout
    assert run.returncode in (0, 1), run.stderr
    report = json.loads(run.stdout)
    broken = [n for n in report["notifications"] if n["code"] == "internal-error"]
    assert broken == []
    assert report["summary"]["workloads"] > 0, "no workload was seen, so nothing was proved"
