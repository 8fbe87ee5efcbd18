"""What was seen of each workload, what was not, and which rules looked at it: the answer to "why no finding?".

The rules are run as `check` runs them, with a listener at the views: what a rule asked for and could not see is why it
could not judge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from fabriclint.document import Manifest
from fabriclint.engine import DocumentView, Lint, Workspace, enabled_rules
from fabriclint.finding import Finding, Place
from fabriclint.group import GroupView, RoleGroup, Value
from fabriclint.locate import Region, locate
from fabriclint.node import Node, Scalar, Unknown, open_value
from fabriclint.pod import ContainerView, PodView
from fabriclint.rule import FabricMatch, Pack, Rule
from fabriclint.unseen import open_claims
from fabriclint.views import JobView, PlacedJob, RuntimeView, TrainJobView
from fabriclint.workload import is_accelerator

if TYPE_CHECKING:
    from fabriclint.config import Settings
    from fabriclint.launch import Launch
    from fabriclint.report.model import Report


@dataclass(frozen=True, slots=True)
class Unseen:
    """Something that the files do not show: what, why, and where it is asked for."""

    what: str
    why: str
    where: Region | None


@dataclass(slots=True)
class RoleSeen:
    """The pods of one role as explained."""

    role: str
    name: str
    pods: int | None
    gpus: int | None
    devices: dict[str, int | None]
    hosts: list[str]
    #: None: differs per pod, is not known, is empty (see `empty`), or stands twice on the pod (see `replaced`).
    environment: dict[str, str | None]
    #: Names that stand twice on the pod: the file's value, and the controller's, which the container sees.
    replaced: dict[str, tuple[str | None, str | None]]
    #: Names of `environment` that the controller sets.
    injected: list[str]
    #: Variables set to the empty text.
    empty: list[str]
    #: Each pod is a server of its own: how many there are is no count of a job.
    alone: bool = False


@dataclass(slots=True)
class LaunchSeen:
    """How the ranks are started."""

    program: str
    nodes: int | None
    processes_per_node: int | None
    rendezvous: str | None
    forwarded: list[str]


@dataclass(slots=True)
class Explained:
    """One workload, explained."""

    manifest: Manifest
    where: Region
    fabric: FabricMatch | None
    evidence: list[tuple[Region, str]]
    contract: str
    group: GroupView | None
    groups: list[RoleSeen]
    launch: LaunchSeen | None
    rendezvous_by: str | None
    unknown: list[Unseen]
    runtime: str | None = None
    #: What the runtime's container has and the TrainJob's own resources take away: resource, amount, place.
    lost: list[tuple[str, str, Region]] = field(default_factory=list)
    #: The TrainJobs through which a runtime is judged, by name.
    through: list[str] = field(default_factory=list)
    fired: list[str] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    not_applicable: list[str] = field(default_factory=list)
    could_not_judge: list[tuple[str, str]] = field(default_factory=list)
    #: Rules that judged and whose finding is not reported, and why.
    silent: list[tuple[str, str]] = field(default_factory=list)


@dataclass(slots=True)
class _Call:
    """One run of a rule on one view: whether it found something, and what it asked for in vain."""

    code: str
    view: Any
    found: bool
    unseen: list[str]


class _Observed:
    """A rule's function that notes each run; the engine reads its parameters from `__code__`."""

    def __init__(self, rule: Rule, calls: list[_Call]) -> None:
        self.__code__ = rule.check.__code__
        self.__doc__ = rule.check.__doc__
        self.rule, self.calls = rule, calls

    def __call__(self, view: Any, **extra: Any) -> Iterator[Finding]:
        heard: list[str] = []
        lookups = {id(p.lookup): p.lookup for p in _pods(view)}
        for lookup in lookups.values():
            lookup.listener = lambda what, _where: heard.append(what)
        found = False
        try:
            for one in self.rule.check(view, **extra):
                found = True
                yield one
        finally:
            for lookup in lookups.values():
                lookup.listener = None
            self.calls.append(_Call(self.rule.code, view, found, list(dict.fromkeys(heard))))


#: What rules are handed; a rule on anything else is judged while the files are read.
_VIEWS = (Manifest, DocumentView, Workspace, PodView, JobView, GroupView, TrainJobView, RuntimeView, PlacedJob)


def _pods(view: Any) -> list[PodView]:
    if isinstance(view, PodView):
        return view.siblings
    if isinstance(view, PlacedJob):
        return view.job.pods
    if isinstance(view, JobView | GroupView):
        return view.pods
    if isinstance(view, TrainJobView) and view.job is not None:
        return view.job.pods
    return []


def observed(pack: Pack, calls: list[_Call]) -> Pack:
    """A pack whose rules note their runs."""

    def load() -> Iterable[Rule]:
        return [replace(r, check=_Observed(r, calls)) for r in pack.load()]

    return Pack(pack.name, load, pack.fabric_of, pack.codes)


