"""Which nodes take a pod, as the scheduler's own filters answered (recorded with Kubernetes 1.35.2)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabriclint.cluster.match import RefusedError, judge
from fabriclint.cluster.snapshot import Snapshot

CASES = json.loads((Path(__file__).parent.parent / "data" / "cluster" / "scheduler.json").read_text(encoding="utf-8"))
#: Where the product says something else than the scheduler alone, and why.
OTHERWISE = {
    "048-gke-taint-untolerated": "GKE's API server adds the toleration for a requested resource",
    "082-gke-network-taint": "GKE's API server adds the toleration for a requested resource",
    "198-jobset-worker-untolerated/evaluator": "GKE's API server adds the toleration for a requested resource",
    "186-nodename-bypasses-scheduler": "nodeName passes the scheduler by: the kubelet takes the pod",
}


def snapshot_of(case: dict[str, Any]) -> Snapshot:
    nodes = [
        {
            "kind": "Node",
            "metadata": {"name": n["name"], "labels": n["labels"]},
            "spec": {"taints": n["taints"], "unschedulable": n["unschedulable"], "providerID": f"{n['provider']}://x"},
            "status": {"allocatable": n["allocatable"]},
        }
        for n in case["nodes"]
    ]
    objects: dict[str, list[dict[str, Any]]] = {"Node": nodes}
    for item in case.get("objects", ()):
        objects.setdefault(item["kind"], []).append(item)
    return Snapshot(objects, set(objects))


def eligible(case: dict[str, Any]) -> list[str] | None:
    """The nodes that take the pod; None when the pod itself is refused."""
    try:
        _, verdicts = judge(case["pod"], snapshot_of(case), case["namespace"])
    except RefusedError:
        return None
    return sorted(v.node.name for v in verdicts if v.eligible)


@pytest.mark.parametrize("case", CASES, ids=[c["name"] for c in CASES])
def test_the_same_nodes_take_the_pod(case: dict[str, Any]) -> None:
    found = eligible(case)
    if case["name"] in OTHERWISE:
        assert found != case["eligible"], "no longer an exception"
    elif not case["admitted"]:
        assert not found
    else:
        assert found == case["eligible"]
