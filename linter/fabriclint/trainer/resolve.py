"""What a TrainJob and its runtime become: patches, counts, torch variables and the trainer block.

Sources: kubeflow/trainer@dc7656a pkg/runtime/core/trainingruntime.go, pkg/runtime/framework/plugins/{torch,jobset}.
Policies other than torch and plain leave `jobset` None: what they build is not known here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from fabriclint.document import Manifest
from fabriclint.node import Mapping, Node, Scalar, Sequence, build, copy_tree
from fabriclint.trainer.lookup import GROUP, KINDS, RuntimeLookup, reference
from fabriclint.trainer.manager_path import is_domain_prefixed_path
from fabriclint.trainer.merge import merge

ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"
RESERVED_PET = ("PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT")
RESERVED_CONTAINERS = ("node", "dataset-initializer", "model-initializer")
POLICIES = ("torch", "mpi", "jax", "xgboost", "flux")


@dataclass(slots=True)
class Reason:
    """Why a TrainJob is refused: the stage, the user's node, its pointer and a sentence."""

    stage: str
    node: Node
    pointer: str
    message: str


@dataclass(slots=True)
class ResolvedJob:
    """A TrainJob with its runtime, the verdict of admission, and the JobSet when it can be known."""

    trainjob: Manifest | None
    runtime: Manifest | None
    runtime_ref: str
    runtime_state: str
    verdict: str = "unknown"
    reasons: list[Reason] = field(default_factory=list)
    jobset: Mapping | None = None
    num_nodes: int | None = None
    policy: str = "plainml"

    def refuse(self, node: Node, message: str) -> None:
        """Record a refusal by the webhook."""
        self.reasons.append(Reason("webhook", node, node.pointer, message))
        self.verdict = "rejected"


def _items(node: Node, *path: str | int) -> list[Mapping]:
    found = node.sequence(*path)
    return [i for i in found.items if isinstance(i, Mapping)] if found is not None else []


def _named(items: list[Mapping], name: str) -> Mapping | None:
    return next((i for i in items if i.string("name") == name), None)


def _whole(node: Node | None) -> int | None:
    if isinstance(node, Scalar) and isinstance(node.value, int) and not isinstance(node.value, bool):
        return node.value
    return None


def _child(parent: Mapping, key: str, cause: Node) -> Mapping:
    there = parent.mapping(key)
    if there is not None:
        return there
    made = build({}, cause)
    assert isinstance(made, Mapping)
    parent.put(key, made)
    return made


def _list(parent: Mapping, key: str, cause: Node) -> Sequence:
    there = parent.sequence(key)
    if there is None:
        made = build([], cause)
        assert isinstance(made, Sequence)
        parent.put(key, made)
        there = made
    return there


def _upsert(target: Sequence, entry: Node) -> None:
    name = entry.string("name")
    for index, item in enumerate(target.items):
        if name is not None and item.string("name") == name:
            entry.parent, entry.key = target, index
            target.items[index] = entry
            return
    target.add(entry)


def _ancestor(rj: Mapping) -> str | None:
    return rj.string("template", "metadata", "labels", ANCESTOR)


def _containers(rj: Mapping, key: str = "containers") -> list[Mapping]:
    return _items(rj, "template", "spec", "template", "spec", key)


def _check_schema(job: ResolvedJob, manifest: Manifest, version: str) -> None:
    from fabriclint.schema.validation import validate

    faults = validate(
        manifest.root, group=manifest.group, version=manifest.version, kind=manifest.kind, release=version
    )
    for fault in faults:
        job.reasons.append(Reason("schema", fault.node, fault.node.pointer, fault.message))
        job.verdict = "rejected"


