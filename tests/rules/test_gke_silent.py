"""GKE: manifests in which TCPXO, TCPX and gIB rules have nothing to say, each for a reason."""

from __future__ import annotations

import pytest
from example import Example, whole
from test_examples_of_rules import findings

FAMILIES = ("TCPXO", "TCPX", "GIB")


def told(example: Example) -> list[tuple[str, int]]:
    """Errors and warnings of the three families."""
    return [f for f in findings(example, "NONE") if f[0].rstrip("0123456789") in FAMILIES]


NO_NETWORKS = """\
@@ annotations:
- networking.gke.io/default-interface: eth0
- networking.gke.io/interfaces: ...
"""
NO_DEVICES = """\
@@ default-interface
- devices.gke.io/container.tcpxo-daemon: |
-   - path: /dev/nvidia0
-   - path: /dev/nvidia1
-   - path: /dev/nvidia2
-   - path: /dev/nvidia3
-   - path: /dev/nvidia4
-   - path: /dev/nvidia5
-   - path: /dev/nvidia6
-   - path: /dev/nvidia7
-   - path: /dev/nvidiactl
-   - path: /dev/nvidia-uvm
-   - path: /dev/dmabuf_import_helper
"""
PRIVILEGED_DAEMON = """\
@@ LD_LIBRARY_PATH
- securityContext:
-   capabilities:
-     add: [NET_ADMIN, NET_BIND_SERVICE]
+ securityContext:
+   privileged: true
"""
NO_SYS = """\
@@ volumeMounts:
- - name: sys
-   mountPath: /hostsysfs
- - name: proc-sys
-   mountPath: /hostprocsysfs
"""
PRIVILEGED_WORKER = """\
@@ nvidia.com/gpu: 8
- securityContext:
-   capabilities:
-     add: [IPC_LOCK]
+ securityContext:
+   privileged: true
"""
NO_LLCM = """\
@@ containers:
- - name: NCCL_FASTRAK_LLCM_DEVICE_DIRECTORY
-   value: /dev/aperture_devices
"""
NO_APERTURE = """\
@@ volumeMounts:
- - name: aperture
-   mountPath: /dev/aperture_devices
"""
ON_HOST = """\
@@ spec:
+   hostNetwork: true
+   dnsPolicy: ClusterFirstWithHostNet
"""
NO_PROFILE = """\
@@ containers:
- . "${NCCL_LIB_DIR}/nccl-env-profile.sh"
"""
OLDEST = (
    NO_NETWORKS
    + NO_DEVICES.replace("@@ default-interface\n", "")
    + ON_HOST
    + PRIVILEGED_DAEMON
    + NO_SYS
    + NO_LLCM
    + PRIVILEGED_WORKER
    + NO_APERTURE
)
#: The set of release 1.0.15 as it is written out beside the daemon 1.0.21.
WHOLE_SET = "".join(
    f"+   - name: {name}\n+     value: {value}\n"
    for name, value in {
        "NCCL_FASTRAK_CTRL_DEV": "eth0",
        "NCCL_FASTRAK_IFNAME": "eth1,eth2,eth3,eth4,eth5,eth6,eth7,eth8",
        "NCCL_SOCKET_IFNAME": "eth0",
        "NCCL_CROSS_NIC": '"0"',
        "NCCL_MIN_NCHANNELS": '"4"',
        "NCCL_P2P_NET_CHUNKSIZE": '"524288"',
        "NCCL_P2P_PCI_CHUNKSIZE": '"524288"',
        "NCCL_P2P_NVL_CHUNKSIZE": '"1048576"',
        "NCCL_FASTRAK_NUM_FLOWS": '"2"',
        "NCCL_FASTRAK_USE_SNAP": '"1"',
        "NCCL_FASTRAK_ENABLE_CONTROL_CHANNEL": '"0"',
        "NCCL_BUFFSIZE": '"8388608"',
        "NCCL_NET_GDR_LEVEL": "PIX",
        "NCCL_FASTRAK_ENABLE_HOTPATH_LOGGING": '"0"',
        "NCCL_FASTRAK_USE_LLCM": '"1"',
        "NCCL_PROTO": "Simple,LL128",
        "NCCL_NVLSTREE_MAX_CHUNKSIZE": '"131072"',
        "NCCL_TUNER_PLUGIN": "libnccl-tuner.so",
        "NCCL_TUNER_CONFIG_PATH": "/usr/local/nvidia/lib64/a3plus_tuner_config.textproto",
        "NCCL_SHIMNET_GUEST_CONFIG_CHECKER_CONFIG_FILE": "/usr/local/nvidia/lib64/a3plus_guest_config.textproto",
        "NCCL_FASTRAK_PLUGIN_ACCEPT_TIMEOUT_MS": '"600000"',
    }.items()
)
PLAIN_DAEMON = """\
- initContainers:
+ containers:
    - name: tcpxo-daemon
-     restartPolicy: Always
@@ hostprocsysfs
- containers:
"""

