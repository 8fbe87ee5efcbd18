"""Runs the enabled rules over the views and turns what they say into a report.

Each stage is a function of the one before: sources -> documents -> workspace -> views -> findings -> report.
A rule that raises becomes a notification; the rest of the run goes on.
"""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabriclint.disk import contents
from fabriclint.document import Document, Manifest, Role, Source
from fabriclint.finding import Finding, Fix, Place, Related, Severity
from fabriclint.group import GroupView
from fabriclint.kinds import carries_pods, workload_of, wrapped_objects
from fabriclint.node import Mapping, Node, Scalar
from fabriclint.pod import Lookup, PodView, WorkerPod
from fabriclint.rule import FabricMatch, Pack, Rule
from fabriclint.silence import silence
from fabriclint.views import JobView, PlacedJob, RuntimeView, TrainJobView
from fabriclint.workload import Landing, Workload

if TYPE_CHECKING:
    from fabriclint.config import Settings
    from fabriclint.discover import Found

DOCS = "https://fabriclint.dev/rules/"


@dataclass(slots=True)
class Note:
    """A notification before it becomes part of a report."""

    level: str
    code: str
    path: str | None
    message: str
    line: int | None = None


@dataclass(slots=True, eq=False)
class DocumentView:
    """A document as DOC rules see it: its source, and whether it is a manifest or part of one."""

    document: Document
    manifests: list[Manifest]

    @property
    def root(self) -> Node | None:
        """The document's root node."""
        return self.document.root


@dataclass(slots=True, eq=False)
class Workspace:
    """All that was read, indexed."""

    sources: list[Source] = field(default_factory=list)
    documents: list[DocumentView] = field(default_factory=list)
    manifests: list[Manifest] = field(default_factory=list)
    _by_name: dict[tuple[str, str], list[Manifest]] = field(default_factory=dict)

    def add(self, manifest: Manifest) -> None:
        """Index an object and what is wrapped in it."""
        self.manifests.append(manifest)
        self._by_name.setdefault((manifest.kind, manifest.name or ""), []).append(manifest)

    def find(self, kind: str, name: str, near: Manifest, *, namespaced: bool = True) -> Manifest | None:
        """The object of that name that counts for another: the only one, else in the same file, else in the folder."""
        found = self._by_name.get((kind, name), [])
        if namespaced:
            space = near.namespace
            found = [m for m in found if m.namespace is None or space is None or m.namespace == space]
        if len(found) > 1:
            same = [m for m in found if m.document.source is near.document.source]
            if len(same) != 1:
                folder = near.uri.rpartition("/")[0]
                same = same or [m for m in found if m.uri.rpartition("/")[0] == folder]
            found = same
        return found[0] if len(found) == 1 else None


@dataclass(slots=True)
class Lint:
    """What a run produced before it is rendered."""

    workspace: Workspace
    findings: list[Finding]
    notes: list[Note]
    jobs: list[JobView]
    #: The rules that ran: of those that are enabled, at least all that can speak of what was read.
    ran: list[Rule]
    #: All rules that are enabled; to know them all, all must be loaded.
    rules: Callable[[], list[Rule]]
    files: int
    #: TrainJobs whose pods are not known.
    unresolved: int = 0


def read_workspace(
    inputs: Iterable[tuple[str, bytes]],
    notes: list[Note],
    *,
    reported: bool = True,
    workspace: Workspace | None = None,
) -> Workspace:
    """Parse the given (uri, bytes) pairs into a workspace."""
    from fabriclint.source import manifests, parse, read_source

    workspace = workspace or Workspace()
    for uri, data in inputs:
        source = read_source(uri, data)
        source.reported = reported
        workspace.sources.append(source)
        documents = parse(source)
        if any(d.role is Role.TEMPLATE for d in documents):
            notes.append(
                Note(
                    "note",
                    "skipped-template",
                    uri,
                    "This file is a template: it becomes a manifest only after its expressions are filled in. "
                    "Render it and lint the result (helm template ... | fabriclint check -).",
                )
            )
        for document in documents:
            objects = manifests(document) if document.role in (Role.MANIFEST, Role.PARTIAL) else []
            workspace.documents.append(DocumentView(document, objects))
            for manifest in objects:
                manifest.partial = manifest.partial or document.role is Role.PARTIAL or _holds_patch(manifest)
                workspace.add(manifest)
                for inner in wrapped_objects(manifest):
                    inner.partial = manifest.partial
                    workspace.add(inner)
    return workspace


