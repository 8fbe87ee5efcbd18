"""What was reported in public about InfiniBand and RDMA on Kubernetes: each sign that a file shows is found."""

from __future__ import annotations

from typing import Any

import pytest
from example import whole
from test_infiniband_silence import mpi, said

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.report.model import ReportOptions


def codes(text: str, **settings: Any) -> list[str]:
    """The codes of all errors and warnings, of every family."""
    made = Settings(isolated=True, **settings)
    result = lint([], made, stdin=("job.yaml", text.encode()))
    assert not [n for n in result.notes if n.code == "internal-error"], result.notes
    return [f.code for f in assemble(result, made, ReportOptions()).findings if f.severity != "note"]


def changed(base: str, *lines: str) -> str:
    return whole(f"({base})", "\n".join(lines)).text


NODE = "          nodeSelector: {node.kubernetes.io/instance-type: Standard_ND96isr_H100_v5}\n"
VOLUME = ("-   medium: Memory", "- emptyDir:", "+ emptyDir: {}")

#: The report, the code that tells it, a file with its sign.
REPORTS = {
    "sockets, no device, NCCL_IB_DISABLE=0 does not help (aicr#2276)": (
        "IB001", mpi(options="-x NCCL_IB_DISABLE=0", pod=NODE)
    ),
    "sockets, no device, by a HCA list (nccl#451)": ("IB001", mpi(options="-x NCCL_IB_HCA=mlx5", pod=NODE)),
    "sockets, no device, NCCL_NET pins it (vllm#42075)": ("IB001", mpi(options="-x NCCL_NET=IB", pod=NODE)),
    "no verbs in the image (nvidia-container-toolkit#1877)": (
        "IB007", changed("ib-jobset", "~ registry.example/weather:3 => nvidia/cuda:12.9.1-devel-ubuntu22.04")
    ),
    "no verbs in the runtime image (skypilot#4448)": (
        "IB007", changed("ib-jobset", "~ registry.example/weather:3 => pytorch/pytorch:2.9.1-cuda13.0-cudnn9-runtime")
    ),
    "the library without a provider (horovod#1117)": (
        "IB007",
        changed("ib-lws", *(["~ registry.example/answers:7 => ubuntu:24.04", "~ -c, torchrun => -c, apt-get install -y libibverbs1 && torchrun"] * 2)),
    ),
    "the baseline's switch copied (nccl#844)": ("IB003", mpi(", rdma/shared_ib: 1", options="-x NCCL_IB_DISABLE=1")),
    "a card that hardly exists (crusoe GB200)": ("IB008", mpi(", nvidia.com/hostdev: 4", options="-x NCCL_IB_HCA=^m1x5_0")),
    "a prefix too wide (nccl#236)": ("IB008", mpi(", rdma/shared_ib: 1", options="-x NCCL_IB_HCA=mlx5_1,mlx5_10,mlx5_11")),
    "no locked memory (nccl-tests#206)": (
        "POD003", changed("ib-jobset", "- securityContext:", "-   capabilities:", "-     add: [IPC_LOCK]")
    ),
    "locked memory that is inert (nvcf#1354)": (
        "POD004", changed("ib-jobset", "@@ securityContext:", "+   runAsUser: 1000")
    ),
    "slots wasted (a converter's scripts)": (
        "IB002", changed("ib-jobset", "~ rdma/hca_shared_devices_a: 1 => rdma/hca_shared_devices_a: 8")
    ),
    "more networks than devices (network-operator#1674)": (
        "IB010", changed("ib-rails", "~ rail-a, rail-b => rail-a, rail-b, rail-b")
    ),
    "networks without the resource (sriov-network-device-plugin#490)": (
        "IB010", changed("ib-rails", "- nvidia.com/sriov_resource_rail_0: 1")
    ),
    "macvlan on InfiniBand (network-operator#1017)": (
        "DEV003", changed("dev-macvlan", '~ "master": "ens3f0np0" => "master": "ibs65f0"')
    ),
    "RoCE without a network (nccl#925)": (
        "DEV004", mpi(", rdma/rdma_shared_device_a: 1", options="-x NCCL_IB_ROCE_VERSION_NUM=2")
    ),
    "a fixed index over macvlan (nccl#1427)": (
        "DEV004", changed("dev-macvlan", "~ NCCL_IB_TIMEOUT => NCCL_IB_GID_INDEX", '~ "22" => "3"')
    ),
    "an interface that the pod has not (nccl#286)": (
        "NCCL007", changed("ib-jobset", "~ NCCL_IB_DISABLE => NCCL_SOCKET_IFNAME", '~ "0" => bond0')
    ),
    "bootstrap over an InfiniBand port (docs#566)": ("IB005", changed("ib-host", "~ value: eth0 => value: ibs17")),
    "Gloo with a list (aws-do-eks#51)": (
        "NCCL007", changed("ib-jobset", "~ NCCL_IB_DISABLE => GLOO_SOCKET_IFNAME", '~ "0" => ^lo,docker')
    ),
    "shm on the node's disk (nccl#525)": ("POD002", changed("ib-jobset", "- emptyDir:", "-   medium: Memory", "+ emptyDir: {}")),
    "no shm (nccl#290)": ("POD001", changed("ib-jobset", "~ mountPath: /dev/shm => mountPath: /scratch")),
    "the channel stops at the pod (nccl#1925)": ("DEV006", changed("dev-domain", "- claims:", "-   - name: channel")),
    "numNodes above the workers (dra-driver-nvidia-gpu#524)": ("DEV007", changed("dev-domain", "~ numNodes: 4 => numNodes: 6")),
    "a size without InfiniBand (aicr's AKS page)": (
        "DEV005", changed("ib-jobset", "~ Standard_ND96isr_H100_v5 => Standard_NC80adis_H100_v5")
    ),
    "the workers' variables never arrive": (
        "IB003", mpi(", rdma/shared_ib: 1", options="-x NCCL_IB_DISABLE=1", env='[{name: NCCL_IB_DISABLE, value: "0"}]')
    ),
}  # fmt: skip
#: Rules of other families, which may come later.
OWN = ("IB", "DEV")


