"""Against a snapshot nothing is said that the snapshot does not prove."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from test_fit import JOB, node, said


def changed(name: str, **parts: Any) -> dict[str, Any]:
    made = node(name)
    for path, value in parts.items():
        holder: dict[str, Any] = made
        *steps, last = path.split("__")
        for step in steps:
            holder = holder.setdefault(step, {})
        holder[last] = value
    return made


NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
CASES: dict[str, list[dict[str, Any]]] = {
    "one cordoned node among enough others": [node("a"), node("b"), changed("c", spec__unschedulable=True)],
    "one node that is not ready among enough others": [node("a"), node("b"), changed("c", spec__taints=[NOT_READY])],
    "a pool without GPUs that the selector leaves out": [node("a"), node("b"), changed("cpu", metadata__labels={"pool": "cpu"}, status__allocatable={"cpu": "8", "pods": "110"})],
    "a control plane with its taint": [node("a"), node("b"), changed("cp", metadata__labels={}, spec__taints=[{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}])],
    "amounts in another canonical form": [changed(n, status__allocatable={"cpu": "96k", "memory": "1e15", "pods": "0.1k", "nvidia.com/gpu": "8e0"}) for n in "ab"],
    "a taint that only some nodes have": [node("a"), node("b"), node("c", taint=True)],
    "a soft taint on every node": [changed(n, spec__taints=[{"key": "x", "effect": "PreferNoSchedule"}]) for n in "ab"],
    "nodes with more GPUs than asked": [node("a", gpus=16), node("b", gpus=16)],
    "no nodes in the snapshot at all": [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml"}}],
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_said_of_a_job_that_has_room(tmp_path: Any, name: str) -> None:
    assert said(tmp_path, JOB, copy.deepcopy(CASES[name]))[0] == set()


@pytest.mark.parametrize(
    "change",
    [
        ("nodeSelector: {pool: gpu}", "nodeSelector: {pool: '{{ .Values.pool }}'}"),
        ("nvidia.com/gpu: 8", "nvidia.com/gpu: '${GPUS}'"),
        ("parallelism: 2", "parallelism: ${NODES}"),
    ],
    ids=["selector", "amount", "count"],
)
def test_open_values_are_never_compared(tmp_path: Any, change: tuple[str, str]) -> None:
    text = JOB.replace(*change)
    assert text != JOB
    found, failed = said(tmp_path, text, [node("a", gpus=4), changed("b", metadata__labels={"pool": "other"})])
    assert failed == []
    assert found <= {"FIT002"} if "parallelism" in change[0] else found == set()


def test_a_kind_that_was_not_collected_is_never_missing(tmp_path: Any) -> None:
    text = JOB.replace(
        "metadata: {name: train, namespace: ml}",
        "metadata: {name: train, namespace: ml, labels: {kueue.x-k8s.io/queue-name: q}}",
    )
    text = text.replace(
        "    spec:\n      restartPolicy",
        "    metadata: {annotations: {k8s.v1.cni.cncf.io/networks: fast}}\n    spec:\n      restartPolicy",
    )
    assert "fast" in text and "queue-name" in text
    assert said(tmp_path, text, [node("a"), node("b")])[0] == set()
