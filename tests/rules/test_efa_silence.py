"""Where EFA's and NCCL's rules must say nothing: what is right, what cannot be seen, and what is meant otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.report.model import ReportOptions

BASES = Path(__file__).parent.parent / "bases"


def found(text: str, *, notes: bool = False, **settings: object) -> list[tuple[str, str, int]]:
    """(code, severity, line) of what EFA's and NCCL's rules say."""
    given = Settings(isolated=True, select=("EFA", "NCCL"), **settings)  # type: ignore[arg-type]
    result = lint([], given, stdin=("job.yaml", text.encode()))
    assert not [n for n in result.notes if n.code == "internal-error"], result.notes
    report = assemble(result, given, ReportOptions())
    return [(f.code, str(f.severity), f.region.line) for f in report.findings if notes or f.severity != "note"]


def base(name: str, *changes: tuple[str, str]) -> str:
    text = (BASES / f"{name}.yaml").read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def pod(container: str, kind: str = "Pod", extra: str = "") -> str:
    """A pod of one container; `container` is the container's own YAML, `extra` more of the spec."""
    body = "\n".join("      " + line if line else "" for line in container.strip("\n").split("\n"))
    more = "\n".join("  " + line for line in extra.strip("\n").split("\n")) if extra else ""
    return f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: one}}\nspec:\n  containers:\n    - name: main\n{body}\n{more}\n"


def job(container: str, pods: int = 2, extra: str = "", name: str = "train") -> str:
    """An indexed Job of some pods."""
    body = "\n".join("          " + line if line else "" for line in container.strip("\n").split("\n"))
    more = "\n".join("      " + line for line in extra.strip("\n").split("\n")) if extra else ""
    return (
        f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: {name}}}\nspec:\n  completionMode: Indexed\n  completions: {pods}\n"
        f"  parallelism: {pods}\n  template:\n    spec:\n      restartPolicy: Never\n      containers:\n        - name: main\n{body}\n{more}\n"
    )


GPU8 = "image: registry.example/train:1\ncommand: [torchrun, train.py]\nresources:\n  limits: {nvidia.com/gpu: 8}\n"
EFA32 = GPU8.replace("nvidia.com/gpu: 8", "nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 32")


def env(**values: str) -> str:
    return "env:\n" + "".join(f"  - {{name: {n}, value: '{v}'}}\n" for n, v in values.items())


