"""What a worker asks for: the resources Trainer looks at, and the GPUs and CPUs it finds in them."""

from __future__ import annotations

import math

from fabriclint.node import Mapping, Scalar
from fabriclint.quantity import parse_quantity
from fabriclint.trainer.assembly import Assembly, Count
from fabriclint.trainer.edit import is_set
from fabriclint_schemas.trainer.load import names


def looked_at(assembly: Assembly) -> Mapping | None:
    """The resources that process counts are told from.

    Those of the TrainJob whenever it has any, even `{}`; else those of container `node` in the first replicated job
    that is called `node` or labelled as the trainer and has such a container.
    """
    trainer = assembly.trainer
    if is_set(trainer, "resourcesPerNode"):
        return trainer.mapping("resourcesPerNode") if trainer is not None else None
    for podset in assembly.podsets:
        if podset.name == names()["node"] or podset.step == "trainer":
            node = podset.node
            if node is not None:
                return node.mapping("resources")
    return None


def gpus(resources: Mapping | None) -> Count | None:
    """How many GPUs: an amount whose name holds `gpu`, of the requests, else of the limits. None for none."""
    for half in ("requests", "limits"):
        amounts = resources.mapping(half) if resources is not None else None
        for name, value in sorted(amounts.fields.items()) if amounts is not None else ():
            if "gpu" in name.lower() and isinstance(value, Scalar):
                found = _whole(value)
                if found != 0:
                    return Count(found, value)
    return None


def cpus(resources: Mapping | None) -> int:
    """How many CPUs, rounded up: requested, else limited."""
    if resources is None:
        return 0
    for half in ("requests", "limits"):
        value = resources.scalar(half, "cpu")
        if value is not None:
            found = _whole(value)
            if found:
                return found
    return 0


def limits_first(resources: Mapping, wanted: str) -> str:
    """How Trainer 2.0 tells processes from the TrainJob's resources: by the limits, else by the requests.

    `wanted`: `auto`, `cpu`, or a count. A half that is absent counts as one process.
    """
    for half in ("limits", "requests"):
        amounts = resources.mapping(half)
        if amounts is None:
            if half == "requests":
                return "1"
            continue
        by_cpu = wanted == "auto" and not any("gpu" in name.lower() for name in amounts.fields)
        if by_cpu or (wanted == "cpu" and "cpu" in amounts.fields):
            value = amounts.scalar("cpu")
            return str(max(1, (_whole(value) or 0) if value is not None else 0))
    return "1" if wanted == "cpu" else wanted


def _whole(value: Scalar) -> int | None:
    if value.open or value.value is None:
        return None
    amount = parse_quantity(value.text)
    return math.ceil(amount) if amount is not None else None
