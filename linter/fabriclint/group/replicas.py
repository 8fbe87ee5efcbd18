"""Jobs by replica specs: the training-operator's kinds, which give every pod a name and a Service of its own.

Source: kubeflow/trainer@c77ee3f (v1.9.3) pkg/controller.v1/{pytorch,tensorflow,xgboost,jax,paddlepaddle}, pkg/apis.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fabriclint.finding import Place
from fabriclint.group import GroupView, Hosts, Meeting, RoleGroup
from fabriclint.group.gang import policy_gangs
from fabriclint.kinds import number, sum_of
from fabriclint.node import UNKNOWN, Mapping, Scalar, Unknown, open_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabriclint.group import Refusal
    from fabriclint.group.make import Making
    from fabriclint.group.refusals import Checked


def group(making: Making) -> GroupView:
    """The group of a job by replica specs."""
    specs = making.spec.mapping(making.row["replicas"])
    shared = _shared(making, specs)
    roles: list[RoleGroup] = []
    before: int | Unknown = 0
    for pod in making.job.pods:
        lower = pod.name.lower()
        pods = UNKNOWN if pod.site.pods is None else pod.site.pods
        hosts = Hosts(f"{making.name}-{lower}-{{}}", (pods,), (0,), bare=True) if isinstance(making.name, str) else None
        role = making.role(pod, lower, pods, hosts=hosts, restart=_restart(making, pod.site.owner))
        facts = _facts_of(making, shared, lower, before)
        making.inject(role, facts)
        before = UNKNOWN if isinstance(before, Unknown) or isinstance(pods, Unknown) else before + pods
        roles.append(role)
    return making.group(
        roles,
        restart=next((r.restart for r in roles if r.pod.is_worker), None),
        success=making.spec.string("successPolicy"),
        slots=_slots(making.spec),
        slots_place=_slots_place(making.spec),
        suspended=making.spec.true("runPolicy", "suspend"),
        meeting=_meeting(making.spec.mapping("elasticPolicy")),
        own_gangs=policy_gangs(making.spec, roles) if making.spec.at("elasticPolicy") is None else [],
    )


def _meeting(policy: Mapping | None) -> Meeting | None:
    """The rendezvous of an elastic job, when its host is written out."""
    node = policy.scalar("rdzvHost") if policy is not None else None
    host = _text(node)
    if policy is None or node is None or not isinstance(host, str):
        return None
    port, backend = _text(policy.at("rdzvPort")), _text(policy.at("rdzvBackend"))
    if isinstance(backend, Unknown):
        return None
    return Meeting(host, port if isinstance(port, str) else None, backend or "c10d", Place(node))


def elastic(c: Checked) -> Iterator[Refusal]:
    """An elastic job has the Workers with which it begins; one of the two limits, written alone, is both."""
    policy = c.root.mapping("spec", "elasticPolicy")
    worker = c.root.mapping("spec", "pytorchReplicaSpecs", "Worker")
    if policy is None or worker is None or c.root.at("spec", "pytorchReplicaSpecs", "Master") is not None:
        return
    node = policy.at("minReplicas") or policy.at("maxReplicas")
    if node is None or policy.at("metrics") is not None or policy.at("standalone") is not None:
        return  # an autoscaler raises the number to the least
    role = c.group.role("Worker")
    start = role.start if role is not None else None
    launcher = start.launch.launcher if start is not None else None
    if start is None or launcher is None or launcher.family != "torchrun" or launcher.unclear or start.launch.open:
        return
    if launcher.nodes.place is not None and launcher.nodes.place.source >= 0:
        return  # its own words go before the controller's
    least, pods = number(node, 0), number(worker.at("replicas"), 1)
    if isinstance(least, int) and isinstance(pods, int) and 0 < pods < least:
        yield c.refusal(node, least=least, value=pods)


def _restart(making: Making, owner: Mapping | None) -> str | Unknown | None:
    """The pod's restart policy: the replica spec's, which overwrites the template's."""
    given = owner.at("restartPolicy") if owner is not None else None
    if given is None or (isinstance(given, Scalar) and given.value in (None, "")):
        return str(making.data["restart"])
    if isinstance(given, Scalar) and isinstance(given.value, str) and not open_value(given.value):
        return given.value
    return UNKNOWN


def _slots_place(spec: Mapping) -> Place | None:
    for path in (("nprocPerNode",), ("elasticPolicy", "nProcPerNode")):
        node = spec.at(*path)
        if isinstance(node, Scalar) and node.value is not None:
            return Place(node)
    return None


def _slots(spec: Mapping) -> int | str | Unknown | None:
    for path in (("nprocPerNode",), ("elasticPolicy", "nProcPerNode")):
        node = spec.at(*path)
        if isinstance(node, Scalar) and node.value is not None:
            if node.open:
                return UNKNOWN
            return int(node.text) if node.text.isdecimal() else node.text
    return None


def _text(node: Any) -> str | Unknown | None:
    if node is None or (isinstance(node, Scalar) and node.value is None):
        return None
    return UNKNOWN if not isinstance(node, Scalar) or node.open else node.text


