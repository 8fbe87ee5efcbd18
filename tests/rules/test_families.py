"""The first rule families on whole manifests: each fault at its line, and the right manifest silent."""

from __future__ import annotations

import pytest

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.report.model import Report, ReportOptions

INTERFACES = ",".join(
    f'{{"interfaceName":"eth{i}","network":"{"default" if i == 0 else f"gpu-nic-{i - 1}"}"}}' for i in range(9)
)
DEVICES = "\n".join(
    f"                  - path: /dev/{d}"
    for d in [*(f"nvidia{i}" for i in range(8)), "nvidiactl", "nvidia-uvm", "dmabuf_import_helper"]
)
GOOD = f"""\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: train
spec:
  replicatedJobs:
    - name: node
      template:
        spec:
          parallelism: 2
          completions: 2
          template:
            metadata:
              annotations:
                networking.gke.io/default-interface: eth0
                networking.gke.io/interfaces: '[{INTERFACES}]'
                devices.gke.io/container.tcpxo-daemon: |
{DEVICES}
            spec:
              initContainers:
                - name: tcpxo-daemon
                  restartPolicy: Always
                  image: mirror.example/gpudirect-tcpxo/tcpgpudmarxd-dev:v1.0.17
                  env: [{{name: LD_LIBRARY_PATH, value: /usr/local/nvidia/lib64}}]
                  securityContext:
                    capabilities:
                      add: [NET_ADMIN, NET_BIND_SERVICE]
                  "volumeMounts": [{{name: lib, mountPath: /usr/local/nvidia}}, {{name: sys, mountPath: /hostsysfs}},
                    {{name: proc, mountPath: /hostprocsysfs}}]
              containers:
                - name: node
                  image: registry.example/train:1
                  command: [bash, -c, "source /usr/local/nvidia/lib64/nccl-env-profile.sh && torchrun train.py"]
                  env:
                    - name: NCCL_FASTRAK_LLCM_DEVICE_DIRECTORY
                      value: /dev/aperture_devices
                    - {{name: NCCL_LIB_DIR, value: /usr/local/nvidia/lib64}}
                  securityContext:
                    capabilities:
                      add: [IPC_LOCK]
                  resources:
                    limits:
                      nvidia.com/gpu: 8
                  volumeMounts:
                    - name: dshm
                      mountPath: /dev/shm
                    - {{name: lib, mountPath: /usr/local/nvidia}}
                    - {{name: aperture, mountPath: /dev/aperture_devices}}
              volumes:
                - {{name: lib, hostPath: {{path: /home/kubernetes/bin/nvidia}}}}
                - {{name: sys, hostPath: {{path: /sys}}}}
                - {{name: proc, hostPath: {{path: /proc/sys}}}}
                - {{name: aperture, hostPath: {{path: /dev/aperture_devices}}}}
                - name: dshm
                  emptyDir:
                    medium: Memory
"""


def report(text: str, **settings: object) -> Report:
    result = lint([], Settings(isolated=True, **settings), stdin=("job.yaml", text.encode()))  # type: ignore[arg-type]
    assert not [n for n in result.notes if n.code == "internal-error"], result.notes
    return assemble(result, Settings(), ReportOptions())


def loud(text: str) -> list[tuple[str, int]]:
    return [(f.code, f.region.line) for f in report(text).findings if f.severity != "note"]


def line_of(text: str, part: str) -> int:
    return next(n for n, line in enumerate(text.split("\n"), 1) if part in line)


def test_a_complete_tcpxo_jobset_is_silent() -> None:
    assert loud(GOOD) == []


MUTANTS = [
    ("TCPXO002", "networking.gke.io/interfaces", ("[{", "[{,{")),
    ("TCPXO003", "networking.gke.io/interfaces", (',{"interfaceName":"eth8","network":"gpu-nic-7"}', "")),
    ("TCPXO004", "networking.gke.io/interfaces", ('"gpu-nic-7"', '"gpu-nic-6"')),
    ("TCPXO005", "networking.gke.io/interfaces", ('"gpu-nic-7"', '"network.networking.gke.io/gpu-nic-7"')),
    ("TCPXO006", "annotations:", ("                networking.gke.io/default-interface: eth0\n", "")),
    ("TCPXO006", "default-interface", ("default-interface: eth0", "default-interface: net0")),
    ("TCPXO008", "devices.gke.io", ("container.tcpxo-daemon", "container.tcpxo")),
    ("TCPXO009", "devices.gke.io", ("                  - path: /dev/dmabuf_import_helper\n", "")),
    ("TCPXO012", "- name: tcpxo-daemon", ("                  restartPolicy: Always\n", "")),
    ("POD001", "  volumeMounts:", ("mountPath: /dev/shm", "mountPath: /shm")),
    ("POD002", "emptyDir", ("emptyDir:\n                    medium: Memory", "emptyDir: {}")),
    ("POD002", "medium", ("medium: Memory", "medium: memory")),
    ("POD005", "IPC-LOCK", ("IPC_LOCK", "IPC-LOCK")),
    ("DOC003", "image: <your image>", ("image: registry.example/train:1", "image: <your image>")),
    ("DOC008", "value: 1", ("value: /dev/aperture_devices", "value: 1")),
]


@pytest.mark.parametrize(("code", "at", "change"), MUTANTS, ids=[f"{c}-{i}" for i, (c, _, _) in enumerate(MUTANTS)])
def test_a_single_fault_gives_exactly_its_finding_at_its_line(code: str, at: str, change: tuple[str, str]) -> None:
    assert change[0] in GOOD
    text = GOOD.replace(*change, 1)
    assert loud(text) == [(code, line_of(text, at))]


