"""`make demo` shows every fabric of the examples, broken and correct."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_the_demo_lints_every_example() -> None:
    ran = subprocess.run(
        ["make", "--dry-run", "--always-make", "demo"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    linted = [line for line in ran.stdout.splitlines() if "fabriclint check" in line]
    words = {word for line in linted for word in line.split()}
    folders = {p.relative_to(ROOT).as_posix() for p in (ROOT / "examples").glob("*/*") if p.is_dir()}
    assert len(folders) == 10
    assert folders <= words
