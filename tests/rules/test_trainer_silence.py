"""What looks wrong in a TrainJob or a runtime and is right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.report.model import ReportOptions

BASES = Path(__file__).parents[1] / "bases"


def base(name: str, *changes: tuple[str, str]) -> str:
    text = (BASES / f"{name}.yaml").read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def codes(text: str, **settings: Any) -> set[str]:
    chosen = Settings(isolated=True, **settings)
    result = lint([], chosen, stdin=("job.yaml", text.encode()))
    assert [n.message for n in result.notes if n.code == "internal-error"] == []
    return {f.code for f in assemble(result, chosen, ReportOptions()).findings if f.severity != "note"}


LABEL = "            metadata:\n              labels:\n                trainer.kubeflow.org/trainjob-ancestor-step: trainer\n"
BLOCK = "    numNodes: 2\n    image"
NODE_PATCH = "                        nodeSelector:\n                          zone: a\n"


def container(text: str) -> tuple[str, str]:
    """A container patch beside the node selector of the base's patch."""
    return NODE_PATCH, f"{NODE_PATCH}                        containers:\n                          - {text}\n"


SILENT: list[tuple[str, str, str]] = [
    # TRN001
    ("TRN001", "a variable of a container of another name", base("trainer-torch", container("{name: metrics, env: [{name: A, value: b}]}"))),
    ("TRN001", "an empty list of variables", base("trainer-torch", container("{name: node, env: []}"))),
    ("TRN001", "an init container called node", base("trainer-torch", (NODE_PATCH, f"{NODE_PATCH}                        initContainers: [{{name: node, env: [{{name: A, value: b}}]}}]\n"))),
    ("TRN001", "variables in the trainer block", base("trainer-torch")),
    ("TRN001", "a template in place of the list", base("trainer-torch", container("{name: node, env: '{{ .Values.env }}'}"))),
    # TRN002
    ("TRN002", "a security context", base("trainer-torch", container("{name: node, securityContext: {runAsUser: 0}}"))),
    ("TRN002", "mounts", base("trainer-torch", container("{name: node, volumeMounts: [{name: dshm, mountPath: /x}]}"))),
    ("TRN002", "a misspelt field is DOC005's", base("trainer-torch", container("{name: node, volumeMount: []}"))),
    ("TRN002", "affinity", base("trainer-torch", (NODE_PATCH, f"{NODE_PATCH}                        affinity: {{}}\n"))),
    ("TRN002", "pod metadata", base("trainer-torch", ("template:\n                      spec:\n                        nodeSelector", "template:\n                      metadata: {annotations: {a: b}}\n                      spec:\n                        nodeSelector"))),
    # TRN003 and TRN004
    ("TRN003", "the runtime is not in view", base("trainer-torch", container("{name: anything}")).partition("---\n")[2]),
    ("TRN003", "a name that a template fills in", base("trainer-torch", container("{name: '{{ name }}'}"))),
    ("TRN003", "containers of the runtime are a template", base("trainer-shipped", ("torch-distributed", "mine"))),
    ("TRN004", "the runtime is not in view", base("trainer-torch", ("              - name: node\n                template:\n                  spec:\n                    template", "              - name: other\n                template:\n                  spec:\n                    template")).partition("---\n")[2]),
    ("TRN004", "a name that a template fills in", base("trainer-torch", ("              - name: node\n                template:\n                  spec:\n                    template", "              - name: '{{ job }}'\n                template:\n                  spec:\n                    template"))),
    # TRN005
    ("TRN005", "mpi, and only a number of nodes", base("trainer-mpi", (LABEL, ""))),
    ("TRN005", "the label comes with a patch", base("trainer-torch", (LABEL, ""), ("              - name: node\n                template:\n                  spec:\n                    template", "              - name: node\n                template:\n                  metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}\n                  spec:\n                    template"))),
    ("TRN005", "the label's value is a template", base("trainer-torch", ("ancestor-step: trainer", "ancestor-step: '{{ step }}'"))),
    ("TRN005", "workers without a label beside a labelled launcher", base("trainer-mpi")),
    ("TRN005", "initializers have labels of their own", base("trainer-steps")),
    # TRN006 and TRN007
    ("TRN006", "2.3 merges", base("trainer-torch", (BLOCK, "    numNodes: 2\n    resourcesPerNode: {limits: {memory: 1Gi}}\n    image"))),
    ("TRN006", "neither limits nor requests change the pod", base("trainer-torch", (BLOCK, "    numNodes: 2\n    resourcesPerNode: {}\n    image"))),
    ("TRN006", "GPUs repeated as requests and limits", base("trainer-torch", (BLOCK, "    numNodes: 2\n    resourcesPerNode: {limits: &r {nvidia.com/gpu: 8}, requests: *r}\n    image"))),
    ("TRN006", "memory is no device", base("trainer-torch", (BLOCK, "    numNodes: 2\n    resourcesPerNode: {limits: {nvidia.com/gpu: 8}}\n    image"))),
    ("TRN006", "a key that a template fills in", base("trainer-torch", (BLOCK, "    numNodes: 2\n    resourcesPerNode: {limits: {'{{ gpu }}': 8}}\n    image"))),
    ("TRN007", "the number is given", base("trainer-torch", (BLOCK, "    numNodes: 2\n    numProcPerNode: 8\n    resourcesPerNode: {}\n    image"))),
    ("TRN007", "no resourcesPerNode", base("trainer-torch")),
    ("TRN007", "one GPU and one process", base("trainer-steps", ("    numNodes: 2\n  runtimePatches", "    numNodes: 2\n    resourcesPerNode: {}\n  runtimePatches"))),
    ("TRN007", "jax has one process a node", base("trainer-torch", ("torch: {}", "jax: {}"), (BLOCK, "    numNodes: 2\n    resourcesPerNode: {}\n    image"))),
    ("TRN007", "torchrun is told", base("trainer-torch", (BLOCK, "    numNodes: 2\n    command: [torchrun, --nproc_per_node=8, t.py]\n    resourcesPerNode: {}\n    image"))),
    # TRN008 and TRN012
    ("TRN008", "a job on CPUs with an image that speaks of CUDA", base("trainer-shipped", ("nvidia.com/gpu: 1", "cpu: 4"), ("train:2", "cuda-nccl:12"))),
    ("TRN008", "GPUs of a template", base("trainer-shipped", ("nvidia.com/gpu: 1", "vpc.amazonaws.com/efa: 1\n        nvidia.com/gpu: '{{ gpus }}'"))),
    ("TRN012", "no fabric", base("trainer-torch", ("numNodes: 2", "numNodes: 1"))),
    ("TRN012", "the runtime's number", base("trainer-fabric", ("  trainer:\n    numNodes: 2\n", "  trainer:\n"))),
    ("TRN012", "an open number", base("trainer-fabric", ("numNodes: 2", "numNodes: '{{ n }}'"))),
    # TRN009, TRN010, TRN011
    ("TRN009", "the default is right", base("trainer-fabric", ("    kind: ClusterTrainingRuntime\n    name", "    name"))),
    ("TRN009", "a runtime that is not in view", base("trainer-torch", ("    kind: TrainingRuntime\n    name", "    name")).partition("---\n")[2]),
    ("TRN009", "a kind that a template fills in", base("trainer-torch", ("    kind: TrainingRuntime\n    name", "    kind: '{{ kind }}'\n    name"))),
    ("TRN011", "no namespace in the runtime", base("trainer-torch", ("  name: torch-gpu\n  namespace: vision\n", "  name: torch-gpu\n"))),
    ("TRN011", "a runtime of the cluster", base("trainer-fabric")),
    # TRN013
    ("TRN013", "devices by a claim", base("trainer-fabric", ("                  nodeSelector:\n                    node.kubernetes.io/instance-type: Standard_ND96isr_H100_v5\n", "                  resourceClaims: [{name: nics, resourceClaimTemplateName: nics}]\n"))),
    ("TRN013", "a shipped runtime", base("trainer-shipped")),
    ("TRN013", "Kueue places the job", base("trainer-fabric", ("                  nodeSelector:\n                    node.kubernetes.io/instance-type: Standard_ND96isr_H100_v5\n", ""), ("  name: weather\n", "  name: weather\n  labels: {kueue.x-k8s.io/queue-name: research}\n"))),
    # TRN014
    ("TRN014", "a variable of torchrun's own", base("trainer-torch", ("name: EPOCHS", "name: PET_MAX_RESTARTS"))),
    ("TRN014", "a variable that is read", base("trainer-torch", (BLOCK, "    numNodes: 2\n    args: [--nodes, $(PET_NNODES)]\n    command: [torchrun]\n    image"))),
    ("TRN014", "DMLC under torch", base("trainer-torch", ("name: EPOCHS", "name: DMLC_NUM_WORKER"))),
    ("TRN014", "the same number of nodes", base("trainer-torch", (BLOCK, "    numNodes: 2\n    command: [torchrun, --nnodes=2, t.py]\n    image"))),
    ("TRN014", "a range that holds the number", base("trainer-torch", (BLOCK, "    numNodes: 2\n    command: [torchrun, '--nnodes=1:4', t.py]\n    image"))),
    # TRN016, TRN017, TRN018
    ("TRN016", "two replicas of a job of one's own", base("trainer-mpi", ("        - name: node\n          template:\n            spec", "        - name: node\n          replicas: 2\n          template:\n            spec"))),
    ("TRN017", "a sidecar beside node", base("trainer-torch")),
    ("TRN018", "a path with slashes", base("trainer-torch", ("vision.example/pool", "vision.example/a/b"))),
    ("TRN018", "a template", base("trainer-torch", ("vision.example/pool", "'{{ manager }}'"))),
    # TRN020
    ("TRN020", "the runtime has the daemon", base("trainer-tcpxo")),
    ("TRN020", "annotations of gIB need no daemon", base("trainer-torch", ("template:\n                      spec:\n                        nodeSelector", "template:\n                      metadata: {annotations: {networking.gke.io/default-interface: eth0}}\n                      spec:\n                        nodeSelector"))),
    # TRN021
    ("TRN021", "a controller adds to what there was", base("trainer-torch", ("vision.example/pool", "kueue.x-k8s.io/manager"), (NODE_PATCH, f"{NODE_PATCH}                        tolerations: [{{key: a, operator: Exists}}]\n"))),
    ("TRN021", "the runtime's items are repeated", base("trainer-torch", (NODE_PATCH, f"{NODE_PATCH}                        tolerations: [{{key: a, operator: Exists}}, {{key: pool, operator: Equal, value: h100}}]\n"))),
    ("TRN021", "an empty list clears nothing", base("trainer-torch", (NODE_PATCH, f"{NODE_PATCH}                        tolerations: []\n"))),
    # TRN022, TRN023
    ("TRN022", "no initializer", base("trainer-torch")),
    ("TRN022", "null is absent", base("trainer-torch", ("  trainer:\n    numNodes: 2", "  initializer: {dataset: null}\n  trainer:\n    numNodes: 2"))),
    ("TRN023", "a user of one's own", base("trainer-mpi")),
    ("TRN023", "an identity file of one's own", base("trainer-mpi", ("/home/mpiuser/.ssh\n", "/root/.ssh\n"), ("                    runAsUser: 1000\n                  containers:\n                    - name: node\n                      image: registry.example/mpi-launcher:1\n", "                    runAsUser: 0\n                  containers:\n                    - name: node\n                      image: registry.example/mpi-launcher:1\n                      env: [{name: OMPI_MCA_plm_rsh_args, value: -i /keys/id}]\n"))),
    # TRN025
    ("TRN025", "fewer slots than GPUs", base("trainer-mpi", ("    numNodes: 4", "    numNodes: 4\n    numProcPerNode: 4"))),
    ("TRN025", "one process a node", base("trainer-torch", (BLOCK, "    numNodes: 2\n    numProcPerNode: 1\n    image"))),
    ("TRN025", "GPUs of a template", base("trainer-torch", ("nvidia.com/gpu: 8", "nvidia.com/gpu: '{{ gpus }}'"), (BLOCK, "    numNodes: 2\n    numProcPerNode: 4\n    image"))),
    # TRN026, TRN028, TRN030, TRN032
    ("TRN026", "a runtime without a profile", base("trainer-torch", (BLOCK, "    numNodes: 2\n    command: [python, t.py]\n    image"))),
    ("TRN028", "torch reads the number", base("trainer-torch", (BLOCK, "    numNodes: 2\n    numProcPerNode: 8\n    image"))),
    ("TRN030", "coscheduling", base("trainer-torch", ("    torch: {}\n", "    torch: {}\n  podGroupPolicy: {coscheduling: {}}\n"))),
    ("TRN032", "a runtime with arguments and no command", base("trainer-leftover", ("                      command: [torchrun, train.py]\n", ""), (BLOCK, "    numNodes: 2\n    command: [torchrun, t.py]\n    image"))),
    ("TRN032", "another shell for the same script", base("trainer-tcpxo", (BLOCK, "    numNodes: 2\n    command: [bash, -ec]\n    image"))),
    # TRN027, TRN029, TRN033, TRN036
    ("TRN027", "a name that is generated", base("trainer-torch", ("  name: pretrain\n", "  generateName: pretrain-\n"))),
    ("TRN029", "a template for a name", base("trainer-mpi", ("[launcher]", "['{{ launcher }}']"))),
    ("TRN033", "the same source with a limit", base("trainer-torch", (NODE_PATCH, f"{NODE_PATCH}                        volumes: [{{name: dshm, emptyDir: {{sizeLimit: 64Gi}}}}]\n"))),
    ("TRN036", "an image that the TrainJob brings", base("trainer-torch", ("                      image: registry.example/train:1\n", ""))),
    ("TRN036", "volumes that Trainer adds under mpi", base("trainer-mpi", ("command: [mpirun", "volumeMounts: [{name: mpi-hostfile, mountPath: /x}]\n                      command: [mpirun"))),
]  # fmt: skip


