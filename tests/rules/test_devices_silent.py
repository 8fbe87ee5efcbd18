"""Where DEV001-008 and POD014, POD016-019 say nothing: each "silent when" on a manifest of its own, over several kinds."""

from __future__ import annotations

import pytest
from example import whole

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.report.model import ReportOptions

SLICE_PRIVILEGED = "- volumeMounts:\n+ securityContext:\n+   privileged: true\n+ volumeMounts:"
POD_NETWORK = "- hostNetwork: true\n- dnsPolicy: ClusterFirstWithHostNet\n"
UNSET = "@@ env:\n-   - name: GLOO_SOCKET_IFNAME\n-     value: eno1"
PER_PARTS = "~ nvidia.com/gpu: 8 => nvidia.com/mig-3g.40gb: 2"
SIZED = "@@ volumes\n  medium: Memory\n+ sizeLimit: 64Gi"

#: (code, base, lines, why). Nothing of that code is said, but for notes.
SILENT = [
    # One rank; one slice; a program whose number of ranks is not said; whole GPUs.
    ("DEV001", "dev-slice", "~ --nproc-per-node=2 => --nproc-per-node=1\n~ nvidia.com/gpu: 2 => nvidia.com/mig-1g.10gb: 1", "one rank on one slice"),
    ("DEV001", "ib-statefulset", "~ exec torchrun --nnodes=2 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=answers-0.answers:29500 => exec python\n" + PER_PARTS, "a program whose ranks are not counted"),
    ("DEV001", "run-raycluster", "~ nvidia.com/gpu: 1 => nvidia.com/mig-3g.40gb: 2", "Ray shares slices out itself"),
    ("DEV001", "dev-job", "~ nvidia.com/gpu: 4 => nvidia.com/gpu: '{{ gpus }}'", "a number that is filled in later"),
    ("DEV001", "run-mpijob", "~ nvidia.com/gpu: 1 => nvidia.com/mig-1g.10gb: 1", "one slice for one rank of each pod"),
    ("DEV001", "dev-slice", "- containers:\n+ nodeSelector:\n+   nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB\n+ containers:", "a node of whole GPUs"),
    # Whole nodes; nodes that are not known, but for odd counts; written-out devices; void, none; DaemonSets.
    ("DEV002", "ib-statefulset", "- capabilities:\n-   add: [IPC_LOCK]\n+ privileged: true", "all eight GPUs"),
    ("DEV002", "dev-job", "~ node.kubernetes.io/instance-type: Standard_ND96isr_H100_v5 => pool: training\n@@ securityContext:\n+   privileged: true", "four GPUs of a node that is not known"),
    ("DEV002", "dev-slice", "~ OMP_NUM_THREADS => NVIDIA_VISIBLE_DEVICES\n~ \"8\" => none", "no devices by the variable"),
    ("DEV002", "dev-slice", "~ OMP_NUM_THREADS => NVIDIA_VISIBLE_DEVICES\n~ \"8\" => $(DEVICES)", "a value that is put together elsewhere"),
    ("DEV002", "dev-slice", "~ OMP_NUM_THREADS => CUDA_VISIBLE_DEVICES\n~ \"8\" => \"0,1\"\n" + SLICE_PRIVILEGED, "the devices are written out"),
    ("DEV002", "run-mpijob", "~ image: registry.example/reduce:1.0 => securityContext: {privileged: true}, image: registry.example/reduce:1.0", "a launcher without GPUs"),
    # Configurations that name the device, or that a template fills in; IP over InfiniBand; hosts without annotations.
    ("DEV003", "ib-rails", "-   annotations:\n-     k8s.v1.cni.cncf.io/resourceName: nvidia.com/sriov_resource_rail_0\n- spec:\n-   config: ...\n+ spec:\n+   config: '{\"type\": \"host-device\", \"pciBusID\": \"0000:3d:00.0\"}'", "the device by its place on the bus"),
    ("DEV003", "ib-rails", "-   annotations:\n-     k8s.v1.cni.cncf.io/resourceName: nvidia.com/sriov_resource_rail_0\n- spec:\n-   config: ...\n+ spec:\n+   config: '{\"type\": \"{{ sort }}\"}'", "a configuration that is filled in later"),
    ("DEV003", "dev-macvlan", "~ \"type\": \"macvlan\" => \"type\": \"ipoib\"\n~ \"master\": \"ens3f0np0\" => \"master\": \"ib0\"", "IP over InfiniBand"),
    ("DEV003", "dev-macvlan", "~ \"master\": \"ens3f0np0\" => \"master\": \"bond0.100\"", "a VLAN of a bond"),
    ("DEV003", "dev-macvlan", "~ \"master\": \"ens3f0np0\" => \"master\": \"{{ port }}\"", "a port that is filled in later"),
    ("DEV003", "ib-host", "~ nvidia.com/gpu: 8 => nvidia.com/gpu: 4", "the host's network without an annotation"),
    # InfiniBand; the host's network; claims; providers that set the index.
    ("DEV004", "ib-lws", "~ nvidia.com/hostdev: 8 => rdma/hca_shared_devices_a: 1", "a shared device that says nothing of Ethernet"),
    ("DEV004", "ib-host", "~ rdma/hca_shared_devices_a => rdma/hca_eth", "the host's network has its addresses"),
    ("DEV004", "ib-pytorchjob", "~ NCCL_IB_HCA => NCCL_IB_GID_INDEX\n~ mlx5 => \"3\"", "a fixed index without a macvlan"),
    ("DEV004", "dev-macvlan", "~ NCCL_IB_TIMEOUT => NCCL_IB_GID_INDEX\n~ \"22\" => \"-1\"", "the index that NCCL looks for"),
    ("DEV004", "dev-macvlan", "~ NCCL_IB_TIMEOUT => NCCL_IB_GID_INDEX\n~ \"22\" => \"{{ index }}\"", "an index that is filled in later"),
    # Types that are not known; one of several types that has it.
    ("DEV005", "dev-azure", "~ values: [Standard_ND96isr_H100_v5] => values: [\"{{ type }}\"]", "a type that is filled in later"),
    ("DEV005", "dev-azure", "~ operator: In => operator: NotIn\n~ Standard_ND96isr_H100_v5 => Standard_NC80adis_H100_v5", "types that are not taken"),
    ("DEV005", "dev-job", "~ Standard_ND96isr_H100_v5 => our-own-h100", "a machine of one's own"),
    ("DEV005", "ib-statefulset", "~ app: answers => app: answers", "no machine is named"),
    ("DEV005", "run-jobset", "- containers:\n+ nodeSelector: {node.kubernetes.io/instance-type: Standard_NC80adis_H100_v5}\n+ containers:", "no fabric is asked for"),
    # Claims for NICs; templates that are not in view; open resources.
    ("DEV006", "fit-claims", "- claims:\n-   - name: gpu\n+ limits: {cpu: 1}\n~ deviceClassName: gpu.nvidia.com => deviceClassName: dra.networking", "a NIC attaches to the pod"),
    ("DEV006", "fit-claims", "~ resourceClaimTemplateName: one-gpu => resourceClaimTemplateName: other\n- claims:\n-   - name: gpu\n+ limits: {cpu: 1}", "a template that is not in view"),
    ("DEV006", "dev-domain", "~ numNodes: 4 => numNodes: 0", "the channel is used"),
    ("DEV006", "fit-claims", "- resources:\n-   claims:\n-     - name: gpu\n+ resources: \"{{ resources }}\"", "resources that are filled in later"),
    ("DEV006", "fit-claims", "- containers:\n+ initContainers:\n+   - name: warm\n+     image: registry.example/train:1\n+     restartPolicy: Always\n+     resources: {claims: [{name: gpu}]}\n+ containers:", "a native sidecar shares it"),
    # 0; pods whose number is not said; nodes that are not known.
    ("DEV007", "dev-domain", "~ numNodes: 4 => numNodes: 0", "the driver counts"),
    ("DEV007", "dev-domain", "~ numNodes: 4 => numNodes: \"{{ nodes }}\"", "a number that is filled in later"),
    ("DEV007", "dev-domain", "~ parallelism: 4 => parallelism: \"{{ nodes }}\"\n~ completions: 4 => completions: \"{{ nodes }}\"", "pods whose number is filled in later"),
    ("DEV007", "dev-domain", "~ numNodes: 4 => numNodes: 18\n~ name: dialogue-channel => name: another-channel", "a domain that these pods do not use"),
    ("DEV007", "dev-domain", "~ numNodes: 4 => numNodes: 0\n~ nvidia.com/gpu.product: NVIDIA-GB200 => pool: trays\n~ nvidia.com/gpu: 4 => nvidia.com/gpu: 2", "a part of a node that is not known"),
    # One pod; torchrun and mpirun alone; exported values; several networks or claims.
    ("DEV008", "dev-engine", "~ size: 2 => size: 1\n" + UNSET, "one pod"),
    ("DEV008", "ib-host", "~ NCCL_SOCKET_IFNAME => NCCL_DEBUG\n~ eth0 => WARN", "torchrun alone"),
    ("DEV008", "dev-engine", "~ exec vllm => export GLOO_SOCKET_IFNAME=eno1; exec vllm\n" + UNSET, "the script exports it"),
    ("DEV008", "dev-engine", POD_NETWORK + UNSET, "a pod network and no name"),
    ("DEV008", "dev-engine", POD_NETWORK + "~ value: eno1 => value: net1\n~ value: eno1 => value: eth0", "an interface that an attachment may make"),
    ("DEV008", "run-mpijob", "~ [mpirun, -np, \"2\", ./reduce] => [mpirun, -np, \"2\", -x, GLOO_SOCKET_IFNAME=eth0, ./reduce]", "mpirun names the pod's interface"),
    # No sizeLimit, no memory limit, volumes on disk.
    ("POD014", "ib-statefulset", "  nvidia.com/hostdev: 8\n+ memory: 8Gi", "no size limit"),
    ("POD014", "ib-raycluster", SIZED, "no memory limit"),
    ("POD014", "pod-volcano", "  vpc.amazonaws.com/efa: 32\n+ memory: 8Gi\n@@ volumes:\n- medium: Memory\n+ sizeLimit: 64Gi", "a volume on disk"),
    ("POD014", "ib-statefulset", "  nvidia.com/hostdev: 8\n+ memory: 65Gi\n" + SIZED, "just enough"),
    ("POD014", "pod-pytorchjob", "@@ volumes\n  medium: Memory\n+ sizeLimit: '{{ size }}'", "a size that is filled in later"),
    # Launchers, heads without GPUs, daemons, roles of another size, free kinds with another repository.
    ("POD016", "run-mpijob", "~ registry.example/reduce:1.0 => registry.example/launch:9", "a launcher"),
    ("POD016", "run-raycluster", "~ registry.example/ray:2.52 => registry.example/ray:2.52-head", "a head without GPUs"),
    ("POD016", "run-volcano", "@@ name: worker\n~ registry.example/speech:3 => registry.example/listener:3", "a task with a program of its own"),
    ("POD016", "run-xgboostjob", "@@ Worker:\n~ registry.example/credit:8 => \"{{ image }}\"", "an image that is filled in later"),
    ("POD016", "run-pytorchjob", "@@ Worker:\n~ registry.example/captions:2.1 => registry.example/captions:2.2\n~ nvidia.com/gpu: 1 => nvidia.com/gpu: 2", "a role with other numbers of GPUs"),
    # Launchers and heads without GPUs, other ways of attaching, open counts.
    ("POD017", "ib-raycluster", "~ replicas: 2 => replicas: 4\n~ minReplicas: 2 => minReplicas: 4\n~ maxReplicas: 2 => maxReplicas: 4", "a head without GPUs"),
    ("POD017", "ib-mpijob", "~ slotsPerWorker: 8 => slotsPerWorker: 8", "a launcher without GPUs"),
    ("POD017", "pod-leader", "- limits:\n-   nvidia.com/gpu: 8\n-   rdma/ib: 1\n+ limits: \"{{ limits }}\"", "limits that are filled in later"),
    ("POD017", "pod-pytorchjob", "- limits:\n-   nvidia.com/gpu: 8\n-   vpc.amazonaws.com/efa: 32\n+ limits:\n+   cpu: 8", "a master without GPUs"),
    ("POD017", "pod-volcano", "- vpc.amazonaws.com/efa: 32\n@@ name: worker\n- vpc.amazonaws.com/efa: 32", "no role is wired"),
    # What the API server takes.
    ("POD018", "ib-statefulset", "- containers:\n+ affinity:\n+   podAntiAffinity:\n+     requiredDuringSchedulingIgnoredDuringExecution:\n+       - topologyKey: kubernetes.io/hostname\n+         labelSelector: {matchLabels: {app: answers}}\n+ containers:", "one pod on each host"),
    ("POD018", "ib-raycluster", "@@ groupName\n- containers:\n+ topologySpreadConstraints:\n+   - maxSkew: 1\n+     topologyKey: topology.kubernetes.io/zone\n+     whenUnsatisfiable: ScheduleAnyway\n+ containers:", "spread as far as it goes"),
    ("POD018", "run-mpijob", "@@ Worker:\n@@ replicas: 2\n- containers:\n+ affinity:\n+   nodeAffinity:\n+     requiredDuringSchedulingIgnoredDuringExecution:\n+       nodeSelectorTerms:\n+         - matchExpressions: [{key: pool, operator: Gt, values: [seven]}]\n+ containers:", "Gt with a word is admitted, and matches nothing"),
    ("POD018", "run-jobset", "- containers:\n+ affinity: \"{{ affinity }}\"\n+ containers:", "an affinity that is filled in later"),
    ("POD018", "run-paddlejob", "- containers:\n+ tolerations: [{operator: Exists}]\n+ containers:", "a toleration of everything"),
    # Single pods, DaemonSets, pods without GPUs, open names.
    ("POD019", "run-mpijob", "- containers:\n+ nodeName: head-1\n+ containers:", "the launcher"),
    ("POD019", "run-raycluster", "- containers:\n+ nodeName: head-1\n+ containers:", "a head without GPUs"),
    ("POD019", "run-jaxjob", "~ replicas: 2 => replicas: 1\n- containers:\n+ nodeName: gpu-1\n+ containers:", "a job of one pod"),
    ("POD019", "run-paddlejob", "- containers:\n+ nodeName: \"{{ node }}\"\n+ containers:", "a name that is filled in later"),
    ("POD019", "run-indexed", "- containers:\n+ nodeSelector: {kubernetes.io/hostname: gpu-1}\n+ containers:", "the scheduler is asked for it"),
]  # fmt: skip