SILENT = {
    "a probe without GPUs that asks for devices": pod(
        "image: ubuntu:24.04\ncommand: [sleep, infinity]\nresources: {limits: {vpc.amazonaws.com/efa: 4}}"
    ),
    "one GPU and one device to look around": pod(
        "image: registry.example/a:1\ncommand: [fi_info, -p, efa]\nresources: {limits: {nvidia.com/gpu: 1, vpc.amazonaws.com/efa: 1}}",
        extra="nodeSelector: {node.kubernetes.io/instance-type: p5.48xlarge}",
    ),
    "all the devices that the type has": base(
        "efa-raycluster", ("g6e.48xlarge", "ml.g6e.12xlarge"), ("nvidia.com/gpu: 8", "nvidia.com/gpu: 4"), ('efa: "4"', "efa: 1")
    ),
    "half a node with half the devices": base(
        "efa-jobset", ("gpu: 8", "gpu: 4"), ("efa: 32", "efa: 16"), ("per-node=8", "per-node=4")
    ),
    "a count in quotes": base("efa-jobset", ("efa: 32", 'efa: "32"')),
    "a count that a template fills in": base("efa-jobset", ("efa: 32", "efa: ${EFA_PER_NODE}")),
    "a machine that a template fills in": base("efa-mpijob", ("p4d.24xlarge", "${TYPE}"), ("efa: 4", "efa: 1")),
    "a label of one's own": base(
        "efa-mpijob", ("node.kubernetes.io/instance-type: p4d.24xlarge", "instance-type: p5.4xlarge")
    ),
    "a type that no table has": base("efa-mpijob", ("p4d.24xlarge", "p9.96xlarge"), ("efa: 4", "efa: 64")),
    "a gb200 node": base("efa-mpijob", ("p4d.24xlarge", "p6e-gb200.36xlarge")),
    "a family and a size": base(
        "efa-lws", ("instance-family: p5en", "instance-family: p5\n          karpenter.k8s.aws/instance-size: 48xlarge"), ("efa: 16", "efa: 32")
    ),
    "a family whose smaller type is too small for the GPUs": base("efa-lws", ("instance-family: p5en", "instance-family: p5"), ("efa: 16", "efa: 32")),
    "a GPU's name": base("efa-mpijob", ("node.kubernetes.io/instance-type: p4d.24xlarge", "nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB")),
    "workers of an MPI job without any variable": base("efa-mpijob", ("-x\n                - FI_PROVIDER=efa\n                - ", "")),
    "a launcher with every variable and no device": base(
        "efa-mpijob",
        ("- FI_PROVIDER=efa", "- FI_PROVIDER=efa\n                - -x\n                - FI_EFA_USE_DEVICE_RDMA=1"),
    ),
    "a head without GPUs": base("efa-raycluster", ("value: eth0", "value: ^lo,docker")),
    "sockets without a device": job(GPU8 + env(FI_PROVIDER="sockets")),
    "sockets and a device count of zero": job(
        GPU8.replace("gpu: 8", "gpu: 8, vpc.amazonaws.com/efa: 0") + env(FI_PROVIDER="efa")
    ),
    "no interface in the pod network": job(EFA32),
    "the long list on the host's network": job(
        EFA32 + env(NCCL_SOCKET_IFNAME="^lo,docker,veth,eni,pod-id-link0"), extra="hostNetwork: true"
    ),
    "a host's name on the host's network": job(EFA32 + env(NCCL_SOCKET_IFNAME="enp71s0"), extra="hostNetwork: true"),
    "Gloo on the loopback of one node": job(EFA32 + env(GLOO_SOCKET_IFNAME="lo"), pods=1),
    "NCCL on the loopback of one node": job(EFA32 + env(NCCL_SOCKET_IFNAME="lo"), pods=1),
    "a library path that is not known to be wrong": job(EFA32 + env(LD_LIBRARY_PATH="/usr/local/cuda/lib64")),
    "the tuner by its full path": job(EFA32 + env(NCCL_TUNER_PLUGIN="/opt/amazon/ofi-nccl/lib64/libnccl-ofi-tuner.so")),
    "plugin and tuner by name": job(EFA32 + env(NCCL_NET_PLUGIN="ofi", NCCL_TUNER_PLUGIN="ofi")),
    "the plugin by its full path": job(EFA32 + env(NCCL_NET_PLUGIN="/opt/amazon/ofi-nccl/lib64/libnccl-net.so")),
    "huge pages up to what is reserved": job(
        EFA32.replace("efa: 32", "efa: 32, hugepages-2Mi: 10256Mi, memory: 1Ti")
    ),
    "Neuron's block on two nodes": job(
        "image: registry.example/t:1\nresources:\n  limits: {aws.amazon.com/neuron: 16, aws.amazon.com/neuroncore: 128, aws.amazon.com/neurondevice: 16, vpc.amazonaws.com/efa: 8}\n"
        + env(FI_PROVIDER="efa", FI_EFA_USE_DEVICE_RDMA="1", FI_EFA_FORK_SAFE="1", CCOM_SOCKET_IFNAME="eth0", RDMAV_FORK_SAFE="1"),
        extra="nodeSelector: {node.kubernetes.io/instance-type: trn1.32xlarge}",
    ),
    "a burn-in of Neuron chips with the fork variable alone": job(
        "image: registry.example/t:1\nresources:\n  limits: {aws.amazon.com/neuron: 16}\n" + env(FI_EFA_FORK_SAFE="1")
    ),
    "one node without EFA": job(GPU8 + env(FI_PROVIDER="efa", FI_EFA_USE_DEVICE_RDMA="1"), pods=1),
    "a weak sign alone": job(
        GPU8 + env(FI_EFA_USE_HUGE_PAGE="0", LD_LIBRARY_PATH="/opt/amazon/efa/lib"),
        extra="tolerations:\n  - {key: vpc.amazonaws.com/efa, operator: Exists}\n  - {key: aws.amazon.com/efa, operator: Exists}",
    ),
    "EFA by a claim": job(
        "image: registry.example/t:1\nresources:\n  claims: [{name: both}]\n  limits: {nvidia.com/gpu: 8}\n" + env(FI_PROVIDER="efa"),
        extra="resourceClaims:\n  - {name: both, resourceClaimTemplateName: aligned}",
    ),
    "a device plugin": (
        "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: plugin}\nspec:\n  selector: {matchLabels: {a: b}}\n  template:\n"
        "    metadata: {labels: {a: b}}\n    spec:\n      hostNetwork: true\n      containers:\n        - name: plugin\n"
        "          image: registry.example/plugin:1\n          securityContext: {privileged: true}\n"
        "          volumeMounts: [{name: ib, mountPath: /dev/infiniband}]\n      volumes: [{name: ib, hostPath: {path: /dev/infiniband}}]\n"
    ),
    "the host's devices without a request": job(
        GPU8 + "volumeMounts: [{name: ib, mountPath: /dev/infiniband}]\n",
        extra="volumes: [{name: ib, hostPath: {path: /dev/infiniband}}]",
    ),
    "RDMA off where the device has none": job(
        EFA32.replace("efa: 32", "efa: 1") + env(FI_EFA_USE_DEVICE_RDMA="0"),
        extra="nodeSelector: {node.kubernetes.io/instance-type: g5.48xlarge}",
    ),
    "RDMA on where the device can": job(
        EFA32.replace("efa: 32", "efa: 4") + env(FI_EFA_USE_DEVICE_RDMA="1"),
        extra="nodeSelector: {node.kubernetes.io/instance-type: g6e.48xlarge}",
    ),
    "RoCE on EKS with the plugin off": job(
        "image: registry.example/t:1\nresources:\n  claims: [{name: roce}]\n  limits: {nvidia.com/gpu: 4}\n"
        + env(NCCL_NET_PLUGIN="none", NCCL_IB_HCA="rocep"),
        extra="resourceClaims:\n  - {name: roce, resourceClaimTemplateName: roce}",
    ),
    "a pod that sleeps until someone comes": job(EFA32.replace("[torchrun, train.py]", "[sleep, infinity]"), extra="hostNetwork: true"),
    "NCCL's InfiniBand switched off, which EFA does not use": job(EFA32 + env(NCCL_IB_DISABLE="1")),
    "variables of other programs": job(
        EFA32 + env(UCX_TLS="tcp", HPCX_HOME="/opt/hpcx", OMPI_MCA_btl="tcp", FI_TCP_IFACE="eth0", FI_OFI_RXM_USE_SRX="1")
    ),
    "build and script names": job(
        EFA32 + env(NCCL_VERSION="2.27.7", NCCL_VER="2", NCCL_HOME="/opt/nccl", NCCL_TESTS_PATH="/t", NCCL_TIMEOUT="1800", NCCL_NET_SO="x", OFI_NCCL_VER="1.16")
    ),
    "the proxy's and the storage's side of EFA": (
        "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: fsx}\nprovisioner: fsx.csi.aws.com\nparameters: {efaEnabled: 'true'}\n"
    ),
    "a stock image whose start installs the stack": job(
        EFA32.replace("registry.example/train:1", "pytorch/pytorch:2.8.0-cuda12.9-cudnn9-runtime").replace(
            "[torchrun, train.py]", "[bash, -c, 'cd /tmp/aws-efa-installer && ./efa_installer.sh -y && torchrun train.py']"
        )
    ),
    "a stock image that an init container brings the stack to": job(
        EFA32.replace("registry.example/train:1", "pytorch/pytorch:2.8.0-cuda12.9-cudnn9-runtime")
        + "volumeMounts: [{name: stack, mountPath: /opt/stack}]\n",
        extra="initContainers:\n  - name: stack\n    image: registry.example/stack:1\n    volumeMounts: [{name: stack, mountPath: /out}]\nvolumes: [{name: stack, emptyDir: {}}]",
    ),
    "a stock image behind a script that is not in view": job(
        EFA32.replace("registry.example/train:1", "pytorch/pytorch:2.8.0-cuda12.9-cudnn9-runtime").replace(
            "[torchrun, train.py]", "[bash, /scripts/start.sh]"
        )
    ),
    "a variable from a Secret": job(
        EFA32 + "env:\n  - name: FI_PROVIDER\n    valueFrom: {secretKeyRef: {name: a, key: b}}\n"
    ),
    "a value that a template fills in": job(
        EFA32 + env(FI_PROVIDER="${PROVIDER}", NCCL_NET="{{ .Values.net }}", NCCL_SOCKET_IFNAME="$IFNAME", NCCL_DEBUG="$(LEVEL)")
    ),
    "NVLink across one rack, checked with the plugin off": (
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: channel}\nspec:\n  spec:\n    devices:\n      requests:\n"
        "        - {name: channel, exactly: {deviceClassName: compute-domain-default-channel.nvidia.com}}\n---\n"
    )
    + job(
        "image: registry.example/t:1\ncommand: [/opt/nccl-tests/build/all_reduce_perf, -b, '8']\nresources:\n"
        "  claims: [{name: channel}]\n  limits: {nvidia.com/gpu: 4, vpc.amazonaws.com/efa: 4}\n" + env(NCCL_NET_PLUGIN="none"),
        extra="resourceClaims:\n  - {name: channel, resourceClaimTemplateName: channel}",
    ),
    "a worker's own env where sshd starts the ranks": base(
        "efa-mpijob",
        ("image: registry.example/train-efa:3\n              securityContext", "image: registry.example/train-efa:3\n              env:\n                - {name: FI_PROVIDER, value: tcp}\n                - {name: NCCL_NET, value: Socket}\n              securityContext"),
    ),
    "NIXL with libfabric and a library path without the plugin": job(
        EFA32.replace("[torchrun, train.py]", "[vllm, serve, m, --kv-transfer-config, '{\"kv_connector\":\"NixlConnector\",\"kv_connector_extra_config\":{\"backends\":[\"LIBFABRIC\"]}}']")
        + env(LD_LIBRARY_PATH="/opt/amazon/efa/lib:$LD_LIBRARY_PATH", FI_EFA_ENABLE_SHM_TRANSFER="0")
    ),
    "a TrainJob without an environment in view": base("efa-trainjob", ("command: [torchrun, tune.py]", "command: [bash, /opt/start.sh]"), ('      - name: FI_EFA_FORK_SAFE\n        value: "1"\n', "")),
    "a TrainJob under the generic contract": base("efa-trainjob", ("metadata:\n  name: tune", "metadata:\n  name: tune"), ("      - name: NCCL_SOCKET_IFNAME\n        value: eth0\n", "")),
}  # fmt: skip


