"""Objects of serving platforms, in the shapes that are seen in public: read whole, and silent where nothing is wrong."""

from __future__ import annotations

import contextlib
import io
import json
import re
from decimal import Decimal
from pathlib import Path

import pytest

from fabriclint.assemble import assemble
from fabriclint.cli.explain import _role_line, _totals
from fabriclint.config import Settings
from fabriclint.engine import builtin_pack, lint
from fabriclint.explain import Explained, explain
from fabriclint.node import UNKNOWN
from fabriclint.report.model import ReportOptions
from fabriclint.views import JobView

GIVEN = Settings(isolated=True)
BASES = Path(__file__).parents[1] / "bases"


def job_of(text: str) -> JobView:
    (job,) = lint([], GIVEN, stdin=("a.yaml", text.encode())).jobs
    return job


def codes(text: str, *, notes: bool = False) -> list[tuple[str, int]]:
    report = assemble(lint([], GIVEN, stdin=("a.yaml", text.encode())), GIVEN, ReportOptions())
    return [(f.code, f.region.line) for f in report.findings if notes or f.severity != "note"]


def explained(text: str) -> Explained:
    def run(pack: object) -> object:
        return lint([], GIVEN, stdin=("a.yaml", text.encode()), pack=pack)  # type: ignore[arg-type]

    (one,) = explain(run, builtin_pack(), GIVEN, lambda done: assemble(done, GIVEN, ReportOptions()))  # type: ignore[arg-type]
    return one


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


# --- A kind whose image a configuration brings is no patch --------------------------------------------------------

LLM = """\
apiVersion: serving.kserve.io/v1alpha1
kind: LLMInferenceService
metadata:
  name: chat
  annotations:
    k8s.v1.cni.cncf.io/networks: rails
spec:
  model: {uri: "hf://example/chat", name: example/chat}
  replicas: 3
  parallelism: {data: 16, dataLocal: 8, tensor: 1}
  template:
    containers:
      - name: main
        env:
          - {name: NCCL_SOCKET_IFNAME, value: net1}
        resources: {limits: {nvidia.com/gpu: "8", rdma/roce_gdr: 1}}
  worker:
    containers:
      - name: main
        env:
          - {name: NCCL_SOCKET_IFNAME, value: net1}
        resources: {limits: {nvidia.com/gpu: "8", rdma/roce_gdr: 1}}
"""


def test_a_service_without_an_image_is_a_workload() -> None:
    job = job_of(LLM)
    assert job.group.nodes == 2
    assert [(r.name, r.pods, r.copies) for r in job.group.roles] == [("template", 1, 3), ("worker", 1, 3)]
    worker = job.pods[0].worker
    assert worker is not None
    assert worker.image is UNKNOWN


def test_networks_named_on_the_service_reach_its_pods() -> None:
    assert codes(LLM) == []


def test_other_annotations_of_the_service_stay_on_it() -> None:
    text = LLM.replace("k8s.v1.cni.cncf.io/networks: rails", "example.com/networks: rails")
    assert codes(text) == [("NCCL007", line_of(text, "value: net1"))]


@pytest.mark.parametrize(
    "text",
    [
        LLM,
        (
            "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: a}\nspec:\n  predictor:\n"
            "    model:\n      modelFormat: {name: huggingface}\n      env: [{name: NCCL_DEBGU, value: WARN}]\n"
            "      resources: {limits: {nvidia.com/gpu: 8}}\n"
        ),
    ],
    ids=["LLMInferenceService", "InferenceService"],
)
def test_a_misspelt_variable_is_seen_there(text: str) -> None:
    wrong = text.replace("name: NCCL_SOCKET_IFNAME", "name: NCCL_SOCKET_IFNMAE")
    assert "NCCL001" in [c for c, _ in codes(wrong, notes=True)]


def test_a_patch_of_another_kind_without_an_image_stays_a_patch() -> None:
    text = (
        "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: a}\nspec:\n  template:\n    spec:\n      containers:\n"
        "        - {name: main, resources: {limits: {nvidia.com/gpu: 8}}}\n"
    )
    assert lint([], GIVEN, stdin=("a.yaml", text.encode())).jobs == []


# --- GPUs that a kind says in fields of its own -------------------------------------------------------------------


def gpus(text: str) -> list[tuple[str, object]]:
    return [(p.name, p.worker.gpus if p.worker is not None else 0) for p in job_of(text).pods]


