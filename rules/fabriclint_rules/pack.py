"""The built-in rule pack: an explicit table of its modules."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module

from fabriclint.pod import PodView
from fabriclint.rule import FabricMatch, Pack, Rule, rules_of

MODULES = (
    "documents",
    "schema_rules",
    "suppressions",
    "trainer_patches",
    "trainer_runtime",
    "trainer_resources",
    "trainer_block",
    "trainer_mpi",
    "trainer_jobset",
    "pod_shared_memory",
    "pod_capabilities",
    "pod_resources",
    "pod_volumes",
    "pod_fabric",
    "pod_network",
    "pod_placement",
    "pod_images",
    "pod_claims",
    "pod_security",
    "efa",
    "efa_variables",
    "efa_image",
    "efa_nodes",
    "nccl_variables",
    "nccl_transport",
    "nccl_interface",
    "ib_device",
    "ib_variables",
    "ib_cards",
    "attachments_networks",
    "devices_gpus",
    "devices_claims",
    "devices_placement",
    "devices_gloo",
    "gke_interfaces",
    "gke_sidecar",
    "gke_volumes",
    "gke_environment",
    "gke_placement",
    "gke_installer",
    "fit",
    "fit_objects",
    "run_operators",
    "run_processes",
    "run_environment",
    "run_roles",
    "run_command",
    "run_rendezvous",
    "run_neighbours",
    "run_gang",
)


@cache
def _rules() -> tuple[Rule, ...]:
    found: list[Rule] = []
    for name in MODULES:
        found.extend(rules_of(import_module(f"fabriclint_rules.{name}")))
    return tuple(sorted(found, key=lambda r: r.code))


def load() -> Iterable[Rule]:
    """All rules of the pack, in code order."""
    return _rules()


def fabric_of(pod: PodView) -> FabricMatch | None:
    """The fabric a pod is wired for."""
    from fabriclint_rules.fabric import tell

    return tell(pod)


PACK = Pack("fabric", load, fabric_of)
