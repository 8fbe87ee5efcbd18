"""Where the POD rules say nothing, or no more than a note: each "silent when" on a manifest of its own."""

from __future__ import annotations

import pytest
from example import whole
from test_examples_of_rules import findings

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.report.model import ReportOptions

NO_SHM = """
  volumeMounts:
-   - name: dshm
-     mountPath: /dev/shm
"""
NO_LOCK = """
  securityContext:
-   capabilities:
-     add: [IPC_LOCK]
+   runAsUser: 0
"""

#: (code, base and options, lines, why). Nothing is said, not even a note of that code.
SILENT = [
    ("POD001", "pod-job", "+ hostIPC: true\n  containers:\n@@ rdma/ib" + NO_SHM + "+   []", "the host's shared memory"),
    ("POD001", "pod-job", "~ mountPath: /dev/shm => mountPath: /dev/shm/", "a slash at the end"),
    ("POD001", "pod-job", "~ mountPath: /dev/shm => mountPath: '{{ shm }}'", "a path that a template fills in"),
    ("POD001", "pod-job", "@@ volumes:\n- emptyDir:\n-   medium: Memory\n+ hostPath:\n+   path: /dev/shm", "the host's folder"),
    ("POD001", "pod-ray", "~ replicas: 2 => replicas: 1", "Ray's operator mounts it"),
    ("POD001", "pod-jobset", "~ nvidia.com/gpu: 8 => amd.com/gpu: 8" + NO_SHM.replace("volumeMounts:\n", "volumeMounts:\n"), "another vendor's chips"),
    ("POD001", "pod-jobset", "~ nvidia.com/gpu: 8 => nvidia.com/gpu: '{{ gpus }}'\n@@ rdma/ib" + NO_SHM, "an open number of GPUs"),
    ("POD002", "pod-job", "@@ volumes:\n  medium: Memory\n+ sizeLimit: 0", "no limit at all"),
    ("POD002", "pod-job", "~ medium: Memory => medium: HugePages-2Mi", "huge pages"),
    ("POD002", "pod-job", "~ medium: Memory => medium: '{{ medium }}'", "a medium that a template fills in"),
    ("POD002", "pod-job", "@@ volumes:\n- emptyDir:\n-   medium: Memory\n+ persistentVolumeClaim:\n+   claimName: shm", "a claim"),
    ("POD003", "pod-mpijob", "~ add: [IPC_LOCK] => add: [ipc_lock]", "granted in lower case too"),
    ("POD003", "pod-mpijob", "~ add: [IPC_LOCK] => add: '{{ capabilities }}'", "a list that a template fills in"),
    ("POD003", "pod-mpijob", "~ add: [IPC_LOCK] => add: []\n~ rdma/rdma_shared_device_a: 1 => rdma/rdma_shared_device_a: 0", "no device"),
    ("POD004", "pod-job", "~ image: registry.example/train:1 => image: registry.example/nonroot:1", "the image's user is not seen"),
    ("POD004", "pod-jobset", "  securityContext:\n+   privileged: true\n+   runAsUser: 1000", "privileged"),
    ("POD004", "pod-jobset", "  rdma/ib: 8\n~ rdma/ib: 8 => example.com/disk: 8\n", "no fabric's device"),
    ("POD005", "pod-job", "~ add: [IPC_LOCK] => add: [IPC_LOCK, SYS_RESOURCE, SYS_ADMIN, NET_RAW]", "other capabilities"),
    ("POD005", "pod-job", "~ add: [IPC_LOCK] => add: ['{{ capability }}']", "a name that a template fills in"),
    ("POD005", "pod-job", "~ add: [IPC_LOCK] => add: [VENDOR_THING]", "a name near no other"),
    ("POD006", "pod-job", "~ rdma/ib: 8 => rdma/ib: 8000m", "eight in another spelling"),
    ("POD006", "pod-job", "~ rdma/ib: 8 => rdma/ib: '{{ nics }}'", "an amount that a template fills in"),
    ("POD006", "pod-job", "  resources:\n+   requests:\n+     memory: 1Gi\n+     cpu: 500m\n    limits:", "cpu and memory may be shared"),
    ("POD006", "pod-job", "  rdma/ib: 8\n+ memory: 8Gi\n+ hugepages-2Mi: 1Gi", "huge pages beside memory"),
    ("POD006", "pod-job", "  rdma/ib: 8\n+ ephemeral-storage: 1.5Gi", "the node's own disk"),
    ("POD006", "pod-job", "  resources:\n+   requests:\n+     vpc.amazonaws.com/efa: 0\n    limits:", "a request of nothing"),
    ("POD007", "pod-job", "~ nvidia.com/gpu: 8 => aws.amazon.com/neuron: 16", "chips of another kind"),
    ("POD007", "pod-job", "~ [torchrun, => [sleep, infinity] #\n- nvidia.com/gpu: 8", "a pod that sleeps"),
    ("POD007", "pod-job", "~ [torchrun, => [ib_write_bw, -d, mlx5_0] #\n- nvidia.com/gpu: 8", "a test of the fabric"),
    ("POD007", "pod-job", "~ nvidia.com/gpu: 8 => nvidia.com/gpu: '{{ gpus }}'", "an open number"),
    ("POD008", "pod-job", "~ rdma/ib: 8 => example.com/nic: 8", "a device that is not known"),
    ("POD008", "pod-job", "- rdma/ib: 8" + "", "no sign of a cloud is a note"),
    ("POD008", "pod-job", "~ parallelism: 2 => parallelism: 1\n~ completions: 2 => completions: 1\n~ registry.example/train:1 => us-docker.pkg.dev/p/r/nccl-plugin-gib-diagnostic:1\n~ --nnodes=2, => --nnodes=1,\n@@ nvidia.com/gpu\n- rdma/ib: 8", "the plugin's image on one node"),
    ("POD008", "pod-job", "  securityContext:\n+   privileged: true\n@@ nvidia.com/gpu\n- rdma/ib: 8", "privileged"),
    ("POD009", "pod-volcano", "+ hostNetwork: true\n  containers:", "Volcano sets the policy"),
    ("POD009", "pod-job", "~ parallelism: 2 => parallelism: 1\n~ completions: 2 => completions: 1\n+ hostNetwork: true\n  containers:", "one pod"),
    ("POD009", "pod-jobset", "+ hostNetwork: true\n  containers:", "no name in view"),
    ("POD009", "pod-ray", "@@ workerGroupSpecs\n+ hostNetwork: true\n+ dnsPolicy: None\n+ dnsConfig: {nameservers: [10.0.0.10]}\n  containers:", "a DNS of its own"),
    ("POD010", "pod-job", "~ - name: dshm => - name: '{{ volume }}'", "a name that a template fills in"),
    ("POD010", "pod-ray", "@@ workerGroupSpecs\n  image: registry.example/ray:2\n+ volumeMounts:\n+   - name: shared-mem\n+     mountPath: /cache", "Ray's own volume"),
    ("POD012", "pod-job", "@@ rdma/ib\n~ volumeMounts: => volumeMounts:\n+ initContainers: []", "no other container"),
    ("POD013", "pod-job", "~ nvidia.com/gpu: 8 => nvidia.com/gpu: 1\n~ rdma/ib: 8 => nvidia.com/hostdev: 8", "a node that is not known"),
    ("POD014", "pod-job", "  rdma/ib: 8\n+ memory: 8Gi\n@@ volumes\n- medium: Memory\n+ sizeLimit: 64Gi", "a volume on disk"),
    ("POD014", "pod-job", "  rdma/ib: 8\n+ memory: 64Gi\n@@ volumes\n  medium: Memory\n+ sizeLimit: 64Gi", "as much as the limit"),
    ("POD014", "pod-job", "  rdma/ib: 8\n+ memory: '{{ memory }}'\n@@ volumes\n  medium: Memory\n+ sizeLimit: 64Gi", "an open limit"),
    ("POD016", "pod-leader", "~ nvidia.com/gpu: 8 => nvidia.com/gpu: 4\n~ registry.example/serve:3 => registry.example/serve:4", "roles of different size"),
    ("POD016", "pod-ray", "~ registry.example/ray:2 => registry.example/ray:3", "a head without GPUs"),
    ("POD017", "pod-leader", "~ rdma/ib: 1 => rdma/ib: '{{ nics }}'", "an open number"),
    ("POD017", "pod-leader", "~ nvidia.com/gpu: 8 => cpu: 8\n- rdma/ib: 1", "a leader without GPUs"),
    ("POD018", "pod-job", "+ tolerations:\n+   - {key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 60}\n  containers:", "seconds where they belong"),
    ("POD018", "pod-job", "+ tolerations:\n+   - {key: '{{ key }}', operator: '{{ op }}', effect: '{{ effect }}'}\n  containers:", "values that a template fills in"),
    ("POD018", "pod-job", "+ nodeSelector: {}\n+ tolerations: []\n+ affinity: {}\n  containers:", "nothing at all"),
    ("POD019", "pod-job", "+ nodeName: '{{ node }}'\n  containers:", "a name that a template fills in"),
    ("POD019", "pod-job", "~ parallelism: 2 => parallelism: 1\n~ completions: 2 => completions: 1\n+ nodeName: gpu-1\n  containers:", "one pod"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("code", "base", "lines"), [pytest.param(c, b, lines, id=f"{c}-{why}") for c, b, lines, why in SILENT]
)
def test_a_pod_rule_says_nothing(code: str, base: str, lines: str) -> None:
    example = whole(f"({base})", lines.strip("\n"))
    said = {c for c, _ in findings(example, code)}
    if code == "POD008":
        said = {f for f, _, severity in judged(example.text) if severity != "note"}
    assert code not in said


def judged(text: str, **settings: object) -> list[tuple[str, int, str]]:
    """(code, line, severity) of all POD findings."""
    result = lint([], Settings(isolated=True, select=("POD",), **settings), stdin=("job.yaml", text.encode()))  # type: ignore[arg-type]
    assert not [n for n in result.notes if n.code == "internal-error"], result.notes
    found = assemble(result, Settings(), ReportOptions()).findings
    return [(f.code, f.region.line, str(f.severity)) for f in found]


#: (code, base, lines, why). Said as a note, which is hidden.
NOTED = [
    ("POD001", "pod-job", "~ [torchrun, => [sleep, infinity] #\n@@ rdma/ib\n  - name: dshm\n~ mountPath: /dev/shm => mountPath: /x", "a pod that sleeps"),
    ("POD003", "pod-jobset", NO_LOCK, "SR-IOV without a sign of Azure"),
    ("POD003", "pod-lws", "~ size: 2 => size: 2", "EFA under the generic contract"),
    ("POD008", "pod-job", "- rdma/ib: 8", "nothing speaks of a cloud"),
    ("POD010", "pod-jobset", "- - name: data\n-   mountPath: /data", "a volume that nobody mounts"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("code", "base", "lines"), [pytest.param(c, b, lines, id=f"{c}-{why}") for c, b, lines, why in NOTED]
)
def test_a_pod_rule_says_no_more_than_a_note(code: str, base: str, lines: str) -> None:
    example = whole(f"({base})", lines.strip("\n"))
    assert {s for c, _, s in judged(example.text) if c == code} == {"note"}


#: Whole manifests that are right, each for a reason of its own.
RIGHT = {
    "two servers that do not work together": """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: serve}
spec:
  replicas: 2
  selector: {matchLabels: {app: serve}}
  template:
    metadata: {labels: {app: serve}}
    spec:
      nodeName: gpu-3
      nodeSelector: {node.kubernetes.io/instance-type: p5.48xlarge}
      containers:
        - name: engine
          image: registry.example/serve:3
          resources: {limits: {nvidia.com/gpu: 8}}
          volumeMounts: [{name: dshm, mountPath: /dev/shm}]
      volumes: [{name: dshm, emptyDir: {medium: Memory}}]
""",
    "pods that hold machines": """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: hold}
spec:
  replicas: 2
  selector: {matchLabels: {app: hold}}
  template:
    metadata: {labels: {app: hold}}
    spec:
      containers:
        - name: pause
          image: registry.example/pause:3.9
          resources: {limits: {nvidia.com/gpu: 8}}
""",
    "a plugin's DaemonSet": """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: plugin}
spec:
  selector: {matchLabels: {app: plugin}}
  template:
    metadata: {labels: {app: plugin}}
    spec:
      hostNetwork: true
      containers:
        - name: plugin
          image: registry.example/plugin:1
          securityContext: {privileged: true}
          volumeMounts: [{name: devices, mountPath: /var/lib/kubelet/device-plugins}]
      volumes: [{name: devices, hostPath: {path: /var/lib/kubelet/device-plugins}}]
""",
    "claim templates of a StatefulSet": """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: train}
spec:
  serviceName: train
  replicas: 1
  selector: {matchLabels: {app: train}}
  template:
    metadata: {labels: {app: train}}
    spec:
      containers:
        - name: trainer
          image: registry.example/train:1
          volumeMounts: [{name: data, mountPath: /data}]
  volumeClaimTemplates:
    - metadata: {name: data}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
""",
    "GPUs and NICs by claim": """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  completionMode: Indexed
  parallelism: 2
  completions: 2
  template:
    spec:
      restartPolicy: Never
      nodeSelector: {node.kubernetes.io/instance-type: Standard_ND128isr_GB300_v6}
      resourceClaims:
        - {name: gpus, resourceClaimTemplateName: all-gpus}
        - {name: nics, resourceClaimTemplateName: all-nics}
      containers:
        - name: trainer
          image: registry.example/train:1
          command: [torchrun, train.py]
          resources: {claims: [{name: gpus}, {name: nics}]}
""",
    "a step of a workflow whose volumes stand above": """\
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {generateName: train-}
spec:
  entrypoint: train
  volumes: [{name: dshm, emptyDir: {medium: Memory}}]
  templates:
    - name: train
      container:
        image: registry.example/train:1
        command: [torchrun, --nproc-per-node=8, train.py]
        resources: {limits: {nvidia.com/gpu: 8}}
        volumeMounts: [{name: dshm, mountPath: /dev/shm}]
""",
    "a namespace that another job is in": """\
apiVersion: v1
kind: Namespace
metadata: {name: other, labels: {pod-security.kubernetes.io/enforce: restricted}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: research}
spec:
  template:
    spec:
      restartPolicy: Never
      hostNetwork: true
      containers: [{name: trainer, image: "registry.example/train:1", securityContext: {privileged: true}}]
""",
    "a job that names no namespace": """\
apiVersion: v1
kind: Namespace
metadata: {name: research, labels: {pod-security.kubernetes.io/enforce: restricted}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: trainer, image: "registry.example/train:1", securityContext: {privileged: true}}]
""",
    "a comparison over TCP that says so": """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train-noib}
spec:
  replicatedJobs:
    - name: node
      template:
        spec:
          parallelism: 2
          completions: 2
          template:
            spec:
              nodeSelector: {node.kubernetes.io/instance-type: Standard_ND96isr_H100_v5}
              containers:
                - name: trainer
                  image: registry.example/train:1
                  command: [torchrun, train.py]
                  resources: {limits: {nvidia.com/gpu: 8}}
                  volumeMounts: [{name: dshm, mountPath: /dev/shm}]
              volumes: [{name: dshm, emptyDir: {medium: Memory}}]
""",
    "two programs in one set of jobs": """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: rl}
spec:
  replicatedJobs:
    - name: actor
      template:
        spec:
          template:
            spec:
              containers: [{name: a, image: "registry.example/actor:1", resources: {limits: {nvidia.com/gpu: 1}}}]
    - name: judge
      template:
        spec:
          template:
            spec:
              containers: [{name: j, image: "registry.example/judge:7", resources: {limits: {nvidia.com/gpu: 1}}}]
""",
}


@pytest.mark.parametrize("text", RIGHT.values(), ids=RIGHT)
def test_a_right_manifest_gets_no_pod_warning(text: str) -> None:
    assert [f for f in judged(text) if f[2] != "note"] == []


def test_an_argo_step_without_shared_memory_is_judged_by_itself() -> None:
    text = RIGHT["a step of a workflow whose volumes stand above"].replace(
        "        volumeMounts: [{name: dshm, mountPath: /dev/shm}]\n", ""
    )
    assert [(c, s) for c, _, s in judged(text)] == [("POD001", "warning")]


def test_the_level_of_a_namespace_in_another_file_counts_when_its_name_is_the_only_one() -> None:
    """The same file, and a Namespace whose label only warns, differ in nothing but the label."""
    text = RIGHT["a namespace that another job is in"].replace("name: other", "name: research")
    assert [(c, s) for c, _, s in judged(text)] == [("POD015", "error")]
    assert judged(text.replace("/enforce", "/warn")) == []


@pytest.mark.parametrize(("contract", "severity"), [("aicr", "error"), ("generic", "warning")])
def test_the_contract_decides_how_bad_a_missing_capability_is(contract: str, severity: str) -> None:
    example = whole("(pod-mpijob)", NO_LOCK.strip("\n"))
    found = judged(example.text, contract=(("*", contract),))
    assert [s for c, _, s in found if c == "POD003"] == [severity]
