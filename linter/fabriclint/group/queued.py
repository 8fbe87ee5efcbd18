"""What Kueue's webhooks ask of a job that stands in a queue.

Source: kubernetes-sigs/kueue@8eab687 (v0.19.2) pkg/controller/jobframework/tas_validation.go, pkg/controller/jobs/rayjob.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fabriclint.finding import Place
from fabriclint.group import Refusal
from fabriclint.node import Scalar, open_value

if TYPE_CHECKING:
    from fabriclint.group.refusals import Checked

_QUEUE = "kueue.x-k8s.io/queue-name"
_PREFIX = "kueue.x-k8s.io/podset-"
_TOPOLOGY = tuple(f"{_PREFIX}{way}-topology" for way in ("required", "preferred", "unconstrained"))
_SLICE = (f"{_PREFIX}slice-required-topology", f"{_PREFIX}slice-size")


def _queue(c: Checked) -> Scalar | None:
    """The label that puts the job into a queue."""
    labels = c.root.mapping("metadata", "labels")
    node = labels.fields.get(_QUEUE) if labels is not None else None
    return node if isinstance(node, Scalar) and isinstance(node.value, str) and node.value else None


def topology(c: Checked) -> Iterator[Refusal]:
    """Annotations of a pod template ask for a topology in one way, and for slices with both their annotations."""
    if _queue(c) is None:
        return
    for pod in c.group.pods:
        if any(open_value(name) for name in pod.annotations):
            continue
        asked = [name for name in _TOPOLOGY if name in pod.annotations]
        if len(asked) > 1:
            yield c.refusal(
                Place(pod.annotations[asked[1]], on_key=True),
                what=f"'{asked[1]}' stands beside '{asked[0]}'",
                edit="Keep one of the two.",
            )
        for mine, other in (_SLICE, _SLICE[::-1]):
            if mine in pod.annotations and other not in pod.annotations:
                yield c.refusal(
                    Place(pod.annotations[mine], on_key=True),
                    what=f"'{mine}' stands without '{other}'",
                    edit=f"Add '{other}', or remove this one.",
                )
        free = pod.annotations.get(_TOPOLOGY[2])
        if free is not None and not free.open and isinstance(free.value, str) and free.value not in ("true", "false"):
            yield c.refusal(free, what=f"'{_TOPOLOGY[2]}' is '{free.text}'", edit='Write "true", or remove it.')


def ray_job(c: Checked) -> Iterator[Refusal]:
    """A Ray job in a queue brings a cluster of its own and takes it away at the end."""
    if _queue(c) is None:
        return
    chosen = c.root.at("spec", "clusterSelector")
    if chosen is not None:
        yield c.refusal(
            Place(chosen, on_key=True),
            what="A Ray job in a queue has a clusterSelector",
            edit="Write a rayClusterSpec, or take the job out of the queue.",
        )
        return
    ends = c.root.at("spec", "shutdownAfterJobFinishes")
    if ends is None or (isinstance(ends, Scalar) and ends.value is False):
        yield c.refusal(
            Place(ends) if ends is not None else Place(c.root.nearest("spec"), on_key=True),
            what="A Ray job in a queue keeps its cluster when it is done",
            edit="Write 'shutdownAfterJobFinishes: true'.",
        )
