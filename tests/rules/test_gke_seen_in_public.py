"""GKE: faults that people ran into in public, each made once in a complete manifest and found at its line."""

from __future__ import annotations

import pytest
from example import Example, whole
from test_examples_of_rules import findings
from test_gke_silent import NO_PROFILE, PLAIN_DAEMON, WHOLE_SET

ENV = "@@ containers:\n@@ env:\n"


def variable(name: str, value: str) -> str:
    return f"{ENV}+   - name: {name}\n+     value: {value}  # <-"


FAULTS = [
    ("0 of 8 GPUs found: the daemon does not see /sys", "TCPXO019", "tcpxo-job", "@@ add: [NET_ADMIN\n@@ volumeMounts:  # <-\n- - name: sys\n-   mountPath: /hostsysfs"),
    ("the daemon sees no CUDA device", "TCPXO007", "tcpxo-job", "@@ annotations:  # <-\n~ devices.gke.io/container.tcpxo-daemon => devices.gke.io.container/tcpxo-daemon"),
    ("the daemon exits 0: no import helper in the list", "TCPXO009", "tcpxo-mpijob", "@@ devices.gke.io  # <-\n- - path: /dev/dmabuf_import_helper"),
    ("a webhook's annotation for tcpx-daemon", "TCPXO008", "tcpxo-lws", "~ container.tcpxo-daemon => container.tcpx-daemon  # <-"),
    ("the device list is a map", "TCPXO009", "tcpxo-job", "@@ devices.gke.io  # <-\n~ - path: /dev/nvidia0 => path: /dev/nvidia0\n- - path: /dev/nvidia1\n- - path: /dev/nvidia2\n- - path: /dev/nvidia3\n- - path: /dev/nvidia4\n- - path: /dev/nvidia5\n- - path: /dev/nvidia6\n- - path: /dev/nvidia7\n- - path: /dev/nvidiactl\n- - path: /dev/nvidia-uvm\n- - path: /dev/dmabuf_import_helper"),
    ("the sidecar stalls the pod", "TCPXO012", "tcpxo-mpijob", "  - name: tcpxo-daemon  # <-\n-   restartPolicy: Always"),
    ("a Job that never completes", "TCPXO013", "tcpxo-job", PLAIN_DAEMON.replace("tcpxo-daemon", "tcpxo-daemon  # <-")),
    ("a TrainJob's runtime that never completes", "TCPXO013", "tcpxo-runtime", PLAIN_DAEMON.replace("tcpxo-daemon", "tcpxo-daemon  # <-")),
    ("a PyTorchJob that never completes", "TCPXO013", "tcpxo-pytorchjob", PLAIN_DAEMON.replace("tcpxo-daemon", "tcpxo-daemon  # <-")),
    ("TCPX's wiring on A3 Mega", "TCPX027", "tcpx-job", "~ nvidia-h100-80gb => nvidia-h100-mega-80gb  # <-"),
    ("no folder of the plugin in LD_LIBRARY_PATH", "GIB023", "gib-mpijob", "~ -x LD_LIBRARY_PATH=/usr/local/nvidia/lib64 => -x LD_LIBRARY_PATH=/usr/local/cuda/lib64  # <-"),
    ("vLLM armed with everything but the profile", "TCPXO022", "tcpxo-lws", "@@ containers:\n- . \"${NCCL_LIB_DIR}/nccl-env-profile.sh\"\n~ exec torchrun => exec torchrun  # <-"),
    ("'tuned' flows end the job", "TCPXO025", "tcpxo-lws", "@@ nccl-env-profile.sh\n+ export NCCL_MIN_NCHANNELS=8  # <-"),
    ("values of another release", "TCPXO025", "tcpxo-job", NO_PROFILE + "@@ env:\n" + WHOLE_SET.replace("Simple,LL128", "Simple  # <-")),
    ("the checker's file in a folder that is not mounted", "TCPXO025", "tcpxo-job", NO_PROFILE + "@@ env:\n" + WHOLE_SET.replace("/usr/local/nvidia/lib64/a3plus_tuner_config.textproto", "/usr/local/tcpxo/lib64/a3plus_tuner_config.textproto  # <-")),
    ("the LLCM directory on the daemon", "TCPXO029", "tcpxo-lws", "@@ env:\n+   - name: NCCL_FASTRAK_LLCM_DEVICE_DIRECTORY  # <-\n+     value: /dev/aperture_devices\n@@ containers:\n- - name: NCCL_FASTRAK_LLCM_DEVICE_DIRECTORY\n-   value: /dev/aperture_devices"),
    ("the LLCM directory with a slash at its end", "TCPXO021", "tcpxo-lws", "~ value: /dev/aperture_devices => value: /dev/aperture_devices/  # <-"),
    ("the LLCM directory absent", "TCPXO021", "tcpxo-ray", "@@ containers:\n@@ containers:\n@@ env:  # <-\n- - name: NCCL_FASTRAK_LLCM_DEVICE_DIRECTORY\n-   value: /dev/aperture_devices"),
    ("the worker's NCCL settings on the daemon", "TCPXO029", "tcpxo-job", "@@ env:\n+   - name: NCCL_TUNER_PLUGIN  # <-\n+     value: libnccl-tuner.so"),
    ("HPC-X's plugin beside TCPXO", "TCPXO028", "tcpxo-job", variable("NCCL_NET_PLUGIN", "/opt/hpcx/nccl_rdma_sharp_plugin/lib/libnccl-net.so")),
    ("numbers of the host's network in a pod of its own", "TCPXO025", "tcpxo-job", "@@ nccl-env-profile.sh\n+ export NCCL_FASTRAK_IFNAME=eth2,eth3,eth4,eth5,eth6,eth7,eth8,eth9  # <-"),
    ("a control interface that the pod has not", "TCPXO025", "tcpxo-job", "@@ nccl-env-profile.sh\n+ export NCCL_FASTRAK_CTRL_DEV=enp6s0  # <-"),
    ("a daemon ahead of the plugin", "TCPXO015", "tcpxo-job", "~ :v1.0.21 => :v1.0.17  # <-\n~ registry.example/train:1 => mirror.example/gpudirect-tcpxo/nccl-plugin-gpudirecttcpx-dev:v1.0.9-1"),
    ("a prefixed network", "TCPXO005", "tcpxo-ray", "~ gpu-nic-3 => network.networking.gke.io/gpu-nic-3  # <-"),
    ("AICR finds none of the networks", "TCPXO005", "tcpxo-runtime", "~ gpu-nic-0 => vpc1  # <-\n~ gpu-nic-1 => vpc2"),
    ("a trailing comma in A4X's page", "GIB002", "gib-job", "~ \"}]' => \"},]'  # <-"),
    ("RDMA devices in the ssh container", "GIB031", "gib-job", "@@ containers:\n+   - name: ssh\n+     image: mirror.example/ssh:1\n@@ - name: node  # <-"),
    ("CAP_NET_ADMIN", "POD005", "tcpxo-job", "~ add: [NET_ADMIN => add: [CAP_NET_ADMIN  # <-"),
    ("A3 High's label for Mega", "TCPXO027", "tcpxo-lws", "~ nvidia-h100-mega-80gb => nvidia-h100-80gb  # <-"),
    ("source: not found", "GIB024", "gib-lws", "~ registry.example/train:1 => ubuntu:22.04\n~ [/bin/bash, -c] => [/bin/sh, -c]\n~ . /usr/local/gib => source /usr/local/gib  # <-"),
    ("the shell ends: NCCL_LIB_DIR is unset", "TCPXO023", "tcpxo-mpijob", "- -x NCCL_LIB_DIR=/usr/local/nvidia/lib64\n~ bash -c '. /usr => bash -c '. /usr  # <-\n@@ env:\n@@ env:\n- - name: NCCL_LIB_DIR\n-   value: /usr/local/nvidia/lib64"),
    ("a build of TCPX's plugin of 2023", "TCPX015", "tcpx-job", "~ image: registry.example/train:1 => image: mirror.example/gpudirect-tcpx/nccl-plugin-gpudirecttcpx-dev:latest  # <-"),
    ("TCPX's sockets are not shared", "TCPX031", "tcpx-ray", "@@ containers:\n@@ containers:\n@@ volumeMounts:  # <-\n- - name: socket\n-   mountPath: /run/tcpx"),
    ("CPUs that both directions use", "TCPX033", "tcpx-job", ENV + "+   - name: NCCL_GPUDIRECTTCPX_TX_BINDINGS\n+     value: eth1:8-21,112-125\n+   - name: NCCL_GPUDIRECTTCPX_RX_BINDINGS\n+     value: eth1:22-35,124-139  # <-"),
    ("gIB at another folder", "GIB032", "gib-mpijob", "~ '. /usr/local/gib => '. /opt/gib\n~ mountPath: /usr/local/gib => mountPath: /opt/gib  # <-"),
    ("NICs reserved and not attached", "GIB001", "gib-job", "@@ annotations:  # <-\n- networking.gke.io/interfaces: ...\n@@ nvidia.com/gpu: 8\n+ networking.gke.io.networks/rdma-0: 1"),
    ("TCPXO's component on B200", "TCPXO027", "tcpxo-job", "~ nvidia-h100-mega-80gb => nvidia-b200  # <-"),
    ("A3 Ultra's settings of the tuner on B200", "GIB033", "gib-lws", "~ nvidia-h200-141gb => nvidia-b200\n- . /usr/local/gib/scripts/set_nccl_env.sh\n@@ env:\n+   - name: NCCL_CONF_FILE\n+     value: /usr/local/gib/scripts/nccl.conf\n+   - name: NCCL_TUNER_CONFIG_PATH\n+     value: /usr/local/gib/configs/tuner_config_a3u.txtpb  # <-"),
    ("an underscore in the health log", "TCPXO031", "tcpxo-lws", "@@ env:\n+   - name: HEALTH_CHECK_LOG_FILE\n+     value: /run/health_check  # <-"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "base", "lines"), [pytest.param(c, b, x, id=t) for t, c, b, x in FAULTS])
