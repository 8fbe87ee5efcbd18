"""A TrainJob and its runtime as they are meant: what is refused taken away, so that the rest can still be judged.

A refusal is one finding of its own. Without this the user would mend it only to meet the next fault of the pod. Devices
that the TrainJob's resources take from the runtime's container are one finding too, and are put back here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fabriclint.kinds import ANCESTOR_LABEL
from fabriclint.node import Mapping, Node, Scalar, Sequence, build, copy_tree
from fabriclint.trainer.lookup import RuntimeLookup
from fabriclint.trainer.resolve import ResolvedJob, resolve

if TYPE_CHECKING:
    from fabriclint.document import Manifest

_ROUNDS = 4
_WHOLE = ("metadata", "spec", "runtimeRef", "template", "replicatedJobs", "mlPolicy", "containers", "name")


class OneRuntime(RuntimeLookup):
    """A lookup that answers with the runtime that is in view for a TrainJob, else as the lookup it was made of."""

    def __init__(self, runtime: Manifest | None, others: RuntimeLookup | None = None) -> None:
        super().__init__()
        self.runtime = runtime
        self.others = others

    def get(self, kind: str, namespace: str, name: str) -> tuple[Manifest | None, str]:
        """The one runtime, else what the other lookup says."""
        if self.runtime is not None:
            return self.runtime, "file"
        return self.others.get(kind, namespace, name) if self.others is not None else (None, "unknown")


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


def meant(job: ResolvedJob, runtime: Manifest | None, version: str) -> ResolvedJob:
    """The job resolved again without what is refused and with the devices that were lost; itself when all is well."""
    trainjob = job.trainjob
    if trainjob is None or runtime is None:
        return job
    reasons = [r for r in job.reasons if r.stage in ("schema", "webhook")] if job.jobset is None else []
    lost = lost_devices(trainjob.root, worker_of(runtime.root), version)
    if not reasons and not lost:
        return job
    made, below = _copy(trainjob), _copy(runtime)
    for name, node in lost.items():
        given = made.root.mapping("spec", "trainer", "resourcesPerNode")
        half = given.mapping("limits") if given is not None else None
        if given is not None and half is None:
            half = Mapping(node.doc, node.start, node.end)
            half.origin = node.source
            given.put("limits", half)
        if half is not None:
            half.put(name, copy_tree(node), node.key_start, node.key_end)
    for _ in range(_ROUNDS):
        copies = {id(n.source): n for root in (made.root, below.root) for n in root.walk()}
        taken = [_take_away(copies.get(id(r.node.source)), made.root) for r in reasons]
        if not all(taken):
            return job
        found = resolve(made, OneRuntime(below), version)
        reasons = found.reasons
        if found.jobset is not None:
            return found
        if not reasons:
            break
    return job


def _copy(manifest: Manifest) -> Manifest:
    root = copy_tree(manifest.root)
    assert isinstance(root, Mapping)
    return replace(manifest, root=root)


def _take_away(node: Node | None, trainjob: Mapping) -> bool:
    """Take what is refused out of the tree; what a patch sets for `node` goes where it is meant to stand."""
    if node is None or node.parent is None or node.key in _WHOLE:
        return False
    parent = node.parent
    if isinstance(parent, Sequence):
        if node in parent.items:
            parent.items.remove(node)
        return True
    if node.key == "env" and parent.string("name") == "node" and isinstance(node, Sequence):
        _move_env(node, trainjob)
    parent.drop(str(node.key))
    return True


def _move_env(env: Sequence, trainjob: Mapping) -> None:
    spec = trainjob.mapping("spec")
    if spec is None:
        return
    trainer = spec.mapping("trainer")
    if trainer is None:
        made = build({}, spec)
        assert isinstance(made, Mapping)
        spec.put("trainer", made)
        trainer = made
    held = trainer.sequence("env")
    if held is None:
        there = trainer.at("env")
        if there is not None and not (isinstance(there, Scalar) and there.value is None):
            return
        listed = build([], env)
        assert isinstance(listed, Sequence)
        trainer.put("env", listed)
        held = listed
    names = {i.string("name") for i in held.items}
    for entry in list(env.items):
        if entry.string("name") not in names:
            held.add(copy_tree(entry))
