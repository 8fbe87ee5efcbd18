"""A TrainJob as it is meant: devices that its resources take from the runtime's container are put back, and fields that
no patch has are left out.

Both are findings of their own. Without this the user would mend them only to meet the next fault of the pod, or be told
of one loss by every rule that misses the device.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fabriclint.kinds import ANCESTOR_LABEL
from fabriclint.node import Mapping, Node, copy_tree
from fabriclint.trainer.job_patch import patch_field
from fabriclint.trainer.lookup import RuntimeLookup
from fabriclint.trainer.resolve import ResolvedJob, resolve

if TYPE_CHECKING:
    from fabriclint.document import Manifest


class OneRuntime(RuntimeLookup):
    """A lookup that answers with the runtime that is in view for a TrainJob, whatever it is asked for."""

    def __init__(self, runtime: Manifest | None) -> None:
        super().__init__()
        self.runtime = runtime

    def get(self, kind: str, namespace: str, name: str) -> tuple[Manifest | None, str]:
        """The one runtime, or that it is unknown."""
        if self.runtime is None:
            return None, "unknown"
        if self.runtime.root.doc is None:
            return self.runtime, "snapshot"
        return self.runtime, "file" if self.runtime.document.source.reported else "reference"


def worker_of(runtime: Mapping) -> Mapping | None:
    """The container of a runtime that resourcesPerNode is written to: `node` of the job with the ancestor label."""
    for job in runtime.mappings("spec", "template", "spec", "replicatedJobs"):
        if job.string("template", "metadata", "labels", ANCESTOR_LABEL) == "trainer":
            for container in job.mappings("template", "spec", "template", "spec", "containers"):
                if container.string("name") == "node":
                    return container
    return None


def amounts_of(resources: Node | None) -> dict[str, Node]:
    """Requests, then limits, of a `resources` block, by name."""
    found: dict[str, Node] = {}
    for half in ("requests", "limits"):
        section = resources.mapping(half) if resources is not None else None
        found.update(section.fields if section is not None else {})
    return found


def lost_devices(trainjob: Mapping, worker: Mapping | None, version: str) -> dict[str, Node]:
    """Extended resources of the runtime's container that the TrainJob's resourcesPerNode drops, with their nodes."""
    given = trainjob.mapping("spec", "trainer", "resourcesPerNode")
    if version == "2.3" or given is None or worker is None:
        return {}
    if given.at("limits") is None and given.at("requests") is None:
        return {}
    have = amounts_of(given)
    if any("{{" in n or "$" in n for n in have):
        return {}
    had = amounts_of(worker.at("resources"))
    return {n: v for n, v in had.items() if "/" in n and n not in have and getattr(v, "value", None) not in (0, "0")}


def meant(job: ResolvedJob, version: str) -> ResolvedJob:
    """The job resolved again as it is meant; itself when nothing has to be mended."""
    trainjob, runtime = job.trainjob, job.runtime
    if trainjob is None or runtime is None:
        return job
    lost = lost_devices(trainjob.root, worker_of(runtime.root), version)
    foreign = _foreign_fields(trainjob, version)
    if not lost and not foreign:
        return job
    root = copy_tree(trainjob.root)
    assert isinstance(root, Mapping)
    if foreign:
        for node in list(root.walk()):
            if id(node.source) in foreign and isinstance(node.parent, Mapping):
                node.parent.drop(str(node.key))
    given = root.mapping("spec", "trainer", "resourcesPerNode")
    if given is None or not lost:
        return resolve(replace(trainjob, root=root), OneRuntime(runtime), version)
    half = given.mapping("limits")
    if half is None:
        half = Mapping(given.doc, given.start, given.end)
        half.origin = given.source
        given.put("limits", half)
    for name, node in lost.items():
        half.put(name, copy_tree(node), node.key_start, node.key_end)
    return resolve(replace(trainjob, root=root), OneRuntime(runtime), version)


def _foreign_fields(trainjob: Manifest, version: str) -> set[int]:
    """Fields in patches that no patch has, by the id of their nodes."""
    from fabriclint.schema.validation import validate

    field = patch_field(version)
    if trainjob.root.at("spec", field) is None:
        return set()
    faults = validate(
        trainjob.root, group=trainjob.group, version=trainjob.version, kind=trainjob.kind, release=version
    )
    return {id(f.node) for f in faults if f.kind == "unknown-field" and f.path[:2] == ("spec", field)}
