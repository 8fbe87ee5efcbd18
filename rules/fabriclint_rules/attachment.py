"""What ties a pod to a fabric, whatever the fabric: devices, networks, claims, the host's own devices."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from fabriclint.node import Mapping, Unknown
from fabriclint.pod import ContainerView, PodView
from fabriclint.rule import Place
from fabriclint.workload import PodRole, is_accelerator
from fabriclint_rules.machines import node_gpus
from fabriclint_schemas.pods import pods


def is_extended(resource: str) -> bool:
    """Whether a resource is one of a device plugin (or of a node's status), not the node's own cpu, memory and disk."""
    domain, slash, _ = resource.partition("/")
    return bool(slash) and not domain.endswith("kubernetes.io") and not resource.startswith("requests.")


def is_fabric_device(resource: str) -> bool:
    """Whether a resource is a NIC, or access to one, of a fabric that is known."""
    return resource.startswith(tuple(pods()["fabric_devices"]))


def asked(container: ContainerView, resource: str) -> bool:
    """Whether a container asks for some of a resource: an open amount counts, a plain zero does not."""
    amount = container.amount(resource)
    return isinstance(amount, Unknown) or (isinstance(amount, Decimal) and amount > 0)


def devices_of(container: ContainerView) -> list[str]:
    """The extended resources a container asks for that are no GPUs or chips, by name."""
    names = sorted(container.resource_names)
    return [n for n in names if is_extended(n) and not is_accelerator(n) and not _gpu_like(n) and asked(container, n)]


def fabric_devices_of(container: ContainerView) -> list[str]:
    """The fabric devices a container asks for, by name."""
    return [n for n in devices_of(container) if is_fabric_device(n)]


def _gpu_like(resource: str) -> bool:
    return resource.startswith(("nvidia.com/gpu", "nvidia.com/mig", "amd.com/gpu", "huawei.com/", "cambricon.com/"))


def fabric_annotations_of(pod: PodView) -> list[str]:
    """The annotations of a pod that attach networks or devices, by name."""
    begins = tuple(pods()["fabric_annotations"])
    return sorted(k for k in pod.annotations if k.startswith(begins))


def is_attached(pod: PodView) -> bool:
    """Whether anything gives the pod another way out than its ordinary interface (or may: a claim, an open value)."""
    if pod.claim_names or pod.annotations_open or fabric_annotations_of(pod) or has_daemon(pod):
        return True
    for container in pod.containers:
        if container.privileged or container.resources_open or devices_of(container):
            return True
    for volume in pod.volumes.values():
        path = volume.string("hostPath", "path")
        if path is not None and (path.rstrip("/") or "/") in ("/", "/dev", "/dev/infiniband"):
            return True
    return False


def has_daemon(pod: PodView) -> bool:
    """Whether a fabric's daemon stands in the pod, told by its image."""
    return pod.fabric is not None and any(e.signal.startswith("image ") for e in pod.fabric.evidence)


def claims_gpus(container: ContainerView) -> bool:
    """Whether a container uses a claim that may bring GPUs: one whose classes cannot be seen, or are of GPUs."""
    for claim in container.claims:
        name = claim.string("name") or ""
        entry = container.pod.claim_names.get(name)
        template = entry.string("resourceClaimTemplateName") if entry is not None else None
        classes = container.pod.lookup.claim_classes(container.pod.workload, template) if template else []
        if not classes or any("gpu" in c for c in classes):
            return True
    return False


def only_probes(container: ContainerView) -> bool:
    """Whether a container sleeps, waits or runs a test program, and no launcher starts ranks in it."""
    return (container.start.probe or container.start.idle) and not container.pod.launchers


def tested_by_launcher(pod: PodView) -> bool:
    """Whether the launcher of the job starts a test program in the pod, and no training."""
    return any(c.start.probe for p in pod.launchers for c in p.main_containers)


def runs_ranks(container: ContainerView) -> bool:
    """Whether a container starts ranks, or what it starts cannot be seen."""
    return container.start.starts_ranks or container.start.unseen or bool(container.pod.launchers)


def family(pod: PodView) -> str:
    """The family of the pod's fabric, empty when it has none."""
    return str(pod.fabric.profile["family"]) if pod.fabric is not None and pod.fabric.profile else ""


def whole_node(pod: PodView) -> bool:
    """Whether the worker takes all GPUs of a node that is built for jobs of several nodes, as far as the file tells."""
    gpus = pod.worker.gpus if pod.worker is not None else 0
    if isinstance(gpus, Unknown):
        return False
    usual = _usual_gpus(pod)
    known = node_gpus(pod)
    return gpus >= usual and gpus == (known if known is not None else usual)


def _usual_gpus(pod: PodView) -> int:
    table: dict[str, Any] = pods()["whole_node"]
    for _, _, values in pod.node_labels():
        for value in values:
            for part, count in table["by_value"].items():
                if part in value.text.lower():
                    return int(count)
    return int(table["usual"])


def job_kind(pod: PodView) -> str:
    """Group and kind of the object the pod belongs to, as the tables write them."""
    return f"{pod.workload.group}/{pod.workload.kind}"


def merged_elsewhere(pod: PodView) -> bool:
    """Whether a controller lays the pod over a template that no file shows: what is missing here may stand there."""
    return pod.workload.group in pods()["merged_elsewhere"]


def is_daemon(pod: PodView) -> bool:
    """Whether the pod belongs to a node rather than to a job."""
    return pod.role is PodRole.DAEMON


def named(container: Mapping | ContainerView) -> str:
    """A container's name in single quotes."""
    name = container.name if isinstance(container, ContainerView) else container.string("name") or ""
    return f"'{name}'"


def place_of_amount(container: ContainerView, resource: str) -> Place:
    """The line of a resource's amount."""
    node = container.resource_node(resource)
    return Place(node, on_key=True) if node is not None else container.missing("resources", "limits")
