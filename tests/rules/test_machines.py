"""The node of a pod: machine types and GPUs, told only when every way to be admitted tells them."""

from __future__ import annotations

import pytest

from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.pod import PodView
from fabriclint_rules.machines import lacks_fabric, machine_types, node_gpus
from fabriclint_schemas.machines import gpus_of_type, has_fabric, rdma_cards


def pod(placement: str) -> PodView:
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n"
        "  containers: [{name: c, image: registry.example/a:1, resources: {limits: {nvidia.com/gpu: 1}}}]\n" + placement
    )
    return lint([], Settings(isolated=True), stdin=("pod.yaml", text.encode())).jobs[0].pods[0]


def affinity(*terms: str) -> str:
    listed = ", ".join(f"{{matchExpressions: [{t}]}}" for t in terms)
    return (
        "  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
        f"{{nodeSelectorTerms: [{listed}]}}}}}}\n"
    )


TYPE = "key: node.kubernetes.io/instance-type, operator: In"


@pytest.mark.parametrize(
    ("placement", "gpus", "types"),
    [
        ("", None, []),
        ("  nodeSelector: {node.kubernetes.io/instance-type: Standard_ND96isr_H100_v5}\n", 8, ["Standard_ND96isr_H100_v5"]),
        ("  nodeSelector: {node.kubernetes.io/instance-type: BM.GPU.GB200-v3.4}\n", 4, ["BM.GPU.GB200-v3.4"]),
        ("  nodeSelector: {node.kubernetes.io/instance-type: gd-8xh100ib-i128}\n", 8, ["gd-8xh100ib-i128"]),
        ("  nodeSelector: {node.kubernetes.io/instance-type: __MACHINE__}\n", None, []),
        ("  nodeSelector: {cloud.google.com/gke-accelerator: nvidia-h100-80gb}\n", None, []),
        ("  nodeSelector: {cloud.google.com/gke-accelerator: nvidia-gb200}\n", 4, []),
        ("  nodeSelector: {nvidia.com/gpu.count: '8'}\n", 8, []),
        (affinity(f"{{{TYPE}, values: [a3-megagpu-8g, a3-ultragpu-8g]}}"), 8, ["a3-megagpu-8g", "a3-ultragpu-8g"]),
        (affinity(f"{{{TYPE}, values: [a3-megagpu-8g, a3-highgpu-2g]}}"), None, ["a3-megagpu-8g", "a3-highgpu-2g"]),
        (affinity(f"{{{TYPE}, values: [a3-megagpu-8g]}}", "{key: pool, operator: In, values: [big]}"), None, []),
        (affinity("{key: node.kubernetes.io/instance-type, operator: NotIn, values: [a3-megagpu-8g]}"), None, []),
    ],
)  # fmt: skip
def test_a_node_is_known_when_every_way_to_be_admitted_tells_it(
    placement: str, gpus: int | None, types: list[str]
) -> None:
    made = pod(placement)
    assert node_gpus(made) == gpus
    assert machine_types(made) == types


@pytest.mark.parametrize(
    ("machine", "known"),
    [
        ("Standard_ND96isr_H100_v5", True),
        ("Standard_ND96is_MI300X_v5", False),
        ("Standard_NC80adis_H100_v5", False),
        ("Standard_NC24rs_v3", None),
        ("Standard_HB120rs_v3", None),
        ("Standard_D8s_v5", None),
        ("BM.GPU.H100.8", None),
        ("gd-8xh100ib-i128", True),
    ],
)
def test_infiniband_by_machine_type(machine: str, known: bool | None) -> None:
    assert has_fabric(machine, "InfiniBand") is known


def test_counts_of_types_and_cards() -> None:
    assert [gpus_of_type(t) for t in ("p5.48xlarge", "ml.p5.48xlarge", "VM.GPU.A10.2", "m5.large")] in (
        [8, 8, 2, None],
        [None, None, 2, None],
    )
    assert rdma_cards("BM.GPU.H100.8") == 16 and rdma_cards("Standard_ND96asr_v4") == 8 and rdma_cards("x") is None


def test_a_node_lacks_a_fabric_only_when_all_its_types_do() -> None:
    assert lacks_fabric(
        pod("  nodeSelector: {node.kubernetes.io/instance-type: Standard_NC80adis_H100_v5}\n"), "InfiniBand"
    )
    mixed = affinity(f"{{{TYPE}, values: [Standard_NC80adis_H100_v5, Standard_ND96isr_H100_v5]}}")
    assert lacks_fabric(pod(mixed), "InfiniBand") is None