MODEL = (
    "apiVersion: kubeai.org/v1\nkind: Model\nmetadata: {name: a}\nspec:\n  url: hf://example/a\n  engine: VLLM\n  features: [TextGeneration]\n"
    '  env: {NCCL_DEBUG: INFO, NCCL_MIN_NCHANNELS: "112"}\n'
)


@pytest.mark.parametrize(
    ("profile", "resource", "count"),
    [
        ("nvidia-gpu-h100:8", "nvidia.com/gpu", 8),
        ("nvidia-gpu-l4", "nvidia.com/gpu", 1),
        ("amd-gpu-mi300x:4", "amd.com/gpu", 4),
        ("google-tpu-v5e-2x2:4", "google.com/tpu", 4),
    ],
)
def test_a_profile_counts_its_gpus(profile: str, resource: str, count: int) -> None:
    (pod,) = job_of(f"{MODEL}  resourceProfile: {profile}\n").pods
    assert pod.worker is not None
    assert pod.worker.amount(resource) == Decimal(count)
    assert pod.worker.env.value("NCCL_DEBUG") == "INFO"


@pytest.mark.parametrize("profile", ["cpu:4", "my-own:8", "nvidia-gpu-h100:many", "'{{ profile }}'"])
def test_a_profile_that_is_not_known_is_no_gpu(profile: str) -> None:
    assert gpus(f"{MODEL}  resourceProfile: {profile}\n") == [("model", 0)]


def test_the_channels_of_rccl_have_other_limits() -> None:
    assert [c for c, _ in codes(f"{MODEL}  resourceProfile: amd-gpu-mi300x:8\n", notes=True) if c != "NCCL004"] == []


WORKSPACE = (
    "apiVersion: kaito.sh/v1beta1\nkind: Workspace\nmetadata: {name: a}\n"
    "resource: {count: 2, instanceType: Standard_NC48ads_A100_v4, labelSelector: {matchLabels: {a: a}}}\n"
)


def test_a_machine_counts_its_gpus() -> None:
    text = f"{WORKSPACE}inference: {{preset: {{name: example/a}}}}\n"
    assert gpus(text) == [("inference", 2)]
    assert job_of(text).group.gpus == 4
    assert codes(text) == []


def test_a_machine_that_is_not_known_is_no_gpu() -> None:
    text = f"{WORKSPACE}tuning: {{preset: {{name: example/a}}}}\n".replace("Standard_NC48ads_A100_v4", "Standard_X1")
    assert gpus(text) == [("tuning", 0)]


NIM = """\
apiVersion: apps.nvidia.com/v1alpha1
kind: NIMService
metadata: {name: a}
spec:
  image: {repository: nvcr.io/nim/example/a, tag: "1.7"}
  authSecret: ngc
  expose: {service: {port: 8000}}
  storage: {nimCache: {name: a}}
  replicas: 2
  multiNode: {parallelism: {pipeline: 2, tensor: 4}}
"""


def test_the_degree_of_parallelism_counts_gpus_where_no_amount_is_said() -> None:
    job = job_of(NIM)
    (role,) = job.group.roles
    assert (role.pods, role.copies, role.gpus) == (2, 2, 4)
    worker = role.pod.worker
    assert worker is not None
    assert worker.image == "nvcr.io/nim/example/a:1.7"
    assert codes(NIM) == []


def test_an_amount_goes_before_the_degree_of_parallelism() -> None:
    text = NIM + "  resources: {limits: {nvidia.com/gpu: 8}}\n"
    assert gpus(text) == [("server", 8)]


SPARK = """\
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata: {name: a}
spec:
  type: Python
  mode: cluster
  image: registry.example/spark:3
  mainApplicationFile: local:///a.py
  sparkVersion: 3.5.0
  driver: {cores: 1}
  executor:
    instances: 2
    gpu: {name: nvidia.com/gpu, quantity: 2}
    env: [{name: NCCL_DEBUG, value: WARN}]
"""


def test_an_executor_has_the_gpus_of_its_own_field() -> None:
    assert gpus(SPARK) == [("driver", 0), ("executor", 2)]
    assert codes(SPARK) == []


# --- Engines of several pods in a runtime -------------------------------------------------------------------------

