"""What RUN011 says nothing of: gangs that do not wait for pods that come late, or may not."""

from __future__ import annotations

import pytest
from example import whole

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.report.model import ReportOptions

LATE = ["@@ spec:", "+   launcherCreationPolicy: WaitForWorkersReady", "@@ runPolicy:"]


def said(*lines: str, base: str = "run-mpijob", more: str = "") -> list[str]:
    made = Settings(isolated=True, select=("RUN011",))
    text = whole(f"({base})", "\n".join(lines)).text + more
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


LABEL = "scheduling.x-k8s.io/pod-group"


def pod_group(
    name: str, namespace: str, least: object, api: str = "scheduling.x-k8s.io/v1alpha1", spec: str = "minMember"
) -> str:
    return (
        f"---\napiVersion: {api}\nkind: PodGroup\nmetadata: {{name: {name}, namespace: {namespace}}}\n"
        f"spec: {{{spec}: {least}}}\n"
    )


ORDERED = "~ podManagementPolicy: Parallel => podManagementPolicy: OrderedReady"
LABELLED = ["@@ template:", "  app: engine", f"+ {LABEL}: engine"]
ENGINE = pod_group("engine", "serving", 2)
#: Another object whose pods belong to the same PodGroup.
BESIDE = f"""---
apiVersion: batch/v1
kind: Job
metadata: {{name: more, namespace: serving}}
spec:
  template:
    metadata: {{labels: {{{LABEL}: engine}}}}
    spec: {{restartPolicy: Never, containers: [{{name: a, image: "registry.example/a:1"}}]}}
"""
SET: dict[str, tuple[list[str], str]] = {
    "no gang in view": ([ORDERED, *LABELLED], ""),
    "pods of no gang": ([ORDERED], ENGINE),
    "a gang of another name": ([ORDERED, *LABELLED], pod_group("other", "serving", 2)),
    "a gang in another namespace": ([ORDERED, *LABELLED], pod_group("engine", "training", 2)),
    "a gang of the first pod": ([ORDERED, *LABELLED], pod_group("engine", "serving", 1)),
    "a gang that is filled in later": ([ORDERED, *LABELLED], pod_group("engine", "serving", '"{{ pods }}"')),
    "a gang of another scheduler": (
        [ORDERED, *LABELLED],
        pod_group("engine", "serving", 2, "scheduling.volcano.sh/v1beta1"),
    ),
    "pods of another object belong to it": ([ORDERED, *LABELLED], ENGINE + BESIDE),
    "a policy that is filled in later": (
        ['~ podManagementPolicy: Parallel => podManagementPolicy: "{{ policy }}"', *LABELLED],
        ENGINE,
    ),
    "all at once": ([*LABELLED], ENGINE),
    "a set that something scales": (LABELLED, pod_group("engine", "serving", 8)),
}


@pytest.mark.parametrize(("lines", "more"), [pytest.param(*q, id=n) for n, q in SET.items()])
def test_nothing_is_said_of_a_set_in_order(lines: list[str], more: str) -> None:
    assert said(*lines, base="run-statefulset", more=more) == []


def test_a_set_in_order_with_a_gang_of_all_is_found() -> None:
    assert said(ORDERED, *LABELLED, base="run-statefulset", more=ENGINE) == ["RUN011"]


WAITS = ["@@ name: worker", "- replicas: 2", "+ replicas: 2", "+ dependsOn: {name: [master]}"]
TASKS: dict[str, list[str]] = {
    "a gang of the first task": ["~ minAvailable: 3 => minAvailable: 1", *WAITS],
    "a gang that is filled in later": ['~ minAvailable: 3 => minAvailable: "{{ gang }}"', *WAITS],
    "another scheduler": ["~ minAvailable: 3 => schedulerName: kueue-scheduler", *WAITS],
    "tasks that the gang does not need": [
        "~ minAvailable: 3 => minAvailable: 1",
        *WAITS[:-1],
        "+ minAvailable: 0",
        WAITS[-1],
    ],
    "a task of no pods to wait for": [
        "- minAvailable: 3",
        "@@ name: master",
        "- replicas: 1",
        "+ replicas: 0",
        *WAITS,
    ],
    "a task that is filled in later": [
        "@@ name: worker",
        "- replicas: 2",
        "+ replicas: 2",
        '+ dependsOn: "{{ tasks }}"',
    ],
    "tasks that wait for none": ["@@ name: worker", "- replicas: 2", "+ replicas: 2", "+ dependsOn: {name: []}"],
}


@pytest.mark.parametrize("lines", [pytest.param(q, id=n) for n, q in TASKS.items()])
def test_nothing_is_said_of_tasks_in_order(lines: list[str]) -> None:
    assert said(*lines, base="run-volcano") == []


def test_either_of_two_tasks_is_waited_for_too() -> None:
    lines = [*WAITS[:-1], "+ dependsOn: {name: [master], iteration: any}"]
    assert said(*lines, base="run-volcano") == ["RUN011"]


