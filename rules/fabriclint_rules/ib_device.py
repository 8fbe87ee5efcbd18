"""IB001, IB002, IB007: the device that InfiniBand's ranks ask for, how much of it, and the libraries that open it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from fabriclint.comparison import declared_comparison
from fabriclint.node import Scalar
from fabriclint.pod import ContainerView, PodView, WorkerPod
from fabriclint.rule import Applicability, Finding, Fix, Place, Related, RenameKey, SetValue, Severity, rule
from fabriclint.schema.suggest import misspelt
from fabriclint.views import JobView
from fabriclint_rules.alike import once, once_a_pod
from fabriclint_rules.attachment import family, is_attached, is_extended, only_probes
from fabriclint_rules.ib_ranks import by_contract, known_profiles, on_infiniband, rdma_variable, unit_of
from fabriclint_rules.machines import admits_fabric
from fabriclint_schemas.verbs import image_lacks_verbs, verbs

_CONTRACT_RESOURCE = "rdma/hca_shared_devices_a"


@rule(
    "IB001",
    "resource-name",
    Severity.ERROR,
    on=JobView,
    also=(Severity.WARNING,),
    yields_to=("TRN002", "TRN006", "TRN008"),
)
def resource_name(job: JobView) -> Iterator[Finding]:
    """A worker that is meant for InfiniBand asks for its device, by the name that the cluster's plugin offers.

    Variables open no device. Without one NCCL finds no card and goes on over TCP; a misspelt resource leaves the pod
    pending, because no node offers it.

    Fix: add the RDMA resource to the limits of the container with the GPUs: `rdma/hca_shared_devices_a: 1` on AICR's AKS.

    Silent: names that are not known, privileged pods, claims, the host's /dev/infiniband, jobs on one node, probes,
    launchers, runs that declare themselves a comparison.

    Bad: variables and no device, by AICR's contract (ib-trainjob)
        @@ resourcesPerNode:
          limits:  # <-
            nvidia.com/gpu: 8
        -   rdma/hca_shared_devices_a: 1
        @@ requests:
            nvidia.com/gpu: 8
        -   rdma/hca_shared_devices_a: 1
    Bad: machines with InfiniBand, NCCL_IB_HCA, and nothing that opens a card (ib-jobset)
        ~ limits: => limits:  # <-
        - rdma/hca_shared_devices_a: 1
    Bad: none of it (ib-trainjob)
        ~ rdma/hca_shared_devices_a: 1 => rdma/hca_shared_devices_a: 0  # <-
        ~ rdma/hca_shared_devices_a: 1 => rdma/hca_shared_devices_a: 0
    Bad: one letter is lost (ib-pytorchjob)
        ~ rdma/rdma_shared_device_a => rdma/rdma_shared_devce_a  # <-
        ~ rdma/rdma_shared_device_a => rdma/rdma_shared_devce_a
    Good: another pool of the same plugin (ib-jobset)
        ~ rdma/hca_shared_devices_a => rdma/hca_shared_devices_b
    Good: a name of one's own (ib-pytorchjob)
        ~ rdma/rdma_shared_device_a => rdma/rail_zero
        ~ rdma/rdma_shared_device_a => rdma/rail_zero
    Good: a privileged worker sees the host's cards (ib-jobset)
        @@ securityContext:
        -   capabilities:
        -     add: [IPC_LOCK]
        +   privileged: true
        @@ limits:
        - rdma/hca_shared_devices_a: 1
    Source: NVIDIA/aicr#2276; NVIDIA AICR, "Attaching a Training Workload to the Cluster Fabric".
    """
    near = list(once_a_pod(job, _misspelt))
    yield from near
    if not near:
        yield from once(job, _without_device)


def _misspelt(pod: PodView) -> Iterator[Finding]:
    known = sorted({r for p in known_profiles(pod).values() for r in p.get("resources", ())})
    seen: set[str] = set()
    for container in pod.containers:
        for _, resource, node in container.resources():
            meant = _meant(resource, known) if is_extended(resource) and resource not in seen else None
            if meant is None:
                continue
            seen.add(resource)
            others = [n for _, r, n in container.resources() if r == resource]
            yield pod.finding(
                Place(node, on_key=True),
                f"No known RDMA plugin offers '{resource}', which is one letter off '{meant}'; the pod stays pending unless a "
                "node offers that very name.",
                help=f"Write '{meant}', or leave it if your plugin's configuration names it so.",
                severity=Severity.WARNING,
                fix=Fix(f"write {meant}", tuple(RenameKey(n, meant) for n in others), Applicability.UNSAFE),
            )


def _meant(resource: str, known: list[str]) -> str | None:
    """The known name that one change of a letter leads to; not where the change is in a number or a pool's letter."""
    if resource in known or len(resource) < 10:
        return None
    meant = misspelt(resource, known, 1)
    if meant is None:
        return None
    rest, mine = resource.rpartition("_"), meant.rpartition("_")
    if (rest[0], mine[0]) == (mine[0], rest[0]) and rest[0] and len(mine[2]) <= 2:
        return None
    longer, shorter = (resource, meant) if len(resource) > len(meant) else (meant, resource)
    # One more letter at the end is a name of its own (`hostdev2`, `hostdevs`).
    if longer.startswith(shorter):
        return None
    digits = re.sub(r"\d", "", resource) == re.sub(r"\d", "", meant)
    return None if digits else meant


