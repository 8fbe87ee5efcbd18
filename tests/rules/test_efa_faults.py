"""Faults of EFA jobs that were seen in public, each in words of our own: what a file can show of them is found."""

from __future__ import annotations

import pytest
from test_efa_silence import EFA32, GPU8, base, env, found, job

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.report.model import ReportOptions

P4D = "nodeSelector: {node.kubernetes.io/instance-type: p4d.24xlarge}"
G5 = "nodeSelector: {node.kubernetes.io/instance-type: g5.48xlarge}"
EFA1, EFA4 = EFA32.replace("efa: 32", "efa: 1"), EFA32.replace("efa: 32", "efa: 4")
STOCK = "pytorch/pytorch:2.8.0-cuda12.9-cudnn9-runtime"
NCCL_TESTS = "public.ecr.aws/hpc-cloud/nccl-tests:latest"

FAULTS = {
    "no device": (job(GPU8 + env(FI_PROVIDER="efa")), [("EFA001", "error")]),
    "the device commented out": (
        job(GPU8.replace("limits: {", "# vpc.amazonaws.com/efa: 32\n  limits: {") + env(NCCL_NET="AWS Libfabric")),
        [("EFA001", "error")],
    ),
    "a device in a sidecar alone": (
        job(
            GPU8 + env(FI_PROVIDER="efa"),
            extra="  - name: logs\n    image: registry.example/logs:1\n    resources: {limits: {vpc.amazonaws.com/efa: 1}}",
        ),
        [("EFA001", "error")],
    ),
    "a stock image": (job(EFA32.replace("registry.example/train:1", STOCK)), [("EFA005", "warning")]),
    "the plugin not on the path": (
        job(EFA32.replace("registry.example/train:1", NCCL_TESTS) + env(LD_LIBRARY_PATH="/usr/local/cuda/lib64")),
        [("EFA006", "warning")],
    ),
    "the provider filtered: sockets": (job(EFA32 + env(FI_PROVIDER="sockets")), [("EFA007", "error")]),
    "the provider filtered: ^efa": (job(EFA32 + env(FI_PROVIDER="^efa")), [("EFA007", "error")]),
    "the provider filtered: empty": (job(EFA32 + env(FI_PROVIDER="")), [("EFA007", "error")]),
    "the plugin off": (job(EFA32 + env(NCCL_NET_PLUGIN="none")), [("EFA007", "error")]),
    "sockets on p6-b200": (
        job(
            EFA32.replace("efa: 32", "efa: 8") + "volumeMounts: [{name: ib, mountPath: /dev/infiniband}]\n",
            extra="volumes: [{name: ib, hostPath: {path: /dev/infiniband}}]\nnodeSelector: {node.kubernetes.io/instance-type: p6-b200.48xlarge}",
        ),
        [("EFA012", "error")],
    ),
    "GPUDirect disabled": (job(EFA4 + env(FI_EFA_USE_DEVICE_RDMA="0"), extra=P4D), [("EFA007", "error")]),
    "GPUDirect disabled, on a machine that is not said": (
        job(EFA4 + env(FI_EFA_USE_DEVICE_RDMA="0")),
        [("EFA007", "warning")],
    ),
    "RDMA on a device without it": (job(EFA1 + env(FI_EFA_USE_DEVICE_RDMA="1"), extra=G5), [("EFA007", "error")]),
    "a retired variable": (job(EFA32 + env(FI_EFA_MTU_SIZE="9000")), [("EFA010", "error")]),
    "another retired variable": (job(EFA32 + env(FI_EFA_RX_IOV_LIMIT="1")), [("EFA010", "error")]),
    "more devices than p5en has": (
        job(EFA32, extra="nodeSelector: {node.kubernetes.io/instance-type: p5en.48xlarge}"),
        [("EFA002", "error")],
    ),
    "ten devices on p6-b200": (
        job(
            EFA32.replace("efa: 32", "efa: 10"),
            extra="nodeSelector: {node.kubernetes.io/instance-type: p6-b200.48xlarge}",
        ),
        [("EFA002", "error")],
    ),
    "a type without EFA": (
        job(
            EFA1.replace("gpu: 8", "gpu: 1"), extra="nodeSelector: {node.kubernetes.io/instance-type: ml.g5.4xlarge}"
        ),
        [("EFA002", "error")],
    ),
    "too many huge pages": (
        job(EFA32.replace("efa: 32", "efa: 32, hugepages-2Mi: 15120Mi, memory: 1Ti")),
        [("EFA009", "warning")],
    ),
    "the resource misspelt": (job(GPU8.replace("gpu: 8", "gpu: 8, aws.amazon.com/efa: 4")), [("EFA001", "error")]),
    "a share of the bandwidth": (job(EFA1, extra=P4D), [("EFA002", "warning")]),
    "a left-over of older kernels": (job(EFA32 + env(RDMAV_FORK_SAFE="1")), [("EFA003", "warning")]),
    "huge pages by force": (job(EFA32 + env(FI_EFA_USE_HUGE_PAGE="1")), [("EFA003", "warning")]),
    "a typo": (job(EFA32 + env(RDMAV_FORM_SAFE="1")), [("EFA008", "warning")]),
    "half of a name": (job(EFA32 + env(FI_EFA_ENABLE_SHM="0")), [("EFA008", "warning")]),
    "the bootstrap's interface excluded": (
        job(EFA32 + env(NCCL_SOCKET_IFNAME="^docker,lo,veth_def_agent,eth")),
        [("NCCL007", "error")],
    ),
    "pod identity's interface left in": (
        job(EFA32 + env(NCCL_SOCKET_IFNAME="^lo,docker"), extra="hostNetwork: true"),
        [("NCCL007", "warning")],
    ),
    "no interface named on the host's network": (job(EFA32, extra="hostNetwork: true"), [("EFA004", "warning")]),
    "Gloo with an exclusion": (job(EFA32 + env(GLOO_SOCKET_IFNAME="^lo")), [("NCCL007", "error")]),
    "Gloo with a list": (job(EFA32 + env(GLOO_SOCKET_IFNAME="eth0,eth1")), [("NCCL007", "error")]),
    "KV over TCP": (
        job(EFA32.replace("[torchrun, train.py]", "[vllm, serve, m, --kv-transfer-config, '{\"kv_connector\":\"NixlConnector\"}']")),
        [("EFA013", "warning")],
    ),
    "a word that the plugin cannot read": (job(EFA32 + env(OFI_NCCL_DISABLE_DMABUF="yes")), [("EFA011", "error")]),
    "an old page's variable": (job(EFA32 + env(NCCL_MIN_CHANNELS="8")), [("NCCL001", "warning")]),
    "a threshold of 2020": (job(EFA32 + env(NCCL_TREE_THRESHOLD="0")), [("NCCL002", "warning")]),
}  # fmt: skip


