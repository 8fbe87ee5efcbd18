"""A JobSet in the making: the runtime's template with patches, its pod sets, and how many pods each has."""

from __future__ import annotations

from dataclasses import dataclass, field

from fabriclint.node import Mapping, Node, Sequence, build, copy_tree
from fabriclint.trainer.edit import (
    is_absent,
    list_in,
    mapping_in,
    named,
    open_at,
    same_port,
    set_item,
    upsert,
    whole,
)
from fabriclint_schemas.trainer.load import Release, names


@dataclass(frozen=True, slots=True)
class Count:
    """A number and the node that set it; the value is None when it is filled in elsewhere."""

    value: int | None
    cause: Node

    @property
    def text(self) -> str:
        """The number as it stands in a variable."""
        if self.value is not None:
            return str(self.value)
        return getattr(self.cause, "text", "")

    def node(self) -> Node:
        """A node of its own with the number."""
        return build(self.value, self.cause) if self.value is not None else copy_tree(self.cause)

    def at_least(self, low: int) -> Count:
        """The number, but not below `low`."""
        return self if self.value is None else Count(max(self.value, low), self.cause)


def count_at(node: Node | None) -> Count | None:
    """The count that a node holds; None when it is absent or no number."""
    value = whole(node)
    if node is not None and (value is not None or open_at(node)):
        return Count(value, node)
    return None


@dataclass(slots=True, eq=False)
class PodSet:
    """A replicated job as Trainer sees it."""

    job: Mapping
    count: Count

    @property
    def name(self) -> str | None:
        """Its name."""
        return self.job.string("name")

    @property
    def step(self) -> str | None:
        """The ancestor label of its Job template."""
        return ancestor(self.job)

    @property
    def pod(self) -> Mapping:
        """The pod spec."""
        found = self.job.mapping("template", "spec", "template", "spec")
        assert found is not None
        return found

    def containers(self, key: str = "containers") -> list[Mapping]:
        """Its containers, or its init containers."""
        return self.pod.mappings(key)

    @property
    def node(self) -> Mapping | None:
        """The main container that Trainer looks for."""
        return named(self.containers(), names()["node"])


@dataclass(slots=True, eq=False)
class Assembly:
    """All that the plugins of Trainer's controller work on."""

    release: Release
    name: str
    name_node: Node
    trainjob: Mapping
    runtime_name: str
    policy: Mapping | None
    kind: str
    gang: Mapping | None
    spec: Mapping
    labels: dict[str, Node] = field(default_factory=dict)
    annotations: dict[str, Node] = field(default_factory=dict)
    podsets: list[PodSet] = field(default_factory=list)

    @property
    def trainer(self) -> Mapping | None:
        """spec.trainer of the TrainJob."""
        return self.trainjob.mapping("spec", "trainer")

    @property
    def settings(self) -> Mapping | None:
        """The policy's own block, as `mlPolicy.mpi`."""
        return self.policy.mapping(self.kind) if self.policy is not None else None

    def by_step(self, step: str) -> PodSet | None:
        """The first pod set with that ancestor label."""
        return next((p for p in self.podsets if p.step == step), None)

    def by_name(self, name: str) -> PodSet | None:
        """The first pod set of that name."""
        return next((p for p in self.podsets if p.name == name), None)

    def asked(self, key: str) -> Count | None:
        """A count of spec.trainer, as numNodes."""
        return count_at(self.trainer.fields.get(key)) if self.trainer is not None else None

    @property
    def subdomain(self) -> str:
        """What hosts' names end in."""
        return self.spec.string("network", "subdomain") or self.name

    @property
    def launcher_is_node(self) -> bool:
        """Whether mpi runs processes on the launcher too."""
        if self.kind != "mpi" or self.settings is None:
            return False
        return self.settings.true("runLauncherAsNode")


def ancestor(job: Mapping) -> str | None:
    """The ancestor label of a replicated job's Job template: which step of the TrainJob it does."""
    return job.string("template", "metadata", "labels", names()["ancestor_label"])


def complete(job: Mapping) -> None:
    """Put in what Go's types always have: the structures down to the pod, and resources of containers."""
    template = mapping_in(job, "template", job)
    mapping_in(template, "metadata", template)
    spec = mapping_in(template, "spec", template)
    pod = mapping_in(spec, "template", spec)
    mapping_in(pod, "metadata", pod)
    inner = mapping_in(pod, "spec", pod)
    for key in ("containers", "initContainers"):
        for container in inner.mappings(key):
            if is_absent(container.at("resources")):
                container.put("resources", build({}, container))


def add_port(container: Mapping, cause: Node) -> None:
    """Add the rendezvous port as Trainer does: by number or name, where two ports without a name are one.

    The plugin's list and the JobSet's list share their entries, and the one is then laid over the other.
    """
    listed = container.sequence("ports")
    ports = list_in(container, "ports", cause)
    wanted = build({"containerPort": names()["port"]}, cause)
    plugin: list[Node] = list(ports.items)
    if listed is None:
        ports.add(wanted)
        return
    for index, there in enumerate(plugin):
        if same_port(there, wanted):
            plugin[index] = wanted
            set_item(ports, index, wanted)
            break
    else:
        plugin.append(wanted)
    lay_over(ports, plugin)


def lay_over(ports: Sequence, plugin: list[Node]) -> None:
    """Upsert each of the plugin's ports into the list."""
    for item in plugin:
        if any(there is item for there in ports.items) and not any(
            there is not item and same_port(there, item) for there in ports.items
        ):
            continue
        upsert(ports, item if all(t is not item for t in ports.items) else copy_tree(item), same_port)
