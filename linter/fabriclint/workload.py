"""A workload: one object that carries pods, and the places of its pod templates."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from fabriclint.node import UNKNOWN, Mapping, Node, Unknown

if TYPE_CHECKING:
    from fabriclint.document import Manifest
    from fabriclint.finding import Place
    from fabriclint.pod import ContainerView


class PodRole(StrEnum):
    """What a pod template does in its job."""

    WORKER = "worker"
    LAUNCHER = "launcher"
    HEAD = "head"
    INITIALIZER = "initializer"
    SERVER = "server"
    DAEMON = "daemon"
    PARAMETER_SERVER = "ps"
    OTHER = "other"


@dataclass(slots=True, eq=False)
class PodSite:
    """Where a pod template stands, and how many pods of it one job (one group) has.

    `holder`: the pod template, or the bare pod spec; `spec`: the pod spec; `metadata`: what reaches the pods, or
    None when absent; `form`: template, podspec or container. `pods`: pods of this template per group; UNKNOWN when
    the count is open; None where a count means nothing (daemons, independent servers).
    """

    holder: Mapping
    spec: Mapping
    metadata: Mapping | None
    form: str
    role: PodRole
    pods: int | Unknown | None
    name: str
    #: Whether copies of this template belong together (a Deployment's do not).
    together: bool = True
    #: The mapping of the role (a replicated job, a replica spec, a task), for labels and names.
    owner: Mapping | None = None
    #: A launcher that runs ranks as well (runLauncherAsWorker).
    runs_ranks: bool = False
    #: Templates of one object that work apart (engines of a service) are of different parts; a job is one.
    part: str = ""
    #: The name that the controller gives a container without one.
    called: str = ""
    #: An object that no file has to show may bring the image: its absence says nothing.
    image_elsewhere: bool = False
    #: How many such groups the object makes, where the kind says so in a count of its own.
    copies: int | Unknown = 1


class Landing(Protocol):
    """Sends a finding about a pod that is made of several objects to the line that a user would edit."""

    def __call__(self, place: Place) -> Place:
        """The place itself, or the user's line that has to do with it."""

    def missing(self, container: ContainerView, *path: str) -> Place | None:
        """Where a thing that the container lacks is reported; None for the container's own line."""


@dataclass(slots=True, eq=False)
class Workload:
    """One object with pods, its templates, and what is known of it as a job."""

    manifest: Manifest
    sites: list[PodSite] = field(default_factory=list)
    #: The object the templates are read from: the manifest's root, or a resolved JobSet.
    root: Mapping | None = None
    #: The ResolvedJob of a TrainJob, else None.
    resolved: object | None = None
    #: Where findings about its pods stand, when those are made of several objects.
    landing: Landing | None = None
    #: A runtime judged by itself: image, command, env and counts may come from a TrainJob.
    runtime_alone: bool = False

    @property
    def kind(self) -> str:
        """The object's kind."""
        return self.manifest.kind

    @property
    def group(self) -> str:
        """The object's API group."""
        return self.manifest.group


def gpu_quantity(resources: Node | None) -> bool:
    """Whether a container's `resources` ask for a GPU or another chip (any amount but a plain zero)."""
    if not isinstance(resources, Mapping):
        return False
    for section in ("limits", "requests"):
        amounts = resources.mapping(section)
        for name, node in (amounts.fields if amounts else {}).items():
            if is_accelerator(name):
                value = getattr(node, "value", None)
                if value not in (0, "0", None, ""):
                    return True
    return False


def is_accelerator(resource: str) -> bool:
    """Whether a resource name is a GPU, a slice of one, or another vendor's chip."""
    return resource in (
        "nvidia.com/gpu",
        "amd.com/gpu",
        "google.com/tpu",
        "habana.ai/gaudi",
        "nvidia.com/gpu.shared",
    ) or resource.startswith(("nvidia.com/mig-", "aws.amazon.com/neuron", "gpu.intel.com/"))


__all__ = ["UNKNOWN", "PodRole", "PodSite", "Workload", "gpu_quantity", "is_accelerator"]