def explain(
    run: Callable[[Pack], Lint], pack: Pack, settings: Settings, report: Callable[[Lint], Report]
) -> list[Explained]:
    """Run the rules and explain every workload that was read, in the order of the files."""
    calls: list[_Call] = []
    lint = run(observed(pack, calls))
    reported = report(lint)
    rules = enabled_rules(pack, settings)
    by_manifest: dict[int, list[_Call]] = {}
    trainjobs: dict[int, TrainJobView] = {}
    runtimes: dict[int, RuntimeView] = {}
    groups: dict[int, GroupView] = {}
    for call in calls:
        for manifest in _about(call.view):
            by_manifest.setdefault(id(manifest), []).append(call)
        if isinstance(call.view, TrainJobView):
            trainjobs[id(call.view.manifest)] = call.view
        elif isinstance(call.view, RuntimeView):
            runtimes[id(call.view.manifest)] = call.view
        elif isinstance(call.view, GroupView):
            groups[id(call.view.workload.manifest)] = call.view
    found = _found(lint, reported)
    jobs = {id(j.workload.manifest): j for j in lint.jobs}
    made: list[Explained] = []
    for manifest in lint.workspace.manifests:
        if not manifest.document.source.reported or manifest.partial:
            continue
        view = trainjobs.get(id(manifest))
        job = jobs.get(id(manifest)) or (view.job if view is not None else None)
        group = job.group if job is not None else groups.get(id(manifest))
        runtime = runtimes.get(id(manifest))
        if group is None and view is None and runtime is None:
            continue
        one = _explained(manifest, group, view)
        if group is None and runtime is not None:
            one.contract = runtime.contract
            one.through = sorted(m.name or "?" for m in runtime.trainjobs)
        one.fired = sorted(_fired(reported, manifest, one.where.uri) | found.get(id(manifest), set()))
        suppressed = _fired(reported, manifest, one.where.uri, suppressed=True)
        _judged(one, rules, by_manifest.get(id(manifest), []), suppressed)
        made.append(one)
    return made


def _about(view: Any) -> list[Manifest]:
    """The objects that a view is about."""
    if isinstance(view, Manifest):
        return [view]
    if isinstance(view, TrainJobView | RuntimeView):
        return [view.manifest]
    workload = getattr(view, "workload", None)
    if workload is not None:
        return [workload.manifest]
    manifests = getattr(view, "manifests", None)
    return list(manifests) if manifests is not None else []


def _found(lint: Lint, report: Report) -> dict[int, set[str]]:
    """Codes found on each object's views and reported, wherever they are reported (a TrainJob's at its runtime too)."""
    live = {(f.code, f.region.path, f.region.line) for f in report.findings if f.suppressed is None}
    made: dict[int, set[str]] = {}
    for finding in lint.findings:
        where = locate(finding.place)
        if (finding.code, where.uri, where.line) in live:
            for manifest in _about(finding.subject):
                made.setdefault(id(manifest), set()).add(finding.code)
    return made


def _fired(report: Report, manifest: Manifest, uri: str, *, suppressed: bool = False) -> set[str]:
    """Codes that are reported (or suppressed) on the object, or on its file where no object is named."""
    codes: set[str] = set()
    about = (manifest.kind, manifest.name, manifest.namespace)
    for f in report.findings:
        if f.region.path != uri or (f.suppressed is not None) is not suppressed:
            continue
        if f.object is None or (f.object.kind, f.object.name, f.object.namespace) == about:
            codes.add(f.code)
    return codes


def _judged(one: Explained, rules: list[Rule], calls: list[_Call], suppressed: set[str]) -> None:
    ran: dict[str, list[_Call]] = {}
    for call in calls:
        ran.setdefault(call.code, []).append(call)
    fired = set(one.fired)
    for rule in rules:
        code = rule.code
        if code in fired:
            continue
        if not issubclass(rule.on, _VIEWS):
            one.passed.append(code)
        elif code not in ran:
            one.not_applicable.append(code)
        elif any(c.found for c in ran[code]):
            hidden = code in suppressed
            one.silent.append((code, "suppressed" if hidden else "what it found follows from another finding"))
        else:
            heard = list(dict.fromkeys(w for c in ran[code] for w in c.unseen))
            if heard:
                more = f" and {len(heard) - 3} more" if len(heard) > 3 else ""
                one.could_not_judge.append((code, f"not seen: {', '.join(heard[:3])}{more}"))
            else:
                one.passed.append(code)


