"""Where the rules on roles must say nothing, or no more than a note."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.report.model import ReportOptions

BASES = Path(__file__).parent.parent / "bases"
COMMAND = 'command: [mpirun, -np, "2", ./reduce]'
GPU = "\n              resources:\n                limits:\n                  nvidia.com/gpu: 1"

LISTED = """command: [mpirun, -np, "32", python, train.py]
                      resources:
                        limits:
                          nvidia.com/gpu: 8"""
SUBMITTER = """  submitterPodTemplate:
    spec:
      containers:
        - name: submitter
          image: registry.example/ray:2.52
  shutdownAfter"""


def found(text: str) -> list[tuple[str, str]]:
    """(code, severity) of what the rules say, notes too."""
    settings = Settings(isolated=True, select=("RUN010", "RUN012"))
    result = lint([], settings, stdin=("job.yaml", text.encode()))
    assert not [n for n in result.notes if n.code == "internal-error"], result.notes
    return [(f.code, str(f.severity)) for f in assemble(result, settings, ReportOptions()).findings]


def base(name: str, *changes: tuple[str, str]) -> str:
    """A base with some of its text replaced."""
    text = (BASES / f"{name}.yaml").read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


SILENT = {
    "a launcher without GPUs": base("run-mpijob"),
    "a launcher that names itself as host": base(
        "run-mpijob", (COMMAND, "command: [mpirun, -H, localhost, -np, '2', ./reduce]" + GPU)
    ),
    "a launcher with a hostfile of its own": base(
        "run-mpijob", (COMMAND, "command: [mpirun, --hostfile, /data/hosts, -np, '2', ./reduce]" + GPU)
    ),
    "a launcher whose program is not seen, and devices": base(
        "run-mpijob", (COMMAND, "command: [/opt/go.sh]" + GPU.replace("nvidia.com/gpu", "rdma/ib"))
    ),
    "a launcher with GPUs in a job without sshd, which is a host": base(
        "run-mpijob-exec", ('command: [mpirun, -np, "2", ./tides]', 'command: [mpirun, -np, "3", ./tides]' + GPU)
    ),
    "a launcher that tests its GPUs": base("run-mpijob", (COMMAND, "command: [nvbandwidth]" + GPU)),
    "a leader that runs one of the ranks": base("run-lws-mpi"),
    "a leader whose hosts are not seen": base(
        "run-lws-mpi", ('-H, "poems-0.poems,poems-0-1.poems"', "--hostfile, /data/hosts")
    ),
    "a launcher that runs ranks": base(
        "run-mpijob", (COMMAND, COMMAND + GPU), ("slotsPerWorker: 1", "runLauncherAsWorker: true")
    ),
    "none of a GPU": base("run-mpijob", (COMMAND, COMMAND + GPU.replace("gpu: 1", "gpu: 0"))),
    "Always where another controller makes the pods": base("run-pytorchjob", ("OnFailure", "Always")),
    "Always in a task": base("run-volcano", ("OnFailure", "Always")),
    "Always in a group": base(
        "run-leaderworkerset",
        ("      spec:\n        containers", "      spec:\n        restartPolicy: Always\n        containers"),
    ),
    "a launcher that Trainer lists as a node": base(
        "trainer-mpi",
        ("      sshAuthMountPath", "      runLauncherAsNode: true\n      sshAuthMountPath"),
        ('command: [mpirun, -np, "32", python, train.py]', LISTED),
    ),
    "a launcher in a runtime by itself": base(
        "trainer-mpi", ('command: [mpirun, -np, "32", python, train.py]', LISTED)
    ).split("---")[0],
    "a launcher whose hosts are its own affair": base(
        "trainer-mpi",
        ('command: [mpirun, -np, "32", python, train.py]', LISTED.replace("-np", "--hostfile, /data/hosts, -np")),
    ),
    "a launcher whose program is not seen, in a runtime": base(
        "trainer-mpi",
        ('command: [mpirun, -np, "32", python, train.py]', LISTED.replace("mpirun, -np", "/opt/go.sh, -np")),
    ),
    "nodes of which nobody knows how many there are": base(
        "trainer-mpi",
        ('command: [mpirun, -np, "32", python, train.py]', LISTED),
        ("numNodes: 4", 'numNodes: "{{ nodes }}"'),
    ),
    "a submitter of which no Job is made": base(
        "run-rayjob", ("  shutdownAfter", SUBMITTER.replace("submitterPod", "submissionMode: HTTPMode\n  submitterPod"))
    ),
    "a submitter with a policy": base(
        "run-rayjob", ("  shutdownAfter", SUBMITTER.replace("spec:\n", "spec:\n      restartPolicy: OnFailure\n"))
    ),
    "a submitter whose policy is filled in": base(
        "run-rayjob", ("  shutdownAfter", SUBMITTER.replace("spec:\n", 'spec:\n      restartPolicy: "{{ again }}"\n'))
    ),
    "a mode that is filled in": base(
        "run-rayjob",
        ("  shutdownAfter", SUBMITTER.replace("submitterPod", 'submissionMode: "{{ mode }}"\n  submitterPod')),
    ),
    "Ray's pods start again": base(
        "run-rayjob", ("          containers", "          restartPolicy: Always\n          containers")
    ),
    "a policy that a template fills in": base("gib-job", ("restartPolicy: Never", 'restartPolicy: "{{ policy }}"')),
    "a Job of one pod": base("job"),
}


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT.keys())
def test_nothing_is_said_of(text: str) -> None:
    assert found(text) == []


def test_a_group_whose_pods_come_back_alone_is_a_note() -> None:
    text = base("run-leaderworkerset", ("RecreateGroupOnPodRestart", "None"))
    assert found(text) == [("RUN012", "note")]


@pytest.mark.parametrize(
    ("probe", "expected"),
    [
        ("livenessProbe: {tcpSocket: {port: 1}}", [("RUN012", "note")]),
        ("livenessProbe: {tcpSocket: {port: 1}, initialDelaySeconds: 900}", []),
        (
            "livenessProbe: {tcpSocket: {port: 1}}\n            startupProbe: {tcpSocket: {port: 1}, failureThreshold: 90}",
            [],
        ),
    ],
)
def test_an_engine_has_time_to_load(probe: str, expected: list[tuple[str, str]]) -> None:
    text = base(
        "run-leaderworkerset", ("command: [serve-engine]", f"command: [vllm, serve, /model]\n            {probe}")
    )
    assert found(text) == expected


def test_a_launcher_of_trainer_that_is_in_no_list_of_hosts_is_found() -> None:
    text = base("trainer-mpi", ('command: [mpirun, -np, "32", python, train.py]', LISTED))
    assert found(text) == [("RUN010", "warning")]


def test_a_submitter_without_a_policy_is_found() -> None:
    assert found(base("run-rayjob", ("  shutdownAfter", SUBMITTER))) == [("RUN012", "error")]
