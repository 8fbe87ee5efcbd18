"""The group: the ranks of one job over all its roles, as the controller will make them.

Rules about ranks see only this, so none of them knows a kind. What a controller does is data
(`fabriclint_schemas/tables/groups.json`) and one small module per mechanism beside this one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from fabriclint.node import UNKNOWN, Mapping, Scalar, Unknown, open_value
from fabriclint.workload import PodRole

if TYPE_CHECKING:
    from fabriclint.finding import Place
    from fabriclint.group.gang import Gang, Later, Shortfall
    from fabriclint.group.started import Started
    from fabriclint.pod import ContainerView, PodView, Variable
    from fabriclint.views import JobView
    from fabriclint.workload import Workload

__all__ = ["GroupView", "Hosts", "Meeting", "Refusal", "RoleGroup", "Unmade", "Value", "group_of"]

#: A variable's value: a text; None where it differs from pod to pod; UNKNOWN where the files do not tell.
Value: TypeAlias = "str | Unknown | None"


@dataclass(frozen=True, slots=True)
class Hosts:
    """The host names of a role's pods: a pattern with one `{}` per index, how far each index runs, and from where.

    `bare`: a Service carries each pod's own name, so that the bare name resolves; else it does so only with the
    subdomain behind it.
    """

    pattern: str
    counts: tuple[int | Unknown, ...] = ()
    starts: tuple[int, ...] = ()
    bare: bool = False

    @property
    def first(self) -> str:
        """The name of the first pod."""
        return self._filled(self.starts)

    @property
    def last(self) -> str | Unknown:
        """The name of the last pod; UNKNOWN when their number is."""
        if any(isinstance(c, Unknown) for c in self.counts):
            return UNKNOWN
        ends = [s + c - 1 for s, c in zip(self.starts, self.counts, strict=True) if not isinstance(c, Unknown)]
        return self._filled(ends)

    def _filled(self, indices: Sequence[int]) -> str:
        # The holes are the last: an object's own name may hold braces when nobody has filled it in yet.
        first, *pieces = self.pattern.rsplit("{}", len(indices)) if indices else [self.pattern]
        return first + "".join(f"{i}{piece}" for i, piece in zip(indices, pieces, strict=False))

    def has(self, name: str) -> bool | Unknown:
        """Whether one of the pods will have this host name."""
        text = re.escape(self.pattern).replace(r"\{\}", "(0|[1-9][0-9]*)")
        found = re.fullmatch(text, name)
        if found is None:
            return False
        open_end = False
        for index, start, count in zip(found.groups(), self.starts, self.counts, strict=True):
            if int(index) < start:
                return False
            if isinstance(count, Unknown):
                open_end = True
            elif int(index) >= start + count:
                return False
        return UNKNOWN if open_end else True


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something in the file that the controller or its webhook refuses.

    `sort`: container, name or fields. `what`: what is wrong, a sentence's first half;
    `words`: the refusal in the controller's own words; `then`: what becomes of the object; `edit`: the way out.
    """

    sort: str
    place: Place
    what: str
    words: str
    then: str
    edit: str
    warning: bool = False


@dataclass(frozen=True, slots=True)
class Unmade:
    """What a plugin would make for a start text, and does not: variables, by a pattern, and files below a folder.

    `maker`: the controller whose plugin it is, where that is not the job's own.
    """

    names: str
    plugin: str
    folder: str = ""
    maker: str = ""


@dataclass(frozen=True, slots=True)
class Meeting:
    """A rendezvous in a field of the object: its host, its port and the sort of store that is to be there."""

    host: str
    port: str | None
    backend: str
    place: Place


