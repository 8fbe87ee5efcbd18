"""What a TrainJob and its runtime become: the verdict of admission, and the JobSet that the controller applies."""

from __future__ import annotations

import re

from fabriclint.document import Manifest
from fabriclint.node import Mapping, Node, build, copy_tree
from fabriclint.trainer.admission import judge_runtime, judge_trainjob
from fabriclint.trainer.assembly import Assembly, Count, PodSet, ancestor, complete, count_at
from fabriclint.trainer.edit import is_absent, mapping_in, open_at
from fabriclint.trainer.frameworks import apply_flux, apply_jax, apply_plain, apply_xgboost
from fabriclint.trainer.job_rules import judge_jobs
from fabriclint.trainer.jobset import build_jobset
from fabriclint.trainer.jobset_rules import judge_jobset
from fabriclint.trainer.lookup import GROUP, KINDS, RuntimeLookup, is_shipped, reference, shipped_runtime
from fabriclint.trainer.metadata_rules import bad_entries
from fabriclint.trainer.mpi import apply_mpi
from fabriclint.trainer.openness import decided
from fabriclint.trainer.outcome import Host, Reason, ResolvedJob
from fabriclint.trainer.patches import lay_patches, metadata_of, patch_entries
from fabriclint.trainer.settle import settle
from fabriclint.trainer.torch import apply_torch
from fabriclint_schemas.trainer.load import Release, names, releases

__all__ = ["Host", "Reason", "ResolvedJob", "resolve"]

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def resolve(trainjob: Manifest, runtimes: RuntimeLookup, version: str) -> ResolvedJob:
    """What becomes of a TrainJob under a Trainer version ('2.0' to '2.3'); never raises on an odd tree."""
    root = trainjob.root
    job = ResolvedJob(trainjob, None, "", "unknown")
    release = releases().get(version)
    if release is None:
        return job
    _names(job, trainjob)
    _schema(job, trainjob, version)
    ref = reference(trainjob)
    if ref is None:
        return job
    group, kind, name = ref
    job.runtime_ref = f"{kind}/{name}"
    where = root.nearest("spec", "runtimeRef")
    if group != GROUP or kind not in KINDS:
        known = " and ".join(KINDS)
        job.refuse(where, f"'{kind}' of group '{group}' is no runtime; Trainer takes {known} of {GROUP}.", "R1")
        return job
    job.runtime, job.runtime_state = runtimes.get(kind, trainjob.namespace or "", name)
    if job.runtime is None and job.runtime_state == "unknown":
        job.runtime = shipped_runtime(version, kind, name)
        job.runtime_state = "shipped" if job.runtime is not None else "unknown"
    if job.runtime is None:
        missing = job.runtime_state == "unknown" and not is_shipped(version, kind, name)
        if runtimes.closed and runtimes.any_runtime and missing:
            job.runtime_state = "missing"
            place = f" in namespace '{trainjob.namespace or 'default'}'" if kind == KINDS[0] else ""
            other = runtimes.get(KINDS[0], trainjob.namespace or "", name)[0] if kind == KINDS[1] else None
            hint = f"; a {KINDS[0]} of that name is, and 'kind' says which is meant" if other is not None else ""
            text = f"No {kind} '{name}'{place} is among the files, and Trainer {version} ships none{hint}."
            job.refuse(where, text, "R1")
        return job
    if job.runtime_state != "shipped":
        _names(job, job.runtime)
        _schema(job, job.runtime, version)
        judge_runtime(job, job.runtime, release)
    _assemble(job, trainjob, job.runtime, runtimes, release)
    if job.intended is not None and not job.of_stage("schema"):
        job.reasons.extend(judge_jobset(job.intended, version))
        job.reasons.extend(judge_jobs(job.intended))
    if job.verdict != "rejected":
        job.jobset = job.intended
        known_all = decided(root) and decided(job.runtime.root) and not job.doubts
        job.verdict = "accepted" if known_all else "unknown"
    return job


def _names(job: ResolvedJob, manifest: Manifest) -> None:
    """Names that no object can have, and a version that no release serves."""
    name = manifest.root.scalar("metadata", "name")
    if name is not None and isinstance(name.value, str) and not name.open:
        if not _SUBDOMAIN.fullmatch(name.value) or len(name.value) > 253:
            job.refuse(name, f"'{name.value}' is no name that an object can have.", stage="name")
    elif manifest.kind == "TrainJob" and name is None and manifest.root.at("metadata", "generateName") is None:
        job.refuse(
            manifest.root.nearest("metadata"), "A TrainJob needs 'metadata.name' or 'generateName'.", stage="name"
        )
    for node, text in bad_entries(manifest.root.mapping("metadata")):
        job.refuse(node, f"{text}.", stage="name")
    if manifest.version != names()["version"]:
        where = manifest.root.nearest("apiVersion")
        job.refuse(
            where, f"No Trainer serves '{manifest.api_version}'; it is {GROUP}/{names()['version']}.", stage="name"
        )


def _schema(job: ResolvedJob, manifest: Manifest, version: str) -> None:
    from fabriclint.schema.validation import validate

    faults = validate(
        manifest.root, group=manifest.group, version=manifest.version, kind=manifest.kind, release=version
    )
    for fault in faults:
        job.refuse(fault.node, fault.message, stage="schema")


def _settled(manifest: Manifest, version: str) -> Mapping:
    tree = copy_tree(manifest.root)
    assert isinstance(tree, Mapping)
    _settle_spec(tree, manifest.kind, version)
    return tree