def _holds_patch(manifest: Manifest) -> bool:
    """A strategic patch (`$patch`), or a workload none of whose containers has the image that its kind asks for (a kustomize patch)."""
    if manifest.kind == "CustomResourceDefinition":
        return True
    workload = workload_of(manifest)
    seen = images = 0
    for node in manifest.root.walk():
        if isinstance(node, Mapping) and "$patch" in node.fields:
            return True
    if workload is None or manifest.kind in RUNTIME_KINDS or any(s.image_elsewhere for s in workload.sites):
        return False
    for site in workload.sites:
        listed = site.spec.sequence("containers")
        for container in listed.items if listed else []:
            seen += 1
            images += container.at("image") is not None
    return seen > 0 and images == 0


def _partial_files(workspace: Workspace) -> None:
    """Mark what kustomizations name as patches as partial, and their bases with the overlay's name."""
    for manifest in workspace.manifests:
        if manifest.kind not in ("Kustomization", "Component"):
            continue
        folder = manifest.uri.rpartition("/")[0]
        named: set[str] = set()
        for key in ("patches", "patchesStrategicMerge", "components", "transformers", "configurations"):
            listed = manifest.root.sequence(key)
            for item in listed.items if listed else []:
                path = item.string("path") if isinstance(item, Mapping) else getattr(item, "value", None)
                if isinstance(path, str) and "\n" not in path:
                    named.add(_joined(folder, path))
        for other in workspace.manifests:
            if other.uri in named:
                other.partial = True
        bases: set[str] = set()
        listed = manifest.root.sequence("resources") or manifest.root.sequence("bases")
        for item in listed.items if listed else []:
            value = getattr(item, "value", None)
            if isinstance(value, str) and ".." in value:
                bases.add(_joined(folder, value))
        for other in workspace.manifests:
            if other is not manifest and (other.uri in bases or other.uri.rpartition("/")[0] in bases):
                other.overlay = other.overlay or manifest.uri


def _joined(folder: str, path: str) -> str:
    parts = [p for p in folder.split("/") if p]
    for step in path.split("/"):
        if step in ("", "."):
            continue
        if step == "..":
            if parts:
                parts.pop()
        else:
            parts.append(step)
    return "/".join(parts)