@dataclass(eq=False)
class RoleGroup:
    """The pods of one role in one job.

    `role`: as the controller labels it (master, worker, launcher, leader, head; a task's or a replicated job's
    name); `name`: the file's own name for it. `pods`: how many one job has; `copies`: how many such jobs the object
    makes (groups of a set of groups). `hosts`: None when no stable name exists or the object's name is not known.
    `injected`: what the controller sets in the pods, by name; `reached`: the containers it sets it in.
    `wins`: who wins on one name: controller, file, or first (the controller's stand first and the file's go).
    """

    pod: PodView
    role: str
    name: str
    pods: int | Unknown
    copies: int | Unknown = 1
    hosts: Hosts | None = None
    injected: dict[str, Value] = field(default_factory=dict)
    wins: str = "file"
    reached: list[ContainerView] = field(default_factory=list)
    #: Names that the controller sets whatever the file says, where else the file wins.
    always: frozenset[str] = frozenset()
    #: The pods' restart policy as the controller leaves it; None when it is the template's own.
    restart: str | Unknown | None = None
    #: Variables of the file that the pods do not have, because the controller wrote its own in their place.
    overwritten: list[Variable] = field(default_factory=list)
    #: What a batch Job that makes the pods has for a restart policy that is not written, empty where that is one which it
    #: refuses; None where no Job makes them.
    restart_of_job: str | None = None
    #: The container in which the kind has its ranks, whatever else the pod holds (Ray: the first); None: the GPUs tell.
    main: ContainerView | None = None
    #: What the controller starts in a container that has no command of its own; None when its image decides.
    default_start: str | None = None
    #: The controller runs its own start behind the file's command, words joined by blanks and without their quotes, by `&&`.
    joined: bool = False
    #: The field that tells the program how many GPUs its pod has, where the kind has one.
    told_gpus: Scalar | None = None
    #: Something else may change the number of pods (an autoscaler, a scale subresource).
    scalable: bool = False
    #: The names that the pods would have if their Job numbered them, where it does not.
    if_numbered: Hosts | None = None
    #: Claims that the controller mounts into the pods, beside their own volumes.
    claims: tuple[str, ...] = ()
    #: Labels that the controller gives the pods, alike on all of them.
    given_labels: dict[str, Value] = field(default_factory=dict)
    #: Whether the list of hosts that the controller writes for a launcher names its pods; None: no list that is known.
    listed: bool | None = None
    #: What keeps its pods away until others have come so far; None: they are made at once.
    later: Later | None = None

    @property
    def at_once(self) -> int | Unknown:
        """Pods of the role that are made without a wait for others."""
        if self.later is None:
            return self.all_pods
        pods = self.all_pods
        return self.later.at_once if isinstance(pods, Unknown) else min(self.later.at_once, pods)

    @property
    def all_pods(self) -> int | Unknown:
        """Pods of the role over all copies of the job."""
        if isinstance(self.pods, Unknown) or isinstance(self.copies, Unknown):
            return UNKNOWN
        return self.pods * self.copies

    @property
    def container(self) -> ContainerView | None:
        """The main container: where the kind has its ranks, the one with the GPUs, the one the controller sets, the first."""
        if self.main is not None:
            return self.main
        if self.pod.worker is not None:
            return self.pod.worker
        if self.reached and len(self.reached) == 1:
            return self.reached[0]
        return next(iter(self.pod.main_containers), None)

    @property
    def count_place(self) -> Place:
        """Where the number of pods is said, else the role's name or key."""
        from fabriclint.finding import Place

        owner = self.pod.site.owner
        if owner is not None:
            for path in (("replicas",), ("template", "spec", "parallelism"), ("name",), ("groupName",)):
                node = owner.at(*path)
                if node is not None:
                    return Place(node)
            return Place(owner, on_key=True)
        return Place(self.pod.site.holder, on_key=True)

    @property
    def gpus(self) -> int | Unknown:
        """GPUs of one pod."""
        total = 0
        for container in self.pod.main_containers:
            if isinstance(container.gpus, Unknown):
                return UNKNOWN
            total += container.gpus
        return total

    def label(self, name: str) -> Value:
        """What the pods' label holds; None when they certainly have none of that name, UNKNOWN when it cannot be told."""
        metadata = self.pod.metadata
        if name in self.given_labels:
            return self.given_labels[name]
        node = metadata.at("labels") if metadata is not None else None
        given = metadata.at("labels", name) if metadata is not None else None
        if given is not None:
            return UNKNOWN if not isinstance(given, Scalar) or given.open else given.text
        if self.pod.workload.resolved is not None or (isinstance(node, Scalar) and node.value is not None):
            return UNKNOWN
        if isinstance(node, Mapping) and any(open_value(key) for key in node.fields):
            return UNKNOWN
        # Controllers and webhooks put their own on, below a domain; these two came before that custom.
        return UNKNOWN if "/" in name or name in ("job-name", "controller-uid") else None

    def selected(self, selector: Mapping | None) -> bool | Unknown:
        """Whether a selector of labels and values picks the pods; one that says nothing picks none."""
        if selector is None or not selector.fields:
            return False
        sure = True
        for name, node in selector.fields.items():
            label = self.label(name)
            if not isinstance(node, Scalar) or node.open or isinstance(label, Unknown):
                sure = False
            elif label != node.text:
                return False
        return True if sure else UNKNOWN

    def sets(self, container: ContainerView | None) -> bool:
        """Whether the controller sets its variables in this container."""
        return container is not None and any(c.node is container.node for c in self.reached)

    def environment(self, container: ContainerView | None = None) -> dict[str, Value]:
        """What a container's env holds when its pod starts (the main one's when none is given)."""
        chosen = container if container is not None else self.container
        made: dict[str, Value] = {}
        if chosen is None:
            return made
        made.update({name: v.value for name, v in chosen.env.variables.items()})
        if self.sets(chosen):
            for name, value in self.injected.items():
                if self.beats(name) or name not in chosen.env:
                    made[name] = value
        return made

    def beats(self, name: str) -> bool:
        """Whether the controller's value counts where the file sets the name too."""
        return self.wins != "file" or name in self.always

    def same_by_field(self, own: Variable) -> bool:
        """Whether a variable of the file takes, from a field of its pod, the very value that the controller gives it."""
        from fabriclint.group.injection import fields

        node = own.place.node
        path = node.string("fieldRef", "fieldPath") if isinstance(node, Mapping) else None
        return path is not None and (own.name, path) in fields()

    @cached_property
    def started(self) -> list[Started]:
        """What each main container starts, read with the variables that the controller sets."""
        from fabriclint.group.started import started

        return [started(self, c) for c in self.pod.main_containers]

    @property
    def start(self) -> Started | None:
        """What the main container starts."""
        chosen = self.container
        return next((s for s in self.started if chosen is not None and s.container.node is chosen.node), None)


