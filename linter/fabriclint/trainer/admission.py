"""What Trainer's webhooks refuse: a runtime by itself, and a TrainJob against its runtime.

Source: kubeflow/trainer@dc7656a pkg/webhooks, pkg/runtime/framework/plugins.
"""

from __future__ import annotations

from fabriclint.document import Manifest
from fabriclint.node import Mapping, Node, Scalar
from fabriclint.trainer.assembly import Assembly, ancestor
from fabriclint.trainer.edit import all_named, is_absent, is_set, named, texts, whole
from fabriclint.trainer.lookup import RuntimeLookup
from fabriclint.trainer.manager_path import is_domain_prefixed_path
from fabriclint.trainer.outcome import Reason, ResolvedJob
from fabriclint.trainer.patches import job_patches, patch_entries, target_names
from fabriclint.trainer.torchtune import is_torchtune, judge_torchtune
from fabriclint_schemas.trainer.load import Release, names


def _is_text(node: Scalar) -> bool:
    return isinstance(node.value, str) and not node.open


def _pod(job: Mapping, key: str) -> list[Mapping]:
    return job.mappings("template", "spec", "template", "spec", key)


def judge_runtime(job: ResolvedJob, runtime: Manifest, release: Release) -> None:
    """What the runtime's own webhook refuses when it is created."""
    steps: dict[str, str] = names()["steps"]
    for rj in runtime.root.mappings("spec", "template", "spec", "replicatedJobs"):
        step = ancestor(rj)
        replicas = rj.at("replicas")
        count = 1 if is_absent(replicas) else whole(replicas)
        launcher = release.launcher_replicas and rj.string("name") == names()["launcher"]
        if (step in steps or launcher) and count is not None and count != 1 and replicas is not None:
            what = f"labelled '{step}'" if step in steps else "'launcher'"
            job.refuse(replicas, f"A replicated job {what} has 'replicas: {count}', and Trainer takes 1 only.", "R20")
        if step not in steps or not release.required_containers:
            continue
        listed = rj.at("template", "spec", "template", "spec", "containers")
        if named(_pod(rj, "containers"), steps[step]) is None and all_named(listed):
            where = rj.nearest("template", "spec", "template", "spec", "containers")
            job.refuse(
                where,
                f"A replicated job labelled '{step}' has no container called '{steps[step]}', which Trainer requires.",
                "R21",
            )
    root = runtime.root
    label = root.at("metadata", "labels", names()["deprecated_label"])
    if runtime.kind == "ClusterTrainingRuntime" and isinstance(label, Scalar) and label.value == "deprecated":
        text = f"ClusterTrainingRuntime '{runtime.name}' is deprecated."
        job.warnings.append(Reason("webhook", label, label.pointer, text))


def judge_trainjob(job: ResolvedJob, assembly: Assembly, runtimes: RuntimeLookup, before: list[str | None]) -> None:
    """What the TrainJob's webhook refuses; the template is judged with the patches already in it.

    `before`: names of the runtime's replicated jobs as they were without patches.
    """
    if all_named(assembly.spec.at("replicatedJobs")):
        _initializers(job, assembly)
    else:
        before = []
    _patches(job, assembly, before)
    _reserved(job, assembly)
    trainer = assembly.trainer
    if assembly.kind == "torch" and trainer is not None:
        needs = assembly.release.reserved_env_needs_processes
        given = trainer.at("numProcPerNode")
        if needs and isinstance(given, Scalar) and _is_text(given) and given.value not in ("auto", "cpu", "gpu"):
            text = f"'numProcPerNode' is '{given.value}', and torch takes a number, auto, cpu or gpu."
            job.refuse(given, text, "R14")
        if is_torchtune(trainer) and (not needs or is_set(trainer, "numProcPerNode")):
            judge_torchtune(job, assembly)
        _injection(job, assembly)
    if assembly.kind == "mpi":
        _mpi(job, assembly)
    if assembly.kind == "flux":
        _flux(job, assembly)
    if assembly.gang is not None and assembly.gang.mapping("volcano") is not None:
        _volcano(job, assembly, runtimes)


def _initializers(job: ResolvedJob, assembly: Assembly) -> None:
    block = assembly.trainjob.mapping("spec", "initializer")
    for step in ("dataset", "model"):
        given = block.fields.get(step) if block is not None else None
        if given is None or is_absent(given):
            continue
        name = f"{step}-initializer"
        podset = assembly.by_name(name)
        if podset is None:
            job.refuse(
                given,
                f"'spec.initializer.{step}' needs a replicated job '{name}' in the runtime, which has none.",
                "R2",
            )
            continue
        main = named(podset.containers(), name)
        if not all_named(podset.pod.at("containers")) or not all_named(podset.pod.at("initContainers")):
            continue
        if main is None and named(podset.containers("initContainers"), name) is None:
            job.refuse(
                given,
                f"'spec.initializer.{step}' needs a container '{name}' in the runtime's job of that name.",
                "R2",
            )
        elif assembly.release.initializer_mount and main is not None:
            mount = names()["initializer_mount"]
            if named(main.mappings("volumeMounts"), mount) is None:
                text = f"Container '{name}' of the runtime mounts nothing named '{mount}', so that its data reaches no node."
                job.refuse(given, text, "R11")


