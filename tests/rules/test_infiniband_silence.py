"""What is right on InfiniBand and RDMA, or cannot be seen: IB and DEV say nothing of it."""

from __future__ import annotations

from typing import Any

import pytest
from example import whole

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.report.model import ReportOptions


def said(text: str, *, notes: bool = False, **settings: Any) -> list[tuple[str, int]]:
    made = Settings(isolated=True, select=("IB", "DEV"), **settings)
    result = lint([], made, stdin=("job.yaml", text.encode()))
    assert not [n for n in result.notes if n.code == "internal-error"], result.notes
    report = assemble(result, made, ReportOptions())
    return [(f.code, f.region.line) for f in report.findings if notes or f.severity != "note"]


def changed(base: str, *lines: str) -> str:
    return whole(f"({base})", "\n".join(lines)).text


MPI_TEST = """\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {{name: bench}}
spec:
  slotsPerWorker: 8
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      template:
        spec:
          containers:
            - name: launcher
              image: {image}
              command: [bash, -c, "mpirun {options} -np 16 all_reduce_perf -b 8 -e 8G"]
    Worker:
      replicas: 2
      template:
        metadata: {{annotations: {{{annotations}}}}}
        spec:
{pod}          containers:
            - name: worker
              image: {image}
              securityContext: {{{security}}}
              env: {env}
              resources: {{limits: {{nvidia.com/gpu: 8{device}}}}}
"""


def mpi(
    device: str = "", *, options: str = "-x NCCL_IB_HCA=mlx5", image: str = "registry.example/bench:1", annotations: str = "",
    pod: str = "", security: str = "capabilities: {add: [IPC_LOCK]}", env: str = "[]",
) -> str:  # fmt: skip
    return MPI_TEST.format(
        device=device, options=options, image=image, annotations=annotations, pod=pod, security=security, env=env
    )


HOST = "          hostNetwork: true\n          dnsPolicy: ClusterFirstWithHostNet\n"
NODE = "          nodeSelector: {{node.kubernetes.io/instance-type: {}}}\n".format
RDMA_HOST = HOST + "          volumes: [{name: ib, hostPath: {path: /dev/infiniband}}]\n"
SIXTEEN = ",".join(f"cw-multus/rail-{n}" for n in range(16))

