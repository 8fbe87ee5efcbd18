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
    "pod_values",
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
    "run_start",
    "run_rendezvous",
    "run_ranks",
    "run_neighbours",
    "run_gang",
)


_TRAINER = ("TrainerView",)
_PODS = ("JobView", "PodView")
_GROUPS = ("GroupView",)
_GKE = ("gke-tcpxo", "gke-tcpx", "gke-gib")

#: What the rules of a module speak of: classes of views, kinds of objects, fabrics, a snapshot. A module is loaded when
#: one of them is in view; one that is not named here is always loaded.
SPEAKS_OF: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("trainer_patches", "trainer_runtime", "trainer_resources", "trainer_block", "trainer_mpi"), _TRAINER
    ),
    "trainer_jobset": (*_TRAINER, "JobSet"),
    **dict.fromkeys((m for m in MODULES if m.startswith(("pod_", "nccl_", "ib_", "efa"))), _PODS),
    **dict.fromkeys(("devices_claims", "devices_placement", "gke_installer"), _PODS),
    "efa_nodes": (*_PODS, "ClusterConfig"),
    "devices_gpus": (*_PODS, *_GROUPS),
    "devices_gloo": _GROUPS,
    **dict.fromkeys((m for m in MODULES if m.startswith("run_")), _GROUPS),
    "gke_interfaces": _PODS,
    **dict.fromkeys(("gke_sidecar", "gke_volumes", "gke_environment", "gke_placement"), _GKE),
    "fit": ("PlacedJob",),
    "fit_objects": ("PlacedJob", "snapshot"),
}


@cache
def _rules(modules: tuple[str, ...] = MODULES) -> tuple[Rule, ...]:
    found: list[Rule] = []
    for name in modules:
        found.extend(rules_of(import_module(f"fabriclint_rules.{name}")))
    return tuple(sorted(found, key=lambda r: r.code))


def load() -> Iterable[Rule]:
    """All rules of the pack, in code order."""
    return _rules()


def load_for(in_view: frozenset[str]) -> Iterable[Rule]:
    """The rules that may have to say something of what is in view, in code order."""
    return _rules(tuple(m for m in MODULES if m not in SPEAKS_OF or not in_view.isdisjoint(SPEAKS_OF[m])))


def fabric_of(pod: PodView) -> FabricMatch | None:
    """The fabric a pod is wired for."""
    from fabriclint_rules.fabric import tell

    return tell(pod)


PACK = Pack("fabric", load, fabric_of, load_for=load_for)