class WorkspaceLookup(Lookup):
    """Answers from the workspace."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.workspace = workspace
        self._claiming: dict[str, list[Workload]] | None = None
        #: The cluster snapshot for an object's file, else None.
        self.snapshot_of: Callable[[Manifest], Any] = lambda manifest: None

    def config_map(self, workload: Workload, name: str) -> Mapping | None:
        """The data of a ConfigMap in view."""
        found = self.workspace.find("ConfigMap", name, workload.manifest)
        return found.root.mapping("data") if found is not None else None

    def namespace(self, workload: Workload) -> Mapping | None:
        """The Namespace object in view."""
        name = workload.manifest.namespace
        found = self.workspace.find("Namespace", name, workload.manifest, namespaced=False) if name else None
        return found.root if found is not None else None

    def cluster_labels(self, workload: Workload) -> dict[str, str] | None:
        """The labels of the namespace in the snapshot."""
        name = workload.manifest.namespace
        snapshot = self.snapshot_of(workload.manifest) if name else None
        found = snapshot.find("Namespace", name) if snapshot is not None else None
        labels = found.get("metadata", {}).get("labels") if found is not None else None
        return {str(k): str(v) for k, v in labels.items()} if isinstance(labels, dict) else None

    def neighbour(self, workload: Workload, kind: str, name: str, namespace: str | None = None) -> Manifest | None:
        """The object of a kind and name in view; with a namespace, the one there."""
        found = self.workspace.find(kind, name, workload.manifest, namespaced=namespace is None)
        if found is not None and namespace is not None and found.namespace not in (None, namespace):
            return None
        return found

    def claiming(self, workload: Workload, template: str) -> list[Workload]:
        """The workloads in view that name a claim template, in the same namespace."""
        if self._claiming is None:
            self._claiming = {}
            for manifest in self.workspace.manifests:
                made = workload_of(manifest) if carries_pods(manifest.group, manifest.kind) else None
                named = {
                    claim.string("resourceClaimTemplateName") or ""
                    for site in (made.sites if made is not None else ())
                    for claim in site.spec.mappings("resourceClaims")
                }
                for name in sorted(named):
                    assert made is not None
                    self._claiming.setdefault(name, []).append(made)
        space = workload.manifest.namespace
        return [w for w in self._claiming.get(template, ()) if w.manifest.namespace == space]

    def domain_of(self, workload: Workload, template: str) -> Manifest | None:
        """The ComputeDomain in view that makes a claim template."""
        path = ("spec", "channel", "resourceClaimTemplate", "name")
        made = [
            m
            for m in self.workspace.manifests
            if m.kind == "ComputeDomain"
            and m.root.string(*path) == template
            and self.neighbour(workload, "ComputeDomain", m.name or "") is m
        ]
        return made[0] if len(made) == 1 else None

    def labelled(self, workload: Workload, labels: dict[str, str]) -> bool:
        """Whether pods of another object in view have, or may have, all these labels."""
        for metadata in self._of_other_pods(workload):
            given = metadata.at("labels") if metadata is not None else None
            if isinstance(given, Scalar) and given.value is not None:
                return True
            own = given.fields if isinstance(given, Mapping) else {}
            if all(getattr(own.get(k), "text", v if "/" in k else None) == v for k, v in labels.items()):
                return True
        return False

    def carried_elsewhere(self, workload: Workload, field: str, key: str, value: str) -> bool:
        """Whether pods of another object in view carry, or may carry, this label or annotation (`field`)."""
        for metadata in self._of_other_pods(workload):
            given = metadata.at(field, key) if metadata is not None else None
            if given is not None and (not isinstance(given, Scalar) or given.open or given.text == value):
                return True
        return False

    def _of_other_pods(self, workload: Workload) -> Iterator[Mapping | None]:
        """The metadata of the pod templates of all other objects in view."""
        for manifest in self.workspace.manifests:
            if manifest is workload.manifest or not carries_pods(manifest.group, manifest.kind):
                continue
            made = workload_of(manifest)
            yield from (site.metadata for site in (made.sites if made is not None else ()))

    def of_kind(self, workload: Workload, kind: str) -> list[Manifest]:
        """All objects of a kind in view."""
        return [m for m in self.workspace.manifests if m.kind == kind]

    def claim_classes(self, workload: Workload, template: str) -> list[str]:
        """Device classes of a ResourceClaimTemplate in view."""
        found = self.workspace.find("ResourceClaimTemplate", template, workload.manifest)
        if found is None:
            return []
        return [
            n.value
            for n in found.root.walk()
            if isinstance(n, Scalar) and n.key == "deviceClassName" and isinstance(n.value, str)
        ]


AICR_GROUP = "trainer.kubeflow.org"
RUNTIME_KINDS = ("TrainingRuntime", "ClusterTrainingRuntime")


def contract_of(manifest: Manifest, configured: str) -> str:
    """`aicr` or `generic`: as configured, else aicr for Trainer's own kinds."""
    if configured in ("aicr", "generic"):
        return configured
    return "aicr" if manifest.group == AICR_GROUP else "generic"


def make_job(
    workload: Workload,
    lookup: Lookup,
    fabric_of: Callable[[Any], FabricMatch | None] | None,
    contract: str,
    declared_fabric: str | None = None,
) -> JobView:
    """The pods of a workload as views, with their fabric."""
    pods: list[PodView] = []
    for site in workload.sites:
        pod: PodView = PodView(workload, site, lookup)
        if pod.worker is not None:
            pod = WorkerPod(workload, site, lookup)
        pod.contract = contract
        pod.declared_fabric = declared_fabric
        pods.append(pod)
    for pod in pods:
        pod.siblings = pods
    if fabric_of is not None:
        for pod in pods:
            pod.fabric = fabric_of(pod)
    return JobView(workload, pods, contract)