#: The providers' ways to wire a pod, each of which is right.
RIGHT = {
    "one unit of rdma/ib": mpi(", rdma/ib: 1"),
    "a unit of rdma/ib for each card": mpi(", rdma/ib: 8", pod=NODE("Standard_ND96isr_H100_v5")),
    "host devices without networks": mpi(", nvidia.com/hostdev: 8", image="ghcr.io/crusoecloud/nccl-tests:1"),
    "sixteen networks beside one unit": mpi(
        ", rdma/ib: 1",
        image="ghcr.io/coreweave/nccl-tests:1",
        annotations=f"k8s.v1.cni.cncf.io/networks: '{SIXTEEN}'",
        options="-x NCCL_IB_HCA=ibp -x NCCL_IB_ADDR_FAMILY=AF_INET6 -x NCCL_IB_NET_LATENCY=1",
    ),
    "the host's network and its cards": mpi(
        pod=RDMA_HOST + NODE("BM.GPU.H100.8"),
        security="privileged: true",
        options="-x NCCL_IB_HCA==mlx5_0,mlx5_1,mlx5_10 -x NCCL_SOCKET_IFNAME=eth0 -x NCCL_IB_GID_INDEX=3",
    ),
    "privileged alone": mpi(security="privileged: true", options="-x NCCL_IB_HCA=mlx5 -x NCCL_SOCKET_IFNAME=eth0"),
    "privileged on a machine with InfiniBand": mpi(security="privileged: true", pod=NODE("Standard_ND96isr_H100_v5")),
    "virtual functions with as many networks": mpi(
        ", nvidia.com/rdma-vf: 2", annotations="k8s.v1.cni.cncf.io/networks: 'default/rdma-vf, default/rdma-vf'"
    ),
    "more virtual functions than networks": mpi(
        ", nvidia.com/rdma-vf: 16", annotations="k8s.v1.cni.cncf.io/networks: rdma-vf"
    ),
    "a network by JSON": mpi(
        ", nvidia.com/hostdev: 1",
        annotations="""k8s.v1.cni.cncf.io/networks: '[{"name": "hostdev-net", "interface": "net7"}]'""",
    ),
    "one network makes eight interfaces": mpi(
        ", nvidia.com/roce: 8", annotations="k8s.v1.cni.cncf.io/networks: multi-nic-compute"
    ),
    "IP over InfiniBand": mpi(
        annotations="k8s.v1.cni.cncf.io/networks: aks-infiniband", options="-x NCCL_SOCKET_IFNAME=net1"
    ),
    "a macvlan for the control network": mpi(
        ", rdma/rdma_shared_device_a: 1",
        annotations="k8s.v1.cni.cncf.io/networks: control",
        options="-x NCCL_SOCKET_IFNAME=net1",
    ),
    "percents of a card": mpi(", koordinator.sh/rdma: 100"),
    "a plugin by a path": mpi(", rdma/shared_ib: 1", options="-x NCCL_NET_PLUGIN=/opt/plugins/libnccl-net-x.so"),
    "MPI's own traffic over TCP": mpi(
        ", rdma/shared_ib: 1",
        options="--mca pml ob1 --mca btl tcp,self --mca coll ^hcoll -x UCX_TLS=tcp -x UCX_NET_DEVICES=eth0",
    ),
    "an Alibaba card": mpi(", aliyun/erdma: 1", options="-x NCCL_IB_HCA=erdma"),
    "NVLink only": mpi(options="-x NCCL_MNNVL_ENABLE=1"),
    "a whole node of four": mpi(", rdma/ib: 1", pod="          nodeSelector: {nvidia.com/gpu.product: NVIDIA-GB300}\n").replace(
        "nvidia.com/gpu: 8", "nvidia.com/gpu: 4"
    ),
    "AMD": mpi(security="privileged: true").replace("nvidia.com/gpu", "amd.com/gpu"),
    "two kinds of nodes": mpi(", rdma/ib: 1", pod=HOST, options="-x NCCL_SOCKET_IFNAME=eth0,ens"),
    "a template's card list": mpi(", rdma/ib: 1", options="-x NCCL_IB_HCA=${NCCL_IB_LIST}"),
    "no env behind the key": mpi(", rdma/ib: 1", env=""),
    "the worker's env does not reach ranks of sshd": mpi(
        ", rdma/ib: 1", env='[{name: NCCL_IB_DISABLE, value: "1"}, {name: NCCL_IB_HCA, value: "^"}]'
    ),
    "a list with ports": mpi(", rdma/ib: 1", options="-x NCCL_IB_HCA=mlx5_5:1,mlx5_6:1,mlx5_12:1"),
    "an exclusion with a port": mpi(", rdma/ib: 1", options="-x NCCL_IB_HCA=^mlx5_8:1"),
    "a renamed card": mpi(", rdma/ib: 1", options="-x NCCL_IB_HCA=mlx5_ib,mlx5_an0"),
    "a trailing comma": mpi(", rdma/ib: 1", options="-x NCCL_IB_HCA=mlx5_0,"),
    "one letter of a family": mpi(", rdma/ib: 1", options="-x NCCL_IB_HCA=m"),
    "a bonded card": mpi(", rdma/ib: 1", options="-x NCCL_IB_HCA=mlx5_bond_0,mlx5_bond_1"),
    "resources of a webhook": mpi(annotations="k8s.v1.cni.cncf.io/networks: 'rail, rail'"),
}  # fmt: skip


@pytest.mark.parametrize("text", RIGHT.values(), ids=RIGHT)
def test_a_right_way_is_silent(text: str) -> None:
    assert said(text) == []


OTHER_FABRICS = {
    "EFA does not read it": changed(
        "efa-jobset",
        "@@ env:",
        "+   - name: NCCL_IB_DISABLE",
        '+     value: "1"',
        "+   - name: NCCL_IB_HCA",
        "+     value: ^",
    ),
    "gIB neither": changed("gib-jobset", "@@ env:", "+   - name: NCCL_IB_DISABLE", '+     value: "1"'),
    "nor TCPXO": changed("tcpxo-jobset", "@@ env:", "+   - name: NCCL_IB_DISABLE", '+     value: "1"'),
}


@pytest.mark.parametrize("text", OTHER_FABRICS.values(), ids=OTHER_FABRICS)
def test_the_switch_of_nccls_own_transport_is_nothing_to_another_fabric(text: str) -> None:
    assert said(text) == []