@dataclass(eq=False)
class GroupView:
    """The ranks of one job over all its roles: what rules about ranks look at.

    `maker`: the controller in words (`the training-operator`); `subdomain`: the domain below the namespace in which
    HOST.SUBDOMAIN resolves, None when there is none; `services`: names of the Services that the controller makes;
    `user_service`: the Service must be the user's own (named by `subdomain`). `ssh`: sshd starts the ranks, which
    therefore do not see their pods' own env. `restart`, `success`: the job's policies in the file's words.
    `slots`: ranks per node as the kind's own field says, when it has one.
    """

    job: JobView
    roles: list[RoleGroup]
    maker: str
    #: Whether the controller is one of which it is known what it sets.
    known: bool = False
    subdomain: str | Unknown | None = None
    services: tuple[str, ...] = ()
    user_service: bool = False
    ssh: bool = False
    restart: str | Unknown | None = None
    success: str | Unknown | None = None
    slots: int | str | Unknown | None = None
    #: Where that field stands.
    slots_place: Place | None = None
    #: The variables that name the rendezvous: (host, port) or (host:port,), by the controller.
    address: tuple[str, ...] = ()
    #: Whether the pods find each other by the kind's own means (Ray): no rendezvous is asked of the file.
    own_rendezvous: bool = False
    #: Whether the controller hands an address to the ranks of jobs of this sort, if not of this shape.
    gives_address: bool = False
    suspended: bool = False
    #: The field by which the object has its pods no names in DNS, where it has one.
    unnamed_by: str | None = None
    #: Whether the names of all its pods and Services are the controller's own: one that it does not make is not there.
    sure_names: bool = False
    #: Set when the Services that the controller makes leave out pods that are not ready: what to do about it in words.
    hides: str | None = None
    #: Where the file says so.
    hides_place: Place | None = None
    #: The address that a field of the kind hands to the ranks: host, port, what serves it, and where it stands.
    meeting: Meeting | None = None
    #: Where it is said, or left unsaid, that each pod is made only when the one before is ready; None: all at once.
    ordered: Place | None = None
    #: What plugins would make that this job does not name, or that are another controller's.
    unmade: tuple[Unmade, ...] = ()
    #: Gangs of the kind's own making.
    own_gangs: list[Gang] = field(default_factory=list)

    @property
    def workload(self) -> Workload:
        """The object that makes the pods."""
        return self.job.workload

    @property
    def contract(self) -> str:
        """aicr or generic."""
        return self.job.contract

    @property
    def pods(self) -> list[PodView]:
        """The pod templates of the job."""
        return self.job.pods

    def role(self, name: str) -> RoleGroup | None:
        """The role of that name, in either case."""
        return next((r for r in self.roles if name.lower() in (r.role.lower(), r.name.lower())), None)

    @property
    def ranks_on(self) -> list[RoleGroup]:
        """The roles whose pods run ranks: those with GPUs; in a job without any, its workers."""
        with_gpus = [r for r in self.roles if r.pod.is_worker]
        if with_gpus:
            return with_gpus
        return [r for r in self.roles if r.pod.role is PodRole.WORKER]

    @property
    def launchers(self) -> list[RoleGroup]:
        """The roles that start ranks elsewhere."""
        return [r for r in self.roles if r.pod.role is PodRole.LAUNCHER]

    @cached_property
    def widest(self) -> list[RoleGroup]:
        """The roles with ranks of the part with the most pods: the engines of a service work apart, a job is one part."""
        parts: dict[str, list[RoleGroup]] = {}
        for role in self.ranks_on:
            parts.setdefault(role.pod.site.part, []).append(role)
        return max(parts.values(), key=_pods_in, default=[])

    @property
    def nodes(self) -> int | Unknown:
        """Pods that run ranks, in one job."""
        total = 0
        for role in self.widest:
            if role.pod.site.pods is None:
                return 1
            if isinstance(role.pods, Unknown):
                role.pod.lookup.unseen(f"how many pods of the role '{role.name}' there are", role.pod.site.holder)
                return UNKNOWN
            total += role.pods
        return total

    @property
    def multi_node(self) -> bool | Unknown:
        """Whether the ranks stand on two or more pods."""
        nodes = self.nodes
        if isinstance(nodes, Unknown):
            return UNKNOWN
        if nodes < 2 and self.workload.runtime_alone:
            return UNKNOWN
        return nodes >= 2

    @property
    def gpus_per_node(self) -> int | Unknown | None:
        """GPUs of each pod that runs ranks; None when roles differ."""
        counts = {r.gpus for r in self.widest}
        if UNKNOWN in counts:
            return UNKNOWN
        return counts.pop() if len(counts) == 1 else (None if counts else 0)

    @property
    def gpus(self) -> int | Unknown:
        """GPUs of one job."""
        total = 0
        for role in self.widest:
            if isinstance(role.pods, Unknown) or isinstance(role.gpus, Unknown):
                return UNKNOWN
            total += role.pods * role.gpus
        return total

    @cached_property
    def starting(self) -> Started | None:
        """Where the ranks are started: the launcher's start when it has one, else the first rank role's."""
        for roles in (self.launchers, self.ranks_on):
            for role in roles:
                for one in role.started:
                    if one.launch.main is not None:
                        return one
        for roles in (self.launchers, self.ranks_on):
            for role in roles:
                if role.start is not None:
                    return role.start
        return None

    @property
    def processes_per_node(self) -> int | Unknown:
        """Ranks on each node: the launcher's word, else the kind's field; `auto` and `gpu` are the GPUs there."""
        from fabriclint.group.started import processes_per_node

        return processes_per_node(self)

    @property
    def ranks(self) -> int | Unknown:
        """Ranks in all."""
        from fabriclint.group.started import ranks

        return ranks(self)

    @property
    def rendezvous(self) -> tuple[str | Unknown | None, str | Unknown | None]:
        """Host and port where the ranks meet: as the launcher says, else as the controller sets; None when unsaid."""
        from fabriclint.group.started import rendezvous

        return rendezvous(self)

    @cached_property
    def shortfall(self) -> Shortfall | None:
        """A gang of its pods that is never complete, since some of them are made only when others run."""
        from fabriclint.group.gang import shortfall

        return shortfall(self)

    @cached_property
    def refusals(self) -> list[Refusal]:
        """What the controller or its webhook refuses of the object."""
        from fabriclint.group.refusals import refusals

        return refusals(self)

    def hosts(self) -> Iterator[tuple[RoleGroup, Hosts]]:
        """The roles whose pods have known names."""
        for role in self.roles:
            if role.hosts is not None:
                yield role, role.hosts

    def knows(self, address: str) -> bool | Unknown:
        """Whether the address is the name of one of the job's pods or Services; UNKNOWN when it cannot be told.

        False is certain: the name looks like nothing that the controller makes.
        """
        if any(r.hosts is None and r.all_pods != 0 for r in self.roles) and not self.services:
            return UNKNOWN
        parts = address.rstrip(".").split(".")
        host, rest = parts[0], parts[1:]
        unsure = isinstance(self.subdomain, Unknown)
        if host in self.services and (not rest or self._inside(rest)):
            return True
        for _, hosts in self.hosts():
            found = hosts.has(host)
            if found is False:
                continue
            if hosts.bare and (not rest or self._inside(rest)):
                return found
            if self.subdomain is not None and rest:
                if unsure:
                    return UNKNOWN
                if rest[0] == self.subdomain and (len(rest) == 1 or self._inside(rest[1:])):
                    return UNKNOWN if self.user_service else found
        return UNKNOWN if unsure else False

    def _inside(self, rest: list[str]) -> bool:
        """Whether what follows a Service's name can be its namespace and the cluster's domain."""
        namespace = self.workload.manifest.namespace
        if namespace is not None and rest[0] != namespace:
            return False
        return len(rest) == 1 or rest[1] == "svc"


def _pods_in(roles: list[RoleGroup]) -> int:
    """How many pods the roles have; a number that is not known counts as more than any other."""
    return sum(1 << 40 if isinstance(r.pods, Unknown) else r.pods for r in roles if r.pod.site.pods is not None)


def group_of(job: JobView) -> GroupView:
    """The group of a job: never fails; a kind whose controller is not known gives one without injected variables."""
    from fabriclint.group.make import make

    return make(job)