def run_rules(
    workspace: Workspace, pack: Pack, settings: Settings, notes: list[Note]
) -> tuple[list[Finding], list[JobView], list[Rule]]:
    """Every finding of every rule, before silencing; the jobs; and the rules that ran."""
    lookup = WorkspaceLookup(workspace)
    lookup.profiles = settings.profiles
    views: list[Any] = [workspace]
    views.extend(d for d in workspace.documents if d.document.source.reported)
    jobs: list[JobView] = []
    #: Objects of kinds with pods that have no pod template: only their controller's refusal can be judged.
    podless: list[JobView] = []
    used: dict[int, list[Manifest]] = {}
    snapshots: dict[str, Any] = {}
    lookup.snapshot_of = lambda manifest: _snapshot_of(manifest, settings, notes, snapshots)

    def made(workload: Workload, contract: str, declared: str | None) -> JobView:
        return make_job(workload, lookup, pack.fabric_of, contract, declared)

    trainjobs = [m for m in workspace.manifests if m.kind == "TrainJob" and m.group == AICR_GROUP]
    resolved = _trainjob_views(workspace, trainjobs, used, settings, made, notes, snapshots) if trainjobs else []
    through = {id(v.runtime) for v in resolved if v.job is not None}
    for manifest in workspace.manifests:
        if not manifest.document.source.reported:
            continue
        views.append(manifest)
        if manifest.partial:
            continue
        if manifest.group == AICR_GROUP and manifest.kind in RUNTIME_KINDS:
            path = settings.for_path(manifest.uri)
            contract = contract_of(manifest, path.contract)
            users = [v for v in resolved if v.runtime is manifest]
            views.append(RuntimeView(manifest, path.trainer_version, contract, used.get(id(manifest), []), users))
        if not carries_pods(manifest.group, manifest.kind) or id(manifest) in through:
            continue
        workload = workload_of(manifest)
        if workload is None:
            continue
        path = settings.for_path(manifest.uri)
        workload.runtime_alone = manifest.kind in RUNTIME_KINDS
        job = made(workload, contract_of(manifest, path.contract), path.fabric)
        if workload.sites:
            jobs.append(job)
        else:
            podless.append(job)
    views.extend(resolved)
    jobs.extend(v.job for v in resolved if v.job is not None)
    for job in jobs:
        views.append(job)
        views.extend(job.pods)
        manifest = job.workload.manifest
        snapshot = _snapshot_of(manifest, settings, notes, snapshots)
        if snapshot is not None and not (used.get(id(manifest)) and job.workload.runtime_alone):
            views.append(PlacedJob(job, snapshot))
    findings: list[Finding] = []
    rules = enabled_rules(pack, settings, _in_view(views, podless, settings))
    by_class: dict[type, list[Rule]] = {}
    for rule in rules:
        by_class.setdefault(rule.on, []).append(rule)
    if GroupView in by_class:
        views.extend([v.group for v in views if isinstance(v, JobView)])
        views.extend(j.group for j in podless)
    for view in views:
        for kind, some in by_class.items():
            if isinstance(view, kind):
                for rule in some:
                    findings.extend(_run(rule, view, settings, notes, snapshots))
    return findings, jobs, rules


def _in_view(views: list[Any], podless: list[JobView], settings: Settings) -> frozenset[str]:
    """What rules can speak of in this run, as `Pack.load_for` takes it."""
    classes = {base for kind in {type(v) for v in views} for base in kind.__mro__}
    names = {c.__name__ for c in classes}
    if JobView in classes or podless:
        names.add(GroupView.__name__)
    if settings.cluster:
        names.add("snapshot")
    for view in views:
        if isinstance(view, Manifest):
            names.add(view.kind)
        elif isinstance(view, PodView) and view.fabric is not None:
            names |= _names_of(view.fabric)
    return frozenset(names)


