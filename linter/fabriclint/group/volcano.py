"""Tasks whose plugins name, connect and number the pods: Volcano's Job.

Source: volcano-sh/volcano@0a56ed3 (v1.15.1) pkg/controllers/job/plugins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fabriclint.finding import Place
from fabriclint.group import GroupView, Hosts, RoleGroup, Unmade
from fabriclint.group.gang import Gang, Later
from fabriclint.kinds import number
from fabriclint.node import UNKNOWN, Mapping, Scalar, Sequence, Unknown, open_value

if TYPE_CHECKING:
    from fabriclint.group.make import Making
    from fabriclint.pod import PodView

#: The scheduler to which the gang belongs.
_SCHEDULERS = ("volcano",)
#: Plugins that bring the Service's with them.
_IMPLY_SVC = ("pytorch", "tensorflow", "mpi", "ray", "hcclrank")


def arguments(spec: Mapping, plugin: str) -> dict[str, str] | Unknown | None:
    """A plugin's arguments by name; None when the plugin is not there, UNKNOWN when they cannot be read."""
    node = spec.at("plugins", plugin)
    plugins = spec.at("plugins")
    if isinstance(plugins, Scalar) and plugins.value is not None:
        return UNKNOWN
    if node is None:
        return None
    if isinstance(node, Scalar):
        return {} if node.value is None else UNKNOWN
    made: dict[str, str] = {}
    for item in node.items if isinstance(node, Sequence) else []:
        if not isinstance(item, Scalar) or item.open:
            return UNKNOWN
        for word in item.text.split():
            key, _, value = word.lstrip("-").partition("=")
            made[key] = value
    return made


def group(making: Making) -> GroupView:
    """The group of a job of tasks."""
    spec, name = making.spec, making.name
    given = {p: arguments(spec, p) for p in (*_IMPLY_SVC, "svc", "env", "ssh")}
    svc = any(given[p] is not None for p in (*_IMPLY_SVC, "svc"))
    tasks = [_task(p) for p in making.job.pods]
    counts = {_task(p): UNKNOWN if p.site.pods is None else p.site.pods for p in making.job.pods}
    facts = _plugins(making, given, counts)
    facts["svc"] = svc
    facts["task_words"] = [t.replace("-", "_").upper() for t in tasks]
    mounted = [v.string("volumeClaimName") for v in spec.mappings("volumes")]
    claims = tuple(name for name in mounted if name and not open_value(name))
    roles: list[RoleGroup] = []
    for pod in making.job.pods:
        task, pods = _task(pod), counts[_task(pod)]
        hosts = Hosts(f"{name}-{task}-{{}}", (pods,), (0,)) if isinstance(name, str) else None
        role = making.role(pod, task, pods, hosts=hosts, claims=claims)
        making.inject(role, _facts_of(facts, task))
        roles.append(role)
    least = _depending(roles)
    return making.group(
        roles,
        own_gangs=_gangs(making, roles, least),
        subdomain=name if svc else None,
        services=(name,) if svc and isinstance(name, str) else (),
        ssh=given["mpi"] is not None or given["ssh"] is not None,
        hides=making.data["hides until ready"] if svc and not _publishes(given["svc"]) else None,
        unmade=tuple(
            Unmade(r["names"], r["plugin"], r.get("folder", ""))
            for r in making.data["made by plugins"]
            if not _any(given, r["by"])
        ),
        restart=str(node.value) if isinstance(node := spec.at("maxRetry"), Scalar) else None,
    )


def _depending(roles: list[RoleGroup]) -> dict[str, int | Unknown]:
    """The least number of pods of each task; those that wait for another task's are told so."""
    least: dict[str, int | Unknown] = {}
    for role in roles:
        owner = role.pod.site.owner
        given = owner.at("minAvailable") if owner is not None else None
        least[role.name] = number(given, 0) if given is not None else role.pods
    for role in roles:
        owner = role.pod.site.owner
        node = owner.at("dependsOn") if owner is not None else None
        names = node.sequence("name") if node is not None else None
        first = [i.text for i in names.items if isinstance(i, Scalar)] if names is not None else []
        wanted = [isinstance(least.get(n), int) and least.get(n) != 0 for n in first]
        either = node is not None and node.string("iteration") == "any"
        if node is not None and wanted and (all(wanted) if either and len(wanted) > 1 else any(wanted)):
            awaited = first[wanted.index(True)]
            said = f"The pods of '{role.name}' are made when those of '{awaited}' run"
            role.later = Later(Place(node, on_key=True), said, tuple(first))
    return least


