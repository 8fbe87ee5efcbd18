"""What a rule sees of a pod: containers, their environment as the ranks see it, resources, volumes, metadata.

Every value keeps the node it came from. What another file or an image would tell is UNKNOWN, never absent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fabriclint.finding import Finding, Fix, Place, Related, Severity
from fabriclint.node import UNKNOWN, Mapping, Node, Scalar, Sequence, Unknown, open_value
from fabriclint.quantity import parse_quantity
from fabriclint.workload import PodRole, PodSite, Workload, is_accelerator

if TYPE_CHECKING:
    from fabriclint.document import Manifest
    from fabriclint.rule import FabricMatch


@dataclass(slots=True)
class Variable:
    """One variable as a container or its ranks see it.

    `value` is UNKNOWN when it comes from elsewhere (valueFrom, an open value, `$(OTHER)`, an unseen file).
    `origin` says how it got there: env, envFrom, export, mpirun, profile, controller.
    """

    name: str
    value: str | Unknown
    place: Place
    origin: str


@dataclass(slots=True)
class Environment:
    """Variables by name, the later one winning. `open`: names may be set that cannot be seen (an unseen ConfigMap)."""

    variables: dict[str, Variable] = field(default_factory=dict)
    open: bool = False
    #: Told when a value is asked for that cannot be seen.
    unseen: Callable[[str, Node | None], None] | None = None

    def __contains__(self, name: str) -> bool:
        return name in self.variables

    def get(self, name: str) -> Variable | None:
        """The variable, or None."""
        return self.variables.get(name)

    def value(self, name: str) -> str | Unknown | None:
        """Its value; UNKNOWN when it cannot be seen or may be set out of view; None when absent for certain."""
        found = self.variables.get(name)
        value: str | Unknown | None = found.value if found is not None else (UNKNOWN if self.open else None)
        if isinstance(value, Unknown) and self.unseen is not None:
            self.unseen(f"the variable {name}", found.place.node if found is not None else None)
        return value

    def starting(self, *prefixes: str) -> list[Variable]:
        """The variables whose names begin so, in the order they were set."""
        return [v for n, v in self.variables.items() if n.startswith(prefixes)]


class ContainerView:
    """A container of a pod. `kind` is `main`, `init` or `sidecar` (an init container that restarts always)."""

    def __init__(self, pod: PodView, node: Mapping, kind: str) -> None:
        self.pod = pod
        self.node = node
        self.kind = kind

    @property
    def name(self) -> str:
        """Its name, or the one that the controller gives it; empty when it has none."""
        return self.node.string("name") or self.pod.site.called

    @property
    def image(self) -> str | Unknown | None:
        """The image reference; UNKNOWN when open or when another object (a TrainJob, a configuration) may give one."""
        text = self.node.string("image")
        if text is None and not (self.pod.workload.runtime_alone or self.pod.site.image_elsewhere):
            return None
        if text is None or open_value(text):
            self.pod.lookup.unseen(f"the image of container '{self.name}'", self.image_node)
            return UNKNOWN
        return text

    @property
    def image_name(self) -> str:
        """The last part of the image's path, without tag and digest; empty when it is open or absent."""
        image = self.image
        return image.rsplit("/", 1)[-1].split(":")[0].split("@")[0] if isinstance(image, str) else ""

    @property
    def image_node(self) -> Scalar | None:
        """The node of the image."""
        return self.node.scalar("image")

    @property
    def privileged(self) -> bool:
        """securityContext.privileged is true."""
        return self.node.true("securityContext", "privileged")

    @cached_property
    def added_capabilities(self) -> list[Scalar]:
        """The entries of securityContext.capabilities.add."""
        listed = self.node.sequence("securityContext", "capabilities", "add")
        return [i for i in (listed.items if listed else []) if isinstance(i, Scalar)]

    def has_capability(self, name: str) -> bool:
        """Whether the container gets the capability: added by name (either case, with or without CAP_), ALL, privileged."""
        if self.privileged:
            return True
        names = {c.text.upper().removeprefix("CAP_") for c in self.added_capabilities}
        return name in names or "ALL" in names

    @property
    def capabilities_open(self) -> bool:
        """Whether the list of added capabilities, or a level above it, is a template expression."""
        node = self.node.nearest("securityContext", "capabilities", "add")
        if (
            isinstance(node, Scalar)
            and node.key in ("securityContext", "capabilities", "add")
            and node.value is not None
        ):
            return True
        return any(c.open for c in self.added_capabilities)

    @property
    def words(self) -> list[Scalar]:
        """The scalar nodes of command and args, in order."""
        out: list[Scalar] = []
        for key in ("command", "args"):
            listed = self.node.at(key)
            if isinstance(listed, Sequence):
                out.extend(i for i in listed.items if isinstance(i, Scalar))
            elif isinstance(listed, Scalar) and isinstance(listed.value, str):
                out.append(listed)
        return out

    @cached_property
    def start_text(self) -> str:
        """Command and args joined by newlines, with the files in view that they name: for searches by substring."""
        text = "\n".join(w.text for w in self.words)
        left = dict(self.files)
        while named := [p for p in left if p.rsplit("/", 1)[-1] in text]:
            text = "\n".join((text, *(left.pop(p).text for p in named)))
        return text

    @cached_property
    def files(self) -> dict[str, Scalar]:
        """The files that ConfigMaps in view put into it, by path."""
        if not any(m.string("name") for m in self.mounts):
            return {}
        from fabriclint.mounted import files_of

        return files_of(self)

    @property
    def folder(self) -> str | None:
        """The working folder, when the file says it; else the image does."""
        said = self.node.string("workingDir")
        return said if said is not None and said.startswith("/") and not open_value(said) else None

    @property
    def command_seen(self) -> bool:
        """Whether the file says what the container starts (else the image decides)."""
        return bool(self.words)

    def amount(self, resource: str) -> Decimal | Unknown | None:
        """How much of a resource it gets: limits, else requests; UNKNOWN when open or unreadable; None when absent."""
        node = self.resource_node(resource)
        if node is None:
            return None
        if isinstance(node, Scalar) and (node.value is None or node.value == ""):
            return Decimal(0)
        parsed = None
        if isinstance(node, Scalar) and not node.open and node.value is not None and not isinstance(node.value, bool):
            parsed = parse_quantity(node.value)
        if parsed is None:
            self.pod.lookup.unseen(f"the amount of {resource}", node)
            return UNKNOWN
        return parsed

    def resource_node(self, resource: str) -> Node | None:
        """The node of the resource in limits, else in requests."""
        for section in ("limits", "requests"):
            node = self.node.at("resources", section, resource)
            if node is not None:
                return node
        return None

    def resources(self) -> Iterator[tuple[str, str, Node]]:
        """(section, resource, node) of all limits and requests."""
        for section in ("limits", "requests"):
            amounts = self.node.mapping("resources", section)
            for name, node in (amounts.fields if amounts else {}).items():
                yield section, name, node

    @cached_property
    def resource_names(self) -> set[str]:
        """The names of all resources it asks for."""
        return {name for _, name, _ in self.resources()}

    @property
    def resources_open(self) -> bool:
        """Whether its resources, or a part of them, are filled in elsewhere."""
        for path in (("resources",), ("resources", "limits"), ("resources", "requests")):
            node = self.node.at(*path)
            if isinstance(node, Scalar) and node.value is not None:
                self.pod.lookup.unseen("the resources", node)
                return True
            if isinstance(node, Mapping) and any(open_value(k) for k in node.fields):
                self.pod.lookup.unseen("the resources", node)
                return True
        return False

    @cached_property
    def claims(self) -> list[Mapping]:
        """The entries of resources.claims."""
        return self.node.mappings("resources", "claims")

    @property
    def gpus(self) -> int | Unknown:
        """GPUs and other chips it asks for, 0 for none, UNKNOWN for an open count."""
        total = 0
        for name in sorted(self.resource_names):
            if is_accelerator(name):
                amount = self.amount(name)
                if not isinstance(amount, Decimal):
                    return UNKNOWN
                total += int(amount)
        return total

    @property
    def one_rank_each(self) -> bool:
        """Whether its chips are whole GPUs or slices of one, which take one rank each (chips of several cores do not)."""
        return all(n.rpartition("/")[2].startswith(("gpu", "mig-")) for n in self.resource_names if is_accelerator(n))

    @property
    def has_gpus(self) -> bool:
        """Whether it asks for GPUs or chips; an open count counts as some, a device claim by its name or class too."""
        gpus = self.gpus
        if isinstance(gpus, Unknown) or gpus > 0:
            return True
        return any(self.pod.claim_is_gpu(c.string("name") or "") for c in self.claims)

    @cached_property
    def mounts(self) -> list[Mapping]:
        """The entries of volumeMounts."""
        return self.node.mappings("volumeMounts")

    def mount_at(self, path: str) -> Mapping | None:
        """The mount whose mountPath is `path` (a trailing slash does not matter)."""
        for mount in self.mounts:
            where = mount.string("mountPath")
            if where is not None and (where.rstrip("/") or "/") == path:
                return mount
        return None

    @property
    def mounts_open(self) -> bool:
        """Whether mounts or volumes may be added by a template."""
        for holder, key in ((self.node, "volumeMounts"), (self.pod.spec, "volumes")):
            node = holder.at(key)
            if isinstance(node, Scalar) and node.value is not None:
                return True
            if isinstance(node, Sequence) and any(isinstance(i, Scalar) for i in node.items):
                return True
        return any(open_value(m.string("mountPath") or "") for m in self.mounts)

    @cached_property
    def env(self) -> Environment:
        """`env` and `envFrom`, without what the start text exports."""
        made = Environment(unseen=self.pod.lookup.unseen)
        for entry in self.node.mappings("envFrom"):
            self.pod.add_env_from(made, entry)
        listed = self.node.at("env")
        if isinstance(listed, Scalar) and listed.value is not None:
            made.open = True
        if isinstance(listed, Sequence):
            for item in listed.items:
                if isinstance(item, Scalar):
                    made.open = True
                if not isinstance(item, Mapping):
                    continue
                name = item.string("name")
                if name is None:
                    continue
                value_node = item.at("value")
                if isinstance(value_node, Scalar):
                    text = value_node.text
                    shown: str | Unknown = UNKNOWN if open_value(text, dollar=False) or "$(" in text else text
                    made.variables.pop(name, None)
                    made.variables[name] = Variable(name, shown, Place(value_node), "env")
                else:
                    value_from = item.at("valueFrom")
                    place = Place(value_from if value_from is not None else item.nearest("name"))
                    absent = value_node is None and value_from is None
                    made.variables.pop(name, None)
                    made.variables[name] = Variable(name, "" if absent else UNKNOWN, place, "env")
        return made

    @cached_property
    def start(self) -> StartText:
        """What its command and args export, source and start, as far as it can be read."""
        return read_start(self)

    @cached_property
    def seen_env(self) -> Environment:
        """`env` followed by what the start text exports."""
        made = Environment(dict(self.env.variables), self.env.open, self.pod.lookup.unseen)
        for variable in self.start.exports:
            made.variables.pop(variable.name, None)
            made.variables[variable.name] = variable
        return made

    # Where a missing thing is reported (rules.md, "Line of a missing thing").
    def missing(self, *path: str) -> Place:
        """The deepest key that exists along the path, else the container's name; in a TrainJob's pod, the user's line."""
        landing = self.pod.workload.landing
        landed = landing.missing(self, *path) if landing is not None else None
        if landed is not None:
            return landed
        node = self.node.nearest(*path)
        if node is self.node:
            return self.name_place
        return Place(node, on_key=True)

    @property
    def name_place(self) -> Place:
        """The container's name where the container is defined (not where a patch repeats it), else the container."""
        name = self.node.source.at("name") or self.node.at("name")
        return Place(name if name is not None else self.node)