@pytest.mark.parametrize("title", sorted(FAULTS))
def test_a_fault_is_found(title: str) -> None:
    text, expected = FAULTS[title]
    assert [(c, s) for c, s, _ in found(text)] == expected


NOTES = {
    "a single process of shared memory off": (job(EFA32 + env(NCCL_SHM_DISABLE="1")), "NCCL005"),
    "the protocol of old releases": (job(EFA32 + env(NCCL_PROTO="simple")), "EFA007"),
    "the slower transport": (
        job(EFA32 + env(OFI_NCCL_PROTOCOL="sendrecv"), extra=P4D.replace("p4d.24xlarge", "p5.48xlarge")),
        "EFA007",
    ),
    "a list where the plugin wants the word": (job(EFA32 + env(FI_PROVIDER="efa,shm")), "EFA007"),
    "a plugin's name that nobody knows": (job(EFA32 + env(NCCL_NET_PLUGIN="sys")), "EFA007"),
    "an empty switch": (job(EFA32 + env(FI_EFA_RX_COPY_OOO="")), "EFA010"),
    "a dead variable": (job(EFA32 + env(FI_EFA_SET_CUDA_SYNC_MEMOPS="0")), "EFA010"),
    "a literal that the plugin's folder makes harmless": (
        job(EFA32 + env(LD_LIBRARY_PATH="/opt/amazon/ofi-nccl/lib:$LD_LIBRARY_PATH")),
        "EFA006",
    ),
    "huge pages with Karpenter": (
        job(
            EFA32.replace("efa: 32", "efa: 32, hugepages-2Mi: 2Gi, memory: 1Ti"),
            extra="nodeSelector: {karpenter.k8s.aws/instance-family: p5en}",
        ).replace("efa: 32", "efa: 16"),
        "EFA009",
    ),
    "a name that is still read": (job(EFA32 + env(NCCL_MIN_NCHANNELS="8")), "NCCL002"),
    "two subsystems with a blank": (job(EFA32 + env(NCCL_DEBUG="INFO", NCCL_DEBUG_SUBSYS="INIT, NET")), "NCCL003"),
    "a chatty training": (job(EFA32 + env(NCCL_DEBUG="info")), "NCCL004"),
}


