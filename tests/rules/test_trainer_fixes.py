"""The fixes of TRN rules: applied, they leave nothing to say and the file as it was elsewhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from example import whole

from fabriclint.engine import builtin_pack
from fabriclint.rule_page import page

#: Codes whose every Bad example is mended by its fix.
MENDED = ("TRN001", "TRN004", "TRN005", "TRN006", "TRN009", "TRN016", "TRN017", "TRN021", "TRN030")
CASES = [
    pytest.param(title, block, id=f"{rule.code}-{number}")
    for rule in builtin_pack().load()
    if rule.code in MENDED
    for number, (kind, title, block) in enumerate(page(rule).examples_as_written)
    if kind == "Bad"
]


@pytest.mark.parametrize(("title", "block"), CASES)
def test_a_fix_leaves_nothing_to_say(tmp_path: Path, title: str, block: str) -> None:
    example = whole(title, block)
    file = tmp_path / "job.yaml"
    file.write_text(example.text)
    options = [f"--{k}={v}" for k, v in example.options.items()]
    command = [
        sys.executable,
        "-m",
        "fabriclint",
        "check",
        "--isolated",
        "--fix",
        "--unsafe-fixes",
        *options,
        str(file),
    ]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert file.read_text() != example.text