class PodView:
    """A pod template of a workload."""

    def __init__(self, workload: Workload, site: PodSite, lookup: Lookup) -> None:
        self.workload = workload
        self.site = site
        self.spec = site.spec
        self.metadata = site.metadata
        self.lookup = lookup
        #: Set by the engine before rules run.
        self.fabric: FabricMatch | None = None
        #: The fabric that options or configuration declare for the file, by name.
        self.declared_fabric: str | None = None
        self.contract = "generic"
        self.siblings: list[PodView] = [self]

    @property
    def role(self) -> PodRole:
        """What the pod does in its job."""
        return self.site.role

    @property
    def name(self) -> str:
        """The name of the role: replicated job, replica type, task, worker group."""
        return self.site.name

    @cached_property
    def main_containers(self) -> list[ContainerView]:
        """`containers`."""
        return [ContainerView(self, c, "main") for c in self.spec.mappings("containers")]

    @cached_property
    def init_containers(self) -> list[ContainerView]:
        """`initContainers`; those that restart always have kind `sidecar`."""
        return [
            ContainerView(self, c, "sidecar" if c.string("restartPolicy") == "Always" else "init")
            for c in self.spec.mappings("initContainers")
        ]

    @property
    def containers(self) -> list[ContainerView]:
        """All containers, init containers first, as they start."""
        return [*self.init_containers, *self.main_containers]

    @cached_property
    def worker(self) -> ContainerView | None:
        """The container with the GPUs, when the template's role runs ranks (rules.md, "Worker")."""
        if self.role in (PodRole.LAUNCHER, PodRole.INITIALIZER, PodRole.DAEMON) and not self.site.runs_ranks:
            return None
        return next((c for c in self.main_containers if c.has_gpus), None)

    @property
    def is_worker(self) -> bool:
        """Whether ranks with GPUs run here."""
        return self.worker is not None

    def _strings(self, key: str) -> dict[str, Scalar]:
        mapping = self.metadata.mapping(key) if self.metadata is not None else None
        return {k: v for k, v in (mapping.fields if mapping else {}).items() if isinstance(v, Scalar)}

    @cached_property
    def annotations(self) -> dict[str, Scalar]:
        """Annotations that reach the pod."""
        return self._strings("annotations")

    @property
    def annotation_keys(self) -> tuple[str, ...]:
        """The annotations' names, whatever stands behind them."""
        mapping = self.metadata.mapping("annotations") if self.metadata is not None else None
        return tuple(mapping.fields) if mapping else ()

    @cached_property
    def labels(self) -> dict[str, Scalar]:
        """Labels that reach the pod."""
        return self._strings("labels")

    @property
    def annotations_open(self) -> bool:
        """Whether the annotations, or the metadata, are filled in elsewhere."""
        if self.metadata is None:
            return False
        node = self.metadata.at("annotations")
        if isinstance(node, Scalar) and node.value is not None:
            return True
        return isinstance(node, Mapping) and any(open_value(k) for k in node.fields)

    @cached_property
    def volumes(self) -> dict[str, Mapping]:
        """Volumes by name."""
        return {v.string("name") or "": v for v in self.spec.mappings("volumes")}

    @cached_property
    def node_selector(self) -> dict[str, Scalar]:
        """nodeSelector."""
        mapping = self.spec.mapping("nodeSelector")
        return {k: v for k, v in (mapping.fields if mapping else {}).items() if isinstance(v, Scalar)}

    def node_labels(self) -> Iterator[tuple[str, str, list[Scalar]]]:
        """(label, operator, values) of nodeSelector and required node affinity: what the node must be."""
        for name, scalar in self.node_selector.items():
            yield name, "In", [scalar]
        for term in self.spec.mappings(
            "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"
        ):
            for expression in term.mappings("matchExpressions"):
                values = expression.sequence("values")
                yield (
                    expression.string("key") or "",
                    expression.string("operator") or "",
                    [v for v in (values.items if values else []) if isinstance(v, Scalar)],
                )

    @property
    def host_network(self) -> bool:
        """hostNetwork is true."""
        return self.spec.true("hostNetwork")

    @property
    def host_network_possible(self) -> bool:
        """hostNetwork is written and not false, so that the pod has no network of its own, or may have none."""
        node = self.spec.at("hostNetwork")
        return node is not None and not (isinstance(node, Scalar) and node.value is False)

    @cached_property
    def claim_names(self) -> dict[str, Mapping]:
        """spec.resourceClaims by name."""
        return {c.string("name") or "": c for c in self.spec.mappings("resourceClaims")}

    def claim_is_gpu(self, name: str) -> bool:
        """Whether a claim is known, by its template in view, to bring GPUs."""
        entry = self.claim_names.get(name)
        if entry is None:
            return False
        template = entry.string("resourceClaimTemplateName")
        return any("gpu" in c for c in self.lookup.claim_classes(self.workload, template)) if template else False

    def claim_classes(self) -> list[str]:
        """Device classes of all claims whose templates are in view."""
        out: list[str] = []
        for entry in self.claim_names.values():
            template = entry.string("resourceClaimTemplateName")
            if template:
                out.extend(self.lookup.claim_classes(self.workload, template))
        return out

    def add_env_from(self, environment: Environment, entry: Mapping) -> None:
        """Add what an envFrom entry brings: the ConfigMap's data when it is in view, else the rest is open."""
        prefix = entry.string("prefix") or ""
        name = entry.string("configMapRef", "name")
        data = self.lookup.config_map(self.workload, name) if name and not open_value(name) else None
        if data is None:
            environment.open = True
            return
        for key, node in data.fields.items():
            if isinstance(node, Scalar):
                environment.variables[prefix + key] = Variable(prefix + key, node.text, Place(node), "envFrom")

    @property
    def job_pods(self) -> int | Unknown:
        """Pods with GPUs in the job (the group) this pod belongs to."""
        total = 0
        for pod in self.siblings:
            if not pod.is_worker or pod.site.part != self.site.part:
                continue
            if pod.site.pods is None:
                return 1
            if isinstance(pod.site.pods, Unknown):
                self.lookup.unseen("how many pods the job has", pod.site.holder)
                return UNKNOWN
            total += pod.site.pods
        return total

    @property
    def multi_node(self) -> bool | Unknown:
        """Whether two or more pods with GPUs make one job."""
        count = self.job_pods
        if isinstance(count, Unknown):
            return UNKNOWN
        if self.workload.runtime_alone and count < 2:
            self.lookup.unseen("how many nodes a TrainJob asks for", None)
            return UNKNOWN
        return count >= 2

    @property
    def resources_to_come(self) -> bool:
        """Whether a TrainJob that is not in view may give the pod other resources than its runtime, judged alone, does.

        Trainer writes resourcesPerNode to the job with the ancestor label. The workers of an mpi runtime whose launcher
        alone is fed never get any.
        """
        if not self.workload.runtime_alone:
            return False
        from fabriclint.kinds import ANCESTOR_LABEL

        mpi = self.workload.manifest.root.mapping("spec", "mlPolicy", "mpi")
        owner = self.site.owner
        if mpi is None or owner is None or self.role is PodRole.LAUNCHER:
            return True
        on_launcher_too = mpi.at("runLauncherAsNode")
        fed = owner.at("template", "metadata", "labels", ANCESTOR_LABEL) is not None
        return fed or (on_launcher_too is not None and getattr(on_launcher_too, "value", None) is not False)

    @cached_property
    def launchers(self) -> list[PodView]:
        """The launcher pods of the same job."""
        return [p for p in self.siblings if p.role is PodRole.LAUNCHER]

    @cached_property
    def by_ssh(self) -> bool:
        """Whether sshd starts the ranks, so that the pod's own env does not reach them."""
        if self.workload.kind == "MPIJob":
            # Older versions start them with `kubectl exec`, which gives the container's env.
            return self.workload.manifest.version == "v2beta1"
        return bool(self.launchers) and any("mpirun" in p_text(p) or "mpiexec" in p_text(p) for p in self.launchers)

    @cached_property
    def hands_env_to_ssh(self) -> bool:
        """Whether the worker's start text writes its env where sshd's sessions read it."""
        text = self.worker.start_text if self.worker is not None else ""
        return any(w in text for w in ("/etc/environment", ".ssh/environment", "SetEnv", "/etc/profile"))

    @cached_property
    def ranks_env(self) -> Environment:
        """The environment of the ranks (rules.md): env, exports, `mpirun -x` of the launcher, Ray's runtimeEnvYAML."""
        made = Environment(unseen=self.lookup.unseen)
        worker = self.worker
        if worker is None:
            return made
        if not self.by_ssh or self.site.runs_ranks or self.hands_env_to_ssh:
            made.open = worker.env.open or worker.start.unseen
            for variable in worker.seen_env.variables.values():
                made.variables[variable.name] = variable
        for launcher in self.launchers:
            for container in launcher.main_containers:
                self._forward(made, container)
                made.open = made.open or container.start.unseen or container.start.forwards is UNKNOWN
        self._forward(made, worker)
        made.open = made.open or self.workload.runtime_alone
        runtime_env = self.workload.manifest.root.scalar("spec", "runtimeEnvYAML")
        if runtime_env is not None and isinstance(runtime_env.value, str):
            from fabriclint.embedded import parse_embedded

            document = parse_embedded(runtime_env)
            root = getattr(document, "root", None)
            variables = root.mapping("env_vars") if isinstance(root, Mapping) else None
            for key, node in (variables.fields if variables else {}).items():
                if isinstance(node, Scalar):
                    made.variables[key] = Variable(key, node.text, Place(node), "runtime_env")
        return made

    @staticmethod
    def _forward(made: Environment, container: ContainerView) -> None:
        """Add what a launcher in the container hands to its ranks."""
        if container.start.forwards == "all":
            for variable in container.seen_env.variables.values():
                made.variables.pop(variable.name, None)
                made.variables[variable.name] = variable
        for variable in container.start.forwarded:
            value = variable.value
            place = variable.place
            if variable.origin == "mpirun-bare":
                own = container.seen_env.get(variable.name)
                value = container.seen_env.value(variable.name) or UNKNOWN
                # The value is edited where the launcher's own env says it.
                place = own.place if own is not None else place
            made.variables.pop(variable.name, None)
            made.variables[variable.name] = Variable(variable.name, value, place, "mpirun")

    def missing_annotation(self) -> Place:
        """Where a missing annotation is reported: `annotations`, else the template's `metadata`, else `template`."""
        if self.metadata is not None:
            node = self.metadata.at("annotations")
            return Place(node if node is not None else self.metadata, on_key=True)
        return Place(self.site.holder, on_key=True)

    def missing_field(self, *path: str) -> Place:
        """The deepest key that exists below the pod's spec, else `spec` itself."""
        return Place(self.spec.nearest(*path), on_key=True)

    def finding(
        self,
        place: Place | Node,
        message: str,
        *,
        help: str = "",
        severity: Severity | None = None,
        related: tuple[Related, ...] = (),
        fix: Fix | None = None,
        by_contract: bool = False,
        silences: tuple[str, ...] = (),
    ) -> Finding:
        """A finding about this pod."""
        where = place if isinstance(place, Place) else Place(place)
        return Finding(
            where,
            message,
            help,
            severity,
            related,
            fix,
            by_contract=by_contract,
            silences=silences,
            subject=self,
        )


