"""Kinds whose pods are put together from several places, and objects whose templates work apart."""

from __future__ import annotations

import pytest

from fabriclint.engine import WorkspaceLookup, builtin_pack, make_job, read_workspace
from fabriclint.kinds import workload_of
from fabriclint.node import UNKNOWN, Mapping
from fabriclint.views import JobView

GPUS = "resources: {limits: {nvidia.com/gpu: 8}}"


def job(text: str) -> JobView:
    workspace = read_workspace([("job.yaml", text.encode())], [])
    workload = workload_of(workspace.manifests[0])
    assert workload is not None
    return make_job(workload, WorkspaceLookup(workspace), builtin_pack().fabric_of, "generic")


WORKFLOW = f"""apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {{name: nightly, annotations: {{a.example/of: object}}}}
spec:
  podMetadata:
    annotations: {{a.example/of: all, a.example/net: ring}}
  nodeSelector: {{pool: gpus}}
  tolerations: [{{operator: Exists}}]
  volumes: [{{name: data, emptyDir: {{}}}}]
  templates:
    - name: train
      metadata: {{annotations: {{a.example/of: train}}}}
      nodeSelector: {{pool: large}}
      volumes: [{{name: dshm, emptyDir: {{medium: Memory}}}}]
      initContainers: [{{name: fetch, image: "registry.example/fetch:1"}}]
      sidecars: [{{name: logs, image: "registry.example/logs:1"}}]
      container: {{name: main, image: "registry.example/train:1", {GPUS}}}
    - name: both
      containerSet:
        containers:
          - {{name: main, image: "registry.example/train:2", {GPUS}}}
          - {{name: watch, image: "registry.example/watch:1"}}
    - name: steps
      steps: [[{{name: a, template: train}}]]
"""


def test_a_step_has_what_its_template_says_over_what_the_workflow_says() -> None:
    train, both = job(WORKFLOW).pods
    assert [c.name for c in train.containers] == ["fetch", "main", "logs"]
    assert {name: node.text for name, node in train.annotations.items()} == {
        "a.example/of": "train",
        "a.example/net": "ring",
    }
    assert {name: node.text for name, node in train.node_selector.items()} == {"pool": "large"}
    assert list(train.volumes) == ["dshm", "data"]
    assert [c.name for c in both.main_containers] == ["main", "watch"]
    assert {name: node.text for name, node in both.node_selector.items()} == {"pool": "gpus"}
    assert both.annotations["a.example/of"].text == "all"


def test_steps_of_a_workflow_are_no_nodes_of_one_job() -> None:
    made = job(WORKFLOW)
    assert [pod.multi_node for pod in made.pods] == [False, False]
    assert made.group.multi_node is False


def test_a_volume_list_that_is_filled_in_later_stays_so() -> None:
    train, _ = job(WORKFLOW.replace("  volumes: [{name: data, emptyDir: {}}]", '  volumes: "{{volumes}}"')).pods
    assert train.worker is not None
    assert train.worker.mounts_open


SERVICES = f"""apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {{name: chat}}
spec:
  services:
    Prefill:
      annotations: {{a.example/net: ring}}
      extraPodMetadata: {{annotations: {{a.example/of: prefill}}}}
      multinode: {{nodeCount: 2}}
      extraPodSpec: {{mainContainer: {{image: "registry.example/chat:1", {GPUS}}}}}
    Decode:
      multinode: {{nodeCount: 4}}
      extraPodSpec: {{mainContainer: {{image: "registry.example/chat:1", {GPUS}}}}}
    Small:
      extraPodSpec: {{mainContainer: {{image: "registry.example/chat:1", {GPUS}}}}}
"""


def test_engines_of_one_service_are_counted_apart() -> None:
    made = job(SERVICES)
    assert [pod.job_pods for pod in made.pods] == [2, 4, 1]
    assert [pod.multi_node for pod in made.pods] == [True, True, False]
    assert (made.group.nodes, made.group.gpus) == (4, 32)


def test_metadata_of_two_places_reaches_the_pods() -> None:
    prefill = job(SERVICES).pods[0]
    assert sorted(prefill.annotations) == ["a.example/net", "a.example/of"]


