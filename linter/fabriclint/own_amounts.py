"""GPUs and images that a kind says in fields of its own, as its container's: a profile, a machine, a degree of parallelism.

Each reader takes a container, the object and the kind's row of the table, and gives the container with what it gets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fabriclint.node import Mapping, Node, Scalar, build
from fabriclint.own_shapes import copy_of, twin, with_listed_env

_GPU = "nvidia.com/gpu"


def with_gpus(container: Mapping, resource: str, count: int | str, said: Node) -> Mapping:
    """A container that asks for GPUs which another field says; its own amounts of them stay."""
    if any(container.at("resources", section, resource) is not None for section in ("limits", "requests")):
        return container
    own = container.at("resources")
    if isinstance(own, Scalar) and own.value is not None:
        return container
    limits = container.at("resources", "limits")
    if isinstance(limits, Scalar) and limits.value is not None:
        return container
    resources = copy_of(own) if isinstance(own, Mapping) else twin(own if own is not None else said)
    listed = copy_of(limits) if isinstance(limits, Mapping) else twin(limits if limits is not None else said)
    listed.fields[resource] = build(count, said)
    resources.fields["limits"] = listed
    made = copy_of(container)
    made.fields["resources"] = resources
    return made


def by_profile(container: Mapping, root: Mapping, row: dict[str, Any]) -> Mapping:
    """`resourceProfile: NAME:COUNT` (KubeAI): what the profile's name begins with tells which GPUs, if any."""
    made = with_listed_env(container, "env")
    said = container.scalar("resourceProfile")
    if said is None or said.open:
        return made
    profile, _, count = said.text.partition(":")
    resource = next((r for begins, r in row["profiles"].items() if profile.startswith(begins)), None)
    if resource is None or not (count.isdecimal() or not count):
        return made
    return with_gpus(made, resource, int(count or 1), said)


def by_machine(container: Mapping, root: Mapping, row: dict[str, Any]) -> Mapping:
    """`resource.instanceType` (KAITO): all GPUs of a machine that is known."""
    from fabriclint_schemas.machines import gpus_of_type

    said = root.at("resource", "instanceType")
    gpus = gpus_of_type(said.text) if isinstance(said, Scalar) and isinstance(said.value, str) else None
    # A pod template of one's own says what it asks for itself.
    if said is None or not gpus or container.at("template") is not None:
        return container
    return with_gpus(container, _GPU, gpus, said)


def by_parallelism(container: Mapping, root: Mapping, row: dict[str, Any]) -> Mapping:
    """`multiNode.parallelism.tensor` (NIM): GPUs of each pod where its resources name none; the image in its parts."""
    made = container
    image = container.at("image")
    if isinstance(image, Mapping):
        repository, tag = image.string("repository"), image.string("tag")
        made = copy_of(container)
        if repository is not None:
            made.fields["image"] = build(f"{repository}:{tag}" if tag else repository, image.at("repository"))
        else:
            del made.fields["image"]
    said = root.at("spec", "multiNode", "parallelism", "tensor")
    if isinstance(said, Scalar) and isinstance(said.value, int) and not isinstance(said.value, bool):
        return with_gpus(made, _GPU, said.value, said)
    return made


def by_quantity(container: Mapping, root: Mapping, row: dict[str, Any]) -> Mapping:
    """`gpu: {name, quantity}` (Spark)."""
    said, resource = container.at("gpu", "quantity"), container.string("gpu", "name")
    if resource and isinstance(said, Scalar) and said.value is not None:
        return with_gpus(container, resource, said.text, said)
    return container


Reader = Callable[[Mapping, Mapping, dict[str, Any]], Mapping]

READERS: dict[str, Reader] = {
    "profile": by_profile,
    "machine": by_machine,
    "parallelism": by_parallelism,
    "quantity": by_quantity,
}
