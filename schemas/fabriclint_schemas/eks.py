"""AWS instance types: accelerators, EFA devices, and what their EFA can do. Read when asked for."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple


class InstanceType(NamedTuple):
    """One type: its accelerators and EFA devices."""

    name: str
    accelerators: int
    efa: int
    neuron: bool

    @property
    def family(self) -> str:
        """The part before the dot."""
        return self.name.partition(".")[0]

    @property
    def reads_rdma(self) -> bool:
        """Whether its EFA can read by RDMA (the first generation cannot)."""
        return self.family not in eks()["no rdma read"]

    @property
    def requires_gpudirect(self) -> bool:
        """Whether the OFI plugin refuses to start without GPUDirect there."""
        return self.name in eks()["gpudirect required"] or self.neuron


@cache
def eks() -> dict[str, Any]:
    """The table as it is."""
    text = (files("fabriclint_schemas") / "tables" / "eks_instances.json").read_text(encoding="utf-8")
    table: dict[str, Any] = json.loads(text)
    return table


@cache
def instance(name: str) -> InstanceType | None:
    """A type by its name, with or without HyperPod's `ml.` in front; None when it is not known."""
    name = name.removeprefix("ml.")
    table = eks()
    for key, neuron in (("gpu", False), ("neuron", True)):
        row = table[key].get(name)
        if row is not None:
            return InstanceType(name, row[0], row[1], neuron)
    efa = table["cpu"].get(name)
    return InstanceType(name, 0, efa, False) if efa is not None else None


@cache
def families(family: str) -> tuple[InstanceType, ...]:
    """All known types of a family (`p5` has p5.4xlarge and p5.48xlarge)."""
    table = eks()
    names = [n for key in ("gpu", "neuron", "cpu") for n in table[key] if n.partition(".")[0] == family]
    return tuple(t for n in names if (t := instance(n)) is not None)


def by_gpu(name: str) -> tuple[InstanceType, ...]:
    """The types with a GPU of that name that have EFA (`h100`, `NVIDIA-H100-80GB-HBM3`); empty when it is not known."""
    lowered = name.lower()
    for gpu, names in eks()["gpu names"].items():
        if lowered == gpu or f"-{gpu}-" in f"-{lowered}-":
            return tuple(t for n in names if (t := instance(n)) is not None)
    return ()