POLICY = ["    torch: {}", "+ podGroupPolicy:"]
STEPS: dict[str, list[str]] = {
    "no policy": ["@@ spec:"],
    "a policy that is empty": [*POLICY[:1], "+ podGroupPolicy: {}"],
    "a policy that is filled in later": [*POLICY[:1], '+ podGroupPolicy: "{{ gang }}"'],
    "pods that go to another scheduler": [*POLICY, "+   volcano: {}"],
    "the first step goes to another scheduler": [
        *POLICY,
        "+   volcano: {}",
        "@@ ancestor-step: trainer",
        "  nodeSelector:",
        "    pool: h100",
        "+ schedulerName: volcano",
    ],
    "steps that start together": [
        *POLICY,
        "+   coscheduling: {}",
        "@@ - name: node",
        "- dependsOn:",
        "-   - name: dataset-initializer",
        "-     status: Complete",
    ],
    "a suspended job": [*POLICY, "+   coscheduling: {}", "@@ kind: TrainJob", "@@ spec:", "+   suspend: true"],
}


@pytest.mark.parametrize("lines", [pytest.param(q, id=n) for n, q in STEPS.items()])
def test_nothing_is_said_of_steps(lines: list[str]) -> None:
    assert said(*lines, base="trainer-steps") == []


def test_a_runtime_by_itself_is_judged_as_well() -> None:
    text = whole("(trainer-steps)", "\n".join([*POLICY, "+   coscheduling: {}"])).text.split("---")[0]
    made = Settings(isolated=True, select=("RUN011",))
    report = assemble(lint([], made, stdin=("job.yaml", text.encode())), made, ReportOptions())
    assert [f.code for f in report.findings] == ["RUN011"]


def test_a_runtime_of_two_jobs_is_spoken_of_once() -> None:
    lines = [*POLICY, "+   coscheduling: {}"]
    text = whole("(trainer-steps)", "\n".join(lines)).text
    runtime, _, job = text.partition("---\n")
    made = Settings(isolated=True, select=("RUN011",))
    both = f"{runtime}---\n{job}---\n{job.replace('name: finetune', 'name: again')}"
    report = assemble(lint([], made, stdin=("job.yaml", both.encode())), made, ReportOptions())
    assert [f.code for f in report.findings] == ["RUN011"]


LEADER = [
    "@@ spec:",
    "+   startupPolicy: LeaderReady",
    "@@ workerTemplate:",
    f"+   metadata: {{labels: {{{LABEL}: answers}}}}",
]


@pytest.mark.parametrize(
    ("lines", "least"),
    [
        pytest.param(LEADER, 2, id="a gang of the leaders"),
        pytest.param(["@@ workerTemplate:", LEADER[3]], 8, id="all at once"),
        pytest.param(LEADER, '"{{ pods }}"', id="a gang that is filled in later"),
    ],
)
def test_nothing_is_said_of_a_leader(lines: list[str], least: object) -> None:
    assert said(*lines, base="run-leaderworkerset", more=pod_group("answers", "serving", least)) == []


def test_a_gang_of_leaders_and_workers_that_come_later_is_found() -> None:
    assert said(*LEADER, base="run-leaderworkerset", more=pod_group("answers", "serving", 8)) == ["RUN011"]


@pytest.mark.parametrize(
    "policy",
    ["{minAvailable: 4}", "{minAvailable: 2}", "{queue: research}", '{minAvailable: "{{ n }}"}', '"{{ policy }}"'],
)
def test_nothing_is_said_of_a_gang_of_pods_that_are_all_made(policy: str) -> None:
    lines = ['  nprocPerNode: "1"', f"+ runPolicy: {{schedulingPolicy: {policy}}}"]
    assert said(*lines, base="run-pytorchjob") == []


def test_an_elastic_job_may_grow_into_its_gang() -> None:
    lines = [
        '  nprocPerNode: "1"',
        "+ elasticPolicy: {maxReplicas: 8}",
        "+ runPolicy: {schedulingPolicy: {minAvailable: 8}}",
    ]
    assert said(*lines, base="run-pytorchjob") == []


def in_two_gangs(least: int) -> list[str]:
    """A launcher and ranks that wait for it, each in a gang of its own."""
    return [
        "@@ completions: 1",
        "  template:",
        f"+   metadata: {{labels: {{{LABEL}: first}}}}",
        "@@ - name: ranks",
        "- replicas: 1",
        "+ replicas: 1",
        "+ dependsOn: [{name: launcher, status: Ready}]",
        "@@ completions: 2",
        "  template:",
        f"+   metadata: {{labels: {{{LABEL}: {'first' if least > 2 else 'second'}}}}}",
    ]


def test_gangs_that_come_one_after_the_other_are_no_fault() -> None:
    more = pod_group("first", "ocean", 1) + pod_group("second", "ocean", 2)
    assert said(*in_two_gangs(2), base="run-jobset-mpi", more=more) == []


def test_one_gang_of_both_is() -> None:
    assert said(*in_two_gangs(3), base="run-jobset-mpi", more=pod_group("first", "ocean", 3)) == ["RUN011"]


def test_a_gang_of_more_than_the_job_waits_for_pods_of_another_object() -> None:
    assert said(*in_two_gangs(3), base="run-jobset-mpi", more=pod_group("first", "ocean", 6)) == []
    assert said(ORDERED, *LABELLED, base="run-statefulset", more=pod_group("engine", "serving", 4)) == []