SILENT = [
    ("the oldest form: the host's network, privileged, no annotations", "tcpxo-job", OLDEST),
    ("the host's network with annotations and capabilities", "tcpxo-job", "@@ template:\n" + ON_HOST),
    (
        "a privileged daemon sees the host's devices",
        "tcpxo-job",
        "@@ annotations:\n" + NO_DEVICES + PRIVILEGED_DAEMON,
    ),
    ("a privileged worker needs no LLCM directory", "tcpxo-job", NO_LLCM + PRIVILEGED_WORKER + NO_APERTURE),
    (
        "the libraries in the worker come from GKE's device plugin",
        "tcpxo-job",
        "@@ nvidia.com/gpu: 8\n- - name: libraries\n-   mountPath: /usr/local/nvidia\n",
    ),
    (
        "a Job whose daemon watches a file that the worker writes",
        "tcpxo-job",
        PLAIN_DAEMON.replace(
            "@@ hostprocsysfs",
            "~ exec /fts => while [ ! -e /ends/workload_terminated ]; do sleep 10; done; exec /fts\n@@ hostprocsysfs",
        ),
    ),
    ("a LeaderWorkerSet does not complete", "tcpxo-lws", PLAIN_DAEMON),
    ("a RayCluster does not complete", "tcpxo-ray", PLAIN_DAEMON),
    ("the workers of an MPIJob are ended by it", "tcpxo-mpijob", "@@ Worker:\n" + PLAIN_DAEMON),
    ("the daemon is told to leave with its clients", "tcpxo-job", "~ --num_hops=2 => --shutdown_when_all_clients_exited"),
    ("no --num_hops: two is the default", "tcpxo-job", "~ entrypoint_rxdm_container.sh --num_hops=2 => entrypoint_rxdm_container.sh"),
    ("a flag with one dash and a value apart", "tcpxo-job", "~ --num_hops=2 => -num_hops 2 --http_port 7400"),
    ("old flags on the release that knew them", "tcpxo-job", "~ :v1.0.21 => :v1.0.17\n~ --num_hops=2 => --num_hops=2 --num_nics 8 --uid= --alsologtostderr"),
    ("retired flags are notes", "tcpxo-job", "~ --num_hops=2 => --num_hops=2 --num_nics=8 --uid= --alsologtostderr"),
    ("a daemon that goes to the background and is waited for", "tcpxo-job", "~ exec /fts/entrypoint_rxdm_container.sh --num_hops=2 => /fts/entrypoint_rxdm_container.sh --num_hops=2 &\n+ wait"),
    ("the daemon by a digest alone", "tcpxo-job", "~ :v1.0.21 => @sha256:0f3a51be2e7f4a9e2e1bb8e0ee5c8f2d0a3c1e6b7d8f9a0b1c2d3e4f5a6b7c8d"),
    ("a mirror that drops the folders", "tcpxo-job", "~ mirror.example/gpudirect-tcpxo/ => mirror.example/"),
    ("the daemon called like TCPX's", "tcpxo-job", "~ container.tcpxo-daemon => container.tcpx-daemon\n~ name: tcpxo-daemon => name: tcpx-daemon"),
    ("networks of a cluster with other names", "tcpxo-job", "~ gpu-nic-0 => vpc1"),
    ("networks in another order", "tcpxo-job", '~ "gpu-nic-0" => "gpu-nic-9"'),
    ("an entry with a GKENetworkInterface", "tcpxo-job", '~ {"interfaceName":"eth8","network":"gpu-nic-7"} => {"interfaceName":"eth8","interface":"nic-7"}'),
    ("a storage network beside the fabric's", "tcpxo-job", '~ "network":"gpu-nic-7"} => "network":"gpu-nic-7"},{"interfaceName":"eth9","network":"nfs"}'),
    ("an annotation that a template fills in", "tcpxo-job", "- networking.gke.io/interfaces: ...\n+ networking.gke.io/interfaces: '${INTERFACES}'"),
    ("a name in the list that a template fills in", "tcpxo-job", '~ "gpu-nic-7" => "${CLUSTER}-gpu-nic-7"'),
    ("networks by claims", "tcpxo-job", "@@ default-interface\n- networking.gke.io/interfaces: ...\n@@ spec:\n+   resourceClaims:\n+     - name: nics\n+       resourceClaimTemplateName: all-netdev"),
    ("a subset of NICs on purpose is a warning at most, and none for the count of GPUs in the list", "tcpxo-job", "~ --num_hops=2 => --num_hops=2 --num_gpus_to_use=8\n"),
    ("any toleration, affinity for a selector", "tcpxo-job", "- nodeSelector:\n-   cloud.google.com/gke-accelerator: nvidia-h100-mega-80gb\n+ affinity:\n+   nodeAffinity:\n+     requiredDuringSchedulingIgnoredDuringExecution:\n+       nodeSelectorTerms:\n+         - matchExpressions:\n+             - key: cloud.google.com/gke-accelerator\n+               operator: In\n+               values: [nvidia-h100-mega-80gb]"),
    ("a node pool by name", "tcpxo-job", "~ cloud.google.com/gke-accelerator: nvidia-h100-mega-80gb => cloud.google.com/gke-nodepool: a3-mega"),
    ("an accelerator that is not known yet", "tcpxo-job", "~ nvidia-h100-mega-80gb => nvidia-h900"),
    ("Kueue's queue chooses the nodes", "tcpxo-job", "@@ kind: Job\n  metadata:\n    name: train\n+   labels:\n+     kueue.x-k8s.io/queue-name: mega\n~ cloud.google.com/gke-accelerator: nvidia-h100-mega-80gb => cloud.google.com/gke-gpu: \"true\""),
    ("the whole set of the paired release written out", "tcpxo-job", NO_PROFILE + "@@ env:\n" + WHOLE_SET),
    ("the whole set with another folder for its files", "tcpxo-job", NO_PROFILE + "@@ env:\n" + WHOLE_SET.replace("/usr/local/nvidia/lib64/a3plus", "/usr/local/tcpxo/lib64/a3plus") + "@@ volumeMounts:\n+   - name: libraries\n+     mountPath: /usr/local/tcpxo"),
    ("the set in env before the profile is dead, not wrong", "tcpxo-job", "@@ containers:\n@@ env:\n+   - name: NCCL_FASTRAK_NUM_FLOWS\n+     value: \"4\""),
    ("a value out of the checker's sight", "tcpxo-job", "@@ nccl-env-profile.sh\n+ export NCCL_FASTRAK_NUM_FLOWS=4\n@@ env:\n+   - name: NCCL_SHIMNET_SHIM_LAYERS\n+     value: UNUSED"),
    ("NCCL_DEBUG in env is overwritten: a note", "tcpxo-job", "@@ containers:\n@@ env:\n+   - name: NCCL_DEBUG\n+     value: INFO"),
    ("the profile by a variable that names it", "tcpxo-job", "~ . \"${NCCL_LIB_DIR}/nccl-env-profile.sh\" => source ${NCCL_INIT_SCRIPT}\n@@ env:\n+   - name: NCCL_INIT_SCRIPT\n+     value: /usr/local/nvidia/lib64/nccl-env-profile.sh"),
    ("a variant of the profile", "tcpxo-job", "~ nccl-env-profile.sh => nccl-env-profile-ll128.sh"),
    ("the image's own entrypoint reads the profile", "tcpxo-job", "@@ containers:\n- command: [/bin/bash, -c]\n- args:\n-   - |\n-     set -e\n-     . ...\n-     exec torchrun ...\n+ command: [/opt/train/entrypoint.sh]"),
    ("a pod that waits for kubectl exec", "tcpxo-job", "@@ containers:\n- . \"${NCCL_LIB_DIR}/nccl-env-profile.sh\"\n- exec torchrun ...\n+ sleep infinity"),
    ("Google's wrapper of mpirun", "tcpxo-job", "@@ containers:\n- . \"${NCCL_LIB_DIR}/nccl-env-profile.sh\"\n- exec torchrun ...\n+ BENCHMARK=all_gather_perf NHOSTS=2 /scripts/demo-run-nccl-test-tcpxo-via-mpi.sh"),
    ("variables from a ConfigMap that is not in view", "tcpxo-job", NO_PROFILE + "@@ exec torchrun\n- env:\n-   - name: NCCL_LIB_DIR\n-     value: /usr/local/nvidia/lib64\n+ envFrom:\n+   - configMapRef:\n+       name: nccl-settings\n+ env:"),
    ("NCCL_LIB_DIR where the plugin was copied to", "tcpxo-job", "@@ containers:\n~ value: /usr/local/nvidia/lib64 => value: /usr/local/nccl-plugin/lib64"),
    ("LD_LIBRARY_PATH that the profile prepends to", "tcpxo-job", "@@ containers:\n@@ name: LD_LIBRARY_PATH\n~ value: /usr/local/nvidia/lib64 => value: /opt/lib"),
    ("an underscore in a folder of the health log", "tcpxo-job", "@@ env:\n+   - name: HEALTH_CHECK_LOG_FILE\n+     value: /var/rxdm_logs/health"),
    ("a duplicate variable: the last one wins", "tcpxo-job", "@@ containers:\n@@ env:\n+   - name: NCCL_LIB_DIR\n+     value: /opt/old"),
    ("commented-out lines", "tcpxo-job", "@@ template:\n@@ spec:\n+   # hostNetwork: true\n+   # privileged: true"),
    ("a sidecar injected into the pod beside ours", "tcpxo-job", "@@ annotations:\n+   gke-gcsfuse/volumes: \"true\""),
    ("a runtime whose start comes from the TrainJob", "tcpxo-runtime", "- command: [/bin/bash, -c]\n- args:\n-   - |\n-     set -e\n-     . ...\n-     exec torchrun train.py\n"),
    ("TCPX: the older form on the host's network", "tcpx-job", NO_NETWORKS + ON_HOST),
    ("TCPX: no profile to read", "tcpx-job", "@@ exec torchrun"),
    ("TCPX: the socket on a hostPath, at /tmp in the worker", "tcpx-job", "@@ containers:\n- - name: NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX\n-   value: /run/tcpx\n~ mountPath: /run/tcpx => mountPath: /tmp\n@@ volumes:\n- emptyDir: {}\n+ hostPath:\n+   path: /run/tcpx"),
    ("TCPX: NET_ADMIN alone", "tcpx-job", "@@ add: [NET_ADMIN]"),
    ("TCPX: the option's value with quotes in it", "tcpx-job", "~ --uds_path, /run/tcpx] => --uds_path, /run/tcpx, --setup_param, '\\\"--verbose 128 2 0 \\\"']"),
    ("TCPX: the plugin pinned", "tcpx-job", "@@ containers:\n@@ env:\n+   - name: NCCL_NET\n+     value: GPUDirectTCPX_v7"),
    ("gIB: the second ordinary NIC", "gib-job", '~ {"interfaceName":"eth2" => {"interfaceName":"eth1","network":"gvnic-1"},{"interfaceName":"eth2"'),
    ("gIB: interfaces of other names", "gib-job", "~ eth2 => gpu0rdma0"),
    ("gIB: NICs by a claim on the pod only", "gib-job", NO_NETWORKS + "@@ spec:\n+   resourceClaims:\n+     - name: rdma\n+       resourceClaimTemplateName: default-rdma"),
    ("gIB: a default interface left beside a claim", "gib-job", "- networking.gke.io/interfaces: ...\n@@ spec:\n+   resourceClaims:\n+     - name: rdma\n+       resourceClaimTemplateName: default-rdma"),
    ("gIB: one GPU and one NIC by a claim", "gib-job", NO_NETWORKS + "@@ spec:\n+   resourceClaims:\n+     - name: rdma\n+       resourceClaimTemplateName: one-rdma\n~ --nproc-per-node=8 => --nproc-per-node=1\n~ nvidia.com/gpu: 8 => nvidia.com/gpu: 1"),
    ("gIB: the script behind a test for it", "gib-job", "~ . /usr/local/gib/scripts/set_nccl_env.sh => if [ -f /usr/local/gib/scripts/set_nccl_env.sh ]; then . /usr/local/gib/scripts/set_nccl_env.sh; fi"),
    ("gIB: a set written out without a differing value is a note", "gib-job", "- . /usr/local/gib/scripts/set_nccl_env.sh\n@@ env:\n+   - name: NCCL_NET\n+     value: gIB\n+   - name: NCCL_CROSS_NIC\n+     value: \"0\"\n+   - name: NCCL_IB_TC\n+     value: \"52\"\n+   - name: NCCL_IB_FIFO_TC\n+     value: \"84\""),
    ("gIB: both interfaces for the bootstrap", "gib-job", "@@ env:\n+   - name: NCCL_SOCKET_IFNAME\n+     value: eth0,eth1"),
    ("gIB: a privileged worker", "gib-job", "@@ nvidia.com/gpu: 8\n- securityContext:\n-   capabilities:\n-     add: [IPC_LOCK]\n+ securityContext:\n+   privileged: true"),
    ("gIB: ranks started by Ray", "gib-ray", "@@ ray-worker"),
    ("gIB: the folders read-only", "gib-job", "@@ mountPath: /usr/local/gib\n+ readOnly: true"),
    ("gIB: a native sidecar in front", "gib-job", "+ initContainers:\n+   - name: logs\n+     restartPolicy: Always\n+     image: mirror.example/logs:1\n  containers:"),
    ("gIB: an image that brings gIB", "gib-job", "~ registry.example/train:1 => mirror.example/nccl-plugin-gib-diagnostic:v1.1.0\n- - name: gib\n-   mountPath: /usr/local/gib\n@@ volumes:\n- - name: gib\n-   hostPath:\n-     path: /home/kubernetes/bin/gib"),
    ("gIB: the folder at the host's own path, found there, is a note", "gib-job", "~ . /usr/local/gib => . /home/kubernetes/bin/gib\n~ mountPath: /usr/local/gib => mountPath: /home/kubernetes/bin/gib"),
]  # fmt: skip


