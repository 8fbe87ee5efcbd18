"""The patches of a TrainJob, in the field and the shape that each Trainer release has for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fabriclint.node import Mapping, Node, Scalar

#: The field of a TrainJob's spec that patches its runtime, by release (kubeflow/trainer pkg/apis/trainer/v1alpha1).
FIELDS = {"2.0": "podSpecOverrides", "2.1": "podTemplateOverrides", "2.2": "runtimePatches", "2.3": "runtimePatches"}


def patch_field(version: str) -> str:
    """The name of the field under a release; the newest for one that is not known."""
    return FIELDS.get(version, "runtimePatches")


@dataclass(frozen=True, slots=True)
class JobPatch:
    """What a patch does to one replicated job.

    `entry`: the item of the TrainJob's list; `job`: the replicated job's name, and `name`: the node it is written at;
    `holder`: the mapping with the patch of the job; `template`: the Job template, `pod`: the pod template (or, in 2.0,
    the entry itself), `spec`: the pod spec; None where absent.
    """

    entry: Mapping
    job: str
    name: Node | None
    holder: Mapping
    template: Mapping | None
    pod: Mapping | None
    spec: Mapping | None

    def containers(self) -> Iterator[tuple[str, Mapping]]:
        """(containers or initContainers, entry) of the container patches."""
        for listed in ("containers", "initContainers"):
            for container in self.spec.mappings(listed) if self.spec is not None else ():
                yield listed, container


def patches_of(trainjob: Mapping, version: str) -> Iterator[JobPatch]:
    """The patches of replicated jobs under a release, in order."""
    field = patch_field(version)
    for entry in trainjob.mappings("spec", field):
        if field == "runtimePatches":
            for holder in entry.mappings("trainingRuntimeSpec", "template", "spec", "replicatedJobs"):
                template = holder.mapping("template")
                pod = template.mapping("spec", "template") if template is not None else None
                spec = pod.mapping("spec") if pod is not None else None
                yield JobPatch(entry, holder.string("name") or "", holder.scalar("name"), holder, template, pod, spec)
            continue
        for target in entry.mappings("targetJobs"):
            pod = entry
            spec = entry if field == "podSpecOverrides" else entry.mapping("spec")
            yield JobPatch(entry, target.string("name") or "", target.scalar("name"), entry, None, pod, spec)


def given(node: Node | None) -> bool:
    """Whether a field is there and not null."""
    return node is not None and not (isinstance(node, Scalar) and node.value is None)
