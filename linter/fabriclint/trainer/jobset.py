"""The last steps of the JobSet: gang, counts, initializers and the trainer block, metadata.

Source: kubeflow/trainer@dc7656a pkg/runtime/framework/plugins/jobset, .../coscheduling, .../volcano.
"""

from __future__ import annotations

from fabriclint.node import Mapping, Node, Scalar, build, copy_tree
from fabriclint.trainer.assembly import Assembly, PodSet
from fabriclint.trainer.edit import is_absent, list_in, mapping_in, same_name, upsert
from fabriclint.trainer.variables import from_trainjob
from fabriclint_schemas.trainer.load import names

_HALVES = ("limits", "requests")


def build_jobset(assembly: Assembly, namespace: Node) -> Mapping:
    """The object that the controller applies, without owner."""
    one = assembly.by_step("trainer")
    for podset in assembly.podsets:
        count = podset.count
        if assembly.release.one_count_for_labelled and podset.step == "trainer" and one is not None:
            count = one.count
        job_spec = mapping_in(mapping_in(podset.job, "template", podset.job), "spec", podset.job)
        job_spec.put("parallelism", count.node())
        job_spec.put("completions", count.node())
        step = podset.step
        if step in ("dataset-initializer", "model-initializer"):
            _initializer(assembly, podset, step)
    for podset in assembly.podsets:
        _trainer_block(assembly, podset)
    if assembly.gang is not None:
        for gang, (field, key) in names()["gangs"].items():
            there = assembly.gang.mapping(gang)
            if there is None or gang not in assembly.release.gangs:
                continue
            for podset in assembly.podsets:
                metadata = podset.job.mapping("template", "spec", "template", "metadata")
                if metadata is not None:
                    mapping_in(metadata, field, there).put(key, build(assembly.name, there))
    return _object(assembly, namespace)


def _object(assembly: Assembly, namespace: Node) -> Mapping:
    root = assembly.trainjob
    made = build({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet"}, root)
    metadata = build({}, root)
    assert isinstance(made, Mapping) and isinstance(metadata, Mapping)
    metadata.put("name", build(assembly.name, assembly.name_node))
    metadata.put("namespace", namespace)
    for key, values in (("labels", assembly.labels), ("annotations", assembly.annotations)):
        if values:
            held = mapping_in(metadata, key, next(iter(values.values())))
            for name, value in values.items():
                held.put(name, copy_tree(value), value.key_start, value.key_end)
    suspend = root.at("spec", "suspend")
    assembly.spec.put("suspend", build(False, root) if suspend is None or is_absent(suspend) else copy_tree(suspend))
    made.put("metadata", metadata)
    made.put("spec", assembly.spec)
    return made


def _initializer(assembly: Assembly, podset: PodSet, step: str) -> None:
    block = assembly.trainjob.mapping("spec", "initializer", step.partition("-")[0])
    podset.job.put("replicas", build(1, podset.job.at("replicas") or podset.job))
    if block is None:
        return
    for container in podset.containers():
        if container.string("name") != step:
            continue
        uri = block.at("storageUri")
        if isinstance(uri, Scalar) and uri.value is not None:
            entry = build({"name": names()["storage_uri"]}, uri)
            assert isinstance(entry, Mapping)
            entry.put("value", copy_tree(uri))
            upsert(list_in(container, "env", uri), entry, same_name)
        for given in block.mappings("env"):
            upsert(list_in(container, "env", given), from_trainjob(given), same_name)
        secret = block.mapping("secretRef")
        if secret is not None:
            name = secret.string("name") or ""
            list_in(container, "envFrom", secret).add(build({"secretRef": {"name": name}}, secret))


def _trainer_block(assembly: Assembly, podset: PodSet) -> None:
    labelled = podset.step == "trainer"
    if labelled:
        podset.job.put("replicas", build(1, podset.job.at("replicas") or podset.job))
    trainer = assembly.trainer
    shares = assembly.release.launcher_shares_with_node and assembly.launcher_is_node
    if trainer is None or not (labelled or (shares and podset.name == names()["node"])):
        return
    for container in podset.containers():
        if container.string("name") != names()["node"]:
            continue
        if labelled:
            for key in ("image", "command", "args"):
                given = trainer.fields.get(key)
                if given is not None and not is_absent(given):
                    container.put(key, copy_tree(given), given.key_start, given.key_end)
        _resources(assembly, trainer, container)
        for entry in trainer.mappings("env"):
            upsert(list_in(container, "env", trainer), from_trainjob(entry), same_name)


def _resources(assembly: Assembly, trainer: Mapping, container: Mapping) -> None:
    given = trainer.mapping("resourcesPerNode")
    if given is None:
        return
    if assembly.release.resources == "merge":
        if assembly.policy is None:
            return
        own = mapping_in(container, "resources", given)
        own.drop("claims")
        for half in _HALVES:
            amounts = given.mapping(half)
            for name, value in amounts.fields.items() if amounts is not None else ():
                mapping_in(own, half, given).put(name, copy_tree(value), value.key_start, value.key_end)
        return
    if given.mapping("limits") is None and given.mapping("requests") is None:
        return
    made = copy_tree(given)
    assert isinstance(made, Mapping)
    for key in list(made.fields):
        if key not in _HALVES:
            made.drop(key)
    container.put("resources", made, given.key_start, given.key_end)
