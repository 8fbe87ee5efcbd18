"""Lays a TrainJob's overrides over the runtime's template: runtimePatches, podTemplateOverrides, podSpecOverrides.

Source: kubeflow/trainer@117ad23, @73c9bec, @dc7656a, @658725b pkg/runtime/core/trainingruntime.go.
"""

from __future__ import annotations

from fabriclint.node import Mapping, Node, build, copy_tree
from fabriclint.trainer.edit import list_in, mapping_in
from fabriclint.trainer.merge import merge, merge_list
from fabriclint_schemas.trainer.load import Release

#: What a patch of a pod says besides the pod's own fields.
_NOT_OF_THE_POD = ("targetJobs", "manager", "metadata", "time")


def patch_entries(trainjob: Mapping, release: Release) -> list[Mapping]:
    """The entries of the override field that the release has."""
    return trainjob.mappings("spec", release.overrides)


def job_patches(entry: Mapping) -> list[Mapping]:
    """The replicated jobs that one entry of runtimePatches changes."""
    return entry.mappings("trainingRuntimeSpec", "template", "spec", "replicatedJobs")


def target_names(entry: Mapping) -> list[Node]:
    """The name nodes of the replicated jobs that an override of 2.0 or 2.1 goes to."""
    return [n for t in entry.mappings("targetJobs") if (n := t.at("name")) is not None]


def metadata_of(entry: Mapping) -> Mapping | None:
    """What one entry of runtimePatches says of the JobSet's own metadata."""
    return entry.mapping("trainingRuntimeSpec", "template", "metadata")


def lay_patches(trainjob: Mapping, spec: Mapping, release: Release) -> None:
    """Merge all overrides into the JobSet spec, in place and in their order."""
    for entry in patch_entries(trainjob, release):
        if release.overrides != "runtimePatches":
            _override(entry, spec, whole_template=release.overrides == "podTemplateOverrides")
        elif release.unknown_job == "added":
            _whole_spec(entry, spec)
        else:
            for change in job_patches(entry):
                body = change.mapping("template")
                for job in spec.mappings("replicatedJobs"):
                    if body is not None and job.string("name") == change.string("name"):
                        merge(mapping_in(job, "template", body), body)


def _override(entry: Mapping, spec: Mapping, *, whole_template: bool) -> None:
    names = [getattr(n, "value", None) for n in target_names(entry)]
    for job in spec.mappings("replicatedJobs"):
        if job.string("name") not in names:
            continue
        template = job.mapping("template", "spec", "template")
        if template is None:
            continue
        patch = build({}, entry)
        assert isinstance(patch, Mapping)
        if whole_template:
            for key in ("metadata", "spec"):
                there = entry.mapping(key)
                if there is not None:
                    patch.put(key, copy_tree(there))
            metadata = patch.mapping("metadata")
            for key in list(metadata.fields) if metadata is not None else ():
                if key not in ("labels", "annotations") and metadata is not None:
                    metadata.drop(key)
            merge(template, patch)
            continue
        for key, value in entry.fields.items():
            if key not in _NOT_OF_THE_POD:
                patch.put(key, copy_tree(value), value.key_start, value.key_end)
        merge(mapping_in(template, "spec", entry), patch)


def _whole_spec(entry: Mapping, spec: Mapping) -> None:
    """As 2.3 does it: one merge of the JobSet spec, then the runtime's order; new jobs stand beside the first."""
    listed = entry.sequence("trainingRuntimeSpec", "template", "spec", "replicatedJobs")
    if listed is None:
        return
    jobs = list_in(spec, "replicatedJobs", listed)
    order = {job.string("name"): index for index, job in enumerate(spec.mappings("replicatedJobs"))}
    merge_list(jobs, listed, "name")
    items = sorted(jobs.items, key=lambda job: order.get(job.string("name"), 0))
    jobs.items = []
    for item in items:
        jobs.add(item)
