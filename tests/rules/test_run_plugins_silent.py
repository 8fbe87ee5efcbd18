"""What RUN019 says nothing of: variables that something sets, or may set."""

from __future__ import annotations

import pytest
from example import whole

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.report.model import ReportOptions

BARE = ["- plugins:", "-   pytorch: [--master=master, --worker=worker, --port=23456]"]


def run(text: str) -> list[str]:
    return ["@@ name: worker", "@@ image:", "- command: ...", f'+ command: [sh, -c, "{text}"]']


def said(*lines: str, base: str = "run-volcano") -> list[str]:
    made = Settings(isolated=True, select=("RUN019",))
    text = whole(f"({base})", "\n".join(lines)).text
    result = lint([], made, stdin=("job.yaml", text.encode()))
    assert not [n for n in result.notes if n.code == "internal-error"], result.notes
    return [f.code for f in assemble(result, made, ReportOptions()).findings]


QUIET: dict[str, list[str]] = {
    "env sets it": [*BARE, *run("train $MASTER_ADDR"), "+ env: [{name: MASTER_ADDR, value: here}]"],
    "a ConfigMap may set it": [*BARE, *run("train $MASTER_ADDR"), "+ envFrom: [{configMapRef: {name: meeting}}]"],
    "the script exports it": [*BARE, *run("export MASTER_ADDR=here && train $MASTER_ADDR")],
    "a profile may set it": [*BARE, *run("source /etc/meeting; train $MASTER_ADDR")],
    "plugins that are filled in later": [BARE[0], BARE[1], "+ plugins: \"{{ plugins }}\"", *run("train $MASTER_ADDR")],
    "svc makes the hosts": [BARE[0], BARE[1], "+ plugins: {svc: []}", *run("train $VC_MASTER_HOSTS")],
    "mpi brings svc": [BARE[0], BARE[1], "+ plugins: {mpi: []}", *run("train $VC_MASTER_HOSTS")],
    "a longer name": [*BARE, *run("train $MASTER_ADDRESSES")],
    "only spoken of": [*BARE, *run("echo MASTER_ADDR; train")],
}  # fmt: skip


@pytest.mark.parametrize("lines", [pytest.param(q, id=n) for n, q in QUIET.items()])
def test_nothing_is_said_of_a_plugin(lines: list[str]) -> None:
    assert said(*lines) == []


def test_a_variable_of_a_missing_plugin_is_found() -> None:
    assert said(*BARE, *run("train $MASTER_ADDR")) == ["RUN019"]


def alone(text: str) -> list[str]:
    return ["- command: ...", f'+ command: [sh, -c, "{text}"]']


#: What a job of another kind reads, and how it comes by it.
ELSEWHERE: dict[str, list[str]] = {
    "an address that many controllers set": alone("train $MASTER_ADDR"),
    "env sets it": [*alone("train $VC_TASK_INDEX"), "+ env: [{name: VC_TASK_INDEX, value: one}]"],
    "a ConfigMap may set it": [*alone("train $VC_TASK_INDEX"), "+ envFrom: [{configMapRef: {name: meeting}}]"],
    "the script sets it": alone("export VC_TASK_INDEX=$JOB_COMPLETION_INDEX; train $VC_TASK_INDEX"),
    "the script reads it": alone("cat /data/hosts | while read -r VC_WORKER_HOSTS; do train $VC_WORKER_HOSTS; done"),
    "a default": alone("train ${VC_TASK_INDEX:-0}"),
    "a default without colon": alone("train ${VC_TASK_INDEX-0}"),
    "asked for first": alone("if [ -n $VC_WORKER_HOSTS ]; then train $VC_WORKER_HOSTS; else train; fi"),
    "set when it is not": alone(": ${VC_TASK_INDEX:=$JOB_COMPLETION_INDEX}; train $VC_TASK_INDEX"),
    "a profile may set it": alone("cd /app && . ./meeting.sh && train $VC_TASK_INDEX"),
    "a longer name": alone("train $VC_TASK_INDEXES"),
    "only spoken of": alone("echo no VC_TASK_INDEX here; train"),
    "a file that is mounted": [
        *alone("train --hosts /etc/volcano/ranks.host"),
        "+ volumeMounts: [{name: hosts, mountPath: /etc/volcano}]",
    ],
    "a file that the script writes": alone(
        "mkdir -p /etc/volcano; echo a > /etc/volcano/a.host; train /etc/volcano/a.host"
    ),
    "a file that is asked for": alone("if [ -f /etc/volcano/a.host ]; then train /etc/volcano/a.host; else train; fi"),
    "a file below another folder": alone("train /home/etc/volcano/a.host"),
    "a program that reads it by itself": alone("python train.py"),
}


@pytest.mark.parametrize("lines", [pytest.param(q, id=n) for n, q in ELSEWHERE.items()])
def test_nothing_is_said_of_another_kind(lines: list[str]) -> None:
    assert said(*lines, base="run-jobset") == []


@pytest.mark.parametrize(
    "base", ["run-jobset", "run-leaderworkerset", "run-statefulset", "run-indexed", "run-pytorchjob", "run-mpijob"]
)
@pytest.mark.parametrize("text", ["train $VK_TASK_INDEX", "train ${VC_WORKER_NUM}", "train /etc/volcano/ranks.host"])
def test_another_kind_has_no_such_plugins(base: str, text: str) -> None:
    assert said(*alone(text), base=base) == ["RUN019"]


def test_of_a_kind_whose_controller_is_not_known_nothing_is_said() -> None:
    made = Settings(isolated=True, select=("RUN019",))
    text = whole("(run-jobset)", "\n".join(alone("train $VC_TASK_INDEX"))).text.replace(
        "jobset.x-k8s.io", "sets.example"
    )
    report = assemble(lint([], made, stdin=("job.yaml", text.encode())), made, ReportOptions())
    assert not report.findings