def _explained(manifest: Manifest, group: GroupView | None, view: TrainJobView | None) -> Explained:
    pods = group.pods if group is not None else []
    lost = _lost(view)
    made = _as_made(group, view) if lost else group
    chosen = next((p for p in pods if p.fabric is not None and p.is_worker), None)
    chosen = chosen or next((p for p in pods if p.fabric is not None), None)
    fabric = chosen.fabric if chosen is not None else None
    evidence = []
    for e in fabric.evidence if fabric is not None else ():
        region = locate(Place(e.node))
        if (region, e.signal) not in evidence:
            evidence.append((region, e.signal))
    contract = group.contract if group is not None else (view.contract if view is not None else "generic")
    runtime = None
    if view is not None:
        kind = manifest.root.string("spec", "runtimeRef", "kind") or "ClusterTrainingRuntime"
        runtime = f"{kind} {manifest.root.string('spec', 'runtimeRef', 'name') or '?'}"
    launch, by = _launch(made) if made is not None else (None, None)
    return Explained(
        manifest,
        _start_of(manifest),
        fabric,
        evidence,
        contract,
        made,
        [_role(r) for r in made.roles] if made is not None else [],
        launch,
        by,
        list(_unknown(manifest, group, view)),
        runtime,
        lost,
    )


def _lost(view: TrainJobView | None) -> list[tuple[str, str, Region]]:
    """The devices that a TrainJob's resources take from its runtime's container: rules judge the pods as they are meant."""
    if view is None or view.runtime is None or view.meant is None:
        return []
    from fabriclint.trainer.mended import lost_devices, worker_of

    found = lost_devices(view.manifest.root, worker_of(view.runtime.root), view.spoken or view.version)
    return [(name, getattr(node, "text", ""), locate(Place(node, on_key=True))) for name, node in found.items()]


def _as_made(group: GroupView | None, view: TrainJobView | None) -> GroupView | None:
    """The group of the pods that are really made, without what the TrainJob loses; the one that is meant if none are."""
    resolved = view.resolved if view is not None else None
    if group is None or view is None or resolved is None or resolved.intended is None or not group.pods:
        return group
    from fabriclint.engine import make_job
    from fabriclint.kinds import jobset_sites
    from fabriclint.workload import Workload

    workload = Workload(view.manifest, jobset_sites(resolved.intended), resolved.intended, resolved, view.landing)
    return make_job(workload, group.pods[0].lookup, None, group.contract).group


def _start_of(manifest: Manifest) -> Region:
    first = next(iter(manifest.root.fields.values()), manifest.root)
    return locate(Place(first, on_key=True))


def _known(value: object) -> Any:
    return None if isinstance(value, Unknown) else value


def _role(role: RoleGroup) -> RoleSeen:
    container = role.container
    environment: dict[str, str | None] = {}
    empty: list[str] = []
    for name, value in role.environment().items():
        environment[name] = _shown(value)
        if value == "":
            empty.append(name)
    injected: list[str] = []
    replaced: dict[str, tuple[str | None, str | None]] = {}
    if container is not None and role.sets(container):
        for name, value in role.injected.items():
            own = container.env.variables.get(name)
            if own is None or role.beats(name):
                injected.append(name)
            if own is not None and role.beats(name) and own.value != value:
                replaced[name] = (_known(own.value), _known(value))
    for name in replaced:
        environment[name] = None
    hosts: list[str] = []
    if role.hosts is not None and role.all_pods != 0:
        last = role.hosts.last
        hosts = [role.hosts.first] if isinstance(last, Unknown) else [role.hosts.first, last]
        hosts = list(dict.fromkeys(hosts)) if role.all_pods == 1 else hosts
    return RoleSeen(
        role.role,
        role.name,
        _known(role.all_pods),
        _known(role.gpus),
        _devices(role.pod),
        hosts,
        environment,
        replaced,
        injected,
        empty,
        role.pod.site.pods is None,
    )


def _shown(value: Value) -> str | None:
    """A value as the report has it: null where it differs, is not known, or is the empty text (which has no value)."""
    return None if value is None or isinstance(value, Unknown) or value == "" else value


def _devices(pod: PodView) -> dict[str, int | None]:
    """Extended resources of the pod's containers, GPUs left out."""
    made: dict[str, int | None] = {}
    for container in pod.containers:
        for name in sorted(container.resource_names):
            if "/" not in name or is_accelerator(name):
                continue
            amount = container.amount(name)
            count = None if amount is None or isinstance(amount, Unknown) else int(amount)
            before = made.get(name, 0)
            made[name] = None if count is None or before is None else before + count
    return made


def _launch(group: GroupView) -> tuple[LaunchSeen | None, str | None]:
    start = group.starting
    host, port = group.rendezvous
    where = None
    if isinstance(host, str):
        where = f"{host}:{port}" if isinstance(port, str) else host
    by = None
    if where is not None:
        own = start.launch if start is not None and start.launch.main is not None else None
        said = own is not None and own.host.string == host and own.host.place is not None
        by = "the command" if said else _teller(group)
    if start is None or start.launch.main is None:
        return None, by if where is not None else None
    program = start.launch.program
    nodes = start.launch.nodes.number
    if nodes is None:
        nodes = _known(group.nodes)
    forwarded = sorted({f.name for f in start.launch.forwarded if f.works is not False})
    seen = LaunchSeen(
        program if isinstance(program, str) else "?", nodes, _known(group.processes_per_node), where, forwarded
    )
    return seen, by


