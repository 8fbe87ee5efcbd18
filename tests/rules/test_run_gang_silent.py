"""What RUN020 says nothing of: sets whose pods do not wait for each other to become ready."""

from __future__ import annotations

import pytest
from example import whole

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.report.model import ReportOptions


def said(*lines: str) -> list[str]:
    made = Settings(isolated=True, select=("RUN020",))
    text = whole("(run-statefulset)", "\n".join(lines)).text
    result = lint([], made, stdin=("job.yaml", text.encode()))
    assert not [n for n in result.notes if n.code == "internal-error"], result.notes
    return [f.code for f in assemble(result, made, ReportOptions()).findings]


ORDERED = "~ podManagementPolicy: Parallel => podManagementPolicy: OrderedReady"

QUIET: dict[str, list[str]] = {
    "one replica": ["~ replicas: 2 => replicas: 1", ORDERED],
    "replicas that are filled in later": ['~ replicas: 2 => replicas: "{{ replicas }}"', ORDERED],
    "a policy that is filled in later": ['~ podManagementPolicy: Parallel => podManagementPolicy: "{{ policy }}"'],
    "a probe that opens a port": [ORDERED, "~ httpGet: {path: /health, port: 8000} => tcpSocket: {port: 29400}"],
    "a probe that runs a command": [ORDERED, "~ httpGet: {path: /health, port: 8000} => exec: {command: [ls]}"],
    "a liveness probe": [ORDERED, "~ readinessProbe => livenessProbe"],
    "a script that is not in view": [ORDERED, "- command: ...", "+ command: [bash, /scripts/serve.sh]"],
    "one node by itself": [ORDERED, "~ --nnodes=2 => --nnodes=1"],
    "the meeting place is elsewhere": [ORDERED, "~ engine-0.engine:29400 => $(MEETING)"],
}


@pytest.mark.parametrize("lines", [pytest.param(q, id=n) for n, q in QUIET.items()])
def test_nothing_is_said_of_the_order(lines: list[str]) -> None:
    assert said(*lines) == []


def test_a_set_in_order_is_found() -> None:
    assert said(ORDERED) == ["RUN020"]
