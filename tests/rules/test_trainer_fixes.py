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


_OLD = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: tune
spec:
  runtimeRef:
    name: torch-distributed
  podTemplateOverrides:
    - targetJobs:
        - name: node
      spec:
        nodeSelector:
          zone: a   # where the data is
"""


@pytest.mark.parametrize(
    ("head", "tail"),
    [
        (_OLD, ""),
        (_OLD.rstrip("\n"), ""),
        (_OLD, "---\n# the next one\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: other\n"),
        (_OLD, "  trainer:\n    numNodes: 1\n"),
        (_OLD.replace("\n", "\r\n"), ""),
    ],
    ids=["last in the file", "no line break at the end", "another document", "a field behind it", "CRLF"],
)
def test_an_older_block_is_rewritten_where_it_stands(tmp_path: Path, head: str, tail: str) -> None:
    file = tmp_path / "job.yaml"
    file.write_bytes((head + tail).encode())
    command = [sys.executable, "-m", "fabriclint", "check", "--isolated", "--fix", "--unsafe-fixes", str(file)]
    subprocess.run([*command, "--select=TRN019", "--trainer-version=2.2"], capture_output=True, check=False)
    text = file.read_bytes().decode()
    eol = "\r\n" if "\r\n" in head else "\n"
    assert "podTemplateOverrides" not in text
    assert text.count("  runtimePatches:" + eol + "    - manager: fabriclint.dev/moved" + eol) == 1
    assert text.startswith(head.partition("  podTemplateOverrides")[0])
    assert text.replace("\r\n", "").count("\r") == 0
    kept = tail if "trainer" not in tail else "  trainer:\n    numNodes: 1\n"
    assert kept in text
    again = subprocess.run([*command, "--trainer-version=2.2"], capture_output=True, text=True, check=False)
    assert "TRN019" not in again.stdout + again.stderr


_NO_TEMPLATE = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata:
  name: half
  namespace: vision
  labels:
    trainer.kubeflow.org/framework: torch
spec:
  mlPolicy:
    numNodes: 2
    torch: {}
  template:
    spec:
      replicatedJobs:
        - name: workers
"""


def test_a_job_without_a_template_gets_no_label(tmp_path: Path) -> None:
    file = tmp_path / "runtime.yaml"
    file.write_text(_NO_TEMPLATE)
    command = [sys.executable, "-m", "fabriclint", "check", "--isolated", "--fix", "--unsafe-fixes", str(file)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert file.read_text() == _NO_TEMPLATE
    assert "TRN038" not in ran.stdout
