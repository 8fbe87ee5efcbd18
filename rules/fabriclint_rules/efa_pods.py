"""What an EFA job is made of: who asks for the device, what says that EFA is meant, and which machines a pod may get."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from fabriclint.node import Unknown
from fabriclint.pod import ContainerView, Environment, PodView, WorkerPod
from fabriclint.rule import Place
from fabriclint_rules.machines import Demand, demands
from fabriclint_schemas.eks import InstanceType, by_gpu, families, instance
from fabriclint_schemas.variables import efa, nccl

EFA = "vpc.amazonaws.com/efa"
_TYPE_LABELS = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
_FAMILY_LABELS = ("karpenter.k8s.aws/instance-family", "eks.amazonaws.com/instance-family")
_SIZE_LABELS = ("karpenter.k8s.aws/instance-size", "eks.amazonaws.com/instance-size")
_GPU_LABELS = ("karpenter.k8s.aws/instance-gpu-name", "eks.amazonaws.com/instance-gpu-name", "nvidia.com/gpu.product")
_TRUE = frozenset(("1", "true", "yes", "on"))
_FALSE = frozenset(("0", "false", "no", "off"))


def asks(container: ContainerView) -> bool:
    """Whether the container asks for EFA devices: more than none, or a number that a template fills in."""
    amount = container.amount(EFA)
    return isinstance(amount, Unknown) or (amount is not None and amount > 0)


def attached(pod: PodView) -> bool:
    """Whether the pod's worker gets EFA: by the device plugin's resource, or by a claim that names it."""
    return (pod.worker is not None and asks(pod.worker)) or claimed(pod)


def claimed(pod: PodView) -> bool:
    """Whether a claim in view is for EFA, by its device classes."""
    words = efa()["claim words"]
    return any(any(w in c for w in words) for c in pod.claim_classes())


def on_neuron(container: ContainerView) -> bool:
    """Whether the chips are Neuron's, which have their own stack."""
    return any(n.startswith("aws.amazon.com/neuron") for n in container.resource_names)


def accelerators(container: ContainerView) -> int | Unknown | None:
    """GPUs, or Neuron chips counted once; None when none are asked for."""
    for names in (("nvidia.com/gpu",), ("aws.amazon.com/neuron", "aws.amazon.com/neurondevice")):
        amounts = [container.amount(n) for n in names]
        for amount in amounts:
            if isinstance(amount, Unknown):
                return amount
        whole = [int(a) for a in amounts if isinstance(a, Decimal)]
        if whole:
            return max(whole)
    return None


def written(pod: PodView) -> Environment:
    """Every variable that the file has for the ranks: what they see, and what stands in their container besides."""
    worker = pod.worker
    made = Environment()
    if worker is not None:
        made.variables.update(worker.seen_env.variables)
        made.variables.update(pod.ranks_env.variables)
        made.open = pod.ranks_env.open
    return made


def hidden(pod: PodView) -> bool:
    """Whether the ranks may have variables that the file does not show: unseen ConfigMaps, scripts, sourced files.

    An image's own environment does not count: it is what the file adds to it that is judged.
    """
    worker = pod.worker
    if worker is None or pod.workload.runtime_alone:
        return True
    if not pod.by_ssh:
        return worker.env.open or (worker.start.unseen and worker.command_seen) or bool(worker.start.sourced)
    containers = [c for launcher in pod.launchers for c in launcher.main_containers]
    return any(
        c.start.sourced
        or c.start.forwards is None
        or isinstance(c.start.forwards, Unknown)
        or (c.start.unseen and c.command_seen)
        for c in containers
    )


def missing_variable(pod: WorkerPod) -> Place:
    """Where a missing variable is reported: the worker's env, or the command of the launcher that hands variables on."""
    worker = pod.worker
    assert worker is not None
    if pod.by_ssh:
        for launcher in pod.launchers:
            for container in launcher.main_containers:
                if container.start.forwards is not None:
                    return container.missing("args" if container.node.at("args") is not None else "command")
    return worker.missing("env")


def text_of(value: object) -> str | None:
    """A variable's value when it can be judged: seen, and not a shell's `$NAME`."""
    return value if isinstance(value, str) and "$" not in value else None