@pytest.mark.parametrize("title", sorted(NOTES))
def test_advice_is_a_note(title: str) -> None:
    text, code = NOTES[title]
    assert found(text) == []
    assert code in [c for c, s, _ in found(text, notes=True) if s == "note"]


ALGORITHMS = [
    ("Ring,foo", "registry.example/t:1", "warning"),
    ("Ring,foo", "nvcr.io/nvidia/pytorch:25.03-py3", "error"),
    ("Ring,foo", "nvcr.io/nvidia/pytorch:24.07-py3", "warning"),
    ("foo", "registry.example/t:1", "error"),
    ("foo", "pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime", "error"),
    ("allreduce:tree", "registry.example/t:1", None),
    ("allreduce:tree", "nvcr.io/nvidia/pytorch:25.03-py3", None),
    ("allreduce:tree", "nvcr.io/nvidia/pytorch:24.07-py3", "error"),
    ("Ring, Tree", "nvcr.io/nvidia/pytorch:25.03-py3", "error"),
    ("", "registry.example/t:1", None),
]


@pytest.mark.parametrize(("value", "image", "severity"), ALGORITHMS)
def test_an_algorithm_is_judged_by_the_nccl_of_the_image(value: str, image: str, severity: str | None) -> None:
    text = job(GPU8.replace("registry.example/train:1", image) + env(NCCL_ALGO=value))
    assert [(c, s) for c, s, _ in found(text)] == ([("NCCL003", severity)] if severity else [])


def everything(text: str) -> set[str]:
    settings = Settings(isolated=True)
    report = assemble(lint([], settings, stdin=("job.yaml", text.encode())), settings, ReportOptions())
    return {f.code for f in report.findings if f.severity != "note"}


def test_a_pinned_network_of_another_kind_is_one_finding() -> None:
    text = base("efa-jobset", ("AWS Libfabric", "Socket"))
    assert everything(text) == {"EFA007"}


def test_a_misspelt_fork_variable_is_not_missing_as_well() -> None:
    text = base("efa-trainjob", ("FI_EFA_FORK_SAFE", "FI_EFA_FORKSAFE"))
    assert everything(text) == {"EFA008"}


def test_a_misspelt_interface_variable_is_not_missing_as_well() -> None:
    text = base("efa-trainjob", ("NCCL_SOCKET_IFNAME", "NCCL_SOCKET_INFAME"))
    assert everything(text) == {"NCCL001"}


def test_both_roles_of_a_job_with_one_fault_are_one_finding() -> None:
    text = base("efa-pytorchjob", ("value: efa", "value: tcp"))
    assert [c for c, _, _ in found(text)] == ["EFA007"]
    apart = text.replace("&environment", "").replace(
        "env: *environment",
        "env:\n                - name: FI_PROVIDER\n                  value: tcp",
    )
    assert [c for c, _, _ in found(apart)] == ["EFA007"]


