"""What a group says of a job: names, counts, copies, addresses and the rendezvous, over all kinds and without guessing."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabriclint.engine import WorkspaceLookup, builtin_pack, make_job, read_workspace
from fabriclint.group import GroupView, Hosts
from fabriclint.kinds import workload_of
from fabriclint.node import UNKNOWN

BASES = Path(__file__).parent.parent / "bases"


def group(text: str) -> GroupView:
    workspace = read_workspace([("job.yaml", text.encode())], [])
    for manifest in workspace.manifests:
        workload = workload_of(manifest)
        if workload is not None:
            return make_job(workload, WorkspaceLookup(workspace), builtin_pack().fabric_of, "generic").group
    raise AssertionError("no workload")


def base(name: str, *changes: tuple[str, str]) -> GroupView:
    text = (BASES / f"run-{name}.yaml").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return group(text)


def test_hosts_know_their_first_and_last_name_and_who_belongs() -> None:
    hosts = Hosts("set-node-{}-{}", (2, 4), (0, 0))
    assert (hosts.first, hosts.last) == ("set-node-0-0", "set-node-1-3")
    assert hosts.has("set-node-1-3") is True
    assert hosts.has("set-node-2-0") is False
    assert hosts.has("set-node-01-0") is False
    assert hosts.has("other-node-0-0") is False


def test_hosts_of_an_open_count_are_not_denied() -> None:
    hosts = Hosts("job-{}", (UNKNOWN,), (0,))
    assert hosts.last is UNKNOWN
    assert hosts.has("job-7") is UNKNOWN
    assert hosts.has("job") is False


@pytest.mark.parametrize(
    ("name", "nodes", "gpus", "maker"),
    [
        ("pytorchjob", 4, 4, "the training-operator"),
        ("mpijob", 2, 2, "the mpi-operator"),
        ("leaderworkerset", 4, 4, "LeaderWorkerSet"),
        ("raycluster", 2, 2, "KubeRay"),
        ("volcano", 3, 3, "Volcano"),
        ("jobset", 2, 2, "JobSet"),
    ],
)
def test_nodes_and_gpus_are_those_of_one_job(name: str, nodes: int, gpus: int, maker: str) -> None:
    found = base(name)
    assert (found.nodes, found.gpus, found.multi_node, found.maker) == (nodes, gpus, True, maker)


def test_groups_of_a_set_are_copies_and_not_more_nodes() -> None:
    found = base("leaderworkerset")
    assert [(r.role, r.pods, r.all_pods) for r in found.roles] == [("leader", 1, 2), ("worker", 3, 6)]


def test_an_open_count_makes_the_job_neither_large_nor_small() -> None:
    found = base(
        "jobset", ("parallelism: 2", "parallelism: '{{ nodes }}'"), ("completions: 2", "completions: '{{ nodes }}'")
    )
    assert found.nodes is UNKNOWN
    assert found.multi_node is UNKNOWN
    assert found.gpus is UNKNOWN


def test_the_controller_wins_over_the_file_in_a_pytorchjob() -> None:
    env = "image: registry.example/captions:2.1\n              env: [{name: MASTER_ADDR, value: 10.0.0.9}]"
    found = base("pytorchjob", ("image: registry.example/captions:2.1", env))
    assert found.roles[0].environment()["MASTER_ADDR"] == "captions-master-0"


def test_the_file_wins_over_kuberay() -> None:
    env = "image: registry.example/ray:2.52\n              env: [{name: RAY_PORT, value: '7000'}]"
    found = base(
        "raycluster",
        ("- name: worker\n              image: registry.example/ray:2.52", "- name: worker\n              " + env),
    )
    assert found.roles[1].environment()["RAY_PORT"] == "7000"


def test_a_value_that_differs_from_pod_to_pod_is_none_and_one_that_cannot_be_told_is_unknown() -> None:
    found = base("pytorchjob")
    assert found.roles[1].injected["RANK"] is None
    assert base("pytorchjob", ("replicas: 3", "replicas: 1")).roles[1].injected["RANK"] == "1"
    unnamed = base("pytorchjob", ("name: captions", "generateName: captions-"))
    assert unnamed.roles[1].injected["MASTER_ADDR"] is UNKNOWN
    assert unnamed.roles[1].hosts is None


def test_the_rendezvous_is_the_controllers_where_the_command_says_none() -> None:
    assert base("pytorchjob").rendezvous == ("captions-master-0", "23456")
    assert base("volcano").rendezvous == ("speech-master-0.speech", "23456")


def test_the_rendezvous_of_the_command_counts_first() -> None:
    command = "command: [torchrun, --nnodes=2, --rdzv-backend=c10d, '--rdzv-endpoint=other:29400', forecast.py]"
    assert base("jobset", ("command: [python, forecast.py]", command)).rendezvous == ("other", "29400")


def test_ray_and_mpi_ask_for_no_address() -> None:
    assert base("raycluster").own_rendezvous
    assert base("mpijob").own_rendezvous
    assert not base("jobset").own_rendezvous


@pytest.mark.parametrize(
    ("name", "address", "known"),
    [
        ("pytorchjob", "captions-master-0", True),
        ("pytorchjob", "captions-master-0.vision.svc", True),
        ("pytorchjob", "captions-master-0.other", False),
        ("pytorchjob", "captions-worker-2", True),
        ("pytorchjob", "captions-worker-3", False),
        ("jobset", "weather-ranks-0-1.weather", True),
        ("jobset", "weather-ranks-0-1", False),
        ("jobset", "weather-ranks-0-2.weather", False),
        ("jobset", "weather-node-0-0.weather", False),
        ("mpijob", "reduce-worker-1.reduce.bench.svc", True),
        ("leaderworkerset", "answers-1.answers", True),
        ("leaderworkerset", "answers-1-3.answers.serving", True),
        ("leaderworkerset", "answers-1-4.answers.serving", False),
        ("volcano", "speech-worker-1.speech", True),
        ("raycluster", "search-head-svc.tuning.svc.cluster.local", True),
    ],
)
def test_addresses_of_the_jobs_own_pods_and_services_are_known(name: str, address: str, known: bool) -> None:
    assert base(name).knows(address) is known


def test_names_of_a_service_of_the_user_are_not_vouched_for() -> None:
    found = group(
        """\