RUNTIME = """\
apiVersion: ome.io/v1beta1
kind: ClusterServingRuntime
metadata: {name: a}
spec:
  engineConfig:
    leader:
      runner:
        name: ome-container
        image: registry.example/sglang:1
        command: [python3, -m, sglang.launch_server, --dist-init-addr, "$(LWS_LEADER_ADDRESS):5000", --nnodes, "2"]
        resources: {limits: {nvidia.com/gpu: 8}}
    worker:
      size: 1
      runner:
        name: ome-container
        image: registry.example/sglang:1
        command: [python3, -m, sglang.launch_server, --dist-init-addr, "$(LWS_LEADER_ADDRESS):5000", --nnodes, "2"]
        resources: {limits: {nvidia.com/gpu: 8}}
  routerConfig:
    runner: {name: router, image: "registry.example/router:1"}
"""


def test_leader_and_worker_of_a_runtime_are_one_job() -> None:
    group = job_of(RUNTIME).group
    assert [(r.name, r.pod.site.pods) for r in group.roles][:2] == [("engine leader", 1), ("engine worker", 1)]
    assert group.gpus == 16
    assert codes(RUNTIME) == []


# --- Copies of a group --------------------------------------------------------------------------------------------

POD = "{containers: [{name: main, image: 'registry.example/a:1', resources: {limits: {nvidia.com/gpu: 8}}}]}"


@pytest.mark.parametrize(
    ("api", "kind", "spec", "counts"),
    [
        (
            "grove.io/v1alpha1",
            "PodCliqueSet",
            (
                f"{{replicas: 2, template: {{cliques: [{{name: a, spec: {{replicas: 1, podSpec: {POD}}}}}, {{name: b, spec: {{replicas: 3, "
                f"podSpec: {POD}}}}}], podCliqueScalingGroups: [{{name: g, replicas: 4, cliqueNames: [b]}}]}}}}"
            ),
            [(1, 2), (3, 8)],
        ),
        (
            "nvidia.com/v1alpha1",
            "DynamoGraphDeployment",
            (
                "{services: {Decode: {replicas: 3, multinode: {nodeCount: 2}, resources: {limits: {gpu: '8'}}, "
                "extraPodSpec: {mainContainer: {image: 'registry.example/a:1'}}}}}"
            ),
            [(2, 3)],
        ),
        (
            "disaggregatedset.x-k8s.io/v1",
            "DisaggregatedSet",
            f"{{roles: [{{name: a, spec: {{replicas: 5, leaderWorkerTemplate: {{size: 2, workerTemplate: {{spec: {POD}}}}}}}}}]}}",
            [(2, 5)],
        ),
        (
            "orchestration.aibrix.ai/v1alpha1",
            "StormService",
            f"{{replicas: 2, template: {{spec: {{roles: [{{name: a, replicas: 3, podGroupSize: 2, template: {{spec: {POD}}}}}]}}}}}}",
            [(2, 6)],
        ),
        (
            "grove.io/v1alpha1",
            "PodCliqueSet",
            f"{{replicas: '{{{{ n }}}}', template: {{cliques: [{{name: a, spec: {{replicas: 1, podSpec: {POD}}}}}]}}}}",
            [(1, UNKNOWN)],
        ),
    ],
    ids=["Grove", "Dynamo", "DisaggregatedSet", "AIBrix", "open"],
)
def test_how_many_groups_an_object_makes(api: str, kind: str, spec: str, counts: list[object]) -> None:
    group = job_of(f"apiVersion: {api}\nkind: {kind}\nmetadata: {{name: a}}\nspec: {spec}\n").group
    assert [(r.pods, r.copies) for r in group.roles] == counts


# --- What is said of servers --------------------------------------------------------------------------------------

SERVERS = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec:
  replicas: 4
  selector: {matchLabels: {a: a}}
  template:
    metadata: {labels: {a: a}}
    spec:
      containers:
        - name: main
          image: registry.example/a:1
          command: [vllm, serve, example/a]
          resources: {limits: {nvidia.com/gpu: 1}}