def _without_device(pod: WorkerPod) -> Iterator[Finding]:
    worker = pod.worker
    if worker is None or pod.multi_node is not True or family(pod) not in ("", "IB") or is_attached(pod):
        return
    if worker.resources_open or only_probes(worker) or declared_comparison(pod):
        return
    variable = rdma_variable(pod)
    if variable is None:
        return
    machine = admits_fabric(pod, "InfiniBand")
    aicr = pod.contract == "aicr" and not _other_fabric_named(pod)
    if machine is None and not aicr:
        return
    told = Related(variable.place, f"'{variable.name}' says that InfiniBand is meant.")
    also = (Related(Place(machine), "These machines have InfiniBand."),) if machine is not None else ()
    none = _none_of_it(worker)
    if none is not None:
        what = f"The container '{worker.name}' asks for 0 of '{none.key}' although '{variable.name}' is set"
        edit = f"Write how many it is to have: 1 of '{_CONTRACT_RESOURCE}' is all cards of the node."
    else:
        what = f"The container '{worker.name}' asks for no RDMA device although '{variable.name}' is set"
        edit = (
            f"Add the cluster's RDMA resource to its limits: '{_CONTRACT_RESOURCE}: 1' for the shared devices of AKS."
        )
    found = pod.finding(
        Place(none) if none is not None else worker.missing("resources", "limits"),
        f"{what}; NCCL finds no card and the job runs over TCP.",
        help=edit,
        severity=Severity.ERROR if aicr else Severity.WARNING,
        related=(told, *also),
        fix=Fix(
            "write 1",
            tuple(SetValue(n, "1", amount=True) for _, r, n in worker.resources() if r == none.key),
            Applicability.UNSAFE,
        )
        if none is not None and unit_of(pod, str(none.key)) == "shared"
        else None,
    )
    yield by_contract(found) if aicr else found


def _none_of_it(worker: ContainerView) -> Scalar | None:
    """An RDMA resource of which the container asks for 0: where the amount is to be written."""
    known = {r for p in known_profiles(worker.pod).values() for r in p.get("resources", ())}
    for resource in sorted(worker.resource_names & known):
        node = worker.resource_node(resource)
        if worker.amount(resource) == 0 and isinstance(node, Scalar) and isinstance(node.key, str):
            return node
    return None


def _other_fabric_named(pod: PodView) -> bool:
    """Whether the ranks' variables speak of another fabric too."""
    return bool(pod.ranks_env.starting("FI_", "NCCL_FASTRAK", "NCCL_GPUDIRECTTCPX", "OFI_NCCL_"))


@rule("IB002", "resource-value", Severity.WARNING, on=JobView, also=(Severity.ERROR,), yields_on_line=("POD006",))
def resource_value(job: JobView) -> Iterator[Finding]:
    """One unit of a shared RDMA device is all of the node's cards: the value is 1.

    The plugin hands all devices of its pool to a container whatever the amount is. More units give nothing, take that
    many of the node's slots from other pods, and leave the pod pending where the pool has fewer.

    Fix: write 1.

    Silent: resources whose units are cards (SR-IOV, host devices), names whose plugin is not known, 0, open values.

    Bad: one for each GPU, by AICR's contract (ib-trainjob)
        ~ rdma/hca_shared_devices_a: 1 => rdma/hca_shared_devices_a: 8  # <-
        ~ rdma/hca_shared_devices_a: 1 => rdma/hca_shared_devices_a: 8
    Bad: the same in a JobSet (ib-jobset)
        ~ rdma/hca_shared_devices_a: 1 => rdma/hca_shared_devices_a: 8  # <-
    Bad: another plugin's shared device (ib-mpijob)
        ~ rdma/shared_ib: 1 => rdma/shared_ib: "4"  # <-
    Good: units that are cards (ib-lws)
        ~ nvidia.com/hostdev: 8 => nvidia.com/hostdev: 4
        ~ nvidia.com/hostdev: 8 => nvidia.com/hostdev: 4
    Good: the plugin of this name is not known (ib-jobset)
        ~ rdma/hca_shared_devices_a: 1 => rdma/ib: 8
    Source: Mellanox/k8s-rdma-shared-dev-plugin@410b0f3 pkg/resources/server.go (Allocate).
    """
    yield from once_a_pod(job, _too_many)