def _names_of(match: FabricMatch) -> set[str]:
    """The names by which rules are limited to a pod's fabric."""
    family = (match.profile or {}).get("family")
    return {match.name, family} if family else {match.name}


def _trainjob_views(
    workspace: Workspace,
    trainjobs: list[Manifest],
    used: dict[int, list[Manifest]],
    settings: Settings,
    made: Callable[[Workload, str, str | None], JobView],
    notes: list[Note],
    snapshots: dict[str, Any],
) -> list[TrainJobView]:
    """The views of the TrainJobs that are judged; `used` is filled with the TrainJobs of each runtime in view."""
    from fabriclint.trainer.lookup import reference
    from fabriclint.trainjobs import view_of

    runtimes = [m for m in workspace.manifests if m.group == AICR_GROUP and m.kind in RUNTIME_KINDS]
    views: list[TrainJobView] = []
    for trainjob in trainjobs:
        runtime = runtime_of(workspace, trainjob)
        if trainjob.document.source.reported and not trainjob.partial:
            contract = contract_of(trainjob, settings.for_path(trainjob.uri).contract)
            snapshot = _snapshot_of(trainjob, settings, notes, snapshots)
            views.append(view_of(trainjob, runtime, runtimes, settings, contract, made, snapshot))
            runtime = views[-1].runtime
        if runtime is not None:
            used.setdefault(id(runtime), []).append(trainjob)
    alike: dict[object, list[TrainJobView]] = {}
    for view in views:
        manifest, ref = view.manifest, reference(view.manifest)
        space = None if ref is not None and ref[1] == "ClusterTrainingRuntime" else manifest.namespace
        source = manifest.document.source
        key = (id(source), ref, space, view.runtime is None, len(view.namesakes) > 1)
        view.alike = alike.setdefault(id(view) if source.marked else key, [])
        view.alike.append(view)
    return views


def runtime_of(workspace: Workspace, trainjob: Manifest) -> Manifest | None:
    """The runtime in view that a TrainJob names, by its kind."""
    name = trainjob.root.string("spec", "runtimeRef", "name")
    if not name:
        return None
    kind = trainjob.root.string("spec", "runtimeRef", "kind") or "ClusterTrainingRuntime"
    return workspace.find(kind, name, trainjob, namespaced=kind == "TrainingRuntime")


def _run(rule: Rule, view: Any, settings: Settings, notes: list[Note], snapshots: dict[str, Any]) -> Iterator[Finding]:
    if rule.fabrics:
        match: FabricMatch | None = getattr(view, "fabric", None)
        if match is None or _names_of(match).isdisjoint(rule.fabrics):
            return
    try:
        code = rule.check.__code__
        names = code.co_varnames[1 : code.co_argcount]
        extra: dict[str, Any] = {}
        if "rule" in names:
            extra["rule"] = rule
        if "settings" in names:
            extra["settings"] = settings
        if "snapshot" in names:
            extra["snapshot"] = _snapshot_of(view, settings, notes, snapshots)
            if extra["snapshot"] is None:
                return
        landing = _landing_of(view)
        for found in rule.check(view, **extra):
            _judge_form(found)
            if landing is not None:
                found = replace(found, place=landing(found.place), related=_shown(found.related))
            yield replace(
                found,
                code=found.code or rule.code,
                name=found.name or rule.name,
                severity=found.severity or rule.severity,
                subject=found.subject or view,
                fabric=found.fabric or (view.fabric.name if getattr(view, "fabric", None) else None),
            )
    except (Exception, SystemExit) as error:  # a broken rule must not lose the run
        path = None
        manifest = getattr(view, "manifest", None) or getattr(getattr(view, "workload", None), "manifest", None) or view
        if isinstance(manifest, Manifest):
            path = manifest.uri
        notes.append(
            Note(
                "error",
                "internal-error",
                path,
                f"Rule {rule.code} failed: {type(error).__name__}: {error}. Please report it.",
            )
        )