OFF = ("@@ NCCL_IB_DISABLE", '~ "0" => "1"')
ONE_NODE = ("~ parallelism: 2 => parallelism: 1", "~ completions: 2 => completions: 1", "~ --nnodes=2 => --nnodes=1")
UNSEEN = {
    "one node": changed("ib-jobset", *ONE_NODE, *OFF),
    "one node without a device": changed("ib-jobset", *ONE_NODE, "- rdma/hca_shared_devices_a: 1"),
    "declared by a label": changed(
        "ib-jobset", "~ name: weather => name: weather", "- spec:", "+   labels: {variant: baseline}", "+ spec:", *OFF
    ),
    "declared by a comment": "# without InfiniBand: the sockets run\n" + changed("ib-jobset", *OFF),
    "a value from a ConfigMap": changed(
        "ib-jobset", '- value: "0"', "+ valueFrom: {configMapKeyRef: {name: fabric, key: disable}}"
    ),
    "a value that is open": changed("ib-jobset", "@@ NCCL_IB_DISABLE", '~ "0" => __DISABLE__'),
    "an amount that is open": changed("ib-jobset", "~ rdma/hca_shared_devices_a: 1 => rdma/hca_shared_devices_a: __UNITS__"),
    "an image that is open": changed("ib-jobset", "~ registry.example/weather:3 => __IMAGE__"),
    "verbs by a script": changed("ib-lws", *(["~ registry.example/answers:7 => ubuntu:24.04", "~ -c, torchrun => -c, ./install.sh && torchrun"] * 2)),
    "verbs by dnf": changed("ib-lws", *(["~ registry.example/answers:7 => ubuntu:24.04", "~ -c, torchrun => -c, dnf install -y rdma-core && torchrun"] * 2)),
    "a claim in place of a device": changed(
        "ib-jobset", "- rdma/hca_shared_devices_a: 1", "@@ mountPath", "- volumes:", "+ resourceClaims: [{name: nic, resourceClaimTemplateName: nics}]", "+ volumes:"
    ),
    "the host's cards": changed(
        "ib-jobset", "- rdma/hca_shared_devices_a: 1", "@@ volumes:", "+   - name: ib", "+     hostPath: {path: /dev/infiniband}"
    ),
    "a machine that nobody knows": changed(
        "ib-jobset", "~ Standard_ND96isr_H100_v5 => Standard_HB120rs_v3", "- rdma/hca_shared_devices_a: 1"
    ),
    "a pool's letter": changed("ib-jobset", "~ hca_shared_devices_a => hca_shared_devices_c"),
    "a rail's number": changed("ib-rails", "~ rail-a, rail-b => rail-a", "~ nvidia.com/sriov_resource_rail_1: 1 => nvidia.com/sriov_resource_rail_7: 1"),
    "a short name of one's own": changed("ib-jobset", "~ rdma/hca_shared_devices_a => rdma/ibs"),
    "a network of another file": changed("ib-networks", "~ networks: hostdev-net => networks: other/rail"),
    "networks that are open": changed("ib-networks", "~ networks: hostdev-net, => networks: __NETWORK__,"),
    "a definition that is open": changed("dev-macvlan", '~ "master": "ens3f0np0" => "master": "__PORT__"'),
    "a machine and one that fits": changed("dev-azure", "~ [Standard_ND96isr_H100_v5] => [Standard_NC80adis_H100_v5, Standard_ND96isr_H100_v5]"),
    "a machine that is excluded": changed("dev-azure", "~ operator: In => operator: NotIn", "~ Standard_ND96isr_H100_v5 => Standard_NC80adis_H100_v5"),
    "RoCE on the host's network": changed(
        "ib-host", "~ rdma/hca_shared_devices_a => rdma/rdma_shared_device_eth"
    ),
    "a fixed index of a provider that sets it": mpi(
        ", nvidia.com/rdma-vf: 1", annotations="k8s.v1.cni.cncf.io/networks: rdma-vf", options="-x NCCL_IB_GID_INDEX=3"
    ),
    "a dynamic index": changed("dev-macvlan", "~ NCCL_IB_TIMEOUT => NCCL_IB_GID_INDEX", '~ "22" => "-1"'),
    "privileged on one GPU of a node that is not known": changed(
        "dev-slice", "~ --nproc-per-node=2 => --nproc-per-node=1", "~ nvidia.com/gpu: 2 => nvidia.com/gpu: 1",
        "- volumeMounts:", "+ securityContext: {privileged: true}", "+ volumeMounts:",
    ),
    "all GPUs of a whole node by hand": changed(
        "ib-jobset", "~ NCCL_IB_DISABLE => NVIDIA_VISIBLE_DEVICES", '~ "0" => all'
    ),
    "slices for engines of one rank": changed("dev-slice", "~ --nproc-per-node=2 => --nproc-per-node=1", "~ nvidia.com/gpu: 2 => nvidia.com/mig-1g.10gb: 2"),
    "numNodes that a driver counts": changed("dev-domain", "~ numNodes: 4 => numNodes: 0"),
    "a domain whose pods are not all in view": changed("dev-domain", "~ parallelism: 4 => parallelism: __NODES__", "~ completions: 4 => completions: __NODES__"),
    "a domain for another job": changed("dev-domain", "~ numNodes: 4 => numNodes: 9", "@@ resourceClaims:", "~ dialogue-channel => speech-channel"),
    "a channel of another file": changed(
        "dev-domain", "~ name: dialogue-channel => name: other", "-   claims:", "-     - name: channel"
    ),
    "Gloo in one pod": changed(
        "dev-engine", "~ size: 2 => size: 1", "~ --tensor-parallel-size 16 --nnodes 2 => --tensor-parallel-size 8", "- - name: GLOO_SOCKET_IFNAME", "-   value: eno1"
    ),
    "engines that do not know of each other": changed(
        "dev-engine", "~ --tensor-parallel-size 16 --nnodes 2 --node-rank $LWS_WORKER_INDEX --master-addr $LWS_LEADER_ADDRESS => --tensor-parallel-size 8",
        "- - name: GLOO_SOCKET_IFNAME", "-   value: eno1",
    ),
    "Gloo's interface from elsewhere": changed("dev-engine", "@@ GLOO_SOCKET_IFNAME", "- value: eno1", "+ valueFrom: {configMapKeyRef: {name: n, key: i}}"),
}  # fmt: skip