def _gangs(making: Making, roles: list[RoleGroup], least: dict[str, int | Unknown]) -> list[Gang]:
    """The gang of the job: of so many pods as it says; of each task's least, where that is no more."""
    scheduler = making.spec.at("schedulerName")
    if not making.job.pods or (isinstance(scheduler, Scalar) and scheduler.value not in (None, "", *_SCHEDULERS)):
        return []
    given = making.spec.at("minAvailable")
    count: int | Unknown | None = number(given, 0) if isinstance(given, Scalar) and given.value is not None else 0
    total = sum(n for n in least.values() if isinstance(n, int))
    known = all(isinstance(n, int) for n in least.values())
    if count == 0 or (known and isinstance(count, int) and count >= total):
        count = None
    members = [r for r in roles if least.get(r.name) != 0] if count is None else roles
    place = Place(given) if given is not None else None
    there = [r.at_once for r in roles]
    edit = "Write a 'minAvailable' of no more pods than are made at once, for the whole job."
    if all(isinstance(n, int) for n in there) and known:
        fewer = min(sum(n for n in there if isinstance(n, int)), total - 1)
        edit = f"Write 'minAvailable: {fewer}' for the whole job."
    return [Gang(members, count, place, edit)]


def _publishes(given: dict[str, str] | Unknown | None) -> bool:
    """Whether the plugin's Service shows pods that are not ready, or may do so."""
    return isinstance(given, Unknown) or (given or {}).get("publish-not-ready-addresses", "false") != "false"


def _any(given: dict[str, dict[str, str] | Unknown | None], plugins: list[str]) -> bool:
    return any(given[p] is not None for p in plugins)


def _task(pod: PodView) -> str:
    """The task's name; one without gets `default` and its place in the list."""
    owner = pod.site.owner
    return f"default{owner.key}" if owner is not None and owner.at("name") is None else pod.name


def _number(given: object, key: str, default: str) -> str:
    return given.get(key) or default if isinstance(given, dict) else default


def _plugins(making: Making, given: dict[str, Any], counts: dict[str, int | Unknown]) -> dict[str, Any]:
    """What the plugins know of the whole job."""
    name = making.name
    facts: dict[str, Any] = {"env": given["env"] is not None}
    torch = given["pytorch"]
    unread = isinstance(torch, Unknown)
    master, worker = _number(torch, "master", "master"), _number(torch, "worker", "worker")
    there = counts.get(master)
    facts["pytorch"] = torch is not None and (UNKNOWN if unread else there is not None)
    facts["torch_master"], facts["torch_worker"] = master, worker
    facts["torch_port"] = UNKNOWN if unread else _number(torch, "port", "23456")
    facts["master_host"] = UNKNOWN if unread or isinstance(name, Unknown) else f"{name}-{master}-0.{name}"
    pods = [there, counts.get(worker)] if master != worker else [there]
    total: int | Unknown = 0
    for count in pods:
        total = UNKNOWN if isinstance(count, Unknown) or isinstance(total, Unknown) else total + (count or 0)
    facts["world"] = UNKNOWN if unread else total
    mpi = given["mpi"]
    facts["mpi"] = mpi is not None
    facts["mpi_master"] = UNKNOWN if isinstance(mpi, Unknown) else _number(mpi, "master", "master")
    hands = _number(mpi, "worker", "worker")
    count = counts.get(hands, 0)
    facts["mpi_hosts"] = UNKNOWN
    if not isinstance(mpi, Unknown) and isinstance(name, str) and not isinstance(count, Unknown):
        facts["mpi_hosts"] = ",".join(f"{name}-{hands}-{i}.{name}" for i in range(min(count, 4096)))
    facts["tensorflow"] = given["tensorflow"] is not None
    return facts


def _facts_of(shared: dict[str, Any], task: str) -> Any:
    def facts(index: int | Unknown) -> dict[str, Any]:
        rank: int | Unknown = UNKNOWN
        # A worker's rank is its index and one, whatever the number of masters, and also when one task is both.
        if task == shared["torch_worker"]:
            rank = UNKNOWN if isinstance(index, Unknown) else index + 1
        elif task == shared["torch_master"]:
            rank = 0
        ranked = shared["pytorch"] and task in (shared["torch_worker"], shared["torch_master"])
        if isinstance(shared["pytorch"], Unknown):
            ranked = UNKNOWN
        return {
            **shared,
            "index": index,
            "rank": rank,
            "ranked": ranked,
            "mpi_leads": shared["mpi"] and (task == shared["mpi_master"]),
        }

    return facts