def _judge_form(found: Any) -> None:
    """Raises TypeError for what is no finding: it would be met where nobody knows whose it is."""
    if not isinstance(found, Finding):
        raise TypeError(f"it gives {type(found).__name__}, not Finding")
    texts = (found.message, found.help, *(r.message for r in found.related if isinstance(r, Related)))
    places = (found.place, *(r.place for r in found.related if isinstance(r, Related)))
    if not (
        all(isinstance(t, str) for t in texts)
        and all(isinstance(p, Place) and isinstance(p.node, Node) for p in places)
        and len(places) == 1 + len(found.related)
        and (found.severity is None or isinstance(found.severity, Severity))
        and (found.fix is None or isinstance(found.fix, Fix))
    ):
        raise TypeError("a finding has a place with a node, texts, and a severity and a fix of their types or None")


def _landing_of(view: Any) -> Landing | None:
    landing = getattr(view, "landing", None)
    if landing is None:
        job = getattr(view, "job", None)
        workload = getattr(view, "workload", None) or getattr(job, "workload", None)
        landing = getattr(workload, "landing", None)
    return landing


def _shown(related: tuple[Related, ...]) -> tuple[Related, ...]:
    """Related places that a reader can open: not those in a runtime that Trainer ships."""
    return tuple(r for r in related if r.place.node.source.doc is not None)


def _snapshot_of(view: Any, settings: Settings, notes: list[Note], snapshots: dict[str, Any]) -> Any:
    """The cluster snapshot that the configuration names for the view's file, else None; each is read once a run."""
    owner = getattr(view, "manifest", None) or getattr(getattr(view, "workload", None), "manifest", None) or view
    given = settings.for_path(owner.uri).cluster if isinstance(owner, Manifest) else None
    if given is None:
        return None
    if given not in snapshots:
        from fabriclint.cluster.snapshot import SnapshotError, load
        from fabriclint.config import relative
        from fabriclint.disk import exists

        path = Path(given)
        if not exists(path) and settings.root is not None:
            path = Path(relative(settings.root / given))
        try:
            snapshots[given] = load(path)
        except SnapshotError as error:
            snapshots[given] = None
            notes.append(Note("error", "unreadable", given, str(error)))
    return snapshots[given]


