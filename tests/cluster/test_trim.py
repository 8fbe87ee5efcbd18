"""A trimmed snapshot says the same about jobs and nothing about people, hosts or addresses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from test_scheduler_recordings import CASES, snapshot_of

from fabriclint.assemble import assemble
from fabriclint.cluster.match import RefusedError, judge
from fabriclint.cluster.snapshot import Snapshot, load
from fabriclint.cluster.trim import as_text
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.report.model import ReportOptions

BASES = Path(__file__).parent.parent / "bases"


def reloaded(snapshot: Snapshot, folder: Path) -> Snapshot:
    path = folder / "trimmed.json"
    path.write_text(as_text(snapshot), encoding="utf-8")
    return load(path)


def takers(case: dict[str, Any], snapshot: Snapshot) -> int | None:
    try:
        _, verdicts = judge(case["pod"], snapshot, case["namespace"])
    except RefusedError:
        return None
    return sum(v.node.count for v in verdicts if v.eligible)


NAMED = [
    c
    for c in CASES
    if "nodeName" not in c["pod"]
    and "hostname" not in json.dumps(c["pod"])
    and "matchFields" not in json.dumps(c["pod"])
]


@pytest.mark.parametrize("case", NAMED, ids=[c["name"] for c in NAMED])
def test_as_many_nodes_take_the_pod_as_before(case: dict[str, Any], tmp_path: Path) -> None:
    whole = snapshot_of(case)
    assert takers(case, reloaded(whole, tmp_path)) == takers(case, whole)


PRIVATE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {
        "name": "ip-10-1-2-3.example.internal",
        "uid": "0b1d",
        "annotations": {"alpha.kubernetes.io/provided-node-ip": "10.1.2.3", "owner": "someone@example.com"},
        "labels": {"kubernetes.io/hostname": "ip-10-1-2-3", "node.kubernetes.io/instance-type": "p5.48xlarge",
                   "eks.amazonaws.com/sourceLaunchTemplateId": "lt-0123456789"},
        "managedFields": [{"manager": "kubelet"}],
    },
    "spec": {"podCIDR": "10.2.0.0/24", "providerID": "aws:///us-east-1a/i-0123456789"},
    "status": {
        "addresses": [{"type": "InternalIP", "address": "10.1.2.3"}],
        "allocatable": {"nvidia.com/gpu": "8"},
        "images": [{"names": ["registry.example/secret-project:1"]}],
        "nodeInfo": {"machineID": "ec2abc", "kubeletVersion": "v1.33.1"},
    },
}  # fmt: skip


def test_nothing_private_is_left() -> None:
    text = as_text(Snapshot({"Node": [PRIVATE]}, {"Node"}))
    for word in (
        "10.1.2.3",
        "ip-10",
        "someone",
        "lt-0123",
        "i-0123",
        "10.2.0.0",
        "secret-project",
        "ec2abc",
        "0b1d",
        'kubelet"',
    ):
        assert word not in text
    assert "p5.48xlarge" in text


def test_trimming_twice_changes_nothing(tmp_path: Path) -> None:
    once = as_text(load(BASES / "snapshot-eks.yaml"))
    (tmp_path / "once.json").write_text(once)
    assert as_text(load(tmp_path / "once.json")) == once


def test_equal_nodes_are_one_with_their_number(tmp_path: Path) -> None:
    nodes = [json.loads(json.dumps(PRIVATE)) for _ in range(300)]
    for number, node in enumerate(nodes):
        node["metadata"]["name"] = f"n{number}"
        node["metadata"]["labels"]["kubernetes.io/hostname"] = f"n{number}"
    trimmed = reloaded(Snapshot({"Node": nodes}, {"Node"}), tmp_path)
    assert [n.count for n in trimmed.nodes] == [300]
    assert len((tmp_path / "trimmed.json").read_text()) < 2000


@pytest.mark.parametrize("base", ["fit-job", "fit-set", "fit-claims", "fit-trainer", "tcpxo-jobset"])
@pytest.mark.parametrize("snapshot", ["snapshot-eks", "snapshot-gke", "snapshot-gke-bare", "snapshot-gke-displaced"])
def test_the_same_is_found_as_with_the_whole(base: str, snapshot: str, tmp_path: Path) -> None:
    text = (BASES / f"{base}.yaml").read_bytes()

    def found(path: Path) -> list[tuple[str, int, str]]:
        settings = Settings(isolated=True, cluster=(("*", str(path)),))
        report = assemble(lint([], settings, stdin=("job.yaml", text)), settings, ReportOptions())
        return [(f.code, f.region.line, f.severity) for f in report.findings if f.code.startswith("FIT")]

    whole = BASES / f"{snapshot}.yaml"
    trimmed = tmp_path / "trimmed.json"
    trimmed.write_text(as_text(load(whole)))
    assert found(trimmed) == found(whole)
