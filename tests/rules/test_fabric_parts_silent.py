"""Where the rules about a fabric's parts say nothing: what is right, unknown, or another rule's."""

from __future__ import annotations

import pytest
from example import whole
from test_examples_of_rules import findings

#: Code, base and lines; the rule has nothing to say of the file, at any level.
SILENT = [
    # A folder that is set before the script is read, in whatever way.
    ("TCPXO023", "tcpxo-job", ("@@ containers:\n@@ set -e\n+ NCCL_LIB_DIR=/usr/local/nvidia/lib64\n@@ env:\n"
     "- - name: NCCL_LIB_DIR\n-   value: /usr/local/nvidia/lib64")),
    ("TCPXO023", "tcpxo-job", ('@@ containers:\n@@ set -e\n+ read_it() { . "${NCCL_LIB_DIR}/nccl-env-profile.sh"; }\n'
     '- . "${NCCL_LIB_DIR}/nccl-env-profile.sh"\n+ export NCCL_LIB_DIR=/usr/local/nvidia/lib64\n+ read_it\n@@ env:\n'
     "- - name: NCCL_LIB_DIR\n-   value: /usr/local/nvidia/lib64")),
    ("TCPXO023", "tcpxo-mega-jobset", ('@@ containers:\n~ . "${NCCL_LIB_DIR} => NCCL_LIB_DIR=/usr/local/nvidia/lib64 . "/usr/local/nvidia/lib64\n'
     "@@ env:\n- - name: NCCL_LIB_DIR\n-   value: /usr/local/nvidia/lib64")),
    ("TCPXO023", "tcpxo-mega-jobset", ('@@ containers:\n@@ set -e\n+ for d in a b; do\n+ . "${NCCL_LIB_DIR}/nccl-env-profile.sh"\n'
     '- . "${NCCL_LIB_DIR}/nccl-env-profile.sh"\n+ NCCL_LIB_DIR=$d\n+ done\n@@ env:\n'
     "- - name: NCCL_LIB_DIR\n-   value: /usr/local/nvidia/lib64")),
    ("TCPXO023", "tcpxo-mega-jobset", ("@@ containers:\n@@ set -e\n+ . /opt/site/env.sh\n@@ env:\n- - name: NCCL_LIB_DIR\n"
     "-   value: /usr/local/nvidia/lib64")),
    # Images that may have any glibc, and daemons that go with an older plugin.
    ("TCPXO033", "tcpxo-job", "@@ containers:\n~ registry.example/train:1 => pytorch/pytorch:2.4.0-cuda12.4-cudnn9-runtime"),
    ("TCPXO033", "tcpxo-job", "@@ containers:\n~ registry.example/train:1 => ubuntu:24.04"),
    ("TCPXO033", "tcpxo-job", "@@ containers:\n~ registry.example/train:1 => debian:12-slim"),
    ("TCPXO033", "tcpxo-job", "@@ containers:\n~ registry.example/train:1 => nvcr.io/nvidia/pytorch:24.10-py3"),
    ("TCPXO033", "tcpxo-job", "@@ containers:\n~ registry.example/train:1 => registry.example/ubuntu20-tools/train:7"),
    ("TCPXO033", "tcpxo-job", ("~ tcpgpudmarxd-dev:v1.0.21 => tcpgpudmarxd-dev:v1.0.12\n@@ containers:\n"
     "~ registry.example/train:1 => ubuntu:20.04")),
    # Nobody asks for GPUs, and somebody may.
    ("TCPXO034", "tcpxo-runtime", "- resources:\n-   limits:\n-     nvidia.com/gpu: 8"),
    ("TCPXO034", "trainer-tcpxo", "- resources:\n-   limits:\n-     nvidia.com/gpu: 8"),
    ("TCPXO034", "tcpxo-job", '@@ containers:\n- resources:\n-   limits:\n-     nvidia.com/gpu: 8\n+ resources: "{{ resources }}"'),
    ("TCPXO034", "tcpxo-job", "@@ containers:\n- resources:\n-   limits:\n-     nvidia.com/gpu: 8\n+ resources:\n+   claims: [{name: gpu}]"),
    ("TCPXO034", "tcpxo-job", ('@@ default-interface\n+ devices.gke.io/container.node: "[{path: /dev/nvidia0}]"\n@@ containers:\n'
     "- resources:\n-   limits:\n-     nvidia.com/gpu: 8")),
    # Bindings that nothing cuts.
    ("TCPX034", "tcpx-job", '@@ containers:\n@@ env:\n+   - name: NCCL_GPUDIRECTTCPX_TX_BINDINGS\n+     value: "eth1:8-21,112-125;eth2:8-21,112-125"'),
    ("TCPX034", "tcpx-job", "@@ containers:\n@@ set -e\n+ export NCCL_GPUDIRECTTCPX_TX_BINDINGS='eth1:8-21,112-125;eth2:8-21,112-125'"),
    ("TCPX034", "tcpx-job", "@@ containers:\n@@ set -e\n+ export NCCL_GPUDIRECTTCPX_TX_BINDINGS=eth1:8-21,112-125\\;eth2:8-21,112-125"),
    ("TCPX034", "tcpx-job", "@@ containers:\n@@ set -e\n+ export NCCL_GPUDIRECTTCPX_TX_BINDINGS=eth1:8-21,112-125; echo bound"),
    ("TCPX034", "tcpx-job", '@@ containers:\n@@ set -e\n+ export NCCL_GPUDIRECTTCPX_TX_BINDINGS="$BINDINGS"; echo eth1:8-21'),
    # Words that are right, or not to be judged.
    ("POD021", "tcpxo-job", '@@ containers:\n@@ image: registry\n+ imagePullPolicy: ""'),
    ("POD021", "tcpxo-job", "@@ containers:\n@@ image: registry\n+ imagePullPolicy:"),
    ("POD021", "tcpxo-job", "@@ containers:\n@@ image: registry\n+ imagePullPolicy: ${PULL}"),
    ("POD021", "tcpxo-job", "~ path: /sys => path: /sys\n+   type: Directory"),
    ("POD021", "pod-mpijob", "@@ - name: worker\n@@ image: registry\n+ ports:\n+   - containerPort: 22"),
    # gIB on networks of its own.
    ("GIB030", "gib-job", "@@ nodeSelector\n+ x: y"),
    ("GIB030", "gib-jobset", "- networking.gke.io/default-interface: eth0\n- networking.gke.io/interfaces: ..."),
    # Lists that a patch does not take a needed capability from.
    ("TRN021", "trainer-tcpxo", ("@@ runtimeRef\n- trainer:\n+ runtimePatches:\n+   - manager: ml.example/x\n+     trainingRuntimeSpec:\n"
     "+       template:\n+         spec:\n+           replicatedJobs:\n+             - name: node\n+               template:\n"
     "+                 spec:\n+                   template:\n+                     spec:\n+                       containers:\n"
     "+                         - name: node\n+                           securityContext:\n+                             capabilities:\n"
     "+                               add: [IPC_LOCK, SYS_PTRACE]\n+ trainer:")),
    # A job that waits for another one.
    ("TRN029", "trainer-steps", "@@ dependsOn:"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "base", "lines"), SILENT, ids=[f"{n}-{row[0]}" for n, row in enumerate(SILENT)])
def test_the_rule_says_nothing(code: str, base: str, lines: str) -> None:
    assert code not in [c for c, _ in findings(whole(f"({base})", lines), code)]
