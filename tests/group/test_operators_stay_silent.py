"""Manifests of which rules about operators say nothing, though one might expect it; and odd trees, which never break them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabriclint.config import Settings
from fabriclint.engine import lint

BASES = Path(__file__).parent.parent / "bases"
OPERATORS = ("RUN007", "RUN015", "RUN016", "RUN018")


def said(text: str) -> list[tuple[str, str]]:
    result = lint([], Settings(isolated=True, select=OPERATORS), stdin=("job.yaml", text.encode()))
    assert [n for n in result.notes if n.code == "internal-error"] == []
    return [(f.code, f.message) for f in result.findings]


def changed(name: str, *changes: tuple[str, str]) -> str:
    text = (BASES / f"run-{name}.yaml").read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def elastic(*changes: tuple[str, str]) -> str:
    """The elastic PyTorchJob with two Workers, which begins with six, and some of its text replaced."""
    text = (BASES / "near-workers.yaml").read_text()
    for old, new in (("minReplicas: 2", "minReplicas: 6"), ("maxReplicas: 2", "maxReplicas: 6"), *changes):
        assert old in text, old
        text = text.replace(old, new)
    return text


SILENT = {
    "a worker of a PyTorchJob without replicas is one pod": changed("pytorchjob", ("      replicas: 3\n", "")),
    "only workers, with a rendezvous of their own": changed(
        "pytorchjob", ("    Master:\n      replicas: 1\n", "    Worker:\n      replicas: 1\n"), ("    Worker:\n      replicas: 3", "    #")
    ).split("    #")[0],
    "a container's name from a template": changed("pytorchjob", ("- name: pytorch", '- name: "{{ name }}"')),
    "a Master's count from a template": changed("pytorchjob", ("      replicas: 1\n", '      replicas: "{{ n }}"\n')),
    "a role of any name in a TFJob": changed("tfjob", ("    PS:", "    Scheduler:")),
    "an MPIJob of the older group has no limit on dots": changed(
        "mpijob", ("kubeflow.org/v2beta1", "kubeflow.org/v1"), ("  runPolicy:\n    cleanPodPolicy: Running\n", ""), ("name: reduce", "name: reduce.v2")
    ),
    "no slots are allowed": changed("mpijob", ("slotsPerWorker: 1", "slotsPerWorker: 0")),
    "a launcher that is a worker needs no other": changed(
        "mpijob", ("slotsPerWorker: 1", "runLauncherAsWorker: true")
    ).split("    Worker:")[0],
    "a group of one": changed("leaderworkerset", ("size: 4", "size: 1")),
    "groups that an autoscaler starts": changed("leaderworkerset", ("replicas: 2", "replicas: 0")),
    "subgroups beside the leader": changed(
        "leaderworkerset", ("    size: 4\n", "    size: 5\n    subGroupPolicy: {subGroupSize: 2}\n")
    ),
    "Always is what a StatefulSet's pods have": changed("leaderworkerset", ("      spec:\n", "      spec:\n        restartPolicy: Always\n")),
    "a Ray group between none and four": changed("raycluster", ("      replicas: 2\n", "      replicas: 0\n      maxReplicas: 4\n")),
    "a Ray group's name in capitals": changed("raycluster", ("groupName: gpu", "groupName: GPU-Group")),
    "a Ray group's name that a template makes, twice": changed(
        "raycluster",
        ("    - groupName: gpu\n", "    - groupName: '{{ g }}'\n      rayStartParams: {}\n      template: {spec: {containers: [{name: w, image: r}]}}\n    - groupName: '{{ g }}'\n"),
    ),
    "an elastic job whose own words name its nodes": elastic(("[torchrun, map.py]", "[torchrun, --nnodes=2, map.py]")),
    "an elastic job that starts a script": elastic(("[torchrun, map.py]", "[/opt/start.sh]")),
    "an elastic job that an autoscaler raises": elastic(("    minReplicas: 6\n", "    minReplicas: 6\n    metrics: []\n")),
    "an elastic job that begins with fewer than it has": elastic(("minReplicas: 6", "minReplicas: 1")),
    "an elastic job whose least is filled in": elastic(("minReplicas: 6", 'minReplicas: "{{ least }}"')),
    "a RayJob on a cluster that is there": (
        "apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: tune}\nspec:\n  entrypoint: python tune.py\n"
        "  clusterSelector: {ray.io/cluster: search}\n"
    ),
    "a Volcano job without plugins": changed("volcano", ("  plugins:\n    pytorch: [--master=master, --worker=worker, --port=23456]\n", "")),
    "the mpi plugin's tasks by their given names": changed(
        "volcano", ("pytorch: [--master=master, --worker=worker, --port=23456]", "mpi: [--master=master, --worker=worker]")
    ),
    "minAvailable below the sum": changed("volcano", ("minAvailable: 3", "minAvailable: 1")),
    "a task that waits for another": changed("volcano", ("    - name: worker\n", "    - name: worker\n      dependsOn: {name: [master]}\n")),
    "a JobSet's second job depends on the first": changed("jobset").replace("backoffLimit: 0", "backoffLimit: 1"),
    "a JobSet's name that just fits": changed("jobset", ("name: weather\n", f"name: {'w' * 47}\n")),
    "a suspended job of no workers": changed("jobset", ("spec:\n", "spec:\n  suspend: true\n"), ("replicas: 1", "replicas: 0")),
    "a paused Job": "apiVersion: batch/v1\nkind: Job\nmetadata: {name: fold}\nspec:\n  parallelism: 0\n  template:\n    spec:\n"
    "      containers: [{name: a, image: 'a:1', resources: {limits: {nvidia.com/gpu: 1}}}]\n",
    "a generated name": changed("jobset", ("name: weather\n", "generateName: weather-\n")),
    "a sidecar behind the ranks": changed(
        "mpijob", ("            - name: worker\n", "            - name: worker\n              env: []\n")
    )
    + "            - name: logs\n              image: registry.example/logs:1\n",
    "a native sidecar in front": changed(
        "mpijob-exec",
        ("          containers:\n            - name: worker", "          initContainers: [{name: logs, image: 'a:1', restartPolicy: Always}]\n          containers:\n            - name: worker"),
    ),
    "a container with GPUs that runs sshd itself": changed(
        "mpijob",
        ("            - name: worker\n", "            - name: logs\n              image: registry.example/logs:1\n            - name: worker\n              command: [/usr/sbin/sshd, -De]\n"),
    ),
    "a container with GPUs that starts Ray itself": changed(
        "rayservice",
        ("              - name: worker\n", "              - name: logs\n                image: registry.example/logs:1\n              - name: worker\n                command: [bash, -c, ray start --address=chat-head-svc:6379 --block]\n"),
    ),
    "the container for the ranks by its name": changed(
        "mpijob-exec",
        ("  slotsPerWorker: 1\n", "  slotsPerWorker: 1\n  mainContainer: worker\n"),
        ("            - name: worker\n", "            - name: logs\n              image: registry.example/logs:1\n            - name: worker\n"),
    ),
    "a launcher with a list of hosts of its own": changed(
        "mpijob",
        ("            - name: launcher\n", "            - name: proxy\n              image: registry.example/proxy:1\n            - name: launcher\n"),
        ('[mpirun, -np, "2", ./reduce]', '[mpirun, --hostfile, /data/hosts, -np, "2", ./reduce]'),
    ),
    "the first container has a claim that is not in view": changed(
        "rayjob",
        (
            "              - name: worker\n",
            "              - name: trainer\n                image: registry.example/ray:2.52\n                resources: {claims: [{name: some}]}\n              - name: worker\n",
        ),
    ),
    "one wish for the place": changed(
        "jobset",
        ("  name: weather\n", "  name: weather\n  labels: {kueue.x-k8s.io/queue-name: research}\n"),
        ("          template:\n            spec:", "          template:\n            metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: rack}}\n            spec:"),
    ),
    "two wishes without a queue": changed(
        "jobset",
        ("          template:\n            spec:", "          template:\n            metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: rack, kueue.x-k8s.io/podset-preferred-topology: rack}}\n            spec:"),
    ),
    "a Ray job in a queue that takes its cluster away": changed(
        "rayjob", ("  name: sweep\n", "  name: sweep\n  labels: {kueue.x-k8s.io/queue-name: research}\n")
    ),
    "both containers have GPUs": changed(
        "rayjob",
        ("              - name: worker\n", "              - name: trainer\n                image: registry.example/ray:2.52\n                resources: {limits: {nvidia.com/gpu: 1}}\n              - name: worker\n"),
    ),
    "a launcher with GPUs and no workers is a host by itself": changed("mpijob-exec", ("              command: [mpirun", "              resources: {limits: {nvidia.com/gpu: 1}}\n              command: [mpirun")).split("    Worker:")[0],
    "JAXJob's manager is not looked at": changed("jaxjob", ("spec:\n  jax", "spec:\n  runPolicy: {managedBy: vision.example/queue}\n  jax")),
    "workers alone are a PaddleJob": changed("paddlejob"),
    "an XGBoostJob of a Master": changed("xgboostjob").split("    Worker:")[0],
    "a Ray group that grows": changed("rayjob", ("        replicas: 2\n", "        replicas: 0\n        maxReplicas: 4\n")),
    "a Ray service whose autoscaler decides": changed(
        "rayservice", ("  rayClusterConfig:\n", "  rayClusterConfig:\n    enableInTreeAutoscaling: true\n"), ("        replicas: 2\n", "")
    ),
    "a suspended Ray job that is deleted at its end": changed("rayjob", ("  shutdownAfterJobFinishes: true\n", "  shutdownAfterJobFinishes: true\n  suspend: true\n")),
    "a suspended job of no workers at all": changed("jaxjob", ("spec:\n  jax", "spec:\n  runPolicy: {suspend: true}\n  jax"), ("replicas: 2", "replicas: 0")),
    "completions alone": changed("indexed", ("  parallelism: 2\n", "")),
    "an unnumbered Job without completions": changed("indexed", ("  completionMode: Indexed\n", ""), ("  completions: 2\n", "")),
    "completions that are filled in later": changed("indexed", ("  completions: 2\n", '  completions: "{{ n }}"\n')),
    "a Job of a JobSet without numbers": changed("jobset", ("          completions: 2\n", "          completionMode: NonIndexed\n")),
    "Always is what a set's pods have": changed("statefulset", ("    spec:\n      containers", "    spec:\n      restartPolicy: Always\n      containers")),
    "sizes by a configuration that is shipped": changed("llm", ("  parallelism:\n    pipeline: 2\n    tensor: 1\n", "  baseRefs: [{name: two-nodes}]\n")),
    "sizes that are filled in later": changed("llm", ("  parallelism:\n    pipeline: 2\n    tensor: 1\n", '  parallelism: "{{ sizes }}"\n')),
    "data over nodes": changed("llm", ("    pipeline: 2\n", "    data: 16\n    dataLocal: 8\n")),
    "Kueue's manager": changed(
        "pytorchjob", ("spec:\n  nproc", "spec:\n  runPolicy: {managedBy: kueue.x-k8s.io/multikueue}\n  nproc")
    ),
}  # fmt: skip


@pytest.mark.parametrize("title", SILENT)
def test_nothing_is_said_of(title: str) -> None:
    assert said(SILENT[title]) == []


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("pytorchjob", changed("pytorchjob", ("name: captions", "generateName: " + "c" * 52 + "-")), "RUN015"),
        ("raycluster", changed("raycluster", ("name: search", "generateName: " + "s" * 50 + "-")), "RUN015"),
    ],
)
def test_a_generated_name_is_judged_with_its_five_characters(name: str, text: str, code: str) -> None:
    assert [c for c, _ in said(text)] == [code]


def test_an_elastic_job_that_begins_with_more_than_it_has_is_found() -> None:
    assert [c for c, _ in said(elastic())] == ["RUN016"]


def test_one_cause_is_one_finding() -> None:
    assert [c for c, _ in said(changed("mpijob", ("    Worker:", "    Workers:")))] == ["RUN016"]
    assert [c for c, _ in said(changed("mpijob", ("      replicas: 2\n", "")))] == ["RUN016"]
    assert [c for c, _ in said(changed("pytorchjob", ("name: captions", "name: Captions.v2")))] == ["RUN015"]


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.sampled_from(["", "x", "{{ x }}", "Master", "4", "$N"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "replicas",
                    "name",
                    "template",
                    "spec",
                    "containers",
                    "Master",
                    "Worker",
                    "Launcher",
                    "size",
                    "tasks",
                    "plugins",
                    "container",
                    "workerSpec",
                    "parallelism",
                    "metadata",
                    "annotations",
                    "volumes",
                    "sidecars",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
FIELDS = [
    ("kubeflow.org/v1", "PyTorchJob", "pytorchReplicaSpecs"),
    ("kubeflow.org/v1", "TFJob", "tfReplicaSpecs"),
    ("kubeflow.org/v2beta1", "MPIJob", "mpiReplicaSpecs"),
    ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "leaderWorkerTemplate"),
    ("ray.io/v1", "RayCluster", "workerGroupSpecs"),
    ("batch.volcano.sh/v1alpha1", "Job", "tasks"),
    ("batch.volcano.sh/v1alpha1", "Job", "plugins"),
    ("jobset.x-k8s.io/v1alpha2", "JobSet", "replicatedJobs"),
    ("jobset.x-k8s.io/v1alpha2", "JobSet", "coordinator"),
    ("ray.io/v1", "RayJob", "rayClusterSpec"),
    ("serving.kserve.io/v1alpha1", "LLMInferenceService", "worker"),
    ("serving.kserve.io/v1beta1", "InferenceService", "predictor"),
    ("grove.io/v1alpha1", "PodCliqueSet", "template"),
    ("nvidia.com/v1alpha1", "DynamoGraphDeployment", "services"),
    ("disaggregatedset.x-k8s.io/v1", "DisaggregatedSet", "roles"),
    ("argoproj.io/v1alpha1", "Workflow", "templates"),
    ("apps/v1", "StatefulSet", "template"),
]


@settings(max_examples=60, deadline=None)
@given(field=st.sampled_from(FIELDS), value=PLAIN, more=PLAIN)
def test_no_odd_tree_breaks_a_rule(field: tuple[str, str, str], value: Any, more: Any) -> None:
    api, kind, key = field
    spec = {**(more if isinstance(more, dict) else {}), key: value}
    said(json.dumps({"apiVersion": api, "kind": kind, "metadata": {"name": "odd"}, "spec": spec}))