def _judge(job: ResolvedJob, root: Mapping, rjs: list[Mapping]) -> None:
    names = {rj.string("name") for rj in rjs}
    for step in ("dataset", "model"):
        given = root.at("spec", "initializer", step)
        if given is None or (isinstance(given, Scalar) and given.value is None):
            continue
        rj = _named(rjs, f"{step}-initializer")
        if rj is None:
            job.refuse(given, f"the runtime has no replicated job '{step}-initializer'")
        elif _named(_containers(rj) + _containers(rj, "initContainers"), f"{step}-initializer") is None:
            job.refuse(given, f"the runtime's job '{step}-initializer' has no container of that name")
    for patch in _items(root, "spec", "runtimePatches"):
        manager = patch.scalar("manager")
        if manager is not None and not manager.open and not is_domain_prefixed_path(manager.text):
            job.refuse(manager, f"manager '{manager.text}' is not a domain-prefixed path")
        for rj in _items(patch, "trainingRuntimeSpec", "template", "spec", "replicatedJobs"):
            name = rj.scalar("name")
            if name is not None and not name.open and name.text not in names:
                job.refuse(name, f"the runtime has no replicated job '{name.text}'")
            for container in _containers(rj):
                env = container.sequence("env")
                if container.string("name") in RESERVED_CONTAINERS and env is not None and env.items:
                    job.refuse(env, f"a patch must not set env of container '{container.string('name')}'")
    if job.policy == "torch":
        for entry in _items(root, "spec", "trainer", "env"):
            if entry.string("name") in RESERVED_PET:
                job.refuse(entry, f"env '{entry.string('name')}' is reserved for the torch policy")


def _number(value: Node | None) -> float:
    if not isinstance(value, Scalar):
        return 0
    from fabriclint.quantity import parse_quantity

    return float(parse_quantity(value.text) or 0)


def _processes(trainer: Mapping, rjs: list[Mapping]) -> int | str:
    given = _whole(trainer.at("numProcPerNode"))
    if given is not None:
        return given
    looked = trainer.mapping("resourcesPerNode")
    if looked is None:
        for rj in rjs:
            node = _named(_containers(rj), "node")
            if node is not None and (rj.string("name") == "node" or _ancestor(rj) == "trainer"):
                looked = node.mapping("resources")
                break
    cpus = 0.0
    for half in ("requests", "limits"):
        values = looked.mapping(half) if looked is not None else None
        for name, value in values.fields.items() if values is not None else ():
            if "gpu" in name.lower() and _number(value) > 0:
                return "auto"
            if name == "cpu" and cpus == 0:
                cpus = _number(value)
    return max(1, math.ceil(cpus))