def test_one_fault_in_two_templates_names_both_places() -> None:
    text = base("efa-pytorchjob", ("efa: 8", "efa: 9"))
    settings = Settings(isolated=True, select=("EFA",))
    report = assemble(lint([], settings, stdin=("job.yaml", text.encode())), settings, ReportOptions())
    (finding,) = report.findings
    lines = [n for n, line in enumerate(text.split("\n"), 1) if "efa: 9" in line]
    assert [finding.region.line, *(r.region.line for r in finding.related)] == lines


def test_a_variable_in_a_configmap_in_view_counts() -> None:
    settings = job(EFA32 + "envFrom: [{configMapRef: {name: fabric}}]\n")
    config = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: fabric}\ndata: {FI_PROVIDER: tcp}\n"
    assert [(c, s) for c, s, _ in found(settings + config)] == [("EFA007", "error")]
    assert found(settings) == []


def test_the_later_value_wins() -> None:
    text = EFA32.replace("[torchrun, train.py]", "[bash, -c, 'export FI_PROVIDER=efa && torchrun train.py']")
    assert found(job(text + env(FI_PROVIDER="tcp"))) == []


def test_env_of_a_ray_job_counts() -> None:
    ray = base("efa-raycluster").replace("kind: RayCluster", "kind: RayJob").split("spec:\n", 1)
    cluster = "".join("  " + line for line in ray[1].splitlines(keepends=True))
    text = f"{ray[0]}spec:\n  entrypoint: python train.py\n  runtimeEnvYAML: |\n    env_vars:\n      FI_PROVIDER: tcp\n  rayClusterSpec:\n{cluster}"
    assert [(c, s) for c, s, _ in found(text)] == [("EFA007", "error")]


def test_a_runtime_alone_with_gpus_and_the_variables_but_no_device_is_a_warning() -> None:
    text = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: big}
spec:
  mlPolicy: {numNodes: 2, torch: {}}
  template:
    spec:
      replicatedJobs:
        - name: node
          template:
            metadata:
              labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}
            spec:
              template:
                spec:
                  containers:
                    - name: node
                      image: registry.example/train:1
                      env: [{name: FI_PROVIDER, value: efa}]
                      resources: {limits: {nvidia.com/gpu: 8}}
"""
    assert [(c, s) for c, s, _ in found(text)] == [("EFA001", "warning")]


_MPI = """apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: big}
spec:
  mlPolicy: {numNodes: 2, mpi: {mpiImplementation: OpenMPI, sshAuthMountPath: /home/mpiuser/.ssh}}
  template:
    spec:
      replicatedJobs:
        - name: launcher
          template:
            metadata:
              labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}
            spec:
              template:
                spec:
                  containers:
                    - name: node
                      image: registry.example/mpi:1
                      command: [mpirun, -x, FI_PROVIDER=efa, python, train.py]
        - name: node
          template:
            spec:
              template:
                spec:
                  containers:
                    - name: node
                      image: registry.example/mpi:1
                      command: [/usr/sbin/sshd, -De]
                      resources: {limits: {nvidia.com/gpu: 8}}
"""


@pytest.mark.parametrize(
    ("old", "new", "severity"),
    [
        # A TrainJob's resources go to the labelled launcher and never to these workers.
        ("", "", "error"),
        # One node, as far as the runtime tells: a TrainJob may leave it at that.
        ("numNodes: 2", "numNodes: 1", "warning"),
        ("sshAuthMountPath", "runLauncherAsNode: true, sshAuthMountPath", "warning"),
        (
            "- name: node\n          template:\n",
            (
                "- name: node\n          template:\n            metadata:\n              labels: "
                "{trainer.kubeflow.org/trainjob-ancestor-step: trainer}\n"
            ),
            "warning",
        ),
    ],
)
def test_workers_of_an_mpi_runtime_have_the_devices_that_it_writes(old: str, new: str, severity: str) -> None:
    assert old in _MPI
    said = [(c, s) for c, s, _ in found(_MPI.replace(old, new, 1) if old else _MPI) if c == "EFA001"]
    assert said == [("EFA001", severity)]