def fingerprint(code: str, manifest: Manifest | None, pointer: str, detail: str) -> str:
    """Stable over moved lines and renamed files: code, object and route."""
    about = [code]
    if manifest is not None:
        about += [manifest.kind, manifest.namespace or "", manifest.name or ""]
    about += [pointer, detail]
    return hashlib.sha256("\0".join(about).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def enabled_rules(pack: Pack, settings: Settings, in_view: frozenset[str] | None = None) -> list[Rule]:
    """The rules that run, in code order, after select, ignore, extend-select and severities set to off.

    `in_view`: leave out those that can say nothing when only this is in view.
    """
    loaded = pack.load() if in_view is None or pack.load_for is None else pack.load_for(in_view)
    rules = sorted(loaded, key=lambda r: r.code)

    def matches(rule: Rule, patterns: Iterable[str]) -> int:
        best = 0
        for pattern in patterns:
            if pattern == "ALL":
                best = max(best, 1)
            elif pattern in (rule.code, rule.name):
                best = max(best, 100)
            elif rule.code.startswith(pattern) and pattern.isalnum():
                best = max(best, 1 + len(pattern))
        return best

    out = []
    for rule in rules:
        chosen = matches(rule, settings.select) if settings.select else (1 if rule.default else 0)
        chosen = max(chosen, matches(rule, settings.extend_select))
        dropped = matches(rule, settings.ignore)
        # The more specific pattern wins; of two alike, ignore does.
        if chosen > dropped and settings.severity.get(rule.code) != "off":
            out.append(rule)
    return out


def builtin_pack() -> Pack:
    """The rules that come with fabriclint."""
    from fabriclint_rules.pack import PACK

    return PACK


def lint(
    inputs: Iterable[Found],
    settings: Settings,
    *,
    stdin: tuple[str, bytes] | None = None,
    pack: Pack | None = None,
    texts: dict[str, bytes] | None = None,
) -> Lint:
    """Read, judge and silence. Unreadable files become notifications of level error.

    `texts`: by path, what is judged instead of the bytes on disk.
    """
    if pack is None:
        from fabriclint.packs import pack_of

        pack = pack_of(settings.packs)
    notes: list[Note] = []
    pairs: list[tuple[str, bytes]] = []
    for found in inputs:
        if found.error is not None:
            notes.append(Note("error", "unreadable", found.uri, found.error))
            continue
        if texts is not None and found.uri in texts:
            pairs.append((found.uri, texts[found.uri]))
            continue
        try:
            pairs.append((found.uri, contents(found.path)))
        except OSError as error:
            if not found.named and error.errno == errno.EFBIG:
                said = f"The file is not read: {error.strerror}."
                notes.append(Note("warning", "limit", found.uri, said))
                continue
            notes.append(Note("error", "unreadable", found.uri, f"The file cannot be read: {error.strerror or error}."))
    if stdin is not None:
        pairs.append(stdin)
    workspace = read_workspace(pairs, notes)
    read_references(workspace, settings, notes)
    _partial_files(workspace)
    findings, jobs, rules = run_rules(workspace, pack, settings, notes)
    findings = silence(findings, rules, jobs)
    resolved = {id(job.workload.manifest) for job in jobs}
    unresolved = sum(
        m.kind == "TrainJob" and m.document.source.reported and id(m) not in resolved for m in workspace.manifests
    )
    return Lint(workspace, findings, notes, jobs, rules, lambda: enabled_rules(pack, settings), len(pairs), unresolved)


def read_references(workspace: Workspace, settings: Settings, notes: list[Note]) -> None:
    """Look up names that the given files leave open among the files below the reference paths."""
    if settings.isolated:
        return
    wanted: set[str] = set()
    for manifest in workspace.manifests:
        if manifest.kind == "TrainJob" and runtime_of(workspace, manifest) is None:
            wanted.add(manifest.root.string("spec", "runtimeRef", "name") or "")
        if carries_pods(manifest.group, manifest.kind):
            for node in manifest.root.walk():
                if isinstance(node, Mapping):
                    ref = node.string("configMapRef", "name") or node.string("resourceClaimTemplateName")
                    if ref:
                        wanted.add(ref)
            wanted.add(_service_of(manifest) or "")
    seen = ("ConfigMap", "ResourceClaimTemplate", "Service")
    wanted -= {m.name for m in workspace.manifests if m.kind in seen and m.name}
    wanted = {w for w in wanted if w and "{" not in w and "$" not in w}
    if not wanted:
        return
    from fabriclint.discover import discover

    known = {s.uri for s in workspace.sources}
    folders = [str(p) for p in settings.reference_folders(sorted(known))]
    pairs = []
    names = [w.encode() for w in sorted(wanted)]
    for found in discover(folders):
        if found.error is not None or found.uri in known:
            continue
        try:
            data = contents(found.path)
        except OSError:
            continue
        if len(data) < 4_000_000 and any(n in data for n in names):
            pairs.append((found.uri, data))
    read_workspace(pairs, [], reported=False, workspace=workspace)


def _service_of(manifest: Manifest) -> str | None:
    """The Service by which pods with GPUs find each other, where the user makes it."""
    if manifest.kind not in ("Job", "StatefulSet") or "gpu" not in manifest.document.source.text:
        return None
    return manifest.root.string("spec", "serviceName") or manifest.root.string("spec", "template", "spec", "subdomain")


def ignored_by_path(uri: str, code: str, settings: Settings) -> bool:
    """Whether per-file-ignores name the code for the file."""
    for glob, codes in settings.per_file_ignores.items():
        if settings.matches(glob, uri) and any(code == c or (code.startswith(c) and c.isalpha()) for c in codes):
            return True
    return False


__all__ = [
    "DocumentView",
    "JobView",
    "Lint",
    "Note",
    "RuntimeView",
    "TrainJobView",
    "Workspace",
    "enabled_rules",
    "fingerprint",
    "lint",
]