def _torch(name: str, count: int, trainer: Mapping, rj: Mapping, rjs: list[Mapping]) -> None:
    node = _named(_containers(rj), "node")
    if node is None:
        return
    env = _list(node, "env", trainer)
    rank = {"fieldRef": {"fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}}
    for entry in (
        {"name": "PET_NNODES", "value": str(count)},
        {"name": "PET_NPROC_PER_NODE", "value": str(_processes(trainer, rjs))},
        {"name": "PET_NODE_RANK", "valueFrom": rank},
        {"name": "PET_MASTER_ADDR", "value": f"{name}-node-0-0.{name}"},
        {"name": "PET_MASTER_PORT", "value": "29500"},
    ):
        _upsert(env, build(entry, trainer))
    ports = _list(node, "ports", trainer)
    port = build({"containerPort": 29500}, trainer)
    for index, item in enumerate(ports.items):
        if item.at("name") is None:
            port.parent, port.key = ports, index
            ports.items[index] = port
            return
    ports.add(port)


def _trainer_block(trainer: Mapping, rj: Mapping, version: str) -> None:
    rj.put("replicas", build(1, trainer))
    node = _named(_containers(rj), "node")
    if node is None:
        return
    for key in ("image", "command", "args"):
        given = trainer.fields.get(key)
        if given is not None and not (isinstance(given, Scalar) and given.value is None):
            node.put(key, copy_tree(given), given.key_start, given.key_end)
    for entry in _items(trainer, "env"):
        _upsert(_list(node, "env", trainer), copy_tree(entry))
    resources = trainer.mapping("resourcesPerNode")
    if resources is None or not (resources.mapping("limits") or resources.mapping("requests")):
        return
    if version == "2.3":
        there = _child(node, "resources", resources)
        for half in ("limits", "requests"):
            for name, value in getattr(resources.mapping(half), "fields", {}).items():
                _child(there, half, resources).put(name, copy_tree(value), value.key_start, value.key_end)
        return
    made = copy_tree(resources)
    assert isinstance(made, Mapping)
    made.drop("claims")
    node.put("resources", made, resources.key_start, resources.key_end)


def _build(job: ResolvedJob, root: Mapping, runtime: Mapping, version: str) -> None:
    template = runtime.mapping("spec", "template")
    name = root.string("metadata", "name")
    if template is None or name is None or template.mapping("spec") is None:
        return
    tree = copy_tree(template)
    assert isinstance(tree, Mapping)
    spec = tree.mapping("spec")
    assert spec is not None
    rjs = _items(spec, "replicatedJobs")
    for patch in _items(root, "spec", "runtimePatches"):
        metadata = patch.mapping("trainingRuntimeSpec", "template", "metadata")
        for key in ("labels", "annotations"):
            values = metadata.mapping(key) if metadata is not None else None
            for field_name, value in values.fields.items() if values is not None else ():
                _child(_child(tree, "metadata", value), key, value).put(field_name, copy_tree(value))
        for change in _items(patch, "trainingRuntimeSpec", "template", "spec", "replicatedJobs"):
            rj = _named(rjs, change.string("name") or "")
            body = change.mapping("template")
            if rj is not None and body is not None:
                merge(_child(rj, "template", body), body)
    trainer = root.mapping("spec", "trainer")
    policy = runtime.mapping("spec", "mlPolicy")
    first = True
    for rj in rjs:
        cause: Node = rj
        count = _whole(rj.at("template", "spec", "parallelism"))
        count = 1 if count is None else count
        if _ancestor(rj) == "trainer":
            if policy is not None:
                count = _whole(policy.at("numNodes")) or 1
                cause = policy.at("numNodes") or policy
            count = max(count, 1)
            wanted = trainer.at("numNodes") if trainer is not None else None
            if first and wanted is not None and _whole(wanted) is not None:
                count, cause = _whole(wanted) or 0, wanted
            if first:
                job.num_nodes = count
                if job.policy == "torch" and trainer is not None:
                    _torch(name, count, trainer, rj, rjs)
            first = False
            if trainer is not None:
                _trainer_block(trainer, rj, version)
        body = _child(_child(rj, "template", cause), "spec", cause)
        body.put("parallelism", build(count, cause))
        body.put("completions", build(count, cause))
    made = build({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet"}, root)
    named = build({"name": name, "namespace": root.string("metadata", "namespace") or "default"}, root)
    assert isinstance(made, Mapping) and isinstance(named, Mapping)
    for key in ("labels", "annotations"):
        kept = tree.mapping("metadata", key)
        if kept is not None:
            named.put(key, kept)
    suspend = root.at("spec", "suspend")
    spec.put("suspend", copy_tree(suspend) if suspend is not None else build(False, root))
    made.put("metadata", named)
    made.put("spec", spec)
    job.jobset = made


def resolve(trainjob: Manifest, runtimes: RuntimeLookup, version: str) -> ResolvedJob:
    """What becomes of a TrainJob under a Trainer version ('2.0' to '2.3'); never raises on an odd tree."""
    root = trainjob.root
    ref = reference(trainjob)
    job = ResolvedJob(trainjob, None, "", "unknown")
    if ref is None:
        return job
    group, kind, name = ref
    job.runtime_ref = f"{kind}/{name}"
    if group != GROUP or kind not in KINDS:
        job.refuse(root.nearest("spec", "runtimeRef"), f"unsupported runtime '{kind}.{group}'")
        return job
    job.runtime, job.runtime_state = runtimes.get(kind, trainjob.namespace or "", name)
    _check_schema(job, trainjob, version)
    if job.runtime is not None:
        _check_schema(job, job.runtime, version)
    if job.runtime is None or version not in ("2.2", "2.3"):
        return job
    runtime = job.runtime.root
    policy = runtime.mapping("spec", "mlPolicy")
    job.policy = next((p for p in POLICIES if policy is not None and p in policy.fields), "plainml")
    _judge(job, root, _items(runtime, "spec", "template", "spec", "replicatedJobs"))
    if (
        job.policy in ("torch", "plainml")
        and root.at("spec", "initializer") is None
        and runtime.at("spec", "podGroupPolicy") is None
        and not job.reasons
    ):
        _build(job, root, runtime, version)
    return job
