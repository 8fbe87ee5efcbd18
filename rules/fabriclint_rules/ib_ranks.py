"""What the ranks of a pod on InfiniBand or RDMA are told, and what its profile says of them."""

from __future__ import annotations

from typing import Any

from fabriclint.node import Unknown
from fabriclint.pod import PodView, Variable
from fabriclint.rule import Finding
from fabriclint.schema.suggest import misspelt
from fabriclint_rules.attachment import family
from fabriclint_schemas.profiles import overridden, profiles
from fabriclint_schemas.verbs import verbs


def known_profiles(pod: PodView) -> dict[str, dict[str, Any]]:
    """All profiles of the InfiniBand family, with what the configuration changes."""
    known = overridden(pod.lookup.profiles) if pod.lookup.profiles else profiles()
    return {name: p for name, p in known.items() if p["family"] == "IB"}


def profile_of(pod: PodView) -> dict[str, Any]:
    """The profile of a pod on InfiniBand or RDMA; empty for another fabric or none."""
    found: dict[str, Any] = pod.fabric.profile if pod.fabric is not None and on_infiniband(pod) else {}
    return found


def on_infiniband(pod: PodView) -> bool:
    """Whether NCCL's built-in InfiniBand transport is what the pod is wired for."""
    return family(pod) == "IB"


def link(pod: PodView) -> str:
    """What the cards speak: InfiniBand, Ethernet, either; empty for other fabrics."""
    return str(profile_of(pod).get("link", ""))


def unit_of(pod: PodView, resource: str) -> str | None:
    """What one unit of a resource is (shared, card, switch, percent): by the pod's profile, else by the name's own one."""
    own: str | None = profile_of(pod).get("resources", {}).get(resource)
    if own is not None:
        return own
    found = {p["resources"][resource] for p in known_profiles(pod).values() if resource in p.get("resources", {})}
    return found.pop() if len(found) == 1 else None


def told(pod: PodView, name: str) -> str | None:
    """The value of a variable as the ranks see it; None when it is unset or cannot be seen."""
    value = pod.ranks_env.value(name)
    return None if isinstance(value, Unknown) else value


def missing(pod: PodView, name: str) -> bool:
    """Whether the ranks certainly lack a variable, and no misspelt one stands in its place."""
    if pod.ranks_env.value(name) is not None:
        return False
    return not any(misspelt(given, [name]) for given in pod.ranks_env.variables if given.startswith("NCC"))


def rdma_variable(pod: PodView) -> Variable | None:
    """A variable by which the ranks are meant to use InfiniBand: NCCL_IB_HCA, NCCL_IB_DISABLE=0, NCCL_NET=IB."""
    for name, values in verbs()["meant_by"].items():
        variable = pod.ranks_env.get(name)
        if variable is None or isinstance(variable.value, Unknown) or variable.value == "":
            continue
        if values is None or variable.value.strip().lower() in values:
            return variable
    return None


def by_contract(finding: Finding) -> Finding:
    """A finding that exists by the aicr contract alone, or is an error by it."""
    return finding.with_(by_contract=True)