class WorkerPod(PodView):
    """A pod whose main container asks for GPUs and runs ranks: what most fabric rules look at."""


def p_text(pod: PodView) -> str:
    """The start texts of all main containers of a pod."""
    return "\n".join(c.start_text for c in pod.main_containers)


@dataclass(slots=True)
class StartText:
    """What a container's command and args do to the environment, and what they start.

    `unseen`: a script or program runs that the files do not show and that may set anything.
    """

    exports: list[Variable] = field(default_factory=list)
    forwarded: list[Variable] = field(default_factory=list)
    sourced: list[tuple[str | Unknown, Place, bool]] = field(default_factory=list)  # path, place, under plain sh
    starts_ranks: bool = False
    probe: bool = False
    idle: bool = False
    unseen: bool = False
    shell: str | None = None
    #: Which of its variables an MPI launcher hands to the ranks: all, listed, patterns, UNKNOWN; None without one.
    forwards: str | Unknown | None = None


class Lookup:
    """Answers questions about other objects in view; the engine gives one that knows the workspace."""

    def __init__(
        self,
        config_map: Callable[[Workload, str], Mapping | None] | None = None,
        claim_classes: Callable[[Workload, str], list[str]] | None = None,
    ) -> None:
        self._config_map = config_map
        self._claim_classes = claim_classes
        #: What the configuration changes in the fabrics' profiles.
        self.profiles: dict[str, Any] = {}
        #: Hears what rules asked for and could not see (`explain`).
        self.listener: Callable[[str, Node | None], None] | None = None

    def unseen(self, what: str, where: Node | None) -> None:
        """Called by the views when something that is asked for cannot be seen from the files."""
        if self.listener is not None:
            self.listener(what, where)

    def config_map(self, workload: Workload, name: str) -> Mapping | None:
        """The data of a ConfigMap in view, else None."""
        return self._config_map(workload, name) if self._config_map else None

    def namespace(self, workload: Workload) -> Mapping | None:
        """The Namespace object in view that a workload names, else None."""
        return None

    def cluster_labels(self, workload: Workload) -> dict[str, str] | None:
        """The labels of the workload's namespace in the snapshot of the cluster, None when they are not known."""
        return None

    def neighbour(self, workload: Workload, kind: str, name: str, namespace: str | None = None) -> Manifest | None:
        """The object of a kind and name in view that counts for a workload, else None."""
        return None

    def claiming(self, workload: Workload, template: str) -> list[Workload]:
        """The workloads in view, in the workload's namespace, that name a claim template."""
        return []

    def domain_of(self, workload: Workload, template: str) -> Manifest | None:
        """The ComputeDomain in view whose channel's claim template has a name, else None."""
        return None

    def labelled(self, workload: Workload, labels: dict[str, str]) -> bool:
        """Whether pods of another object in view have, or may have, all these labels."""
        return False

    def carried_elsewhere(self, workload: Workload, field: str, key: str, value: str) -> bool:
        """Whether pods of another object in view carry, or may carry, this label or annotation (`field`)."""
        return False

    def of_kind(self, workload: Workload, kind: str) -> list[Manifest]:
        """All objects of a kind in view."""
        return []

    def claim_classes(self, workload: Workload, template: str) -> list[str]:
        """Device classes that a ResourceClaimTemplate in view asks for."""
        return self._claim_classes(workload, template) if self._claim_classes else []


def read_start(container: ContainerView) -> StartText:
    """Read a container's start text."""
    from fabriclint.start import read

    return read(container)