@pytest.mark.parametrize(("base", "lines"), [pytest.param(b, x, id=t) for t, b, x in SILENT])
def test_it_says_nothing(base: str, lines: str) -> None:
    assert told(whole(f"({base})", lines.rstrip("\n"))) == []


FILES = [
    (
        "an installer of the plugin is no workload",
        """\
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: nccl-tcpxo-installer
spec:
  selector:
    matchLabels: {app: installer}
  template:
    metadata:
      labels: {app: installer}
    spec:
      hostNetwork: true
      priorityClassName: system-node-critical
      tolerations:
        - operator: Exists
      nodeSelector:
        cloud.google.com/gke-accelerator: nvidia-h100-mega-80gb
      initContainers:
        - name: copy
          image: mirror.example/gpudirect-tcpxo/nccl-plugin-gpudirecttcpx-dev:v1.0.15
          command: [/bin/sh, -c, "modprobe import-helper; cp -r /var/lib/tcpxo/lib64/. /target"]
          securityContext:
            privileged: true
      containers:
        - name: pause
          image: mirror.example/pause:3
""",
    ),
    (
        "one node of Mega GPUs without any sign of the fabric",
        """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: serve
spec:
  replicas: 1
  selector:
    matchLabels: {app: serve}
  template:
    metadata:
      labels: {app: serve}
      annotations:
        networking.gke.io/default-interface: eth0
    spec:
      hostNetwork: true
      dnsPolicy: ClusterFirstWithHostNet
      nodeSelector:
        cloud.google.com/gke-accelerator: nvidia-h100-mega-80gb
      containers:
        - name: vllm
          image: registry.example/vllm:0.9
          command: [vllm, serve, model, --tensor-parallel-size=8]
          resources:
            limits: {nvidia.com/gpu: 8}
          volumeMounts:
            - {name: dshm, mountPath: /dev/shm}
      volumes:
        - name: dshm
          emptyDir: {medium: Memory}
""",
    ),
    (
        "a pod on one network without GPUs",
        """\
apiVersion: v1
kind: Pod
metadata:
  name: look
  annotations:
    networking.gke.io/default-interface: eth0
    networking.gke.io/interfaces: '[{"interfaceName":"eth0","network":"default"},{"interfaceName":"eth1","network":"gpu-nic-0"}]'
spec:
  containers:
    - name: shell
      image: registry.example/net:1
      command: [sleep, infinity]
""",
    ),
    (
        "a machine with RDMA and no GPU",
        """\
apiVersion: batch/v1
kind: Job
metadata:
  name: solve
spec:
  parallelism: 2
  completions: 2
  completionMode: Indexed
  template:
    metadata:
      annotations:
        networking.gke.io/default-interface: eth0
        networking.gke.io/interfaces: '[{"interfaceName":"eth0","network":"default"},{"interfaceName":"eth1","network":"rdma-0"}]'
    spec:
      restartPolicy: Never
      nodeSelector:
        cloud.google.com/machine-family: h4d
      containers:
        - name: solve
          image: registry.example/hpl:1
          command: [/opt/run.sh]
          env:
            - {name: FI_PROVIDER, value: "verbs;ofi_rxm"}
""",
    ),
    (
        "a ConfigMap with scripts that name everything",
        """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: scripts
data:
  run.sh: |
    export NCCL_FASTRAK_NUM_FLOWS=4 NCCL_GPUDIRECTTCPX_CTRL_DEV=eth0
    source /usr/local/gib/scripts/set_nccl_env.sh
    mpirun -x NCCL_NET=FasTrak all_gather_perf
""",
    ),
    (
        "networks and their parameters",
        """\
apiVersion: networking.gke.io/v1
kind: Network
metadata:
  name: gpu-nic-0
spec:
  type: Device
  parametersRef:
    group: networking.gke.io
    kind: GKENetworkParamSet
    name: gpu-nic-0
""",
    ),
    (
        "NVLink only on GB300: claims, no networks, no folder of gIB",
        """\
apiVersion: resource.nvidia.com/v1beta1
kind: ComputeDomain
metadata:
  name: domain
spec:
  numNodes: 2
  channel:
    resourceClaimTemplate:
      name: domain-channel
---
apiVersion: v1
kind: Pod
metadata:
  name: test-1
spec:
  nodeSelector:
    cloud.google.com/gke-accelerator: nvidia-gb300
    kubernetes.io/arch: arm64
  containers:
    - name: test
      image: mirror.example/nccl-gib-a4x-max-arm64:v1.1.1
      command: [/bin/bash, -c, "/scripts/container_entry.sh shell; sleep infinity"]
      resources:
        limits: {nvidia.com/gpu: 4}
        claims:
          - name: channel
      volumeMounts:
        - {name: dshm, mountPath: /dev/shm}
  volumes:
    - name: dshm
      emptyDir: {medium: Memory}
  resourceClaims:
    - name: channel
      resourceClaimTemplateName: domain-channel
""",
    ),
    (
        "NCCL forced to another plugin in a pod of one node on a gIB pool",
        """\
apiVersion: v1
kind: Pod
metadata:
  name: serve
spec:
  nodeSelector:
    cloud.google.com/gke-accelerator: nvidia-h200-141gb
  containers:
    - name: vllm
      image: registry.example/vllm:0.9
      command: [vllm, serve, model, --tensor-parallel-size=8]
      env:
        - {name: NCCL_NET_PLUGIN, value: none}
        - {name: NCCL_TUNER_PLUGIN, value: none}
      resources:
        limits: {nvidia.com/gpu: 8}
      volumeMounts:
        - {name: dshm, mountPath: /dev/shm}
  volumes:
    - name: dshm
      emptyDir: {medium: Memory}
""",
    ),
]


@pytest.mark.parametrize("text", [pytest.param(x, id=t) for t, x in FILES])
def test_a_file_without_a_fabric_fault_gives_nothing(text: str) -> None:
    assert told(Example(text)) == []