@pytest.mark.parametrize(("code", "text"), REPORTS.values(), ids=REPORTS)
def test_a_public_report_is_found(code: str, text: str) -> None:
    found = codes(text)
    if code.startswith(OWN):
        assert [c for c in found if c.startswith(OWN)] == [code]
    else:
        assert code in found


def test_the_resources_of_a_trainjob_that_drop_the_device_are_one_finding() -> None:
    text = changed(
        "trainer-fabric", "@@ kind: TrainJob", "@@ numNodes: 2", "+ resourcesPerNode: {limits: {nvidia.com/gpu: 8}}"
    )
    assert codes(text) == ["TRN006"]


def test_a_network_interface_without_a_network_is_told_by_this_family_alone() -> None:
    text = changed("ib-networks", "~ networks: => networks-off:", "~ value: eth0 => value: net1")
    assert [c for c, _ in said(text)] == ["IB005"]


def test_two_pods_of_one_domain_count_together() -> None:
    def pod(name: str) -> str:
        return (
            f"---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec:\n"
            "  resourceClaims: [{name: c, resourceClaimTemplateName: rack-channel}]\n"
            "  containers: [{name: c, image: registry.example/a:1, command: [sleep, infinity], "
            "resources: {limits: {nvidia.com/gpu: 4}, claims: [{name: c}]}}]\n"
        )

    domain = (
        "apiVersion: resource.nvidia.com/v1beta1\nkind: ComputeDomain\nmetadata: {name: rack}\n"
        "spec:\n  numNodes: 2\n  channel: {resourceClaimTemplate: {name: rack-channel}}\n"
    )
    assert said(domain + pod("a") + pod("b")) == []
    assert said(domain + pod("a") + pod("b") + pod("c")) == [("DEV007", 5)]


def test_the_same_fault_in_both_roles_is_one_finding_with_both_places() -> None:
    text = changed("ib-pytorchjob", *["~ value: mlx5 => value: ^m1x5_0"] * 2)
    made = Settings(isolated=True, select=("IB",))
    report = assemble(lint([], made, stdin=("job.yaml", text.encode())), made, ReportOptions())
    assert len(report.findings) == 1 and len(report.findings[0].related) == 1


def test_the_contract_makes_errors_of_a_trainjobs_warnings_and_says_so() -> None:
    text = changed("ib-trainjob", *["~ rdma/hca_shared_devices_a: 1 => rdma/hca_shared_devices_a: 8"] * 2)

    def first(contract: str) -> tuple[str, str]:
        made = Settings(isolated=True, select=("IB",), contract=(("*", contract),))
        found = assemble(lint([], made, stdin=("job.yaml", text.encode())), made, ReportOptions()).findings
        return found[0].severity, found[0].help

    severity, help_text = first("auto")
    assert severity == "error" and "contract: generic" in help_text
    severity, help_text = first("generic")
    assert severity == "warning" and "contract" not in help_text