def _settle_spec(tree: Mapping, kind: str, version: str, *, stored: bool = True) -> None:
    from fabriclint_schemas.load import schema_of

    schema = schema_of(GROUP, kind, names()["version"], version)
    spec = tree.mapping("spec")
    if schema is not None and spec is not None:
        settle(spec, schema["properties"]["spec"], stored=stored)


def _name_of(trainjob: Mapping) -> tuple[str, Node] | None:
    name = trainjob.scalar("metadata", "name")
    if name is not None and name.value is not None:
        return name.text, name
    prefix = trainjob.scalar("metadata", "generateName")
    if prefix is not None and prefix.value is not None:
        return prefix.text + names()["generated_suffix"], prefix
    return None


def _assemble(
    job: ResolvedJob, trainjob: Manifest, runtime: Manifest, runtimes: RuntimeLookup, release: Release
) -> None:
    """Judge the TrainJob against the patched template, then build the JobSet as far as it can be built."""
    root = _trainjob_tree(trainjob, release)
    made = _settled(runtime, release.name)
    named = _name_of(root)
    whole = made.mapping("spec")
    if named is None or whole is None or open_at(whole.at("template")) or open_at(whole.at("template", "spec")):
        return
    template = mapping_in(whole, "template", whole)
    spec = mapping_in(template, "spec", template)
    if open_at(spec.at("replicatedJobs")):
        return
    before = [j.string("name") for j in spec.mappings("replicatedJobs")]
    lay_patches(root, spec, release)
    _settle_spec(made, runtime.kind, release.name, stored=False)
    for rj in spec.mappings("replicatedJobs"):
        complete(rj)
    policy = made.mapping("spec", "mlPolicy")
    job.policy = next((p for p in release.policies if policy is not None and policy.mapping(p) is not None), "plainml")
    assembly = Assembly(
        release=release,
        name=named[0],
        name_node=named[1],
        trainjob=root,
        runtime_name=runtime.name or "",
        policy=policy,
        kind=job.policy,
        gang=made.mapping("spec", "podGroupPolicy"),
        spec=spec,
    )
    _metadata(assembly, template)
    for rj in spec.mappings("replicatedJobs"):
        count = count_at(rj.at("template", "spec", "parallelism")) or Count(1, rj)
        if ancestor(rj) == "trainer" and policy is not None:
            count = count_at(policy.at("numNodes")) or Count(1, policy)
        assembly.podsets.append(PodSet(rj, count.at_least(1)))
    judge_trainjob(job, assembly, runtimes, before)
    if not _apply_policy(job, assembly):
        return
    _node_count(job, assembly)
    space = trainjob.root.scalar("metadata", "namespace")
    namespace = copy_tree(space) if space is not None and not is_absent(space) else build("default", trainjob.root)
    job.intended = build_jobset(assembly, namespace)


def _trainjob_tree(trainjob: Manifest, release: Release) -> Mapping:
    """The TrainJob's own copy. Only its patches are serialised by Go's types; the rest is taken as written."""
    from fabriclint_schemas.load import schema_of

    tree = copy_tree(trainjob.root)
    assert isinstance(tree, Mapping)
    schema = schema_of(GROUP, "TrainJob", names()["version"], release.name)
    fields = schema["properties"]["spec"]["properties"] if schema is not None else {}
    for entry in patch_entries(tree, release):
        if release.overrides in fields:
            settle(entry, fields[release.overrides]["items"], patch=True)
    trainer = tree.mapping("spec", "trainer")
    if trainer is not None and "trainer" in fields:
        resources = trainer.mapping("resourcesPerNode")
        below = fields["trainer"]["properties"]["resourcesPerNode"]["properties"]
        for half in ("limits", "requests"):
            amounts = resources.mapping(half) if resources is not None else None
            if amounts is not None and amounts.fields:
                settle(amounts, {"properties": dict.fromkeys(amounts.fields, below[half]["additionalProperties"])})
    return tree


def _metadata(assembly: Assembly, template: Mapping) -> None:
    """Labels and annotations of the JobSet: the runtime's, then the patches' (2.0, 2.1: the TrainJob's)."""
    sources: list[Mapping | None] = [template.mapping("metadata")]
    if assembly.release.overrides == "runtimePatches":
        sources += [metadata_of(e) for e in patch_entries(assembly.trainjob, assembly.release)]
    if assembly.release.labels_in_spec:
        sources.append(assembly.trainjob.mapping("spec"))
    for source in sources:
        for key, target in (("labels", assembly.labels), ("annotations", assembly.annotations)):
            values = source.mapping(key) if source is not None else None
            target.update(values.fields if values is not None else {})


def _apply_policy(job: ResolvedJob, assembly: Assembly) -> bool:
    """Run the plugins of the policy; False when the controller fails, so that there is no JobSet."""
    if assembly.kind == "torch":
        apply_torch(assembly)
    elif assembly.kind == "mpi":
        return apply_mpi(job, assembly)
    elif assembly.kind == "jax":
        return apply_jax(job, assembly)
    else:
        apply_plain(assembly)
        if assembly.kind == "xgboost":
            apply_xgboost(assembly)
        elif assembly.kind == "flux":
            return apply_flux(job, assembly)
    return True


def _node_count(job: ResolvedJob, assembly: Assembly) -> None:
    table = names()
    if assembly.kind != "mpi":
        first = assembly.by_step("trainer")
        job.num_nodes = first.count.value if first is not None else None
        return
    workers = assembly.by_name(table["node"])
    launcher = assembly.by_name(table["launcher"]) if assembly.launcher_is_node else None
    counts = [p.count.value for p in (workers, launcher) if p is not None]
    known = [c for c in counts if c is not None]
    job.num_nodes = sum(known) if counts and len(known) == len(counts) else None