@pytest.mark.parametrize("title", sorted(SILENT))
def test_stays_silent(title: str) -> None:
    contract = {"contract": (("*", "generic"),)} if "generic contract" in title else {}
    assert found(SILENT[title], **contract) == []


def test_a_declared_comparison_over_tcp_is_a_warning_on_efa() -> None:
    text = job(EFA32 + env(FI_PROVIDER="tcp"), name="bench-tcp")
    assert [(c, s) for c, s, _ in found(text)] == [("EFA007", "warning")]
    assert [(c, s) for c, s, _ in found(text.replace("bench-tcp", "bench"))] == [("EFA007", "error")]


def test_a_comment_declares_a_comparison_as_well() -> None:
    text = "# the TCP baseline of our EFA runs\n" + job(EFA32 + env(FI_PROVIDER="tcp"))
    assert [(c, s) for c, s, _ in found(text)] == [("EFA007", "warning")]


def test_findings_of_the_contract_say_how_to_end_them() -> None:
    text = base("efa-trainjob", ('      - name: FI_EFA_FORK_SAFE\n        value: "1"\n', ""))
    settings = Settings(isolated=True)
    report = assemble(lint([], settings, stdin=("job.yaml", text.encode())), settings, ReportOptions())
    (finding,) = [f for f in report.findings if f.code == "EFA003"]
    assert "contract: generic" in finding.help