def test_without_its_annotations_the_pod_lacks_interfaces_and_devices_but_no_counts() -> None:
    start = GOOD.index("            metadata:\n              annotations")
    text = GOOD[:start] + GOOD[GOOD.index("            spec:\n              initContainers") :]
    assert [c for c, _ in loud(text)] == ["TCPXO001", "TCPXO007"]


def test_annotations_on_the_jobset_silence_what_follows_from_it() -> None:
    start = GOOD.index("            metadata:\n              annotations")
    end = GOOD.index("            spec:\n              initContainers")
    text = GOOD[:start] + GOOD[end:]
    text = text.replace("  name: train\n", "  name: train\n  annotations:\n    networking.gke.io/interfaces: '[]'\n")
    assert loud(text) == [("TCPXO010", 6)]


def test_a_missing_sidecar_is_one_finding() -> None:
    start = GOOD.index("              initContainers:")
    text = GOOD[:start] + GOOD[GOOD.index("              containers:\n                - name: node") :]
    assert [c for c, _ in loud(text)] == ["TCPXO011"]


RUNTIME = """\
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
              labels:
                trainer.kubeflow.org/trainjob-ancestor-step: trainer
            spec:
              template:
                spec:
                  containers:
                    - name: node
                      image: registry.example/train:1
                      resources: {limits: {nvidia.com/gpu: 8}}
                      volumeMounts: [{name: dshm, mountPath: /dev/shm}]
                  volumes: [{name: dshm, emptyDir: {medium: Memory}}]
"""
TRAINJOB = """\
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: job}
spec:
  runtimeRef: {name: big, kind: TrainingRuntime, apiGroup: trainer.kubeflow.org}
  trainer:
    numNodes: 2
"""


def test_a_trainjob_on_a_labelled_runtime_is_silent() -> None:
    assert loud(RUNTIME + TRAINJOB) == []


def test_without_the_label_the_trainer_block_is_lost() -> None:
    text = RUNTIME.replace("trainjob-ancestor-step", "other") + TRAINJOB
    assert loud(text) == [("TRN005", line_of(text, "labels:"))]


def test_memory_alone_in_resources_per_node_drops_the_gpus_up_to_2_2() -> None:
    text = RUNTIME + TRAINJOB + "    resourcesPerNode:\n      limits: {memory: 10Gi}\n"
    assert loud(text) == [("TRN006", line_of(text, "limits: {memory"))]
    newer = [f.code for f in report(text, trainer_version=(("*", "2.3"),)).findings]
    assert "TRN006" not in newer


def test_an_empty_resources_per_node_makes_the_process_count_a_guess() -> None:
    text = RUNTIME + TRAINJOB + "    resourcesPerNode: {}\n"
    assert loud(text) == [("TRN007", line_of(text, "resourcesPerNode"))]
    assert loud(text + "    numProcPerNode: 8\n") == []


def test_env_in_a_patch_of_node_is_rejected() -> None:
    patch = """\
  runtimePatches:
    - manager: example.com/me
      trainingRuntimeSpec:
        template:
          spec:
            replicatedJobs:
              - name: node
                template:
                  spec:
                    template:
                      spec:
                        containers:
                          - name: CONTAINER
                            env: [{name: A, value: b}]
"""
    text = RUNTIME + TRAINJOB + patch.replace("CONTAINER", "node")
    assert loud(text) == [("TRN001", line_of(text, "env: [{name: A"))]
    other = RUNTIME + TRAINJOB + patch.replace("CONTAINER", "logger")
    assert loud(other) == [("TRN003", line_of(other, "- name: logger"))]


SILENT = [
    (
        "one GPU needs no /dev/shm",
        GOOD.replace("nvidia.com/gpu: 8", "nvidia.com/gpu: 1").replace("/dev/shm", "/s"),
        "POD001",
    ),
    (
        "privileged is enough",
        GOOD.replace("capabilities:\n                      add: [IPC_LOCK]", "privileged: true"),
        "POD003",
    ),
    ("a redirection is no placeholder", GOOD.replace("torchrun train.py", "cat <in >out; torchrun train.py"), "DOC003"),
    ("an annotation from a template", GOOD.replace(f"'[{INTERFACES}]'", "'{{ .Values.interfaces }}'"), "TCPXO002"),
    ("a commented-out NIC subset", GOOD.replace("add: [IPC_LOCK]", "add: [ALL]"), "POD005"),
]


@pytest.mark.parametrize(("why", "text", "code"), SILENT, ids=[s[0] for s in SILENT])
def test_stays_silent(why: str, text: str, code: str) -> None:
    assert code not in [c for c, _ in loud(text)], why


def test_a_suppression_with_a_reason_hides_and_one_without_use_is_reported() -> None:
    text = GOOD.replace(
        "emptyDir:\n                    medium: Memory", "emptyDir: {}  # fabriclint: ignore[POD002] disk is wanted"
    )
    assert loud(text) == [("POD002", line_of(text, "emptyDir"))] and report(text).findings[-1].suppressed is not None
    unused = GOOD.replace("medium: Memory", "medium: Memory  # fabriclint: ignore[POD002] old")
    assert [c for c, _ in loud(unused)] == ["SUP003"]


def test_an_unclosed_document_does_not_silence_the_next() -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata: {name: [\n---\n" + GOOD.replace(
        "mountPath: /dev/shm", "mountPath: /shm"
    )
    assert [c for c, _ in loud(text)] == ["DOC001", "POD001"]
