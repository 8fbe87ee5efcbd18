"""What the rules on names, Services, volumes and policies say nothing of, rule by rule, over the kinds of jobs."""

from __future__ import annotations

import pytest
from example import whole

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.report.model import ReportOptions


def said(code: str, base: str, lines: list[str], more: str = "") -> list[tuple[str, str]]:
    """(code, severity) of the rule's findings, notes too."""
    made = Settings(isolated=True, select=(code,))
    text = whole(f"({base})", "\n".join(lines or ["@@ metadata:"])).text + more
    result = lint([], made, stdin=("job.yaml", text.encode()))
    assert not [n for n in result.notes if n.code == "internal-error"], result.notes
    return [(f.code, f.severity) for f in assemble(result, made, ReportOptions()).findings]


PROBE = ["@@ image:", "+ readinessProbe:", "+   httpGet: {path: /health, port: 8000}"]
ISTIO = "istio-injection: enabled"
PORTS = "+   ports: [{port: 29500}]"

QUIET: dict[str, dict[str, tuple[str, list[str]]]] = {
    "RUN001": {
        "a field of the pod holds the address of a StatefulSet's first pod": (
            "near-set",
            ["- command: ...", "+ command: [python, serve.py]", "+ env:", "+   - name: MASTER_ADDR", "+     valueFrom: {fieldRef: {fieldPath: status.hostIP}}"],
        ),
        "a ConfigMap out of view holds it": (
            "near-volcano",
            ["- command: ...", "+ command: [python, train.py]", "+ envFrom: [{configMapRef: {name: meeting}}]"],
        ),
        "the address is put together of variables": (
            "near-jobset",
            ["- command: ...", "+ command: [python, forecast.py]", "+ env:", "+   - {name: RANK0, value: weather-ranks-0-0}", "+   - {name: MASTER_ADDR, value: $(RANK0).weather}"],
        ),
        "a Service out of view": ("near-volcano", ["~ speech-rank-0.speech => speech-store"]),
        "a Service of another namespace": ("near-set", ["~ engine-0.engine => store.tools.svc"]),
        "the headless Service of the user's own picks the JobSet's pods": ("near-jobset", ["~ weather-ranks-0-0.weather => weather-meeting"]),
        "one by Volcano's own labels": ("near-volcano", ["~ speech-rank-0.speech => speech-meeting"]),
        "the leader's Service carries the port": ("near-lws", ["~ $(LWS_LEADER_ADDRESS):29400 => answers-meeting:29400"]),
        "the elastic job's Service carries the port": ("near-workers", ["~ rdzvHost: stars-worker-0 => rdzvHost: stars-meeting"]),
        "a headless Service carries every port": ("near-jobset", ["~ weather-ranks-0-0.weather:29400 => weather-meeting:30000"]),
        "etcd behind a Service in view": (
            "near-workers",
            ["~ rdzvBackend: c10d => rdzvBackend: etcd", "~ rdzvHost: stars-worker-0 => rdzvHost: stars-meeting", "@@ kind: Service", "~ job-name: stars => job-name: etcd"],
        ),
        "a Service whose endpoints are written by hand": (
            "near-jobset",
            ["~ weather-ranks-0-0.weather => weather-meeting", "@@ kind: Service", "- selector:", "-   app: weather"],
        ),
        "a Service to a host out of the cluster": (
            "near-jobset",
            ["~ weather-ranks-0-0.weather => weather-meeting", "@@ kind: Service", "- clusterIP: None", "+ type: ExternalName", "~ app: weather => app: store"],
        ),
        "a store behind a Service of another name, whose pods are not in view": (
            "near-workers",
            [
                "~ rdzvHost: stars-worker-0 => rdzvHost: store",
                "@@ kind: Service",
                "~ name: stars-meeting => name: store",
                "~ job-name: stars => job-name: store",
            ],
        ),
        "a Service for the master, which is another Job's": (
            "near-jobset",
            ["~ weather-ranks-0-0.weather => weather-meeting", "@@ kind: Service", "~ app: weather => role: master"],
        ),
        "a Service for the job beside this one": (
            "near-workers",
            ["~ rdzvHost: stars-worker-0 => rdzvHost: stars-meeting", "~ app: stars => app: stars-1", "@@ kind: Service", "~ training.kubeflow.org/job-name: stars => app: stars-2"],
        ),
        "a replicated job whose name is not there yet": ("near-jobset", ["@@ replicatedJobs", "~ name: ranks => groupName: ranks"]),
        "a template fills in the selector": ("near-set", ["@@ kind: Service", "~ app: engine => app: \"{{ name }}\""]),
        "a template fills in the pods' labels": ("near-jobset", ["@@ parallelism", "~ app: weather => app: \"{{ name }}\"", "@@ image", "~ weather-ranks-0-0.weather => weather-meeting"]),
        "a label that a webhook may put on": ("near-set", ["@@ kind: Service", "@@ selector:", "+   team.example/queue: gpu"]),
        "mpirun without a list of hosts": ("near-mpijob", []),
        "the hosts of an MPIJob below its Service": ("run-mpijob", ['~ "2", ./reduce => "2", --host, "reduce-worker-0.reduce,reduce-worker-1.reduce.bench.svc.cluster.local", ./reduce']),
        "hosts that another job may have": ("run-mpijob", ['~ "2", ./reduce => "2", --host, "gather-worker-0.gather,node7", ./reduce']),
        "a hostfile that the shell writes in a loop": (
            "run-mpijob",
            ["- command: ...", "+ command: [bash, -c, 'for i in 0 1; do echo reduce-worker-$i.reduce >> hosts; done; mpirun --hostfile hosts ./reduce']"],
        ),
        "a hostfile of the operator's": ("run-mpijob", ['~ "2", ./reduce => "2", --hostfile, /etc/mpi/hostfile, ./reduce']),
        "Ray joins the group's leader": ("near-lws", ["- command: ...", '+ command: [bash, -c, "ray start --address=$LWS_LEADER_ADDRESS:6379 --block"]']),
        "Ray joins the first pod of a set": ("near-set", ["- command: ...", '+ command: [bash, -c, "ray start --address=engine-0.engine:6379 --block"]']),
        "a TrainJob meets where Trainer says": ("near-trainjob", []),
        "a RayCluster has no address to write": ("near-ray", []),
    },
    "RUN002": {
        "headless": ("near-set", ["~ engine-0.engine => engine"]),
        "one pod of a JobSet by its index": (
            "near-jobset",
            ["~ weather-ranks-0-0.weather => weather-meeting", "@@ kind: Service", "- clusterIP: None", "@@ selector:", '+   batch.kubernetes.io/job-completion-index: "0"'],
        ),
        "the leader of a group": ("near-lws", ["~ $(LWS_LEADER_ADDRESS):29400 => answers-meeting:29400"]),
        "the first worker of an elastic job": ("near-workers", ["~ rdzvHost: stars-worker-0 => rdzvHost: stars-meeting"]),
        "not in view": ("near-volcano", ["~ speech-rank-0.speech => speech-store"]),
        "out of the cluster": ("near-set", ["~ engine-0.engine => engine", "@@ kind: Service", "~ clusterIP: None => type: ExternalName"]),
        "endpoints by hand": ("near-jobset", ["~ weather-ranks-0-0.weather => weather-meeting", "@@ kind: Service", "- clusterIP: None", "- selector:", "-   app: weather"]),
        "the Master of a PyTorchJob has a Service of its own": ("near-pytorchjob", []),
        "an MPIJob's launcher goes by pods' names": ("near-mpijob", []),
        "Ray's head is one pod": ("near-ray", []),
        "a TrainJob's address is Trainer's": ("near-trainjob", []),
        "a group of one": ("near-set", ["~ replicas: 2 => replicas: 1", "~ engine-0.engine => engine", "@@ kind: Service", "- clusterIP: None"]),
    },
    "RUN003": {
        "the Service of a set publishes": ("near-set", []),
        "a set's probe opens a port": ("near-set", ["~ httpGet: {path: /health, port: 8000} => tcpSocket: {port: 8000}", "@@ kind: Service", "- publishNotReadyAddresses: true"]),
        "a set's probe runs a command": ("near-set", ["~ httpGet: {path: /health, port: 8000} => exec: {command: [cat, /ready]}", "@@ kind: Service", "- publishNotReadyAddresses: true"]),
        "a set's Service is not in view": ("near-set", ["@@ kind: Service", "~ name: engine => name: other", "- publishNotReadyAddresses: true"]),
        "JobSet publishes": ("near-jobset", PROBE),
        "JobSet publishes when nothing is written": ("near-jobset", ["- network:", "-   enableDNSHostnames: true", "-   publishNotReadyAddresses: true", *PROBE]),
        "JobSet hides, and nothing waits to be ready": ("near-jobset", ["~ publishNotReadyAddresses: true => publishNotReadyAddresses: false"]),
        "Volcano's plugin is told to publish": (
            "near-volcano",
            ["~ svc: [] => svc: [--publish-not-ready-addresses=true]", *PROBE],
        ),
        "what Volcano's plugin is told is filled in later": ("near-volcano", ['~ svc: [] => svc: "{{ svc }}"', *PROBE]),
        "LeaderWorkerSet publishes": ("near-lws", PROBE),
        "the probe is on a PyTorchJob's Workers, and the Master is looked up": ("near-pytorchjob", ["@@ Worker:", *PROBE]),
        "an MPIJob whose launcher is a worker publishes": ("near-mpijob", ["@@ spec:", "+   runLauncherAsWorker: true", "@@ replicas: 2", *PROBE]),
        "an MPIJob's workers wait for sshd": ("near-mpijob", ["@@ replicas: 2", "@@ image:", "+ readinessProbe:", "+   tcpSocket: {port: 22}"]),
        "Ray brings its nodes together itself": ("near-ray", ["@@ groupName", *PROBE]),
        "a TrainJob's JobSet publishes": ("near-trainjob", PROBE),
        "the first worker of an elastic job waits for a port": ("near-workers", ["@@ image:", "+ readinessProbe:", "+   tcpSocket: {port: 29400}"]),
        "the address is a store's": ("near-set", ["~ engine-0.engine => store.tools", "@@ kind: Service", "- publishNotReadyAddresses: true"]),
    },
    "RUN013": {
        "claims that are not in view": ("near-set", ["@@ kind: PersistentVolumeClaim", "~ name: models => name: other", "~ ReadWriteMany => ReadWriteOnce"]),
        "a mode for many beside the one for one": ("near-jobset", ["@@ kind: PersistentVolumeClaim", "~ ReadWriteMany => ReadWriteOnce", "+   - ReadWriteMany"]),
        "reading on many": ("near-lws", []),
        "pods that may stand on one node": ("near-volcano", ["~ nproc-per-node=8 => nproc-per-node=1", "~ nvidia.com/gpu: 8 => nvidia.com/gpu: 1", "@@ kind: PersistentVolumeClaim", "~ ReadWriteMany => ReadWriteOnce"]),
        "a claim of each pod's own": (
            "near-set",
            ["@@ volumeMounts", "- - name: models", "-   mountPath: /models", "@@ medium: Memory", "- - name: models", "-   persistentVolumeClaim:", "-     claimName: models", "@@ kind: PersistentVolumeClaim", "~ ReadWriteMany => ReadWriteOnce"],
        ),
        "a group of one pod": ("near-lws", ["~ size: 2 => size: 1", "@@ kind: PersistentVolumeClaim", "~ [ReadOnlyMany] => [ReadWriteOnce]"]),
        "the Master alone": (
            "near-pytorchjob",
            ["@@ Worker:", "- - name: data", "-   mountPath: /data", "@@ medium", "- - name: data", "-   persistentVolumeClaim:", "-     claimName: pictures", "@@ kind: PersistentVolumeClaim", "~ ReadWriteMany => ReadWriteOnce"],
        ),
        "the launcher of an MPIJob": (
            "near-mpijob",
            ["@@ replicas: 2", "- - name: data", "-   mountPath: /data", "@@ medium", "- - name: data", "-   persistentVolumeClaim:", "-     claimName: arrays", "@@ kind: PersistentVolumeClaim", "~ ReadWriteMany => ReadWriteOnce"],
        ),
        "modes that a template fills in": ("near-trainjob", ["@@ kind: PersistentVolumeClaim", '~ - ReadWriteMany => - "{{ mode }}"']),
        "a claim of another namespace": ("near-ray", ["@@ kind: PersistentVolumeClaim", "~ namespace: tuning => namespace: lab", "~ ReadWriteMany => ReadWriteOnce"]),
    },
    "RUN014": {
        "kept out by a label": ("near-set", [f"~ team: engine => {ISTIO}", "@@ template:", "@@ labels:", '+   sidecar.istio.io/inject: "false"']),
        "kept out by an annotation": ("near-volcano", [f"~ team: speech => {ISTIO}", "@@ template:", "  metadata:", '+   annotations: {sidecar.istio.io/inject: "false"}']),
        "kept out of Linkerd": (
            "near-jobset",
            ["~ labels => annotations", "~ team: weather => linkerd.io/inject: enabled", "@@ parallelism", "@@ template:", "  metadata:", "+   annotations: {linkerd.io/inject: disabled}"],
        ),
        "Linkerd acts on annotations of a namespace only": ("near-lws", ["~ team: answers => linkerd.io/inject: enabled"]),
        "a word that Linkerd does not know keeps out": (
            "near-set",
            ["~ labels => annotations", "~ team: engine => linkerd.io/inject: enabled", "@@ template:", "  metadata:", '+   annotations: {linkerd.io/inject: "false"}'],
        ),
        "no token, no Linkerd": (
            "near-set",
            ["~ labels => annotations", "~ team: engine => linkerd.io/inject: enabled", "@@ template:", "  spec:", "+   automountServiceAccountToken: false"],
        ),
        "the namespace keeps out": ("near-pytorchjob", ["~ team: captions => istio-injection: disabled"]),
        "the namespace keeps out whatever the pod asks for": (
            "near-lws",
            ["~ team: answers => istio-injection: disabled", "@@ workerTemplate:", "@@ labels:", '+   sidecar.istio.io/inject: "true"'],
        ),
        "the node's network": ("near-mpijob", [f"~ team: reduce => {ISTIO}", "@@ replicas: 2", "@@ app: reduce", "  spec:", "+   hostNetwork: true"]),
        "ports are left to the pods": (
            "near-trainjob",
            [f"~ team: frames => {ISTIO}", "@@ template:", "@@ template:", "@@ template:", "  metadata:", '+   annotations: {traffic.sidecar.istio.io/includeOutboundIPRanges: ""}'],
        ),
        "a namespace out of view": ("near-set", ["~ name: serving => name: other", f"~ team: engine => {ISTIO}"]),
        "the ambient mode adds no proxy": ("near-volcano", ["~ team: speech => istio.io/dataplane-mode: ambient"]),
        "a template decides": ("near-jobset", [f"~ team: weather => {ISTIO}", "@@ parallelism", "@@ template:", "@@ labels:", '+   sidecar.istio.io/inject: "{{ mesh }}"']),
        "one pod in a mesh": ("near-set", [f"~ team: engine => {ISTIO}", "~ replicas: 2 => replicas: 1"]),
        "a policy for what others send": (
            "near-jobset",
            ["@@ ingress:", "  - from:", "-     - podSelector: {}", "+     - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}", "+   ports: [{port: 9400}]"],
        ),
        "a policy for egress only says nothing of ingress": (
            "near-mpijob",
            ["~ [Ingress] => [Egress]", "@@ ingress:", "  - from:", "      - podSelector: {matchLabels: {app: reduce}}", PORTS],
        ),
        "another rule lets all through": ("near-lws", []),
        "a selector of other pods by expression": ("near-set", ["@@ kind: NetworkPolicy", "~ operator: In => operator: NotIn", "- ingress:", "-   - {}", "+ ingress:", "+   - ports: [{port: 22}]"]),
        "a label that is not the file's": (
            "near-ray",
            ["@@ kind: NetworkPolicy", "~ ray.io/cluster: search => ray.io/serve: x", "@@ ingress:", "  - from:", "      - podSelector:", "          matchLabels:", "            ray.io/cluster: search", PORTS],
        ),
        "ports for all of a protocol": ("near-jobset", ["@@ ingress:", "  - from:", "      - podSelector: {}", "+   ports: [{protocol: TCP}]"]),
        "a policy that closes everything waits for others": ("near-volcano", ["@@ egress:", "- - to:", "-     - podSelector: {}", "- - ports:", "-     - port: 53", "-       protocol: UDP"]),
    },
    "RUN015": {
        "a template": ("near-jobset", ["@@ kind: JobSet", '~ name: weather => name: "{{ name }}"']),
        "generateName with room for what it gets": ("near-pytorchjob", ["@@ kind: PyTorchJob", "~ name: captions => generateName: captions-of-every-picture-"]),
        "a dot where no host name is made": ("run-volcano", ["~ name: speech => name: speech.v2"]),
        "a dot in a Job without an index": ("run-service", ["~ name: train => name: train.v2", "- completionMode: Indexed"]),
        "a TrainJob's name is Trainer's affair": ("near-trainjob", ["@@ kind: TrainJob", "~ name: pretrain => name: 7pretrain"]),
        "52 characters of a StatefulSet": ("near-set", ["@@ kind: StatefulSet", "~ name: engine => name: engine-that-answers-the-questions-of-all-customers-x"]),
        "a dot in an MPIJob of version 1": ("run-mpijob", ["~ kubeflow.org/v2beta1 => kubeflow.org/v1", "~ name: reduce => name: reduce.v2"]),
        "a digit in front of a Job": ("run-service", ["~ name: train => name: 7b-train"]),
        "a name made by another object": ("near-ray", []),
    },
    "RUN020": {
        "all at once": ("near-set", []),
        "no probe": ("near-set", ["- podManagementPolicy: Parallel", "@@ image:", "- readinessProbe:", "-   httpGet: {path: /health, port: 8000}"]),
        "a probe that opens a port": ("near-set", ["- podManagementPolicy: Parallel", "~ httpGet: {path: /health, port: 8000} => tcpSocket: {port: 29400}"]),
        "a probe that runs a command": ("near-set", ["- podManagementPolicy: Parallel", "~ httpGet: {path: /health, port: 8000} => exec: {command: [cat, /ready]}"]),
        "one replica": ("near-set", ["~ replicas: 2 => replicas: 1", "- podManagementPolicy: Parallel"]),
        "servers that do not know each other": ("near-set", ["- podManagementPolicy: Parallel", "@@ image:", "- command: ...", "+ command: [vllm, serve, m]"]),
        "a start that is not in view": ("near-set", ["- podManagementPolicy: Parallel", "@@ image:", "- command: ...", "+ command: [/opt/start.sh]"]),
        "a liveness probe keeps nobody waiting": ("near-set", ["- podManagementPolicy: Parallel", "~ readinessProbe => livenessProbe"]),
        "a policy that is filled in later": ("near-set", ['~ podManagementPolicy: Parallel => podManagementPolicy: "{{ order }}"']),
        "they meet at another's store": ("near-set", ["- podManagementPolicy: Parallel", "~ engine-0.engine => store.tools"]),
        "other kinds make their pods at once": ("near-lws", PROBE),
    },
    "POD015": {
        "no level": ("near-mpijob", ["@@ replicas: 2", "@@ image:", "+ securityContext:", "+   privileged: true"]),
        "privileged": (
            "near-lws",
            ["~ team: answers => pod-security.kubernetes.io/enforce: privileged", "@@ image:", "+ securityContext:", "+   privileged: true"],
        ),
        "only told of": (
            "near-jobset",
            ["~ team: weather => pod-security.kubernetes.io/audit: restricted", "@@ image:", "+ securityContext:", "+   capabilities: {add: [IPC_LOCK]}"],
        ),
        "a namespace out of view": (
            "near-set",
            ["~ name: serving => name: other", "~ team: engine => pod-security.kubernetes.io/enforce: restricted"],
        ),
        "a level that is filled in later": (
            "near-volcano",
            ['~ team: speech => pod-security.kubernetes.io/enforce: "{{ level }}"', "@@ image:", "+ securityContext:", "+   privileged: true"],
        ),
        "a capability that is filled in later": (
            "near-ray",
            ["~ team: search => pod-security.kubernetes.io/enforce: baseline", "@@ groupName", "@@ image:", "+ securityContext:", '+   capabilities: {add: ["{{ lock }}"]}'],
        ),
        "baseline takes memory, claims and root": ("near-pytorchjob", ["~ team: captions => pod-security.kubernetes.io/enforce: baseline"]),
        "baseline takes a TrainJob's runtime": ("near-trainjob", ["~ team: frames => pod-security.kubernetes.io/enforce: baseline"]),
    },
}  # fmt: skip
CASES = [(code, base, lines, f"{code}-{name}") for code, some in QUIET.items() for name, (base, lines) in some.items()]


