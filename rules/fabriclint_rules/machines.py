"""What a pod's node is known to be: its machine types and GPUs, by nodeSelector and required affinity."""

from __future__ import annotations

from collections.abc import Iterator

from fabriclint.node import Mapping, Scalar
from fabriclint.pod import PodView
from fabriclint_schemas.machines import gpus_by_label, has_fabric, type_labels

#: One way to be admitted: the values that each label may have there.
Demand = dict[str, list[Scalar]]


def demands(pod: PodView) -> list[Demand]:
    """The alternatives of nodeSelector and required node affinity; one of them holds for the pod's node."""
    selector: Demand = {name: [value] for name, value in pod.node_selector.items()}
    terms = list(_terms(pod))
    if not terms:
        return [selector]
    out: list[Demand] = []
    for term in terms:
        both: Demand = dict(selector)
        for expression in term.mappings("matchExpressions"):
            name, values = expression.string("key"), expression.sequence("values")
            if name is None or expression.string("operator") != "In" or values is None or name in selector:
                continue
            both[name] = [v for v in values.items if isinstance(v, Scalar)]
        out.append(both)
    return out


def machine_type_nodes(pod: PodView) -> list[Scalar]:
    """The nodes of the machine types that the pod's node may have; empty when one of the ways names none."""
    out: list[Scalar] = []
    for demand in demands(pod):
        named = [v for label in sorted(type_labels()) for v in demand.get(label, ())]
        if not named or any(v.open for v in named):
            return []
        out.extend(v for v in named if v not in out)
    return out


def machine_types(pod: PodView) -> list[str]:
    """The machine types that the pod's node may have; empty when they are not named, or one is an open value."""
    return list(dict.fromkeys(v.text for v in machine_type_nodes(pod)))


def node_gpus(pod: PodView) -> int | None:
    """GPUs of the node the pod runs on; None when the file does not tell, or admits nodes with different counts."""
    counts: set[int | None] = set()
    for demand in demands(pod):
        counts |= _counts(demand)
    return counts.pop() if len(counts) == 1 else None


def lacks_fabric(pod: PodView, fabric: str) -> Scalar | None:
    """The machine type without a fabric (`InfiniBand`) when every type that the pod admits is known to have none."""
    named = machine_type_nodes(pod)
    if named and all(has_fabric(v.text, fabric) is False for v in named):
        return named[0]
    return None


def admits_fabric(pod: PodView, fabric: str) -> Scalar | None:
    """The machine type with a fabric when every type that the pod admits is known to have it."""
    named = machine_type_nodes(pod)
    if named and all(has_fabric(v.text, fabric) is True for v in named):
        return named[0]
    return None


def _terms(pod: PodView) -> Iterator[Mapping]:
    yield from pod.spec.mappings(
        "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"
    )


def _counts(demand: Demand) -> set[int | None]:
    """GPUs by the first label that tells them all, the machine type before others; {None} when none does."""
    for label in sorted(demand, key=lambda name: (name not in type_labels(), name)):
        found = {gpus_by_label(label, v.text) if not v.open else None for v in demand[label]}
        if found and None not in found:
            return set(found)
    return {None}
