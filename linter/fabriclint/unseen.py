"""Objects that a job's workers hang on and that are in none of the files: what a clean run has not looked at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from fabriclint.node import Node, open_value

if TYPE_CHECKING:
    from fabriclint.pod import PodView
    from fabriclint.views import JobView


def unseen(jobs: Iterable[JobView]) -> tuple[str, ...]:
    """The objects, as `ConfigMap 'nccl'`, in the order of the jobs, each once."""
    found: dict[str, None] = {}
    for job in jobs:
        for pod in job.pods:
            # Without its claim's template nobody knows whether a pod has GPUs.
            for kind, name, _ in (*(_environments(pod) if pod.is_worker else ()), *open_claims(pod)):
                found[f"{kind} '{name}'"] = None
        service = _service(job)
        if service is not None:
            found[f"Service '{service}'"] = None
    return tuple(found)


def open_claims(pod: PodView) -> Iterator[tuple[str, str, Node]]:
    """The claims and claim templates that a pod names and that are not in view: kind, name and the entry."""
    for entry in pod.claim_names.values():
        for kind, key in (
            ("ResourceClaimTemplate", "resourceClaimTemplateName"),
            ("ResourceClaim", "resourceClaimName"),
        ):
            name = entry.string(key)
            if not name or open_value(name) or pod.lookup.neighbour(pod.workload, kind, name) is not None:
                continue
            # A ComputeDomain makes the template of its channel.
            if pod.lookup.domain_of(pod.workload, name) is None:
                yield kind, name, entry


def _environments(pod: PodView) -> Iterator[tuple[str, str, Node]]:
    for container in pod.main_containers:
        for entry in container.node.mappings("envFrom"):
            name = entry.string("configMapRef", "name")
            if name and not open_value(name) and pod.lookup.config_map(pod.workload, name) is None:
                yield "ConfigMap", name, entry


def _service(job: JobView) -> str | None:
    """The headless Service by which the pods find each other, where it is the user's and not in view."""
    if job.workload.manifest.kind not in ("Job", "StatefulSet") or not job.workers:
        return None
    group = job.group
    name = group.subdomain
    if (
        not group.user_service
        or not isinstance(name, str)
        or not name
        or open_value(name)
        or group.multi_node is not True
    ):
        return None
    return name if job.pods[0].lookup.neighbour(job.workload, "Service", name) is None else None
