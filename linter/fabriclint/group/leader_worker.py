"""Groups of one leader and its workers: LeaderWorkerSet.

Source: kubernetes-sigs/lws@2161f38 (v0.10.0) pkg/utils/pod, pkg/webhooks/pod_webhook.go, pkg/controllers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fabriclint.finding import Place
from fabriclint.group import GroupView, Hosts, RoleGroup
from fabriclint.group.gang import Later
from fabriclint.kinds import number
from fabriclint.node import UNKNOWN, Scalar, Unknown

if TYPE_CHECKING:
    from fabriclint.group.make import Making
    from fabriclint.pod import PodView


def group(making: Making) -> GroupView:
    """The group of a leader and its workers; `copies` of each role are the set's replicas."""
    spec, name = making.spec, making.name
    copies = number(spec.at("replicas"), 1)
    size = number(spec.at("leaderWorkerTemplate", "size"), 1)
    unique = spec.string("networkConfig", "subdomainPolicy") == "UniquePerReplica"
    by_key: dict[str, PodView] = {str(p.site.holder.key): p for p in making.job.pods}
    leader = by_key.get("leaderTemplate") or by_key.get("workerTemplate")
    worker = by_key.get("workerTemplate")
    workers = UNKNOWN if isinstance(size, Unknown) else max(size - 1, 0)
    roles: list[RoleGroup] = []
    if leader is not None:
        hosts = Hosts(f"{name}-{{}}", (copies,), (0,)) if isinstance(name, str) else None
        role = making.role(leader, "leader", 1, copies=copies, hosts=hosts)
        _inject(making, role, size, unique, copies)
        roles.append(role)
    if worker is not None and workers != 0:
        hosts = Hosts(f"{name}-{{}}-{{}}", (copies, workers), (0, 1)) if isinstance(name, str) else None
        role = making.role(worker, "worker", workers, copies=copies, hosts=hosts)
        _inject(making, role, size, unique, copies)
        start = spec.at("startupPolicy")
        if isinstance(start, Scalar) and start.value == "LeaderReady":
            said = "The workers are made when their leader is ready"
            role.later = Later(
                Place(start), said, tuple(r.name for r in roles), edit="Write 'startupPolicy: LeaderCreated'."
            )
        roles.append(role)
    subdomain: str | Unknown = UNKNOWN if unique or not isinstance(name, str) else name
    services: tuple[str, ...] = (name,) if isinstance(name, str) and not unique else ()
    if unique and isinstance(name, str) and isinstance(copies, int):
        services = tuple(f"{name}-{i}" for i in range(min(copies, 64)))
    policy = spec.string("leaderWorkerTemplate", "restartPolicy") or "RecreateGroupOnPodRestart"
    return making.group(roles, subdomain=subdomain, services=services, restart=policy)


def _inject(making: Making, role: RoleGroup, size: int | Unknown, unique: bool, copies: int | Unknown) -> None:
    """The variables of a role over all copies: what hangs on the copy or on the pod differs when there are several."""
    name = making.name
    tpu = any("google.com/tpu" in c.resource_names for c in role.pod.main_containers)

    def facts(at: int | Unknown) -> dict[str, Any]:
        first = at == 0
        copy: int | Unknown = 0 if first else (UNKNOWN if isinstance(copies, Unknown) else copies - 1)
        index: int | Unknown = 0
        if role.role == "worker":
            index = 1 if first else (UNKNOWN if isinstance(size, Unknown) else size - 1)
        leader = UNKNOWN if isinstance(name, Unknown) or isinstance(copy, Unknown) else f"{name}-{copy}"
        return {
            "leader": leader,
            "subdomain": leader if unique else name,
            "namespace": making.namespace,
            "size": size,
            "index": index,
            "tpu": tpu,
        }

    from fabriclint.group.injection import variables

    count: int | Unknown = role.all_pods
    role.injected = variables(making.data["variables"], facts, count)
