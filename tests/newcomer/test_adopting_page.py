"""The steps of docs/adopting.md, typed as they are printed, in a repository with old findings."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from fabriclint.config import load_config

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "adopting.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\$ (.*)$", PAGE, re.MULTILINE)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    shutil.copytree(ROOT / "examples" / "gke-tcpxo" / "broken", tmp_path / "k8s" / "old")
    return tmp_path


def typed(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    line = command.replace("fabriclint ", f"{shlex.quote(sys.executable)} -m fabriclint ", 1)
    return subprocess.run(["sh", "-c", line], cwd=folder, capture_output=True, text=True, check=False)


def test_the_steps_end_with_nothing_new(old: Path) -> None:
    codes = [typed(command, old).returncode for command in COMMANDS]
    assert codes == [1, 1, 1, 0, 0, 0]
    baseline = json.loads((old / ".fabriclint-baseline.json").read_text())
    assert {e["reason"] for e in baseline["findings"]} == {"before fabriclint"}


def test_the_later_steps_can_be_typed(old: Path) -> None:
    assert typed("fabriclint baseline create", old).returncode == 0
    for command in ("fabriclint baseline update k8s/old/", "fabriclint baseline check"):
        assert f"`{command}`" in PAGE
        assert typed(command, old).returncode == 0


def test_what_does_not_hold_can_be_said(tmp_path: Path) -> None:
    lines = re.findall(r"^\|[^|]*\| `([a-z-]+: .*?)`", PAGE, re.MULTILINE)
    assert len(lines) == 5
    path = tmp_path / ".fabriclint.yaml"
    path.write_text("\n".join(lines))
    assert set(YAML(typ="safe").load(path.read_text())) == {line.partition(":")[0] for line in lines}
    load_config(path)


def test_the_three_forms_of_suppression_hold(old: Path) -> None:
    line, file, annotation = re.findall(
        r"`(# fabriclint: ignore\[.*?|# fabriclint: ignore-file\[.*?|fabriclint\.dev/.*?)`", PAGE
    )
    runtime, job = old / "k8s" / "old" / "runtime.yaml", old / "k8s" / "old" / "trainjob.yaml"
    runtime.write_text(f"{file}\n" + runtime.read_text().replace("emptyDir: {}", f"emptyDir: {{}}  {line}"))
    job.write_text(job.read_text().replace("metadata:\n", f"metadata:\n  annotations:\n    {annotation}\n", 1))
    found = json.loads(typed("fabriclint check -o json", old).stdout)
    assert not {f["code"] for f in found["findings"]} & {"POD002", "TRN005", "TRN001", "SUP001", "SUP002", "SUP003"}