apiVersion: batch/v1
kind: Job
metadata: {name: fold}
spec:
  completionMode: Indexed
  completions: 2
  parallelism: 2
  template:
    spec:
      subdomain: ring
      restartPolicy: Never
      containers: [{name: main, image: "registry.example/fold:1", command: [python, fold.py]}]
"""
    )
    assert found.knows("fold-0.ring") is UNKNOWN
    assert found.knows("fold-2.ring") is False
    assert found.knows("fold-0") is False
    assert found.user_service


def test_sshd_hides_the_pods_env_from_the_ranks() -> None:
    assert base("mpijob").ssh
    assert not base("mpijob", ("kubeflow.org/v2beta1", "kubeflow.org/v1")).ssh


def test_a_launcher_that_is_a_worker_runs_ranks() -> None:
    command = 'command: [mpirun, -np, "2", ./reduce]'
    gpus = command + "\n              resources: {limits: {nvidia.com/gpu: 1}}"
    found = base("mpijob", ("slotsPerWorker: 1", "runLauncherAsWorker: true"), (command, gpus))
    assert found.nodes == 3
    assert base("mpijob", (command, gpus)).nodes == 2


def test_processes_are_the_launchers_word_then_the_kinds() -> None:
    assert base("pytorchjob").processes_per_node == 1
    assert base("pytorchjob", ('nprocPerNode: "1"', 'nprocPerNode: "auto"')).processes_per_node == 1
    assert base("mpijob").ranks == 2
    assert base("jobset").ranks is UNKNOWN


def test_an_unknown_kind_has_roles_and_no_promises() -> None:
    found = group(
        """\
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: engine}
spec:
  template:
    cliques:
      - name: decode
        spec:
          replicas: 2
          podSpec:
            containers: [{name: main, image: "registry.example/e:1", resources: {limits: {nvidia.com/gpu: 8}}}]
"""
    )
    assert found.nodes == 2
    assert found.roles[0].hosts is None
    assert found.knows("engine-0-decode-0") is UNKNOWN