ROLES = f"""apiVersion: disaggregatedset.x-k8s.io/v1
kind: DisaggregatedSet
metadata: {{name: chat}}
spec:
  roles:
    - name: prefill
      spec:
        leaderWorkerTemplate:
          size: 2
          workerTemplate: {{spec: {{containers: [{{name: e, image: "registry.example/chat:1", {GPUS}}}]}}}}
    - name: decode
      spec:
        leaderWorkerTemplate:
          size: 8
          workerTemplate: {{spec: {{containers: [{{name: e, image: "registry.example/chat:1", {GPUS}}}]}}}}
"""


def test_roles_of_a_disaggregated_set_are_counted_apart() -> None:
    assert [pod.job_pods for pod in job(ROLES).pods] == [2, 8]


@pytest.mark.parametrize("key", ["predictor", "metadata"])
def test_annotations_of_an_inference_service_reach_its_workers(key: str) -> None:
    where = {"predictor": "", "metadata": ""}
    where[key] = "annotations: {a.example/net: ring}"
    made = job(
        f"apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata:\n  name: a\n  {where['metadata']}\n"
        f"spec:\n  predictor:\n    {where['predictor']}\n    model: {{modelFormat: {{name: hf}}, {GPUS}}}\n"
        f"    workerSpec:\n      pipelineParallelSize: 2\n      containers: [{{name: worker-container, {GPUS}}}]\n"
    )
    assert [list(pod.annotations) for pod in made.pods] == [["a.example/net"], ["a.example/net"]]


def test_a_scheduled_spark_application_has_the_pods_of_its_template() -> None:
    made = job(
        "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: ScheduledSparkApplication\nmetadata: {name: a}\nspec:\n"
        "  template:\n    executor: {annotations: {a.example/net: ring}, instances: 2}\n"
    )
    assert isinstance(made.pods[0].metadata, Mapping)
    assert list(made.pods[0].annotations) == ["a.example/net"]


CLIQUES = f"""apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {{name: chat}}
spec:
  replicas: 1
  template:
    podCliqueScalingGroups: [{{name: engine, cliqueNames: [decode]}}]
    cliques:
      - name: decode
        spec:
          replicas: 2
          podSpec:
            containers:
              - name: engine
                image: registry.example/chat:1
                {GPUS}
"""


@pytest.mark.parametrize(
    ("text", "maker", "names"),
    [
        (CLIQUES, "Grove", ["GROVE_HEADLESS_SERVICE", "GROVE_PCLQ_POD_INDEX", "GROVE_PCSG_INDEX"]),
        (CLIQUES.replace("podCliqueScalingGroups", "other"), "Grove", ["GROVE_PCLQ_POD_INDEX"]),
        (ROLES, "LeaderWorkerSet", ["LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE"]),
    ],
    ids=["Grove", "Grove without a scaling group", "DisaggregatedSet"],
)
def test_names_that_a_controller_sets_are_known_without_their_values(text: str, maker: str, names: list[str]) -> None:
    group = job(text).group
    assert group.maker == maker
    assert set(names) <= set(group.roles[0].injected)
    assert ("GROVE_PCSG_INDEX" in group.roles[0].injected) is ("GROVE_PCSG_INDEX" in names)
    assert all(value is UNKNOWN for value in group.roles[0].injected.values())


@pytest.mark.parametrize("text", [SERVICES], ids=["Dynamo"])
def test_engines_that_their_controller_brings_together_need_no_address_in_the_file(text: str) -> None:
    assert job(text).group.own_rendezvous


SCALED = f"""apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {{name: chat}}
spec:
  replicas: 1
  template:
    podCliqueScalingGroups: [{{name: decode, replicas: 3, cliqueNames: [leader, worker]}}]
    cliques:
      - name: leader
        spec: {{replicas: 1, podSpec: {{containers: [{{name: e, image: "registry.example/chat:1", {GPUS}}}]}}}}
      - name: worker
        spec: {{replicas: 3, podSpec: {{containers: [{{name: e, image: "registry.example/chat:1", {GPUS}}}]}}}}
      - name: prefill
        spec: {{replicas: 1, podSpec: {{containers: [{{name: e, image: "registry.example/chat:1", {GPUS}}}]}}}}
"""


def test_cliques_of_one_scaling_group_are_one_engine_and_others_stand_alone() -> None:
    made = job(SCALED)
    assert [pod.job_pods for pod in made.pods] == [4, 4, 1]
    assert made.group.nodes == 4