@pytest.mark.parametrize(("code", "text"), [pytest.param(c, t, id=f"{c}-{why}") for c, why, t in SILENT])
def test_what_is_right_stays_silent(code: str, text: str) -> None:
    settings: dict[str, Any] = {}
    if "2.3 merges" in text or (code == "TRN006" and "limits: {memory: 1Gi}" in text):
        settings["trainer_version"] = (("*", "2.3"),)
    assert code not in codes(text, **settings)


def test_an_object_of_another_group_is_no_trainjob() -> None:
    text = base("trainer-torch", ("trainer.kubeflow.org/v1alpha1", "training.example/v1alpha1"))
    assert {c for c in codes(text) if c.startswith("TRN")} == set()


_TRAINJOB = """apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: {0}, namespace: {1}}}
spec:
  runtimeRef: {{kind: {2}, name: {3}}}
---
"""


def _not_in_view(*jobs: tuple[str, str, str, str]) -> list[tuple[int, int]]:
    """Lines of TRN010 and how many other places each names."""
    given = Settings(isolated=True, select=("TRN010",))
    result = lint([], given, stdin=("jobs.yaml", "".join(_TRAINJOB.format(*j) for j in jobs).encode()))
    return [(f.region.line, len(f.related)) for f in assemble(result, given, ReportOptions()).findings]


