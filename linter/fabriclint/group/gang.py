"""Pods that a scheduler starts together or not at all, and those of them that are made only when others run.

Until as many pods are there as a gang counts, its scheduler starts none. Who says that pods come later is a matter of the
kind (`RoleGroup.later`), and so is a gang of its own (`GroupView.own_gangs`); a PodGroup that stands in the files is looked for
here, by what the pods carry.

Sources: kubernetes-sigs/scheduler-plugins@40c0fee pkg/coscheduling/core/core.go PreFilter; volcano-sh/volcano@0a56ed3
pkg/scheduler/plugins/gang, pkg/scheduler/api/job_info.go (CheckTaskValid, ValidTaskNum).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fabriclint.finding import Place
from fabriclint.group.injection import table
from fabriclint.kinds import number, sum_of
from fabriclint.node import UNKNOWN, Mapping, Scalar, Unknown, open_value

if TYPE_CHECKING:
    from fabriclint.group import GroupView, RoleGroup


@dataclass(frozen=True, slots=True)
class Later:
    """Pods that are made only when others have come so far.

    `said`: so in words, a sentence's first half; `place`: where the file says it, or leaves it unsaid. `after`: the names of
    the roles that they wait for. `at_once`: how many pods of the role are made all the same. `edit`: how to have them made
    at once, where that is a way out.
    """

    place: Place
    said: str
    after: tuple[str, ...]
    at_once: int = 0
    edit: str = ""


@dataclass(frozen=True, slots=True)
class Gang:
    """A gang of a job's pods.

    `count`: how many it wants to see, None for all of these roles. `place`: where it is said, None where nothing is said of
    it. `edit`: how to let it count fewer, with `{there}` for the pods that are made at once. `shared`: pods of an object that
    is not in view may belong to it as well.
    """

    roles: list[RoleGroup]
    count: int | Unknown | None
    place: Place | None
    edit: str
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Shortfall:
    """A gang that is never complete: how many of its pods are there before it starts, and what keeps the others away."""

    gang: Gang
    there: int | Unknown
    later: Later | None


def shortfall(group: GroupView) -> Shortfall | None:
    """The first gang that waits for pods which are not made before it starts."""
    for gang in (*group.own_gangs, *_in_view(group)):
        held = [r for r in gang.roles if _held_up(r, gang, group)]
        there = sum_of(r.at_once if r in held else r.all_pods for r in gang.roles)
        late = next((r.later for r in held if _certain(group, r)), None)
        if gang.count is None:
            if late is not None:
                return Shortfall(gang, there, late)
            continue
        if isinstance(gang.count, Unknown) or isinstance(there, Unknown) or there >= gang.count:
            continue
        if late is None and (held or any(r.scalable or r.all_pods == 0 for r in gang.roles)):
            continue
        total = sum_of(r.all_pods for r in gang.roles)
        if not gang.shared or (late is not None and isinstance(total, int) and total >= gang.count):
            return Shortfall(gang, there, late)
    return None


def _held_up(role: RoleGroup, gang: Gang, group: GroupView) -> bool:
    """Whether the role's pods wait, by whatever way, for others of the same gang."""
    seen: set[str] = set()
    waits = list(role.later.after) if role.later is not None else []
    while waits:
        name = waits.pop()
        if name in seen:
            continue
        seen.add(name)
        waits += [n for r in group.roles if r.name == name and r.later is not None for n in r.later.after]
    return any(r.name in seen for r in gang.roles)


def policy_gangs(spec: Mapping, roles: list[RoleGroup]) -> list[Gang]:
    """The gang of a schedulingPolicy: of so many pods as it says, else of all."""
    policy = spec.mapping("runPolicy", "schedulingPolicy")
    if policy is None:
        return []
    given = policy.at("minAvailable")
    said = isinstance(given, Scalar) and given.value is not None
    place = Place(given if given is not None else policy, on_key=given is None)
    return [Gang(roles, number(given, 0) if said else None, place, "Write 'minAvailable: {there}'.")]


def _certain(group: GroupView, role: RoleGroup) -> bool:
    """Whether the role has pods: as many as a runtime's user says, one at the least."""
    pods = role.all_pods
    return group.workload.runtime_alone if isinstance(pods, Unknown) else pods > 0


def _in_view(group: GroupView) -> Iterator[Gang]:
    """Gangs of PodGroups in the files, to which the pods belong by a label or an annotation."""
    if not group.roles:
        return
    lookup = group.roles[0].pod.lookup
    for row in table()["pod groups"]:
        named: dict[str, list[RoleGroup]] = {}
        for role in group.roles:
            name = _carried(role, row)
            if isinstance(name, Unknown):
                return
            if name is not None:
                named.setdefault(name, []).append(role)
        for name, roles in named.items():
            found = lookup.neighbour(group.workload, "PodGroup", name)
            node = found.root.at("spec", "minMember") if found is not None else None
            if found is None or found.group != row["group"] or node is None:
                continue
            if lookup.carried_elsewhere(group.workload, row["field"], row["key"], name):
                continue
            count = number(node, 1)
            if all(scheduled_by(r, row) for r in roles):
                yield Gang(roles, count, Place(node), "Write 'minMember: {there}'.", shared=True)


def scheduled_by(role: RoleGroup, row: dict[str, Any]) -> bool:
    """Whether the pods go, or may well go, to the scheduler that looks at gangs of this sort."""
    node = role.pod.spec.at("schedulerName")
    if isinstance(node, Scalar) and (node.open or (node.value is not None and not isinstance(node.value, str))):
        return False
    name = node.text if isinstance(node, Scalar) and node.value else ""
    return name in row["schedulers"] if "schedulers" in row else name not in row.get("not", ())


def _carried(role: RoleGroup, row: dict[str, Any]) -> str | Unknown | None:
    """The gang's name as the pods carry it; None when they carry none."""
    metadata = role.pod.metadata
    given = metadata.at(row["field"]) if metadata is not None else None
    if given is None or (isinstance(given, Scalar) and given.value is None):
        return None
    if not isinstance(given, Mapping) or any(open_value(key) for key in given.fields):
        return UNKNOWN
    node = given.fields.get(row["key"])
    if node is None:
        return None
    if not isinstance(node, Scalar) or node.open or not isinstance(node.value, str):
        return UNKNOWN
    return node.value