"""


def test_servers_of_their_own_are_no_open_count() -> None:
    one = explained(SERVERS)
    assert [u.what for u in one.unknown if u.what == "pods"] == []
    assert [_role_line(r) for r in one.groups] == ["server: independent pods, 1 GPU"]
    assert _totals(one)["nodes"] == 1


# --- A Service of the files, seen from the host's network ---------------------------------------------------------

AT_A_SERVICE = (
    (BASES / "serving-service.yaml")
    .read_text()
    .replace("      containers:", "      hostNetwork: true\n      containers:")
)


def test_a_service_in_view_is_a_name_of_the_cluster() -> None:
    assert codes(AT_A_SERVICE) == [("POD009", line_of(AT_A_SERVICE, "hostNetwork"))]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("      hostNetwork: true\n", "      hostNetwork: true\n      dnsPolicy: ClusterFirstWithHostNet\n"),
        ("name: chat-first", "name: another"),
        ("--master-addr=chat-first", "--master-addr=10.0.0.1"),
        ("--master-addr=chat-first", "--master-addr=$(FIRST)"),
        ("  replicas: 2\n", "  replicas: 1\n"),
    ],
    ids=["asked as it has to be", "no such Service", "an address", "filled in later", "one pod"],
)
def test_other_places_to_meet_are_no_fault_of_the_hosts_dns(old: str, new: str) -> None:
    assert old in AT_A_SERVICE
    assert "POD009" not in [c for c, _ in codes(AT_A_SERVICE.replace(old, new))]


# --- An unfinished merge ------------------------------------------------------------------------------------------


def test_marks_of_a_merge_are_told_by_name() -> None:
    text = (BASES / "serving-service.yaml").read_text()
    image = "          image: registry.example/engine:1\n"
    merged = f"<<<<<<< HEAD\n{image}=======\n{image}>>>>>>> origin/main\n"
    text = text.replace(image, merged)
    report = assemble(lint([], GIVEN, stdin=("a.yaml", text.encode())), GIVEN, ReportOptions())
    (one,) = [f for f in report.findings if f.code == "DOC001"]
    assert "merge" in one.message
    assert one.region.line == line_of(text, "<<<<<<<")


def test_marks_of_a_merge_inside_a_text_are_a_text() -> None:
    text = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: |\n    <<<<<<< HEAD\n    a\n    >>>>>>> b\n"
    )
    assert codes(text) == []


# --- GKE ----------------------------------------------------------------------------------------------------------

GIB = (BASES / "gib-lws.yaml").read_text()
UNREAD = GIB.replace("                . /usr/local/gib/scripts/set_nccl_env.sh\n", "")


@pytest.mark.parametrize("value", ['""', "none", "None"])
def test_gibs_settings_are_not_asked_for_where_its_plugin_is_kept_out(value: str) -> None:
    assert ("GIB022", line_of(UNREAD, "exec torchrun")) in codes(UNREAD)
    without = UNREAD.replace(
        "            env:\n",
        f"            env:\n              - name: NCCL_NET_PLUGIN\n                value: {value}\n",
    )
    assert "GIB022" not in [c for c, _ in codes(without, notes=True)]


def test_the_hosts_of_gke_have_eth0() -> None:
    hosted = GIB.replace("        containers:\n", "        hostNetwork: true\n        containers:\n").replace(
        "            env:\n",
        "            env:\n              - name: NCCL_SOCKET_IFNAME\n                value: eth0\n",
    )
    assert "IB006" not in [c for c, _ in codes(hosted, notes=True)]
    elsewhere = re.sub(r"(?m)^ +(networking|cloud)\..*\n", "", hosted).replace("gib", "other")
    assert "IB006" in [c for c, _ in codes(elsewhere, notes=True)]


# --- A step's pod under its patch ---------------------------------------------------------------------------------

STEP = """\
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: a}
spec:
  entrypoint: train
  templates:
    - name: train
      podSpecPatch: |
        PATCH
      container:
        image: registry.example/a:1
        command: [python, train.py]
        env: [{name: NCCL_DEBUG, value: WARN}]
