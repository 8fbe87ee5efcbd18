"""Profiles are data: they follow their schema, tell fabrics by their signals, and a configuration changes them."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from fabriclint.config import ConfigError, Settings, load_config
from fabriclint.engine import lint
from fabriclint.rule import FabricMatch
from fabriclint_schemas.profiles import ProfileError, overridden, profiles, schema

ALL = sorted(profiles())
IB = [n for n in ALL if profiles()[n]["family"] == "IB"]


def job(
    resources: str = "", *, image: str = "registry.example/a:1", env: str = "", pod: str = "", container: str = "",
    annotations: str = "",
) -> str:  # fmt: skip
    return (
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec:\n  parallelism: 2\n  completions: 2\n"
        "  completionMode: Indexed\n  template:\n"
        f"    metadata: {{annotations: {{{annotations}}}}}\n    spec:\n      restartPolicy: Never\n{pod}"
        f"      containers:\n        - name: main\n          image: {image}\n          command: [python, train.py]\n"
        f"          env: [{env}]\n{container}          resources: {{limits: {{nvidia.com/gpu: 8{resources}}}}}\n"
    )


def fabric(text: str, **settings: Any) -> FabricMatch | None:
    return lint([], Settings(isolated=True, **settings), stdin=("job.yaml", text.encode())).jobs[0].pods[0].fabric


@pytest.mark.parametrize("name", ALL)
def test_every_profile_follows_the_schema(name: str) -> None:
    assert list(Draft202012Validator(schema()).iter_errors(profiles()[name])) == []


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(schema())


@pytest.mark.parametrize("name", IB)
def test_each_resource_that_a_profile_judges_is_one_of_its_signals(name: str) -> None:
    signals = profiles()[name]["signals"]
    told = {*signals.get("resources", ()), *signals.get("shared_resources", ())}
    assert set(profiles()[name].get("resources", ())) <= told


def test_a_resource_is_the_same_thing_in_all_profiles_that_tell_by_it() -> None:
    own: dict[str, str] = {}
    for name in IB:
        for resource in profiles()[name]["signals"].get("resources", ()):
            assert own.setdefault(resource, name) == name


CLOUD = "      nodeSelector: {node.kubernetes.io/instance-type: Standard_ND96isr_H100_v5}\n"
HOST = "      hostNetwork: true\n      volumes: [{name: ib, hostPath: {path: /dev/infiniband}}]\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("aks-ib", job(", rdma/hca_shared_devices_a: 1")),
        ("aks-shared-ib", job(", rdma/shared_ib: 1")),
        ("aks-sriov", job(", rdma/ib: 8", pod=CLOUD)),
        ("aks-ipoib", job(annotations="k8s.v1.cni.cncf.io/networks: aks-infiniband")),
        ("rdma", job(", rdma/ib: 1")),
        ("rdma", job(", rdma/of_our_own: 1")),
        ("rdma", job(pod=HOST)),
        ("rdma", job(env="{name: NCCL_IB_HCA, value: mlx5}", container="          securityContext: {privileged: true}\n")),
        ("coreweave", job(", rdma/ib: 1", image="ghcr.io/coreweave/nccl-tests:1")),
        ("coreweave", job(", rdma/ib: 1", pod="      nodeSelector: {node.coreweave.cloud/type: b200-8x}\n")),
        ("oke-host", job(pod=HOST + "      nodeSelector: {node.kubernetes.io/instance-type: BM.GPU.H100.8}\n")),
        ("oke-sriov", job(", nvidia.com/rdma-vf: 16", pod=HOST)),
        ("network-operator-shared", job(", rdma/rdma_shared_device_b: 1")),
        ("network-operator-hostdev", job(", nvidia.com/hostdev: 8")),
        ("network-operator-sriov", job(", nvidia.com/sriov_resource_rail_3: 1")),
        ("crusoe", job(", nvidia.com/hostdev: 8", image="ghcr.io/crusoecloud/nccl-tests:1")),
        ("shared-roce", job(", rdma/rdma_shared_device_eth: 1")),
        ("shared-infiniband", job(", rdma/rdma_shared_device_ib: 1")),
        ("multi-nic", job(", rdma/roce_gdr: 1")),
        ("alibaba", job(", aliyun/erdma: 1")),
        ("koordinator", job(", koordinator.sh/rdma: 100")),
        (None, job()),
        (None, job(", rdma/hca_shared_devices_a: 0")),
        (None, job(image="ghcr.io/coreweave/nccl-tests:1")),
        (None, job(env="{name: NCCL_IB_HCA, value: mlx5}")),
        (None, job(pod=CLOUD)),
        ("eks-efa", job(", vpc.amazonaws.com/efa: 32", pod=HOST)),
    ],
)  # fmt: skip
def test_a_fabric_is_told_by_its_signals(name: str | None, text: str) -> None:
    found = fabric(text)
    assert (found.name if found is not None else None) == name


def test_two_profiles_of_one_family_are_no_rivals() -> None:
    found = fabric(job(", rdma/hca_shared_devices_a: 1, rdma/shared_ib: 1"))
    assert found is not None and found.rivals == ()
    mixed = fabric(job(", rdma/hca_shared_devices_a: 1, vpc.amazonaws.com/efa: 4"))
    assert mixed is not None and len(mixed.rivals) == 1


def test_a_configuration_changes_a_profile() -> None:
    changed = overridden({"aks-ib": {"resources": {"rdma/hca_shared_devices_a": "card"}, "host_interface": "eno1"}})
    assert changed["aks-ib"]["resources"] == {"rdma/hca_shared_devices_a": "card"}
    assert changed["aks-ib"]["signals"] == profiles()["aks-ib"]["signals"]
    assert profiles()["aks-ib"]["host_interface"] == "eth0"
    assert changed["coreweave"] is profiles()["coreweave"]


OURS = {"lab": {"like": "network-operator-shared", "signals": {"resources": ["lab.example/ib"]}, "resources": {"lab.example/ib": "shared"}}}  # fmt: skip


def test_a_configuration_adds_a_profile_like_another() -> None:
    text = job(", lab.example/ib: 8")
    assert fabric(text) is None
    found = fabric(text, profiles=OURS)
    assert found is not None and found.name == "lab" and found.profile["family"] == "IB"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"aks-ib": {"resource": {}}}, "The profile 'aks-ib' cannot be used"),
        ({"aks-ib": {"link": "Infiniband"}}, "in 'link'"),
        ({"aks-ib": 3}, "is a mapping"),
        ({"aks-bi": {"link": "either"}}, "did you mean 'aks-ib'?"),
        ({"lab": {"like": "nothing"}}, "like 'nothing'"),
        ({"lab": {"title": "Lab"}}, "cannot be used"),
    ],
)
def test_a_profile_that_cannot_be_used_is_said_in_a_sentence(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ProfileError, match=said.replace("?", r"\?")):
        overridden(changes)


def test_a_faulty_profile_in_a_configuration_is_told_with_its_line(tmp_path: Any) -> None:
    path = tmp_path / ".fabriclint.yaml"
    path.write_text("contract: generic\nprofiles:\n  aks-bi:\n    link: either\n")
    with pytest.raises(ConfigError, match=r":2: There is no profile 'aks-bi'; did you mean 'aks-ib'\?"):
        load_config(path)
