"""From a manifest: the exact command that collects the ranks' log, what it is to show, and what hides it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabriclint.cli.verify import of_manifest

POD = """\
{indent}spec:
{indent}  containers:
{indent}    - name: {container}
{indent}      image: registry.example/train:1
{indent}      command: [torchrun, train.py]
{indent}      env:
{indent}        - {{name: NCCL_DEBUG, value: {level}}}
{indent}      resources: {{limits: {{nvidia.com/gpu: 8}}}}
"""


def pod(indent: int, *, container: str = "node", level: str = "WARN") -> str:
    return POD.format(indent=" " * indent, container=container, level=level)


JOBSET = (
    "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: llama, namespace: ml}\nspec:\n  replicatedJobs:\n"
    "    - name: workers\n      template:\n        spec:\n          parallelism: 2\n          completions: 2\n          template:\n"
    + pod(12)
)
PYTORCH = (
    "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: bert}\nspec:\n  pytorchReplicaSpecs:\n    Worker:\n"
    "      replicas: 2\n      template:\n" + pod(8, container="pytorch", level="INFO")
)
MPI = (
    "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {name: hpl}\nspec:\n  mpiReplicaSpecs:\n    Launcher:\n"
    "      template:\n        spec:\n          containers:\n            - name: start\n              image: registry.example/hpl:1\n"
    "              command: [mpirun, -x, NCCL_DEBUG=INFO, ./hpl]\n"
    "    Worker:\n      replicas: 2\n      template:\n" + pod(8, container="rank")
)
LWS = (
    "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: serve}\nspec:\n  leaderWorkerTemplate:\n"
    "    size: 2\n    workerTemplate:\n" + pod(6)
)
STATEFUL = (
    "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: s}\nspec:\n  serviceName: s\n  replicas: 2\n"
    "  selector: {matchLabels: {app: s}}\n  template:\n    metadata: {labels: {app: s}}\n" + pod(4)
)


@pytest.mark.parametrize(
    ("text", "selector", "container"),
    [
        (
            JOBSET,
            "-n ml -c node -l jobset.sigs.k8s.io/jobset-name=llama,jobset.sigs.k8s.io/replicatedjob-name=workers ",
            "node",
        ),
        (PYTORCH, "-c pytorch -l training.kubeflow.org/job-name=bert ", "pytorch"),
        (MPI, "-c start -l training.kubeflow.org/job-name=hpl,training.kubeflow.org/job-role=launcher ", "start"),
        (LWS, "-c node -l leaderworkerset.sigs.k8s.io/name=serve ", "node"),
        (STATEFUL, "-c node -l app=s ", "node"),
    ],
    ids=["JobSet", "PyTorchJob", "MPIJob", "LeaderWorkerSet", "StatefulSet"],
)
def test_the_command_selects_the_pods_that_print_what_the_ranks_say(
    tmp_path: Path, text: str, selector: str, container: str
) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(text)
    told, code = of_manifest(str(file), "text")
    assert code == 0
    assert f"kubectl logs {selector}" in told
    assert "--tail=-1 --prefix" in told


def test_a_level_that_hides_the_banner_is_named_with_its_line_and_the_patch(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(JOBSET)
    told, _ = of_manifest(str(file), "text")
    line = next(n for n, x in enumerate(JOBSET.split("\n"), 1) if "NCCL_DEBUG" in x)
    assert f"NCCL_DEBUG is 'WARN' ({file.as_posix()}:{line})" in told
    assert '{name: NCCL_DEBUG, value: "INFO"}' in told


@pytest.mark.parametrize("text", [PYTORCH, MPI], ids=["in env", "by mpirun"])
def test_a_level_that_shows_the_banner_is_not_mentioned(tmp_path: Path, text: str) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(text)
    told, _ = of_manifest(str(file), "text")
    assert "NCCL_DEBUG" not in told


def test_the_same_as_data(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(JOBSET)
    (job,) = json.loads(of_manifest(str(file), "json")[0])["jobs"]
    assert job["hidden"] is True
    assert job["nccl_debug"] == "WARN"
    assert job["command"].startswith("kubectl logs -n ml")


def test_a_manifest_without_gpu_workers_is_said_to_have_none(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    told, code = of_manifest(str(file), "text")
    assert code == 2
    assert "no job with GPU workers" in told


EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def test_a_trainjob_is_selected_by_the_jobset_that_it_becomes() -> None:
    told, code = of_manifest(str(EXAMPLES / "eks-efa" / "correct" / "trainjob.yaml"), "text")
    assert code == 0
    assert "jobset-name=speech-pretrain,jobset.sigs.k8s.io/replicatedjob-name=node" in told
    assert "--expect eks-efa" in told
    assert "expect: NCCL INFO Using network AWS Libfabric" in told


def test_a_sourced_profile_that_sets_the_level_is_named_with_its_line() -> None:
    told, _ = of_manifest(str(EXAMPLES / "gke-tcpxo" / "correct" / "trainjob.yaml"), "text")
    assert "The profile sourced at" in told
    assert "runtime.yaml:" in told
    assert "export NCCL_DEBUG=INFO" in told


def test_a_level_that_is_exported_behind_the_profile_is_right(tmp_path: Path) -> None:
    for name in ("runtime.yaml", "trainjob.yaml"):
        text = (EXAMPLES / "gke-tcpxo" / "correct" / name).read_text()
        text = text.replace("exec torchrun", "export NCCL_DEBUG=INFO\n                          exec torchrun")
        (tmp_path / name).write_text(text)
    told, _ = of_manifest(str(tmp_path / "trainjob.yaml"), "text")
    assert "The profile sourced" not in told
    assert "NCCL_DEBUG is" not in told


@pytest.mark.parametrize(
    ("env", "hidden", "known"),
    [
        ("[{name: NCCL_DEBUG, value: INFO}]", False, True),
        ("[{name: NCCL_DEBUG, value: warn}]", True, True),
        ("[{name: OTHER, value: x}]", True, True),
        ("[{name: NCCL_DEBUG, valueFrom: {configMapKeyRef: {name: unseen, key: level}}}]", None, False),
    ],
)
def test_the_banner_is_hidden_shown_or_not_known(tmp_path: Path, env: str, hidden: bool | None, known: bool) -> None:
    text = f"""apiVersion: batch/v1
kind: Job
metadata: {{name: a}}
spec:
  parallelism: 2
  completions: 2
  completionMode: Indexed
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: main
          image: registry.example/x:1
          command: [python, train.py]
          env: {env}
          resources: {{limits: {{nvidia.com/gpu: 8}}}}
"""
    file = tmp_path / "job.yaml"
    file.write_text(text)
    (job,) = json.loads(of_manifest(str(file), "json")[0])["jobs"]
    assert (job["hidden"], job["nccl_debug_known"]) == (hidden, known)
