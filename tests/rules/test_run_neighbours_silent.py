"""What RUN's rules on a job's neighbours say nothing of."""

from __future__ import annotations

import pytest
from example import whole

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.report.model import ReportOptions


def said(*lines: str) -> list[str]:
    made = Settings(isolated=True, select=("RUN002", "RUN003", "RUN013", "RUN014"))
    text = whole("(run-service)", "\n".join(lines)).text
    result = lint([], made, stdin=("job.yaml", text.encode()))
    assert not [n for n in result.notes if n.code == "internal-error"], result.notes
    return [f.code for f in assemble(result, made, ReportOptions()).findings]


PROBE = ["@@ image:", "+ readinessProbe:", "+   httpGet: {path: /health, port: 8000}"]
HIDDEN = ["@@ kind: Service", "- publishNotReadyAddresses: true"]
BALANCED = ["~ train-0.train => train", "@@ kind: Service", "- clusterIP: None"]
ONCE = ["@@ kind: PersistentVolumeClaim", "~ ReadWriteMany => ReadWriteOnce"]
PORTS = [
    "@@ kind: NetworkPolicy",
    "  - from:",
    "    - podSelector: {matchLabels: {job: train}}",
    "+   ports: [{port: 29500}]",
]
ALONE = ["~ parallelism: 2 => parallelism: 1", "~ completions: 2 => completions: 1"]

QUIET: dict[str, list[str]] = {
    "a Service to somewhere else": ["~ train-0.train => train", "@@ kind: Service", "~ clusterIP: None => type: ExternalName"],
    "a selector that the file's labels do not meet": [*BALANCED, "@@ selector:", "~ job: train => app: rendezvous"],
    "a Service in another namespace": ["~ train-0.train => train.store.svc", *BALANCED[1:]],
    "one pod behind a balanced Service": [*ALONE, *BALANCED],
    "a template for a selector": [*BALANCED, "@@ selector:", "~ job: train => job: \"{{ job }}\""],
    "one pod with a probe": [*ALONE, *PROBE, *HIDDEN],
    "a probe that runs a command": ["@@ image:", "+ readinessProbe:", "+   exec: {command: [ls, /tmp]}", *HIDDEN],
    "the address is another's": ["@@ image:", "~ train-0.train => meeting.tools", *PROBE[1:], *HIDDEN],
    "publishing is filled in later": [
        *PROBE, "@@ kind: Service", "~ publishNotReadyAddresses: true => publishNotReadyAddresses: \"{{ publish }}\"",
    ],
    "the Service has another name": [*PROBE, "@@ kind: Service", "~ name: train => name: other", "- publishNotReadyAddresses: true"],
    "a claim of another name": ["@@ kind: PersistentVolumeClaim", "~ name: data => name: other", *ONCE[1:]],
    "a claim in another namespace": ["@@ kind: PersistentVolumeClaim", "~ namespace: default => namespace: other", *ONCE[1:]],
    "a claim for one pod": [*ALONE, *ONCE],
    "a claim that nothing mounts": ["- - name: data", "-   mountPath: /data", *ONCE],
    "a mode that is filled in later": ["@@ kind: PersistentVolumeClaim", "~ [ReadWriteMany] => \"{{ modes }}\""],
    "a policy in another namespace": ["@@ kind: NetworkPolicy", "~ namespace: default => namespace: other", *PORTS[1:]],
    "pods on the host's network": ["@@ template:", "  spec:", "+   hostNetwork: true", *PORTS],
    "one pod behind a policy": [*ALONE, *PORTS],
    "a second rule lets everything through": [*PORTS, "+ - from: [{podSelector: {}}]"],
    "a policy by expression": ["@@ kind: NetworkPolicy", "~ matchLabels: {job: train} => matchExpressions: [{key: job, operator: NotIn, values: [train]}]", *PORTS[1:]],
    "a policy for what goes out": ["@@ kind: NetworkPolicy", "~ ingress: => egress:", "- - from:", "+ - to:", "@@ podSelector", "+   ports: [{port: 53}]"],
}  # fmt: skip


@pytest.mark.parametrize("lines", [pytest.param(q, id=n) for n, q in QUIET.items()])
def test_nothing_is_said_of_a_neighbour(lines: list[str]) -> None:
    assert said(*lines) == []


@pytest.mark.parametrize(
    ("lines", "code"), [(BALANCED, "RUN002"), ([*PROBE, *HIDDEN], "RUN003"), (ONCE, "RUN013"), (PORTS, "RUN014")]
)
def test_the_faults_that_the_quiet_ones_are_near_are_found(lines: list[str], code: str) -> None:
    assert said(*lines) == [code]
