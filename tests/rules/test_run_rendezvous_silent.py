"""What RUN's rules on the rendezvous say nothing of: names and shapes that are right, or cannot be judged."""

from __future__ import annotations

import pytest
from example import whole

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.report.model import ReportOptions


def said(base: str, *lines: str, more: str = "") -> list[tuple[str, int]]:
    made = Settings(isolated=True, select=("RUN001", "RUN008", "TRN038"))
    text = whole(f"({base})", "\n".join(lines)).text + more
    result = lint([], made, stdin=("job.yaml", text.encode()))
    assert not [n for n in result.notes if n.code == "internal-error"], result.notes
    return [(f.code, f.region.line) for f in assemble(result, made, ReportOptions()).findings]


def torchrun(*words: str) -> list[str]:
    return ["- command: ...", f"+ command: [torchrun, --nnodes=2, --nproc-per-node=1, {', '.join(words)}, train.py]"]


def at(host: str) -> list[str]:
    return torchrun("--rdzv-backend=c10d", f'"--rdzv-endpoint={host}"')


def env(value: str, name: str = "MASTER_ADDR") -> list[str]:
    return ["  command: ...", "+ env:", f"+   - name: {name}", f"+     value: {value}"]


QUIET: dict[str, tuple[str, list[str]]] = {
    "the pod's whole name": ("run-jobset", at("weather-ranks-0-1.weather.climate.svc.cluster.local:29400")),
    "the JobSet's Service itself": ("run-jobset", at("weather:29400")),
    "a Service of another name": ("run-jobset", at("rendezvous.tools.svc:29400")),
    "a Service that begins with the job's name": ("run-jobset", at("weather-master:29400")),
    "another job's pod": ("run-jobset", at("weather-data-0-0.weather-data:29400")),
    "a number for an address": ("run-jobset", at("10.0.0.7:29400")),
    "a placeholder": ("run-jobset", at("<first-node>:29400")),
    "a template": ("run-jobset", at("{{ first }}:29400")),
    "a variable that nothing in view sets": ("run-jobset", at("$(FIRST_NODE):29400")),
    "a name that is filled in by the shell": (
        "run-jobset",
        ["- command: ...", '+ command: [bash, -c, "torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=$(first-node):29400 train.py"]'],
    ),
    "an address by environment": ("run-jobset", env("weather-ranks-0-0.weather")),
    "one node by itself": ("run-jobset", ["- command: ...", "+ command: [torchrun, --standalone, --nproc-per-node=1, train.py]"]),
    "elastic down to one node": (
        "run-jobset",
        ["- command: ...", '+ command: [torchrun, "--nnodes=1:2", --nproc-per-node=1, --rdzv-backend=c10d, train.py]'],
    ),
    "a single pod meets at localhost": (
        "run-jobset",
        ["~ parallelism: 2 => parallelism: 1", "~ completions: 2 => completions: 1", "@@ image:", *at("localhost:29400")],
    ),
    "a Service of the user's own carries the names": ("pod-job", ["@@ metadata:"]),
    "a Job without host names meets at a store": ("pod-job", ["- completionMode: Indexed", "~ train-0.train => rendezvous.tools"]),
    "a job whose name is made by a template": ("run-jobset", ["~ name: weather => name: \"{{ name }}\"", "@@ image:", *at("weather-ranks-0-0:29400")]),
    "the operator replaces the file's address": ("run-pytorchjob", ["@@ Worker:", "@@ image:", *env("captions-master-7")]),
    "a leader's name": ("run-leaderworkerset", env("answers-0.answers.serving")),
    "a group that is scaled up later": ("run-leaderworkerset", env("answers-5.answers")),
    "Volcano's task by its whole name": ("run-volcano", ["@@ name: worker", "@@ image:", *at("speech-master-0.speech:29400")]),
    "Ray finds its nodes itself": ("run-raycluster", ["@@ metadata:"]),
    "the first worker of a job of Workers": ("run-workers", ["@@ metadata:"]),
    "Workers whose script is not in view": ("run-workers", ["- command: ...", "+ command: [bash, /work/start.sh]"]),
    "Workers whose image starts the ranks": ("run-workers", ["- command: ..."]),
    "Workers with a file as the meeting place": ("run-workers", ["- command: ...", '+ command: [python, map.py, "--init-method=file:///shared/meet"]']),
    "Workers with a ConfigMap's variables": (
        "run-workers",
        ["- command: ...", "+ command: [python, map.py]", "+ envFrom:", "+   - configMapRef: {name: meeting}"],
    ),
    "Workers that wait": ("run-workers", ["- command: ...", "+ command: [sleep, infinity]"]),
    "Workers that are one": ("run-workers", ["~ replicas: 3 => replicas: 1", "@@ image:", "- command: ...", "+ command: [torchrun, map.py]"]),
    "Trainer's own address": ("trainer-torch", ["@@ metadata:"]),
}  # fmt: skip


@pytest.mark.parametrize(("base", "lines"), [pytest.param(*q, id=n) for n, q in QUIET.items()])
def test_nothing_is_said_of_a_meeting_place(base: str, lines: list[str]) -> None:
    assert said(base, *lines) == []


def test_a_service_in_view_may_have_a_pods_bare_name() -> None:
    service = "---\napiVersion: v1\nkind: Service\nmetadata: {name: weather-ranks-0-0, namespace: climate}\n"
    service += "spec: {clusterIP: None, selector: {jobset.sigs.k8s.io/jobset-name: weather}, ports: [{port: 29400}]}\n"
    assert said("run-jobset", *at("weather-ranks-0-0:29400"), more=service) == []
    assert said("run-jobset", *at("weather-ranks-0-0:29400")) != []


def test_a_runtime_whose_job_has_another_name_is_one_finding() -> None:
    assert said("trainer-torch", "@@ kind: TrainingRuntime", "@@ replicatedJobs:", "~ name: node => name: ranks") == [
        ("TRN038", 15)
    ]


def test_roles_that_meet_at_different_places_are_not_judged() -> None:
    lines = ["@@ name: master", "@@ image:", *env("speech-master-0.speech", "JAX_COORDINATOR_ADDRESS")]
    lines += ["@@ name: worker", "@@ image:", *env("speech-worker-0", "JAX_COORDINATOR_ADDRESS")]
    assert said("run-volcano", *lines) == []
