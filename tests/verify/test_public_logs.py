"""The judged public logs, when the variable names their folder."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import pytest

from fabriclint.cli.verify import run

FOLDER = os.environ.get("FABRICLINT_LOGS")


@pytest.mark.skipif(not FOLDER, reason="FABRICLINT_LOGS is not set")
def test_every_public_log_gets_its_judged_verdict() -> None:
    folder = Path(FOLDER or "")
    wrong = []
    with (folder / "MANIFEST.tsv").open(encoding="utf-8", newline="") as table:
        rows = list(csv.DictReader(table, delimiter="\t"))
    for row in rows:
        text, _ = run(str(folder / row["file"]), None, "json", None)
        said = json.loads(text)
        if said["verdict"] not in (row["verdict"], row["accept"]):
            wrong.append((row["file"], row["verdict"], said["verdict"], said["reason"]))
    assert rows
    assert wrong == []