def test_a_runtime_out_of_view_is_said_once_for_all_trainjobs_of_a_file_that_name_it() -> None:
    cluster, own = "ClusterTrainingRuntime", "TrainingRuntime"
    assert _not_in_view(("a", "x", cluster, "ours"), ("b", "y", cluster, "ours")) == [(5, 1)]
    assert _not_in_view(("a", "x", cluster, "ours"), ("b", "x", cluster, "other")) == [(5, 0), (11, 0)]
    assert _not_in_view(("a", "x", own, "ours"), ("b", "y", own, "ours")) == [(5, 0), (11, 0)]
    assert _not_in_view(("a", "x", own, "ours"), ("b", "x", own, "ours"), ("c", "x", cluster, "ours")) == [
        (5, 1),
        (17, 0),
    ]


def test_trainjobs_beside_an_accepted_finding_speak_for_themselves() -> None:
    jobs = [("a", "x", "ClusterTrainingRuntime", "ours"), ("b", "x", "ClusterTrainingRuntime", "ours")]
    text = "".join(_TRAINJOB.format(*j) for j in jobs)
    head, _, tail = text.rpartition("  runtimeRef: {kind: ClusterTrainingRuntime, name: ours}\n")
    accepted = "  runtimeRef:\n    kind: ClusterTrainingRuntime\n    name: ours  # fabriclint: ignore[TRN010] known\n"
    given = Settings(isolated=True, select=("TRN010", "SUP"))
    result = lint([], given, stdin=("jobs.yaml", (head + accepted + tail).encode()))
    findings = assemble(result, given, ReportOptions()).findings
    assert [(f.code, f.suppressed is not None) for f in findings] == [("TRN010", False), ("TRN010", True)]