MPI_RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: mpi-efa, namespace: ml}
spec:
  mlPolicy:
    numNodes: 2
    mpi: {numProcPerNode: 8, mpiImplementation: OpenMPI}
  template:
    spec:
      network: {publishNotReadyAddresses: true}
      successPolicy: {operator: All, targetReplicatedJobs: [launcher]}
      replicatedJobs:
        - name: launcher
          template:
            spec:
              template:
                spec:
                  containers:
                    - name: node
                      image: registry.example/check-efa:1
                      command: [bash, -c]
                      args:
                        - |
                          mpirun -np 16 -N 8 -x FI_PROVIDER=efa -x FI_EFA_FORK_SAFE=1 \\
                            -x NCCL_SOCKET_IFNAME=eth0 -x NCCL_NET='AWS Libfabric' python check.py
        - name: node
          template:
            spec:
              template:
                spec:
                  nodeSelector: {node.kubernetes.io/instance-type: p5.48xlarge}
                  containers:
                    - name: node
                      image: registry.example/check-efa:1
                      command: [/usr/sbin/sshd, -De]
                      resources: {limits: {nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 32}}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: check, namespace: ml}
spec:
  runtimeRef: {name: mpi-efa, kind: TrainingRuntime}
  trainer: {numNodes: 2}
"""


def test_a_trainjob_whose_variables_are_all_on_mpirun_is_right() -> None:
    assert found(MPI_RUNTIME) == []


def test_what_mpirun_does_not_hand_on_is_missing_at_the_launchers_command() -> None:
    line = next(n for n, text in enumerate(MPI_RUNTIME.split("\n"), 1) if "args:" in text)
    assert found(MPI_RUNTIME.replace(" -x FI_EFA_FORK_SAFE=1", "")) == [("EFA003", "warning", line)]
    assert found(MPI_RUNTIME.replace("-x NCCL_SOCKET_IFNAME=eth0 ", "")) == [("EFA004", "warning", line)]