def _patches(job: ResolvedJob, assembly: Assembly, before: list[str | None]) -> None:
    release = assembly.release
    field = release.overrides
    known = set(before) if release.unknown_job == "rejected" else {p.name for p in assembly.podsets}
    for entry in patch_entries(assembly.trainjob, release):
        manager = entry.scalar("manager")
        judged = field == "runtimePatches" and manager is not None and manager.value is not None and not manager.open
        if judged and manager is not None and not is_domain_prefixed_path(manager.text):
            job.refuse(
                manager,
                f"'manager' is '{manager.text}', and Trainer takes a domain, a slash and a path, as example.com/fabric.",
                "R3",
            )
        if field == "runtimePatches":
            for change in job_patches(entry):
                _known_job(job, change.at("name"), known)
                _reserved_containers(job, _pod(change, "containers"), field)
        else:
            targets = target_names(entry)
            for target in targets:
                _known_job(job, target, known)
            held = entry.mappings("containers") if field == "podSpecOverrides" else entry.mappings("spec", "containers")
            if targets:
                _reserved_containers(job, held, field)


def _known_job(job: ResolvedJob, name: Node | None, known: set[str | None]) -> None:
    if known and isinstance(name, Scalar) and _is_text(name) and name.value not in known:
        listed = ", ".join(sorted(n for n in known if n)) or "none"
        job.refuse(name, f"The runtime has no replicated job '{name.value}' (it has {listed}).", "R4")


def _reserved_containers(job: ResolvedJob, held: list[Mapping], field: str) -> None:
    for container in held:
        env = container.sequence("env")
        if container.string("name") in names()["steps"].values() and env is not None and env.items:
            job.refuse(
                env,
                f"'{field}' sets variables of container '{container.string('name')}', which Trainer keeps for the TrainJob's "
                "own 'env'.",
                "R6",
            )


def _reserved(job: ResolvedJob, assembly: Assembly) -> None:
    table = assembly.release.reserved_env.get(assembly.kind)
    trainer = assembly.trainer
    if table is None or trainer is None:
        return
    if (
        assembly.kind == "torch"
        and assembly.release.reserved_env_needs_processes
        and not is_set(trainer, "numProcPerNode")
    ):
        return
    code = {"pet": "R7", "dmlc": "R10"}.get(table, "R11")
    for entry in trainer.mappings("env"):
        name = entry.string("name")
        if name in names()[table]:
            text = f"'{name}' is set by Trainer's {assembly.kind} policy and may not stand in 'spec.trainer.env'."
            job.refuse(entry, text, code)


def _injection(job: ResolvedJob, assembly: Assembly) -> None:
    settings = assembly.settings
    for target in settings.mappings("envInjection", "targets") if settings is not None else ():
        name = target.string("jobName")
        podset = assembly.by_name(name) if name is not None else None
        if name is not None and podset is None and all_named(assembly.spec.at("replicatedJobs")):
            job.refuse(target, f"'envInjection' names a replicated job '{name}' that the runtime lacks.", "R11")
        for container in (texts(target.at("containerNames")) or ()) if podset is not None else ():
            held = podset.containers() + podset.containers("initContainers") if podset is not None else []
            if named(held, container) is None:
                job.refuse(target, f"'envInjection' names a container '{container}' that job '{name}' lacks.", "R11")


def _mpi(job: ResolvedJob, assembly: Assembly) -> None:
    trainer = assembly.trainer
    if trainer is None:
        return
    processes = trainer.at("numProcPerNode")
    if assembly.release.reserved_env_needs_processes and isinstance(processes, Scalar) and _is_text(processes):
        job.refuse(processes, f"'numProcPerNode' is '{processes.value}', and mpi takes a number only.", "R14")
    nodes = trainer.at("numNodes")
    count = whole(nodes)
    sure = all_named(assembly.spec.at("replicatedJobs"))
    if sure and count is not None and nodes is not None and count >= 2 and assembly.launcher_is_node:
        lacking = [n for n in (names()["launcher"], names()["node"]) if assembly.by_name(n) is None]
        if lacking:
            job.refuse(
                nodes,
                f"'numNodes' is {count}, and a runtime with runLauncherAsNode needs replicated jobs 'launcher' and 'node': it "
                f"lacks '{lacking[0]}'.",
                "R9",
            )


def _flux(job: ResolvedJob, assembly: Assembly) -> None:
    node = assembly.by_name(names()["node"])
    if node is not None:
        taken = named(node.containers("initContainers"), names()["flux"]["installer"])
        if taken is not None:
            job.refuse(
                taken,
                f"An init container '{names()['flux']['installer']}' is Trainer's own under a flux policy.",
                "R12",
            )
    settings = assembly.settings
    processes = settings.at("numProcPerNode") if settings is not None else None
    if assembly.release.name == "2.3" and is_set(assembly.trainer, "numProcPerNode"):
        processes = assembly.trainer.at("numProcPerNode") if assembly.trainer is not None else None
    count = whole(processes)
    if processes is not None and count is not None and count < 1:
        job.refuse(processes, f"'numProcPerNode' is {count}, and flux needs 1 at least.", "R12")


def _volcano(job: ResolvedJob, assembly: Assembly, runtimes: RuntimeLookup) -> None:
    if "volcano" not in assembly.release.gangs:
        return
    queue = assembly.annotations.get(names()["volcano_queue"])
    if isinstance(queue, Scalar) and queue.value == "":
        job.refuse(
            queue, f"The annotation '{names()['volcano_queue']}' is empty, and Volcano needs a queue's name.", "R13"
        )
    for podset in assembly.podsets:
        wanted = podset.pod.scalar("priorityClassName")
        if wanted is None or not isinstance(wanted.value, str) or wanted.open:
            continue
        if wanted.value in names()["priority_classes"]:
            return
        if wanted.value in runtimes.priority_classes:
            continue
        if runtimes.whole_cluster:
            text = f"PriorityClass '{wanted.value}' is not among the files, and a volcano policy needs it."
            job.refuse(wanted, text, "R13")
        else:
            text = f"PriorityClass '{wanted.value}' is not among the files; without it Trainer's webhook rejects the TrainJob."
            job.doubts.append(Reason("webhook", wanted.source, wanted.pointer, text, "R13"))