@pytest.mark.parametrize(("code", "base", "lines"), [pytest.param(c, b, ls, id=n) for c, b, ls, n in CASES])
def test_nothing_is_said(code: str, base: str, lines: list[str]) -> None:
    assert [f for f in said(code, base, lines) if f[1] != "note"] == []


@pytest.mark.parametrize("code", QUIET)
def test_a_rule_is_tried_where_it_must_be_silent(code: str) -> None:
    kinds = {base for base, _ in QUIET[code].values()}
    assert len(QUIET[code]) >= 5
    assert len(kinds) >= (3 if code != "RUN020" else 2)


SHUT = """---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: shut, namespace: NAMESPACE}
spec:
  podSelector: {}
  policyTypes: [Ingress, Egress]
  ingress: [{ports: [{port: 22}]}]
  egress: [{ports: [{port: 53}]}]
"""


@pytest.mark.parametrize(
    ("base", "space"), [("near-pytorchjob", "vision"), ("near-set", "serving"), ("near-jobset", "climate")]
)
def test_policies_add_up(base: str, space: str) -> None:
    quiet = base != "near-pytorchjob"  # whose own policy is for ingress only
    assert said("RUN014", base, [], SHUT.replace("NAMESPACE", space)) == ([] if quiet else [("RUN014", "warning")])


