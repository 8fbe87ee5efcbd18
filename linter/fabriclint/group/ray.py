"""Ray clusters: a head and groups of workers that Ray itself brings together.

Source: ray-project/kuberay@59d663a (v1.7.0) ray-operator/controllers/ray/common/pod.go, service.go, utils.
"""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from fabriclint.group import GroupView, RoleGroup
from fabriclint.kinds import number
from fabriclint.node import UNKNOWN, Mapping, Node, Scalar, Unknown
from fabriclint.quantity import parse_quantity
from fabriclint.workload import PodRole

if TYPE_CHECKING:
    from fabriclint.group.make import Making
    from fabriclint.pod import ContainerView, PodView


#: The annotation by which KubeRay leaves the command as it is.
_LEFT_ALONE = "ray.io/overwrite-container-cmd"


def group(making: Making) -> GroupView:
    """The group of a Ray cluster."""
    spec, cluster = making.spec, making.name
    head = spec.mapping("headGroupSpec")
    own = head.string("headService", "metadata", "name") if head is not None else None
    service: str | Unknown = own if own is not None else UNKNOWN
    if own is None and isinstance(cluster, str):
        service = _limited(f"{cluster}-head-svc")
    port = _start_params(head).get("port", "6379")
    autoscales = spec.true("enableInTreeAutoscaling")
    suspended = spec.true("suspend") or making.root.true("spec", "suspend")
    roles: list[RoleGroup] = []
    for pod in making.job.pods:
        kind = {PodRole.HEAD: "head", PodRole.LAUNCHER: "submitter"}.get(pod.role, "worker")
        pods = UNKNOWN if pod.site.pods is None else pod.site.pods
        limit, held = holder_of(pod, "maxReplicas"), holder_of(pod, "suspend")
        scalable = autoscales or number(limit, 0) != 0 or (held is not None and held.true())
        role = making.role(pod, kind, pods, scalable=scalable)
        if kind == "submitter":
            making.inject(role, lambda _index: {}, "submitter")
            mode = pod.site.holder.parent.at("submissionMode") if pod.site.holder.parent is not None else None
            if mode is None or (isinstance(mode, Scalar) and mode.value in (None, "", "K8sJobMode")):
                role.restart_of_job = ""  # KubeRay makes a Job of the template as it stands
            roles.append(role)
            continue
        holder = pod.site.owner if pod.site.owner is not None else head
        facts: dict[str, Any] = {
            "head": kind == "head",
            "worker": kind == "worker",
            "service": service,
            "namespace": making.namespace,
            "port": port,
            "crd": making.row.get("crd", UNKNOWN),
        }
        facts["command"] = _command(pod, holder, facts, autoscales)
        making.inject(role, lambda _index, facts=facts: facts)
        role.default_start = "ray start"
        role.joined = _joined(making, pod)
        told = holder.at("rayStartParams", "num-gpus") if holder is not None else None
        role.told_gpus = told if isinstance(told, Scalar) else None
        roles.append(role)
    return making.group(
        roles, services=(service,) if isinstance(service, str) else (), suspended=suspended, own_rendezvous=True
    )


def holder_of(pod: PodView, key: str) -> Node | None:
    """A field of the worker group that the pod's template stands in."""
    return pod.site.owner.at(key) if pod.site.owner is not None else None


def _joined(making: Making, pod: PodView) -> bool:
    """Whether KubeRay's own start runs behind the command: not where that holds one, or is to be left alone."""
    given = [making.root.at("metadata", "annotations", _LEFT_ALONE)]
    given += [
        making.job.workload.manifest.root.at("metadata", "annotations", _LEFT_ALONE),
        pod.annotations.get(_LEFT_ALONE),
    ]
    if any(node is not None for node in given):
        return False
    first = next(iter(pod.main_containers), None)
    words = first.words if first is not None else []
    return bool(words) and "ray start" not in " ".join(w.text for w in words)


def _limited(name: str) -> str:
    """KubeRay cuts a Service's name to fifty characters, from the front."""
    if len(name) <= 50:
        return name
    cut = name[len(name) - 50 :]
    return "r" + cut[1:] if cut[0].isdigit() or not cut[0].isalnum() else cut


def _start_params(holder: Mapping | None) -> dict[str, str | Unknown]:
    given = holder.mapping("rayStartParams") if holder is not None else None
    made: dict[str, str | Unknown] = {}
    for key, node in (given.fields if given is not None else {}).items():
        made[key] = UNKNOWN if not isinstance(node, Scalar) or node.open else node.text
    return made


