"""TRN: TrainJobs and the runtimes they use."""

from __future__ import annotations

from collections.abc import Iterator

from fabriclint.kinds import ANCESTOR_LABEL as LABEL
from fabriclint.node import Mapping, Node, Scalar
from fabriclint.rule import AddField, Finding, Fix, Place, Related, Severity, rule
from fabriclint.views import RuntimeView, TrainJobView


def _jobs(runtime: Mapping) -> list[Mapping]:
    return runtime.mappings("spec", "template", "spec", "replicatedJobs")


def _label(job: Mapping) -> Scalar | None:
    return job.scalar("template", "metadata", "labels", LABEL)


@rule("TRN005", "missing-ancestor-label", Severity.ERROR, on=RuntimeView, also=(Severity.WARNING,))
def missing_ancestor_label(view: RuntimeView) -> Iterator[Finding]:
    """The runtime's trainer job carries `trainer.kubeflow.org/trainjob-ancestor-step: trainer`.

    Without the label on the replicated job's own template Trainer applies none of the TrainJob's trainer block: no
    image, command, args, env, resources, number of nodes, no PET_* rendezvous variables. Every pod starts as rank 0
    of a job of one.

    Fix: add the label to the replicated job's template metadata (not the pod template's, not the object's).
    Silent: mpi runtimes, whose counts go by name.
    Bad: no label
        replicatedJobs: [{name: node, template: {spec: ...}}]
    Good: the label
        replicatedJobs:
        - name: node
          template: {metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}}
    Source: kubeflow/trainer v2.2.0 pkg/runtime; NVIDIA AICR.
    """
    root = view.manifest.root
    jobs = _jobs(root)
    if not jobs or root.at("spec", "mlPolicy", "mpi") is not None or view.manifest.partial:
        return
    if any((label := _label(j)) is not None and (label.text == "trainer" or label.open) for j in jobs):
        return
    job = next((j for j in jobs if j.string("name") == "node"), None)
    if job is None:
        if len(jobs) != 1:
            return
        job = jobs[0]
    wrong = _label(job)
    name = job.string("name") or ""
    lost = _lost(view)
    severity = Severity.ERROR if lost else Severity.WARNING
    what = f"""'{"', '".join(lost)}' of the TrainJob that uses it""" if lost else "the TrainJob's trainer block"
    pod_label = job.at("template", "spec", "template", "metadata", "labels", LABEL)
    if wrong is not None:
        yield Finding(
            Place(wrong),
            f"The label '{LABEL}' of the replicated job '{name}' is '{wrong.text}', not 'trainer'; Trainer ignores {what}.",
            help="Write 'trainer'.",
            severity=severity,
        )
        return
    place = job.nearest("template", "metadata", "labels")
    if place is job or place.key == "template":
        named = job.at("name")
        place = named if named is not None else job
    related = []
    if pod_label is not None:
        related.append(Related(Place(pod_label, on_key=True), "Here, on the pod template, the label does nothing."))
    for trainjob in view.trainjobs:
        node = trainjob.root.at("spec", "trainer")
        if node is not None:
            related.append(Related(Place(node, on_key=True), "This trainer block is ignored."))
    yield Finding(
        Place(place, on_key=place.key != "name"),
        f"The replicated job '{name}' lacks the label '{LABEL}: trainer'; Trainer ignores {what}.",
        help=f"Add '{LABEL}: trainer' to template.metadata.labels of the replicated job.",
        severity=severity,
        related=tuple(related),
        fix=Fix("add the label", (AddField(job, ("template", "metadata", "labels", LABEL), "trainer"),)),
    )


def _lost(view: RuntimeView) -> list[str]:
    lost: list[str] = []
    for trainjob in view.trainjobs:
        block = trainjob.root.mapping("spec", "trainer")
        for key in ("image", "command", "args", "env", "resourcesPerNode", "numNodes"):
            if block is not None and block.at(key) is not None and key not in lost:
                lost.append(key)
    policy = view.manifest.root.mapping("spec", "mlPolicy")
    if view.trainjobs and policy is not None and policy.at("torch") is not None:
        lost.append("PET_* variables")
    return lost


def _worker(runtime: Mapping) -> Mapping | None:
    """The container that resourcesPerNode is written to: `node` of the labelled job."""
    for job in _jobs(runtime):
        label = _label(job)
        if label is not None and label.text == "trainer":
            for container in job.mappings("template", "spec", "template", "spec", "containers"):
                if container.string("name") == "node":
                    return container
    return None


