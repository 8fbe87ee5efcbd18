"""Running the command line in this process, as the console script does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from fabriclint.cli.front import run


class Ran(NamedTuple):
    """What a run left: exit code, stdout, stderr."""

    code: int
    out: str
    err: str


@pytest.fixture
def fabriclint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Ran]:
    """Call it with arguments; it runs in an empty repository of its own."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: str) -> Ran:
        code = run(list(arguments))
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return call


#: A runtime with one fault, a warning of TRN005: nothing in it carries the ancestor label.
FAULTY = """apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata:
  name: faulty
  labels: {trainer.kubeflow.org/framework: torch}
spec:
  mlPolicy: {numNodes: 2, torch: {}}
  template:
    spec:
      replicatedJobs:
        - name: node
          template:
            spec:
              template:
                spec:
                  containers:
                    - name: node
                      image: registry.example.com/trainer:1
"""


@pytest.fixture
def faulty_text() -> str:
    """A runtime whose only finding is TRN005, a warning on line 11."""
    return FAULTY


@pytest.fixture
def faulty(tmp_path: Path) -> Path:
    """A file whose only finding is TRN005, a warning on line 11."""
    path = tmp_path / "faulty.yaml"
    path.write_text(FAULTY, encoding="utf-8")
    return path