def test_a_policy_of_another_namespace_is_for_its_pods() -> None:
    assert said("RUN014", "near-pytorchjob", [], SHUT.replace("NAMESPACE", "elsewhere")) == []


@pytest.mark.parametrize(
    ("base", "lines", "severity"),
    [
        ("near-jobset", ["~ weather-ranks-0-0.weather => weather-ranks-0-0"], "error"),
        ("near-trainjob", ["@@ kind: TrainJob", "~ image: registry.example/train:2 => command: [torchrun, --rdzv-backend=c10d, --rdzv-endpoint=pretrain-node-0-2.pretrain, t.py]"], "error"),
        ("near-workers", ["~ rdzvHost: stars-worker-0 => rdzvHost: stars-worker-7"], "error"),
        ("near-volcano", ["~ speech-rank-0.speech => speech-rank-0"], "warning"),
        ("near-set", ["~ engine-0.engine => engine-0"], "warning"),
        ("near-lws", ["~ $(LWS_LEADER_ADDRESS) => answers-0"], "warning"),
        ("pod-job", ["~ train-0.train => train-0"], "warning"),
        ("run-mpijob", ['~ "2", ./reduce => "2", --host, "reduce-worker-0.reduce,reduce-worker-2.reduce", ./reduce'], "warning"),
        ("run-mpijob", ['~ "2", ./reduce => "2", --host, "reduce-worker-0,reduce-worker-1", ./reduce'], "note"),
        ("near-set", ["~ --rdzv-backend=c10d, \"--rdzv-endpoint=engine-0.engine:29400\" => --rdzv-backend=c10d"], "error"),
    ],
)  # fmt: skip
def test_it_is_an_error_where_all_names_are_the_controllers(base: str, lines: list[str], severity: str) -> None:
    assert {s for _, s in said("RUN001", base, lines)} == {severity}