def _amounts(resources: Node | None) -> dict[str, Node]:
    out: dict[str, Node] = {}
    for section in ("requests", "limits"):
        mapping = resources.mapping(section) if resources is not None else None
        out.update(mapping.fields if mapping else {})
    return out


@rule("TRN006", "resources-replace-runtime", Severity.ERROR, on=TrainJobView)
def resources_replace_runtime(view: TrainJobView) -> Iterator[Finding]:
    """resourcesPerNode repeats every device that the runtime's container asks for.

    Up to Trainer 2.2 it replaces the worker's resources, it does not merge: a job that asks for memory alone loses the
    runtime's GPUs and fabric devices.

    Fix: repeat every resource in it, or leave resourcesPerNode out.
    Silent: Trainer 2.3, which merges; all devices repeated.
    Bad: only memory, over a runtime with eight GPUs
        resourcesPerNode: {limits: {memory: 200Gi}}
    Good: everything
        resourcesPerNode: {limits: {memory: 200Gi, nvidia.com/gpu: 8}}
    Source: kubeflow/trainer v2.2.0; NVIDIA AICR.
    """
    given = view.manifest.root.at("spec", "trainer", "resourcesPerNode")
    if view.version == "2.3" or view.runtime is None or not isinstance(given, Mapping):
        return
    if not any(given.at(k) is not None for k in ("limits", "requests", "claims")):
        return
    worker = _worker(view.runtime.root)
    if worker is None:
        return
    had = _amounts(worker.at("resources"))
    have = _amounts(given)
    lost = [n for n in had if "/" in n and n not in have and getattr(had[n], "value", None) not in (0, "0")]
    if not lost or any("{{" in n or "$" in n for n in have):
        return
    section = given.at("limits") or given.at("requests") or given
    yield Finding(
        Place(section, on_key=True),
        f"'resourcesPerNode' replaces the runtime's resources and drops '{', '.join(lost)}'; the worker gets none of them.",
        help=f"Repeat {', '.join(lost)} here, or remove resourcesPerNode and let the runtime own the resources.",
        related=tuple(
            Related(Place(had[n], on_key=True), f"The runtime sets '{n}: {getattr(had[n], 'text', '')}' here.")
            for n in lost
        ),
    )


@rule("TRN007", "processes-not-inferred", Severity.WARNING, on=TrainJobView, yields_to=("TRN006",))
def processes_not_inferred(view: TrainJobView) -> Iterator[Finding]:
    """torchrun is told how many processes a node runs, or can infer it from the GPUs.

    With resourcesPerNode present and no GPU in it, Trainer counts CPUs instead: PET_NPROC_PER_NODE becomes the number
    of CPUs, or 1.

    Fix: set spec.trainer.numProcPerNode, name the GPUs in resourcesPerNode, or remove resourcesPerNode.
    Silent: CPU jobs; numProcPerNode set; resourcesPerNode absent.
    Bad: an empty block over a runtime with GPUs
        trainer: {resourcesPerNode: {}}
    Good: the count
        trainer: {resourcesPerNode: {}, numProcPerNode: 8}
    Source: kubeflow/trainer v2.2.0 torch plugin; NVIDIA AICR.
    """
    root = view.manifest.root
    given = root.at("spec", "trainer", "resourcesPerNode")
    if view.runtime is None or given is None or (isinstance(given, Scalar) and given.value is not None):
        return
    policy = view.runtime.root.mapping("spec", "mlPolicy")
    if policy is None or policy.at("torch") is None:
        return
    if root.at("spec", "trainer", "numProcPerNode") is not None or policy.at("torch", "numProcPerNode") is not None:
        return
    worker = _worker(view.runtime.root)
    had = _amounts(worker.at("resources")) if worker is not None else {}
    gpu = next((n for n in had if "gpu" in n.lower()), None)
    if gpu is None or any("gpu" in n.lower() for n in _amounts(given)):
        return
    yield Finding(
        Place(given, on_key=True),
        "'resourcesPerNode' names no GPU, so PET_NPROC_PER_NODE is inferred from CPUs and may be 1.",
        help="Set spec.trainer.numProcPerNode to the number of GPUs, or remove resourcesPerNode.",
        related=(Related(Place(had[gpu], on_key=True), f"The runtime gives the worker '{gpu}' here."),),
    )
