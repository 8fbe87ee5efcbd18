"""Jobs against a cluster snapshot: what no node can take is said, and what cannot be resolved is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.report.model import ReportOptions

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: ml}
spec:
  parallelism: 2
  completions: 2
  template:
    spec:
      restartPolicy: Never
      nodeSelector: {pool: gpu}
      containers:
        - name: train
          image: registry.example/train:1
          command: [sleep, infinity]
          resources: {limits: {nvidia.com/gpu: 8}}
"""
TRAINJOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata:
  name: torch
spec:
  mlPolicy: {numNodes: 2, torch: {}}
  template:
    spec:
      replicatedJobs:
        - name: node
          template:
            metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
            spec:
              template:
                spec:
                  nodeSelector: {pool: nowhere}
                  containers:
                    - name: node
                      image: registry.example/train:1
                      resources: {limits: {nvidia.com/gpu: 8}}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: job}
spec:
  runtimeRef: {name: torch}
  trainer: {numNodes: 2}
"""


def node(name: str, *, gpus: int = 8, taint: bool = False) -> dict[str, Any]:
    amounts = {"cpu": "96", "memory": "1000Gi", "pods": "110", "nvidia.com/gpu": str(gpus)}
    taints = [{"key": "team", "value": "x", "effect": "NoSchedule"}] if taint else []
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"pool": "gpu"}},
        "spec": {"taints": taints},
        "status": {"allocatable": amounts, "capacity": amounts},
    }


def said(tmp_path: Path, text: str, nodes: list[dict[str, Any]]) -> tuple[set[str], list[str]]:
    snapshot = tmp_path / "snapshot.json"
    snapshot.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}), encoding="utf-8")
    settings = Settings(isolated=True, cluster=(("*", str(snapshot)),))
    result = lint([], settings, stdin=("job.yaml", text.encode()))
    report = assemble(result, settings, ReportOptions())
    codes = {f.code for f in report.findings if f.code.startswith("FIT") and f.severity != "note"}
    return codes, [n.code for n in result.notes if n.level == "error"]


def test_nodes_with_room_take_the_job(tmp_path: Path) -> None:
    assert said(tmp_path, JOB, [node("a"), node("b")]) == (set(), [])


@pytest.mark.parametrize(
    ("nodes", "code"),
    [
        ([node("a", taint=True), node("b", taint=True)], "FIT004"),
        ([node("a", gpus=4), node("b", gpus=4)], "FIT002"),
        ([node("a")], "FIT017"),
    ],
    ids=["a taint on every node", "too few GPUs on every node", "one node for two pods"],
)
def test_what_no_node_can_take_is_said(tmp_path: Path, nodes: list[dict[str, Any]], code: str) -> None:
    found, failed = said(tmp_path, JOB, nodes)
    assert code in found and failed == []


def test_a_trainjob_is_judged_by_the_pods_that_it_and_its_runtime_make(tmp_path: Path) -> None:
    found, failed = said(tmp_path, TRAINJOB, [node("a"), node("b")])
    assert found and found <= {"FIT004", "FIT007"} and failed == []
    assert said(tmp_path, TRAINJOB.replace("pool: nowhere", "pool: gpu"), [node("a"), node("b")]) == (set(), [])


def test_the_count_of_a_trainjob_is_what_asks_for_nodes(tmp_path: Path) -> None:
    text = TRAINJOB.replace("pool: nowhere", "pool: gpu").replace("trainer: {numNodes: 2}", "trainer: {numNodes: 3}")
    assert said(tmp_path, text, [node("a"), node("b")])[0] == {"FIT017"}


def test_a_runtime_that_no_trainjob_uses_is_judged_alone_against_nodes(tmp_path: Path) -> None:
    runtime = TRAINJOB.partition("---\n")[0]
    assert said(tmp_path, runtime, [node("a"), node("b")])[0]


def test_a_snapshot_that_cannot_be_read_is_a_sentence(tmp_path: Path) -> None:
    settings = Settings(isolated=True, cluster=(("*", str(tmp_path / "gone.json")),))
    result = lint([], settings, stdin=("job.yaml", JOB.encode()))
    assert [n.code for n in result.notes if n.level == "error"] == ["unreadable"]