def _teller(group: GroupView) -> str:
    """Who sets the variable that holds the address: the file itself, or the controller."""
    for role in group.ranks_on:
        container = role.container
        for name in group.address:
            if container is None or role.environment().get(name) is None:
                continue
            given = role.sets(container) and name in role.injected and role.beats(name)
            return "the file" if name in container.env and not given else group.maker
    return group.maker


def _unknown(manifest: Manifest, group: GroupView | None, view: TrainJobView | None) -> Iterator[Unseen]:
    if view is not None and view.runtime is None:
        node = manifest.root.at("spec", "runtimeRef", "name") or manifest.root.at("spec", "runtimeRef")
        yield Unseen("runtime", "it is not in the files that were read", _region(node))
    elif view is not None and group is None:
        yield Unseen("pods", "what the controller makes of this TrainJob and its runtime cannot be told", None)
    if group is None:
        return
    if not manifest.name or open_value(manifest.name):
        yield Unseen("name", "it is generated or filled in elsewhere, and host names with it", _region(manifest.root))
    if any(isinstance(v, Unknown) for r in group.roles for v in r.injected.values()) and not manifest.namespace:
        yield Unseen("namespace", "the file names none; full host names hold it", None)
    for role in group.roles:
        if isinstance(role.all_pods, Unknown) and role.pod.site.pods is not None:
            yield Unseen("pods", f"their number in '{role.name}' is open", _region(role.pod.site.holder))
    if group.user_service and isinstance(group.subdomain, str) and group.multi_node is not False:
        why = f"host names resolve by a headless Service '{group.subdomain}' that the user makes"
        if not group.subdomain:
            why = "serviceName is empty: no host name of the pods resolves"
        yield Unseen("Service", why, None)
    seen: set[int] = set()
    for pod in group.pods:
        if id(pod) in seen:
            continue
        seen.add(id(pod))
        for kind, name, entry in open_claims(pod):
            yield Unseen("claim", f"the {kind} '{name}' is not in the files", _region(entry))
        for container in pod.main_containers:
            yield from _unseen_of(container, group)


def _unseen_of(container: ContainerView, group: GroupView) -> Iterator[Unseen]:
    name = container.name
    image = container.image
    node = container.image_node
    if isinstance(image, Unknown):
        whose = f"the image of '{name}'" if name else "the image"
        yield Unseen("image", f"{whose} is filled in elsewhere", _region(node or container.node))
    elif container is container.pod.worker:
        what = "its libraries and its own environment are not looked at"
        yield Unseen("image", f"{what} ('{image or 'none given'}')", _region(node or container.node))
    roles = [r for r in group.roles if r.pod is container.pod]
    started_by_controller = any(r.default_start is not None and r.sets(container) for r in roles)
    if not container.command_seen and not started_by_controller:
        whose = f"the image of '{name}'" if name else "the image"
        yield Unseen("command", f"{whose} decides what starts", _region(container.node.at("name")))
    for entry in container.node.mappings("envFrom"):
        for kind, key in (("ConfigMap", "configMapRef"), ("Secret", "secretRef")):
            source = entry.string(key, "name")
            if source is not None and (
                kind == "Secret" or container.pod.lookup.config_map(container.pod.workload, source) is None
            ):
                yield Unseen("environment", f"the {kind} '{source}' is not in the files", _region(entry))
    launch = next((s.launch for r in group.roles for s in r.started if s.container.node is container.node), None)
    if launch is not None:
        yield from _unseen_start(container, launch)


def _unseen_start(container: ContainerView, launch: Launch) -> Iterator[Unseen]:
    from fabriclint.start import place_of

    for sourced in launch.sourced:
        text = sourced.path.text
        shown = "a file" if isinstance(text, Unknown) else f"'{text}'"
        region = locate(place_of(container, sourced.place))
        yield Unseen("environment", f"what {shown} exports stands in the image or on the node", region)
    words = [w for w in launch.unseen if not isinstance(w.text, Unknown)]
    for word in words[:3]:
        place = place_of(container, word.place) if word.place is not None else container.name_place
        yield Unseen("script", f"what '{word.text}' does is not in the files", locate(place))
    if launch.open:
        yield Unseen("command", f"not all of what '{container.name}' starts could be read", _region(container.node))


def _region(node: Node | None) -> Region | None:
    if node is None:
        return None
    return locate(Place(node, on_key=not isinstance(node, Scalar)))