def _too_many(pod: PodView) -> Iterator[Finding]:
    for container in pod.containers:
        for resource in sorted(container.resource_names):
            amount = container.amount(resource)
            if unit_of(pod, resource) != "shared" or not isinstance(amount, Decimal) or amount <= 1:
                continue
            nodes = [n for _, r, n in container.resources() if r == resource and isinstance(n, Scalar)]
            node = container.resource_node(resource)
            if amount != int(amount) or node is None:
                continue
            found = pod.finding(
                Place(node),
                f"'{resource}' is {int(amount)}, but one unit opens all RDMA cards of the node; more only use up its slots, and "
                "the pod stays pending where the pool has fewer.",
                help="Write 1.",
                severity=Severity.WARNING,
                fix=Fix("write 1", tuple(SetValue(n, "1", amount=True) for n in nodes)),
            )
            if pod.contract == "aicr":
                yield by_contract(found.with_(severity=Severity.ERROR))
            else:
                yield found


@rule("IB007", "image-without-verbs", Severity.WARNING, on=JobView)
def image_without_verbs(job: JobView) -> Iterator[Finding]:
    """The image on InfiniBand carries rdma-core.

    NCCL opens the cards through libibverbs and a provider library of the card. Without them it finds no card, whatever
    the pod was given, and goes on over TCP.

    Fix: take an image with rdma-core, or install `libibverbs1 ibverbs-providers librdmacm1` in it.

    Silent: images that are not known, start text that installs them, libraries mounted from the host, probes.

    Bad: the runtime image has no verbs (ib-jobset)
        ~ registry.example/weather:3 => pytorch/pytorch:2.9.0-cuda12.8-cudnn9-runtime  # <-
    Bad: CUDA's own image neither (ib-pytorchjob)
        ~ registry.example/captions:2 => nvcr.io/nvidia/cuda:12.9.1-devel-ubuntu24.04  # <-
        ~ registry.example/captions:2 => nvcr.io/nvidia/cuda:12.9.1-devel-ubuntu24.04
    Good: an image that brings them (ib-jobset)
        ~ registry.example/weather:3 => nvcr.io/nvidia/pytorch:25.10-py3
    Good: they are installed at the start (ib-lws)
        ~ registry.example/answers:7 => ubuntu:24.04
        ~ serve.py => serve.py && apt-get install -y rdma-core
        ~ registry.example/answers:7 => ubuntu:24.04
        ~ serve.py => serve.py && apt-get install -y rdma-core
    Source: NVIDIA/nvidia-container-toolkit#1877; horovod/horovod#1117.
    """
    yield from once(job, _image)


def _image(pod: WorkerPod) -> Iterator[Finding]:
    worker = pod.worker
    image = worker.image if worker is not None else None
    if worker is None or not isinstance(image, str) or not image_lacks_verbs(image):
        return
    if not on_infiniband(pod) or pod.multi_node is False or only_probes(worker) or _brings_libraries(worker):
        return
    yield pod.finding(
        Place(worker.image_node or worker.node),
        f"The image '{image}' has no libibverbs; NCCL cannot open the RDMA cards and the job runs over TCP.",
        help="Take an image with rdma-core, or install 'libibverbs1 ibverbs-providers librdmacm1' in it.",
    )


def _brings_libraries(container: ContainerView) -> bool:
    text = container.start_text
    # libibverbs alone finds no card: the provider library of the card comes in a package of its own.
    if any(p in text for p in verbs()["provider_packages"]):
        return True
    if re.search(r"\S+\.sh\b|\bmake\b|\bdpkg\b|\bconda\b|\bspack\b", text):
        return True
    for mount in container.mounts:
        volume = container.pod.volumes.get(mount.string("name") or "")
        where = mount.string("mountPath") or ""
        if volume is not None and "lib" in where and where != "/var/lib":
            return True
    return False
