"""POD016: all ranks of a job run from one image."""

from __future__ import annotations

from collections.abc import Iterator

from fabriclint.node import Unknown
from fabriclint.rule import Finding, Place, Related, Severity, rule
from fabriclint.views import JobView
from fabriclint.workload import PodRole
from fabriclint_schemas.pods import pods


def _repository(image: str) -> str:
    """An image without its tag and digest."""
    name = image.partition("@")[0]
    head, slash, last = name.rpartition("/")
    return f"{head}{slash}{last.partition(':')[0]}"


@rule("POD016", "image-mismatch", Severity.WARNING, on=JobView)
def image_mismatch(job: JobView) -> Iterator[Finding]:
    """The ranks of one job run from one image.

    Ranks with another NCCL, another plugin or another program version than their peers hang at the first collective
    or stop with a version mismatch, on some nodes only.

    Fix: write the same image, tag and digest, in all templates whose pods run ranks.

    Silent: launchers, heads without GPUs, daemons, roles with other GPU counts, images that a template fills in; in
    kinds whose roles are free, images of another repository, which are programs of their own.

    Bad: the workers are newer than the master (pod-pytorchjob)
        @@ Worker:
        ~ registry.example/train:1 => registry.example/train:2  # <-
    Bad: another tag in one task (pod-volcano)
        @@ name: worker
        ~ registry.example/train:1 => registry.example/train:2  # <-
    Bad: the workers of a group are of another build (pod-leader)
        @@ workerTemplate
        ~ registry.example/serve:3 => registry.example/serve:3-debug  # <-
    Good: the roles have other numbers of GPUs (pod-leader)
        @@ workerTemplate
        ~ registry.example/serve:3 => registry.example/serve:3-debug
        ~ --nproc-per-node=8 => --nproc-per-node=4
        ~ nvidia.com/gpu: 8 => nvidia.com/gpu: 4
    Good: the launcher has an image of its own (pod-mpijob)
        ~ registry.example/train:1 => registry.example/launch:9
    Good: what a template fills in (pod-pytorchjob)
        @@ Worker:
        ~ registry.example/train:1 => "{{ image }}"
    Source: NVIDIA/nccl#1634; NVIDIA NCCL user guide (all ranks need one version).
    """
    roles = [
        p for p in job.workers if p.site.together and p.site.pods not in (None, 0) and p.role is not PodRole.DAEMON
    ]
    free = job.workload.kind in pods()["free_roles"]
    for index, pod in enumerate(roles):
        worker = pod.worker
        image, node = (worker.image, worker.image_node) if worker is not None else (None, None)
        if worker is None or not isinstance(image, str) or node is None or isinstance(worker.gpus, Unknown):
            continue
        for other in roles[:index]:
            if other.site.part != pod.site.part:
                continue
            first = other.worker
            theirs, place = (first.image, first.image_node) if first is not None else (None, None)
            if first is None or not isinstance(theirs, str) or place is None or first.gpus != worker.gpus:
                continue
            if theirs == image or (free and _repository(theirs) != _repository(image)):
                continue
            yield pod.finding(
                Place(node),
                f"The ranks of '{pod.name or pod.role.value}' run from '{image}', those of '{other.name or other.role.value}' from '{theirs}'; different "
                "libraries in one job hang or stop at the first collective.",
                help="Write one image in both.",
                related=(Related(Place(place), f"The image of '{other.name}'."),),
            )
            break