LOCAL = {"c10d": "--rdzv-backend=c10d", "standalone": "--standalone"}


@pytest.mark.parametrize("words", LOCAL.values(), ids=list(LOCAL))
@pytest.mark.parametrize(
    ("base", "lines"),
    [
        ("pod-job", ["- command: ...", "+ command: [torchrun, --nnodes=2, WORDS, train.py]"]),
        ("near-jobset", ["- command: ...", "+ command: [torchrun, --nnodes=2, --nproc-per-node=8, WORDS, t.py]"]),
        ("near-volcano", ["- command: ...", "+ command: [torchrun, --nnodes=2, --nproc-per-node=8, WORDS, t.py]"]),
        ("near-lws", ["- command: ...", "+ command: [torchrun, --nnodes=2, --nproc-per-node=8, WORDS, t.py]"]),
        ("near-set", ["- command: ...", "+ command: [torchrun, --nnodes=2, --nproc-per-node=8, WORDS, t.py]"]),
        ("near-pytorchjob", ["~ torchrun => torchrun, WORDS", "@@ Worker:", "~ torchrun => torchrun, WORDS"]),
        ("near-trainjob", ["@@ kind: TrainJob", "~ image: registry.example/train:2 => command: [torchrun, WORDS, t.py]"]),
    ],
)  # fmt: skip
def test_ranks_that_meet_at_localhost_are_an_error_in_every_kind(base: str, lines: list[str], words: str) -> None:
    assert said("RUN001", base, [line.replace("WORDS", words) for line in lines]) == [("RUN001", "error")]


def test_a_claim_in_a_list_of_objects_is_seen() -> None:
    claim = """---
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: PersistentVolumeClaim
    metadata: {name: extra, namespace: serving}
    spec: {accessModes: [MODE], resources: {requests: {storage: 1Ti}}}
"""
    lines = ["~ claimName: models => claimName: extra"]
    assert said("RUN013", "near-set", lines, claim.replace("MODE", "ReadWriteOnce")) == [("RUN013", "warning")]
    assert said("RUN013", "near-set", lines, claim.replace("MODE", "ReadWriteOncePod")) == [("RUN013", "error")]
    assert said("RUN013", "near-set", lines, claim.replace("MODE", "ReadOnlyMany")) == []


@pytest.mark.parametrize("base", ["near-jobset", "near-lws", "near-mpijob", "near-pytorchjob", "near-ray", "near-set", "near-trainjob", "near-volcano", "near-workers"])  # fmt: skip
def test_the_jobs_that_the_quiet_ones_are_made_of_are_quiet(base: str) -> None:
    for code in QUIET:
        assert said(code, base, []) == []
