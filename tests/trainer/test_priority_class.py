"""A priority class that a Volcano policy needs and that nobody has seen leaves the verdict open."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fabriclint.engine import read_workspace
from fabriclint.trainer.lookup import RuntimeLookup
from fabriclint.trainer.resolve import resolve

_FILES = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {{name: ours}}
spec:
  podGroupPolicy: {{volcano: {{}}}}
  mlPolicy: {{numNodes: 2, torch: {{}}}}
  template:
    spec:
      replicatedJobs:
        - name: node
          template:
            metadata: {{labels: {{trainer.kubeflow.org/trainjob-ancestor-step: trainer}}}}
            spec:
              template:
                spec:
                  priorityClassName: {0}
                  containers: [{{name: node, image: registry.example/x:1}}]
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: tune}}
spec:
  runtimeRef: {{name: ours}}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {{name: seen}}
value: 1
"""


@pytest.mark.parametrize(
    ("name", "whole", "verdict"),
    [
        ("high", False, "unknown"),
        ("high", True, "rejected"),
        ("seen", False, "accepted"),
        ("seen", True, "accepted"),
        ("system-node-critical", False, "accepted"),
    ],
)
def test_the_verdict(name: str, whole: bool, verdict: str) -> None:
    workspace = read_workspace([("files.yaml", _FILES.format(name).encode())], [])
    lookup = RuntimeLookup(closed=True, whole_cluster=whole)
    for manifest in workspace.manifests:
        lookup.add(manifest)
    jobs: list[Any] = [m for m in workspace.manifests if m.kind == "TrainJob"]
    assert resolve(jobs[0], lookup, "2.2").verdict == verdict


def test_the_page_says_what_was_not_seen(tmp_path: Path) -> None:
    file = tmp_path / "files.yaml"
    file.write_text(_FILES.format("high"))
    ran = subprocess.run(
        [sys.executable, "-m", "fabriclint", "resolve", str(file)], capture_output=True, text=True, check=False
    )
    assert ran.stdout.startswith("# TrainJob 'tune' on ClusterTrainingRuntime ours, Trainer 2.2: unknown.\n")
    assert (
        f"files.yaml:{_FILES.split('priorityClassName', maxsplit=1)[0].count(chr(10)) + 1}: PriorityClass 'high'"
        in ran.stdout
    )