def switch(value: str) -> bool | None:
    """A libfabric switch: its eight words in any case; None for others."""
    lowered = value.lower()
    return True if lowered in _TRUE else False if lowered in _FALSE else None


def lets_efa_in(value: str) -> bool:
    """Whether FI_PROVIDER leaves the efa provider in, as libfabric filters: one `^` for the whole list, no trimming."""
    negated = value.startswith("^")
    names = [n for n in value.removeprefix("^").split(",") if n]
    if negated:
        return "efa" not in (n.lower() for n in names)
    return any(n.lower() == "efa" for n in names)


@dataclass(frozen=True, slots=True)
class Sign:
    """Something in a file that says EFA is meant, in a sentence's words."""

    what: str
    place: Place


def signs(pod: PodView) -> Iterator[Sign]:
    """The strong signs of EFA in what the file says of the ranks; weak ones (an image, a path, a taint) are none."""
    if pod.fabric is not None and pod.fabric.declared and pod.fabric.name == "eks-efa":
        yield Sign("EFA is declared as the fabric of this file", Place(pod.site.holder, on_key=True))
    environment = written(pod)
    plugin = nccl()["plugin"]["variables"]
    for variable in environment.variables.values():
        value = text_of(variable.value)
        if variable.name in plugin or (value is not None and _meant(variable.name, value)):
            shown = f"{variable.name}={value}" if value is not None else variable.name
            yield Sign(f"'{shown}' means EFA", variable.place)


def _meant(name: str, value: str) -> bool:
    data = efa()
    if name == "FI_PROVIDER":
        return not value.startswith("^") and lets_efa_in(value)
    if name == "FI_EFA_USE_DEVICE_RDMA":
        return switch(value) is True
    if name == "NCCL_NET":
        return value.lower() in data["networks"]
    if name == "NCCL_NET_PLUGIN":
        return "ofi" in value.lower() and "$" not in value
    return name in data["nixl"]["variables"] and value.lower() == data["nixl"]["backend"]


def meant(pod: PodView) -> bool:
    """Whether the pod is an EFA job: attached, or by a strong sign."""
    return attached(pod) or next(signs(pod), None) is not None


def uses_nixl(pod: PodView) -> bool:
    """Whether the worker's text or variables name NIXL."""
    worker = pod.worker
    if worker is None:
        return False
    if "nixl" in worker.start_text.lower():
        return True
    return any("NIXL" in n for n in written(pod).variables)


def machines(pod: PodView) -> tuple[InstanceType, ...] | None:
    """The instance types that the selector and the required affinity admit; None when they cannot be told."""
    admitted: list[InstanceType] = []
    for demand in demands(pod):
        found = _by_labels(demand)
        if found is None:
            return None
        admitted.extend(found)
    wanted = accelerators(pod.worker) if pod.worker is not None else None
    # A family's smaller types do not take a pod with more GPUs than they have.
    large = [t for t in admitted if not isinstance(wanted, int) or t.accelerators >= wanted]
    return tuple(dict.fromkeys(large or admitted)) or None


def _by_labels(labels: Demand) -> list[InstanceType] | None:
    found: list[InstanceType] | None = None
    for label in _TYPE_LABELS:
        if label in labels:
            made = [instance(v.text) for v in labels[label]]
            if any(t is None for t in made):
                return None
            found = _and(found, [t for t in made if t is not None])
    sizes = next((labels[s] for s in _SIZE_LABELS if s in labels), None)
    for label in _FAMILY_LABELS:
        if label in labels:
            listed: list[InstanceType] = []
            for value in labels[label]:
                of_family = families(value.text)
                if not of_family:
                    return None
                listed.extend(of_family)
            if sizes is not None:
                wanted = {s.text for s in sizes}
                listed = [t for t in listed if t.name.partition(".")[2] in wanted]
            found = _and(found, listed)
    for label in _GPU_LABELS:
        if label in labels:
            listed = [t for v in labels[label] for t in by_gpu(v.text)]
            if listed:
                found = _and(found, listed)
    return found or None


def _and(known: list[InstanceType] | None, more: list[InstanceType]) -> list[InstanceType]:
    return more if known is None else [t for t in known if t in more]