def _command(pod: PodView, holder: Mapping | None, facts: dict[str, Any], autoscales: bool) -> str | Unknown:
    """The `ray start` that KubeRay writes for the pod: the file's parameters and what the limits of the first container say."""
    params = dict(_start_params(holder))
    container = next(iter(pod.main_containers), None)
    if holder is not None and holder.mapping("resources") is not None:
        _from_group(holder, params)
    labels = holder.mapping("labels") if holder is not None else None
    if labels is not None and labels.fields:
        params.setdefault("labels", ",".join(f"{k}={getattr(v, 'text', '')}" for k, v in sorted(labels.fields.items())))
    if facts["worker"] and "address" not in params:
        address: str | Unknown = UNKNOWN
        if not any(isinstance(facts[k], Unknown) for k in ("service", "namespace", "port")):
            address = f"{facts['service']}.{facts['namespace']}.svc.cluster.local:{facts['port']}"
        params["address"] = address
    if facts["head"]:
        params.setdefault("dashboard-host", "0.0.0.0")
        if autoscales:
            params.setdefault("no-monitor", "true")
    params.setdefault("metrics-export-port", "8080")
    params["block"] = "true"
    params.setdefault("dashboard-agent-listen-port", "52365")
    if container is not None:
        _from_limits(container, params)
    if any(isinstance(v, Unknown) for v in params.values()):
        return UNKNOWN
    words = []
    for key in sorted(params):
        value = str(params[key])
        if value.lower() not in ("true", "false") or key in _WITH_A_WORD:
            words.append(f" --{key}={value} ")
        elif value.lower() == "true":
            words.append(f" --{key} ")
    return f"ray start {'--head ' if facts['head'] else ''}{''.join(words)}"


#: Parameters that take true and false as words; for all others true is the bare option and false is none.
_WITH_A_WORD = ("log-color", "include-dashboard", "include-log-monitor")


def _amount(node: object) -> Decimal | None:
    if not isinstance(node, Scalar) or node.value is None or isinstance(node.value, bool):
        return None
    return parse_quantity(node.value)


def _from_limits(container: ContainerView, params: dict[str, str | Unknown]) -> None:
    """num-cpus, memory and num-gpus (or Ray's own resources) of the first container, where the file gives none."""
    if container.resources_open:
        for key in ("num-cpus", "memory", "num-gpus"):
            params.setdefault(key, UNKNOWN)
        return
    limits = container.node.mapping("resources", "limits")
    fields = limits.fields if limits is not None else {}
    if "num-cpus" not in params:
        cpu = _amount(fields.get("cpu"))
        if cpu is None or cpu == 0:
            cpu = _amount(container.node.at("resources", "requests", "cpu"))
        if cpu is not None and cpu > 0:
            params["num-cpus"] = str(math.ceil(cpu))
    if "memory" not in params:
        memory = _amount(fields.get("memory"))
        if memory is not None and memory > 0:
            params["memory"] = str(math.ceil(memory))
    resources = _own_resources(params.get("resources"))
    if resources is None:
        return  # not read as JSON: KubeRay then adds no accelerator at all
    if "num-gpus" not in params:
        for name in sorted(fields):
            amount = _amount(fields[name])
            if (name.endswith("gpu") or name.startswith("nvidia.com/mig-")) and amount is not None and amount > 0:
                params["num-gpus"] = str(int(amount))
                break
    if any(word in resources for _, word in _ACCELERATORS):
        return
    for name, word in _ACCELERATORS:
        amount = _amount(fields.get(name))
        if amount is not None and amount > 0:
            resources[word] = int(amount)
            params["resources"] = "'" + json.dumps(dict(sorted(resources.items())), separators=(",", ":")) + "'"
            return


#: Limits that become resources of Ray's, in the order of their names.
_ACCELERATORS = (("aws.amazon.com/neuroncore", "neuron_cores"), ("google.com/tpu", "TPU"))


def _own_resources(given: str | Unknown | None) -> dict[str, float] | None:
    """The file's own `resources` parameter; None when it is no JSON."""
    if given is None or isinstance(given, Unknown):
        return {}
    try:
        read = json.loads(given.strip("'\"` "))
    except ValueError:
        return None
    return read if isinstance(read, dict) else None


def _from_group(holder: Mapping, params: dict[str, str | Unknown]) -> None:
    """The group's own `resources`: CPU, memory, GPU become parameters, the rest Ray's resources."""
    given = holder.mapping("resources")
    rest: list[str] = []
    for key, node in sorted((given.fields if given is not None else {}).items()):
        if not isinstance(node, Scalar) or node.open:
            params["resources"] = UNKNOWN
            continue
        word = {"cpu": "num-cpus", "gpu": "num-gpus", "memory": "memory"}.get(key.lower())
        if word is not None:
            amount = _amount(node)
            params[word] = UNKNOWN if amount is None else str(int(amount))
        else:
            rest.append(f'"{key}":{node.text}')
    if rest:
        params["resources"] = "'{" + ",".join(rest) + "}'"
