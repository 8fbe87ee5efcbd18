"""Makes the group of a job: finds what its controller does in the data, and lets that mechanism's module fill it in."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from fabriclint.group import GroupView, RoleGroup, Unmade, Value
from fabriclint.group.injection import Facts, table, text, variables
from fabriclint.node import UNKNOWN, Mapping, Unknown, open_value
from fabriclint.pod import ContainerView, PodView
from fabriclint.views import JobView


@dataclass(slots=True)
class Making:
    """What a mechanism works with: the job, its row and its mechanism in the data, the spec, and the object's name."""

    job: JobView
    row: dict[str, Any]
    data: dict[str, Any]
    root: Mapping
    spec: Mapping
    name: str | Unknown
    namespace: str | Unknown

    def reached(self, pod: PodView) -> list[ContainerView]:
        """The containers that the controller sets variables in."""
        how = self.data.get("reaches", "all")
        if how == "first":
            return pod.main_containers[:1]
        if how == "all":
            return list(pod.main_containers)
        if how == "all and init":
            return list(pod.containers)
        return [c for c in pod.main_containers if c.name == how]

    def role(self, pod: PodView, role: str, pods: int | Unknown, **more: Any) -> RoleGroup:
        """A role whose pods the mechanism describes."""
        more.setdefault("scalable", bool(self.data.get("scalable")))
        more.setdefault("main", next(iter(pod.main_containers), None) if self.data.get("ranks in first") else None)
        facts = {"name": self.name, "role": role}
        more.setdefault("given_labels", {k: text(t, facts) for k, t in self.data.get("labels", {}).items()})
        return RoleGroup(
            pod, role, pod.name or role, pods, wins=self.data.get("wins", "file"), reached=self.reached(pod), **more
        )

    def inject(self, role: RoleGroup, facts: Any, key: str = "variables") -> None:
        """Render the mechanism's variables for a role; `facts` gives those of the pod of an index."""
        rows = self.data.get(key, [])
        role.injected = variables(rows, facts, role.pods)
        role.always = frozenset(r["name"] for r in rows if r.get("always"))

    def text(self, template: str, facts: Facts) -> Value:
        """A template of the data filled in."""
        return text(template, facts)

    def group(self, roles: list[RoleGroup], **more: Any) -> GroupView:
        """The group of these roles."""
        more.setdefault("address", tuple(self.data.get("address", ())))
        more.setdefault("own_rendezvous", bool(self.data.get("own rendezvous")))
        more.setdefault("gives_address", bool(self.data.get("gives address")))
        more.setdefault("sure_names", bool(self.data.get("sure names")))
        more.setdefault("known", True)
        more.setdefault("hides", self.data.get("hides until ready"))
        more.setdefault("unmade", _of_others(self.data))
        return GroupView(self.job, roles, self.data.get("maker", "the controller"), **more)


def _of_others(data: dict[str, Any]) -> tuple[Unmade, ...]:
    """What only another controller's plugins make: a job of this mechanism has none of it."""
    return tuple(
        Unmade(row["names"], row["plugin"], row.get("folder", ""), other["maker"])
        for other in table()["mechanisms"].values()
        for row in other.get("made by plugins", ())
        if row.get("nobody else") and "made by plugins" not in data
    )


def make(job: JobView) -> GroupView:
    """The group of a job."""
    workload = job.workload
    root = workload.root if workload.root is not None else workload.manifest.root
    kind = root.string("kind") or workload.kind
    api = root.string("apiVersion") or workload.manifest.api_version
    api_group, _, version = api.rpartition("/")
    row = next(
        (
            r
            for r in table()["jobs"]
            if (r["group"], r["kind"]) == (api_group, kind) and r.get("version", version) == version
        ),
        None,
    )
    spec = root.mapping(*row["spec"].split("/")[1:]) if row is not None else None
    if row is None or spec is None:
        return GroupView(job, plain_roles(job), "the controller")
    data = table()["mechanisms"][row["mechanism"]]
    making = Making(
        job, row, data, root, spec, name_of(workload.manifest.root, row), namespace_of(workload.manifest.root)
    )
    module = import_module(f"fabriclint.group.{data['module']}")
    made: GroupView = module.group(making)
    return made


def plain_roles(job: JobView) -> list[RoleGroup]:
    """Roles without names and variables: the controller is not known, or adds nothing."""
    roles = []
    for pod in job.pods:
        name, pods = pod.name or str(pod.role), UNKNOWN if pod.site.pods is None else pod.site.pods
        owner = pod.site.owner
        limits = [owner.at("maxReplicas"), owner.at("spec", "autoScalingConfig")] if owner is not None else []
        scalable = any(n is not None for n in limits)
        roles.append(RoleGroup(pod, name, name, pods, pod.site.copies, scalable=scalable))
    return roles


def name_of(root: Mapping, row: dict[str, Any]) -> str | Unknown:
    """The object's name; UNKNOWN when it is open, generated, or given by another object."""
    name = root.string("metadata", "name")
    if name is None or open_value(name) or row.get("name") == "generated":
        return UNKNOWN
    return name


def namespace_of(root: Mapping) -> str | Unknown:
    """The namespace that the file names, else UNKNOWN."""
    name = root.string("metadata", "namespace")
    return UNKNOWN if name is None or open_value(name) else name