@pytest.mark.parametrize("text", UNSEEN.values(), ids=UNSEEN)
def test_what_is_meant_so_or_cannot_be_seen_is_silent(text: str) -> None:
    assert said(text) == []


def test_a_launcher_without_devices_is_judged_for_nothing() -> None:
    text = mpi(", rdma/shared_ib: 1")
    assert said(text) == [] and said(text, contract=(("*", "aicr"),)) == []


@pytest.mark.parametrize("kind", ["NicClusterPolicy", "SriovNetwork", "IPoIBNetwork", "DaemonSet"])
def test_objects_of_the_cluster_are_silent(kind: str) -> None:
    spec = "template: {spec: {hostNetwork: true, containers: [{name: p, image: plugin, securityContext: {privileged: true}}]}}"
    text = f"apiVersion: mellanox.com/v1alpha1\nkind: {kind}\nmetadata: {{name: rdma}}\nspec: {{resourceName: x, {spec}}}\n"
    if kind == "DaemonSet":
        text = text.replace("mellanox.com/v1alpha1", "apps/v1")
    assert said(text, notes=True) == []


@pytest.mark.parametrize("contract", ["generic", "auto"])
def test_outside_of_the_contract_a_plain_job_needs_no_variable(contract: str) -> None:
    text = changed(
        "ib-jobset", "- - name: NCCL_IB_HCA", "-   value: mlx5", "- - name: NCCL_IB_DISABLE", '-   value: "0"'
    )
    assert said(text, notes=True, contract=(("*", contract),)) == []


PLUGIN = [
    ("sys",), ("spcx",), ("/opt/x/libnccl-net.so",), ("libnccl-net-x.so",), ("NONE",), ("none,ucx",),
]  # fmt: skip


@pytest.mark.parametrize(("value",), PLUGIN)
def test_a_plugin_that_is_chosen_on_purpose_passes_the_contract(value: str) -> None:
    assert said(changed("ib-trainjob", f"~ value: none => value: {value}")) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NCCL_IBEXT_DISABLE", "1"),
        ("NCCL_COLLNET_ENABLE", "1"),
        ("NCCL_ALGO", "COLLNETCHAIN"),
        ("NCCL_NET_PLUGN", "none"),
    ],
)
def test_another_variable_explains_the_missing_plugin(name: str, value: str) -> None:
    text = changed("ib-trainjob", f"~ NCCL_NET_PLUGIN => {name}", f'~ value: none => value: "{value}"')
    assert said(text) == []
