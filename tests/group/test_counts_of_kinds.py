"""How many pods one job of each kind has, and where its containers stand, also for kinds with a shape of their own."""

from __future__ import annotations

import pytest

from fabriclint.engine import read_workspace
from fabriclint.kinds import workload_of
from fabriclint.node import UNKNOWN, Mapping, Unknown
from fabriclint.pod import Lookup, PodView
from fabriclint.workload import PodSite, Workload

POD = "{containers: [{name: main, image: 'registry.example/a:1', resources: {limits: {nvidia.com/gpu: 8}}}]}"
TEMPLATE = f"{{spec: {POD}}}"


def workload(text: str) -> Workload:
    found = workload_of(read_workspace([("a.yaml", text.encode())], []).manifests[0])
    assert found is not None
    return found


def sites(api: str, kind: str, spec: str) -> list[PodSite]:
    return workload(f"apiVersion: {api}\nkind: {kind}\nmetadata: {{name: a}}\nspec: {spec}\n").sites


@pytest.mark.parametrize(
    ("api", "kind", "spec", "pods"),
    [
        ("batch/v1", "Job", f"{{parallelism: 4, template: {TEMPLATE}}}", [4]),
        ("batch/v1", "Job", f"{{parallelism: 4, completions: 2, template: {TEMPLATE}}}", [2]),
        ("batch/v1", "Job", f"{{parallelism: '{{{{ n }}}}', template: {TEMPLATE}}}", [UNKNOWN]),
        ("apps/v1", "Deployment", f"{{replicas: 4, template: {TEMPLATE}}}", [None]),
        ("apps/v1", "StatefulSet", f"{{replicas: 4, template: {TEMPLATE}}}", [4]),
        ("kubeflow.org/v1", "TFJob", f"{{tfReplicaSpecs: {{Chief: {{template: {TEMPLATE}}}, Odd: {{replicas: 3, template: {TEMPLATE}}}}}}}", [1, 3]),
        ("batch.volcano.sh/v1alpha1", "Job", f"{{tasks: [{{name: a, template: {TEMPLATE}}}]}}", [0]),
        ("ray.io/v1", "RayCluster", f"{{workerGroupSpecs: [{{groupName: g, replicas: 9, maxReplicas: 4, numOfHosts: 2, template: {TEMPLATE}}}]}}", [8]),
        ("grove.io/v1alpha1", "PodCliqueSet", f"{{template: {{cliques: [{{name: a, spec: {{replicas: 2, podSpec: {POD}}}}}]}}}}", [2]),
        ("serving.kserve.io/v1beta1", "InferenceService", f"{{predictor: {POD}}}", [None]),
        ("serving.kserve.io/v1alpha1", "LLMInferenceService", f"{{template: {POD}, worker: {POD}, parallelism: {{pipeline: 4}}}}", [1, 3]),
        ("serving.kserve.io/v1alpha1", "LLMInferenceService", f"{{template: {POD}, worker: {POD}, parallelism: {{data: 16, dataLocal: 8}}}}", [1, 1]),
        ("serving.kserve.io/v1alpha1", "LLMInferenceService", f"{{template: {POD}}}", [None]),
        ("apps.nvidia.com/v1alpha1", "NIMService", "{multiNode: {parallelism: {pipeline: 2}}}", [2]),
        ("apps.nvidia.com/v1alpha1", "NIMService", "{replicas: 3}", [None]),
        ("flux-framework.org/v1alpha2", "MiniCluster", "{size: 4}", [4]),
        ("orchestration.aibrix.ai/v1alpha1", "PodSet", f"{{podGroupSize: 3, template: {TEMPLATE}}}", [3]),
        ("sagemaker.amazonaws.com/v1", "HyperPodPyTorchJob", f"{{replicaSpecs: [{{name: pods, replicas: 8, template: {TEMPLATE}}}]}}", [8]),
    ],
)  # fmt: skip
def test_pods_of_one_job(api: str, kind: str, spec: str, pods: list[int | Unknown | None]) -> None:
    assert [s.pods for s in sites(api, kind, spec)] == pods


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        (
            (
                "apiVersion: flux-framework.org/v1alpha2\nkind: MiniCluster\nmetadata: {name: a}\nspec:\n"
                "  containers: [{image: 'a:1', environment: {NCCL_DEBUG: INFO}}]\n"
            ),
            "NCCL_DEBUG",
            "INFO",
        ),
        (
            (
                "apiVersion: apps.nvidia.com/v1alpha1\nkind: NIMService\nmetadata: {name: a}\nspec:\n"
                "  env: [{name: NCCL_DEBUG, value: INFO}]\n"
            ),
            "NCCL_DEBUG",
            "INFO",
        ),
        (
            (
                "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {name: a}\nspec:\n  services:\n    Decode:\n"
                "      extraPodSpec: {mainContainer: {image: 'a:1', env: [{name: NCCL_DEBUG, value: INFO}]}}\n"
            ),
            "NCCL_DEBUG",
            "INFO",
        ),
        (
            (
                "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: a}\nspec:\n"
                "  predictor: {model: {env: [{name: NCCL_DEBUG, value: INFO}]}}\n"
            ),
            "NCCL_DEBUG",
            "INFO",
        ),
    ],
    ids=["MiniCluster", "NIMService", "DynamoGraphDeployment", "InferenceService"],
)
def test_containers_of_an_own_shape_are_seen_with_their_env_and_place(text: str, name: str, value: str) -> None:
    found = workload(text)
    container = PodView(found, found.sites[0], Lookup()).main_containers[0]
    variable = container.env.variables[name]
    assert variable.value == value
    assert text[variable.place.node.start : variable.place.node.end] == value


def test_metadata_of_a_bare_pod_spec_stands_where_the_kind_says() -> None:
    found = workload(
        "apiVersion: serving.kserve.io/v1alpha1\nkind: LLMInferenceService\nmetadata: {name: a}\n"
        f"spec:\n  annotations: {{x.example/net: a}}\n  template: {POD}\n"
    )
    metadata = found.sites[0].metadata
    assert isinstance(metadata, Mapping)
    assert metadata.string("annotations", "x.example/net") == "a"