def test_a_fault_is_found_once_at_its_line(code: str, base: str, lines: str) -> None:
    example = whole(f"({base})", lines.rstrip("\n"))
    assert example.marked
    assert findings(example, "NONE") == [(code, line) for line in example.marked]


def test_a_pod_with_the_plugin_and_no_daemon_lacks_it_once() -> None:
    """The plugin's variable and aperture mount are there, a DaemonSet of the node is to serve: it cannot."""
    example = whole("(tcpxo-job)", "@@ template:\n@@ spec:")
    start = example.text.index("      initContainers:")
    end = example.text.index("      containers:")
    made = [c for c, _ in findings(Example(example.text[:start] + example.text[end:]), "NONE")]
    assert made == ["TCPXO011"]


INSTALLER = """\
---
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
      initContainers:
        - name: prepare
          image: mirror.example/tool:1
          command: [modprobe, import-helper]
        - name: install
          image: mirror.example/gpudirect-tcpxo/nccl-plugin-gpudirecttcpx-dev:TAG
          command: [/scripts/container_entry.sh, install]
      containers:
        - name: pause
          image: mirror.example/pause:3
"""


@pytest.mark.parametrize(
    ("tag", "wanted"),
    [
        ("v1.0.15", []),
        ("v1.0.14", ["TCPXO015"]),
        ("v1.0.9-1", ["TCPXO015"]),
        ("v1.0.17", []),
        ("v1.0.40", []),
        ("nightly", []),
        ("v2.1.0", []),
    ],
)
def test_the_daemon_is_compared_with_the_installer_in_the_same_file(tag: str, wanted: list[str]) -> None:
    text = whole("(tcpxo-job)", "@@ kind: Job").text + INSTALLER.replace("TAG", tag)
    assert [c for c, _ in findings(Example(text), "NONE")] == wanted


@pytest.mark.parametrize(("daemon", "plugin", "paired"), [("v1.0.46", "v1.0.40", True), ("v1.0.47", "v1.0.40", False)])
def test_releases_newer_than_the_table_are_six_apart(daemon: str, plugin: str, paired: bool) -> None:
    change = f"~ :v1.0.21 => :{daemon}\n~ image: registry.example/train:1 => image: x.example/gpudirect-tcpxo/nccl-plugin-gpudirecttcpx-dev:{plugin}"
    made = [c for c, _ in findings(whole("(tcpxo-job)", change), "NONE")]
    assert made == ([] if paired else ["TCPXO015"])
