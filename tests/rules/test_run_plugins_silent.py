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


def said(*lines: str) -> list[str]:
    made = Settings(isolated=True, select=("RUN019",))
    text = whole("(run-volcano)", "\n".join(lines)).text
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


def test_another_kind_has_no_such_plugins() -> None:
    made = Settings(isolated=True, select=("RUN019",))
    text = whole("(run-jobset)", '- command: ...\n+ command: [sh, -c, "train $MASTER_ADDR $VC_TASK_INDEX"]').text
    report = assemble(lint([], made, stdin=("job.yaml", text.encode())), made, ReportOptions())
    assert not report.findings