def _port(making: Making, specs: Mapping | None, role: str) -> str | Unknown:
    """The port of the operator's name on the operator's container, else the operator's own."""
    wanted = making.data["port"]
    listed = specs.at(role, "template", "spec", "containers") if specs is not None else None
    if isinstance(listed, Scalar) and listed.value is not None:
        return UNKNOWN
    for container in specs.mappings(role, "template", "spec", "containers") if specs is not None else []:
        if container.string("name") == making.data["container"]:
            for port in container.mappings("ports"):
                if port.string("name") == wanted["name"]:
                    found = _text(port.at("containerPort"))
                    return UNKNOWN if found is None else found
    return str(wanted["number"])


def _replicas(specs: Mapping | None) -> dict[str, int | Unknown]:
    """Replicas of each role, in the order of the file."""
    made: dict[str, int | Unknown] = {}
    for key in specs.fields if specs is not None else {}:
        made[key] = number(specs.at(key, "replicas") if specs is not None else None, 1)
    return made


def _shared(making: Making, specs: Mapping | None) -> dict[str, Any]:
    """What all roles share."""
    counts = _replicas(specs)
    total = sum_of(counts.values())
    workers = counts.get("Worker", 0)
    name = making.name
    facts: dict[str, Any] = {
        "job": name,
        "namespace": making.namespace,
        "total": total,
        "workers": workers,
        "master": "Master" in counts,
        "several": total if isinstance(total, Unknown) else total > 1,
        "master_port": _port(making, specs, "Master"),
        "worker_port": _port(making, specs, "Worker"),
        "elastic": making.spec.at("elasticPolicy") is not None,
    }
    facts.update(_torch(making.spec, total, workers))
    if isinstance(name, str) and not isinstance(workers, Unknown):
        facts["worker_hosts"] = ",".join(f"{name}-worker-{i}" for i in range(min(workers, 4096)))
    if making.data.get("tf_config"):
        known = sum_of(n for role, n in counts.items() if role in making.data["counted"])
        facts["several"] = known if isinstance(known, Unknown) else known != 1
        facts["cluster"] = _cluster(making, specs, counts)
        facts["static"] = not making.spec.true("enableDynamicWorker")
    return facts


def _torch(spec: Mapping, total: int | Unknown, workers: int | Unknown) -> dict[str, Any]:
    """What PyTorchJob makes of nprocPerNode and elasticPolicy."""
    given = _text(spec.at("nprocPerNode"))
    older = _text(spec.at("elasticPolicy", "nProcPerNode"))
    each: str | Unknown = given if given is not None else (older if older is not None else "auto")
    processes: int | Unknown = total
    # Only nprocPerNode itself, and only a number, multiplies: the older field of the elastic policy does not.
    if isinstance(given, Unknown) or isinstance(total, Unknown):
        processes = UNKNOWN
    elif given is not None and given.isdecimal():
        processes = total * int(given)
    facts: dict[str, Any] = {"each": each, "processes": processes}
    policy = spec.mapping("elasticPolicy")
    if policy is None:
        return facts
    low, high = _text(policy.at("minReplicas")), _text(policy.at("maxReplicas"))
    plain: str | Unknown = UNKNOWN if isinstance(workers, Unknown) else str(workers)
    facts["least"] = low if low is not None else (high if high is not None else plain)
    facts["most"] = high if high is not None else (low if low is not None else plain)
    facts["host"] = _text(policy.at("rdzvHost"))
    facts["own_host"] = facts["host"] is not None
    facts["port"] = _text(policy.at("rdzvPort"))
    facts["own_port"] = facts["port"] is not None
    facts["backend"] = _text(policy.at("rdzvBackend")) or "c10d"
    for name, key in (("restarts", "maxRestarts"), ("id", "rdzvId")):
        facts[name] = _text(policy.at(key))
        facts[f"with_{name}"] = facts[name] is not None
    pairs = policy.mappings("rdzvConf")
    facts["conf"] = ",".join(f"{p.string('key') or ''}={p.string('value') or ''}" for p in pairs)
    facts["with_conf"] = bool(pairs)
    facts["standalone"] = policy.true("standalone")
    return facts


def _cluster(making: Making, specs: Mapping | None, counts: dict[str, int | Unknown]) -> str | Unknown:
    """The `cluster` of TF_CONFIG: every role's addresses, roles in the order of their lower-case names."""
    if isinstance(making.name, Unknown) or isinstance(making.namespace, Unknown):
        return UNKNOWN
    made: dict[str, list[str]] = {}
    for role in sorted(counts, key=str.lower):
        pods, port = counts[role], _port(making, specs, role)
        if isinstance(pods, Unknown) or isinstance(port, Unknown):
            return UNKNOWN
        lower = role.lower()
        made[lower] = [f"{making.name}-{lower}-{i}.{making.namespace}.svc:{port}" for i in range(min(pods, 4096))]
    return json.dumps(made, separators=(",", ":"))


def _facts_of(
    making: Making, shared: dict[str, Any], role: str, before: int | Unknown
) -> Callable[[int | Unknown], dict[str, Any]]:
    """The facts of the pod of an index."""

    def facts(index: int | Unknown) -> dict[str, Any]:
        first = 0 if role == "master" else (1 if shared["master"] else before)
        unknown = isinstance(index, Unknown) or isinstance(first, Unknown)
        leads = role == ("master" if shared["master"] else "worker")
        return {
            **shared,
            "role": role,
            "index": index,
            "rank": UNKNOWN if unknown else index + first,  # type: ignore[operator]
            "leads": leads and (index if isinstance(index, Unknown) else index == 0),
            "is_master": role == "master",
            "follows": (index if isinstance(index, Unknown) else index != 0) if leads else True,
        }

    return facts