"""


@pytest.mark.parametrize(
    ("patch", "count"),
    [
        ("{containers: [{name: main, resources: {limits: {nvidia.com/gpu: 8}}}]}", 8),
        ('{"containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": "4"}}}]}', 4),
        ("{containers: [{name: main, resources: {limits: {nvidia.com/gpu: '{{inputs.parameters.gpus}}'}}}]}", UNKNOWN),
        ("{hostNetwork: true}", 0),
        ("{containers: [{name: other, resources: {limits: {nvidia.com/gpu: 8}}}]}", 8),
    ],
    ids=["yaml", "json", "open", "no container", "a container more"],
)
def test_a_patch_of_the_pod_says_what_the_step_asks_for(patch: str, count: object) -> None:
    (pod,) = job_of(STEP.replace("PATCH", patch)).pods
    assert (pod.worker.gpus if pod.worker is not None else 0) == count
    assert pod.main_containers[0].env.value("NCCL_DEBUG") == "WARN"
    assert len(pod.main_containers) == (2 if "other" in patch else 1)


def test_a_patch_lays_the_pods_own_fields_over() -> None:
    (pod,) = job_of(
        STEP.replace("PATCH", "{hostNetwork: true, volumes: [{name: dshm, emptyDir: {medium: Memory}}]}")
    ).pods
    assert pod.host_network
    assert list(pod.volumes) == ["dshm"]


def test_a_patch_that_cannot_be_read_leaves_the_amounts_open() -> None:
    (pod,) = job_of(STEP.replace("PATCH", "{{inputs.parameters.patch}}")).pods
    assert pod.main_containers[0].resources_open


def test_a_finding_in_a_patch_stands_at_its_line() -> None:
    patch = "{containers: [{name: main, env: [{name: NCCL_SOCKET_IFNMAE, value: eth0}], resources: {limits: {nvidia.com/gpu: 8}}}]}"
    text = STEP.replace("PATCH", patch)
    assert ("NCCL001", line_of(text, "NCCL_SOCKET_IFNMAE")) in codes(text)


# --- What a stream was rendered from ------------------------------------------------------------------------------


def test_a_base_of_many_with_one_name_is_told_by_its_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = (BASES / "serving-service.yaml").read_text().split("---\n")[0].replace("name: chat\n", "name: other\n", 1)
    for folder, text in (("a", plain), ("b", plain.replace("name: other", "name: mine", 1)), ("c", "kind: none\n")):
        (tmp_path / folder / "base").mkdir(parents=True)
        (tmp_path / folder / "base" / "set.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)
    origin = "  annotations:\n    config.kubernetes.io/origin: |\n      path: ../base/set.yaml\n"
    given = Settings()

    def files(name: str) -> set[str]:
        stream = plain.replace("  name: other\n", f"  name: {name}\n{origin}", 1).replace(
            "nvidia.com/gpu: 1", "nvidia.com/gpu: 2"
        )
        report = assemble(lint([], given, stdin=("stdin", stream.encode())), given, ReportOptions())
        return {f.region.path for f in report.findings if f.code == "POD001"}

    assert files("mine") == {"b/base/set.yaml"}
    assert files("other") == {"a/base/set.yaml"}
    assert files("prod-mine") == {"stdin"}


def test_explain_tells_what_fired_in_a_rendered_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    from fabriclint.__main__ import main

    (tmp_path / "templates").mkdir()
    (tmp_path / "Chart.yaml").write_text("name: chat\n")
    (tmp_path / "templates" / "set.yaml").write_text(AT_A_SERVICE)
    stream = "".join(f"---\n# Source: chat/templates/set.yaml\n{part}" for part in AT_A_SERVICE.split("---\n"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stream.encode())))
    monkeypatch.setattr("sys.argv", ["fabriclint", "explain", "-o", "json", "-"])
    with contextlib.suppress(SystemExit):
        main()
    said = json.loads(capsysbinary.readouterr().out)["workloads"][0]["rules"]
    assert said["fired"] == ["POD009"]
    assert said["silent"] == []


# --- Claims beside a pod ------------------------------------------------------------------------------------------

CLAIMED = """\
apiVersion: resource.nvidia.com/v1beta1
kind: ComputeDomain
metadata: {name: domain, namespace: a}
spec:
  numNodes: 4
  channel: {resourceClaimTemplate: {name: channel}}
---
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: a, namespace: a}
spec:
  services:
    Decode:
      componentType: worker
      replicas: 2
      multinode: {nodeCount: 2}
      resources:
        limits: {gpu: "4"}
        claims:
          - name: channel
      extraPodSpec:
        resourceClaims:
          - {name: channel, resourceClaimTemplateName: channel}
        mainContainer:
          image: registry.example/a:1
          command: [python3, -m, dynamo.sglang]
"""


def test_a_claim_that_the_service_names_beside_its_pod_is_used() -> None:
    assert codes(CLAIMED) == []
    unused = CLAIMED.replace("        claims:\n          - name: channel\n", "")
    assert "DEV006" in [c for c, _ in codes(unused)]
