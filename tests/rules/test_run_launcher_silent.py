"""What RUN011 says nothing of: gangs that do not wait for a launcher that comes late."""

from __future__ import annotations

import pytest
from example import whole

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.report.model import ReportOptions

LATE = ["@@ spec:", "+   launcherCreationPolicy: WaitForWorkersReady", "@@ runPolicy:"]


def said(*lines: str) -> list[str]:
    made = Settings(isolated=True, select=("RUN011",))
    text = whole("(run-mpijob)", "\n".join(lines)).text
    result = lint([], made, stdin=("job.yaml", text.encode()))
    assert not [n for n in result.notes if n.code == "internal-error"], result.notes
    return [f.code for f in assemble(result, made, ReportOptions()).findings]


@pytest.mark.parametrize(
    "lines",
    [
        [*LATE, '+   schedulingPolicy: {minAvailable: "{{ gang }}"}'],
        [*LATE, "+   schedulingPolicy: {minAvailable: 1}"],
        [*LATE, "+   suspend: true", "+   schedulingPolicy: {minAvailable: 3}"],
        [*LATE, "+   schedulingPolicy: {minAvailable: 3}", "@@ Worker:", '~ replicas: 2 => replicas: "{{ workers }}"'],
        [
            "@@ spec:",
            "+   launcherCreationPolicy: AtStartup",
            "@@ runPolicy:",
            "+   schedulingPolicy: {minAvailable: 3}",
        ],
    ],
    ids=["a count filled in later", "fewer than the workers", "suspended", "workers filled in later", "at once"],
)
def test_nothing_is_said_of_a_gang(lines: list[str]) -> None:
    assert said(*lines) == []


def test_a_gang_that_waits_for_the_launcher_is_found() -> None:
    assert said(*LATE, "+   schedulingPolicy: {minAvailable: 3}") == ["RUN011"]