def said(code: str, text: str) -> list[str]:
    made = Settings(isolated=True, select=(code,))
    result = lint([], made, stdin=("job.yaml", text.encode()))
    assert not [n for n in result.notes if n.code == "internal-error"], result.notes
    return [f.message for f in assemble(result, made, ReportOptions()).findings if f.severity != "note"]


@pytest.mark.parametrize(
    ("code", "base", "lines"), [pytest.param(c, b, lines, id=f"{c} {why}") for c, b, lines, why in SILENT]
)
def test_nothing_is_said_of(code: str, base: str, lines: str) -> None:
    assert said(code, whole(f"({base})", lines).text) == []


def test_each_rule_is_tried_on_five_manifests() -> None:
    tried = [code for code, _, _, _ in SILENT]
    assert {code for code in tried if tried.count(code) < 5} == set()


DAEMON = """apiVersion: apps/v1
kind: DaemonSet
metadata: {name: probe}
spec:
  selector: {matchLabels: {app: probe}}
  template:
    metadata: {labels: {app: probe}}
    spec:
      nodeName: gpu-1
      containers:
        - name: probe
          image: registry.example/probe:1
          securityContext: {privileged: true}
          env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]
          resources: {limits: {nvidia.com/gpu: 2}}
"""


@pytest.mark.parametrize("code", ["DEV002", "POD016", "POD017", "POD019"])
def test_nothing_is_said_of_a_daemon(code: str) -> None:
    assert said(code, DAEMON) == []
