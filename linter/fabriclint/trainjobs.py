"""The TrainJobs of a run as views: each with its runtime, what the controller makes of both, and the pods of that.

The pods are those of the JobSet as it is meant: what is refused is a finding of its own, and does not hide the faults
of the pod. So a runtime that is named by the wrong kind or namespace still gives the pods, devices that are lost are put
back (trainer/mended.py), and patches in another release's field are read as that release reads them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fabriclint.document import Manifest
from fabriclint.kinds import jobset_sites
from fabriclint.trainer.job_patch import FIELDS, given, patch_field
from fabriclint.trainer.landing import TrainJobLanding
from fabriclint.trainer.lookup import GROUP, KINDS, reference
from fabriclint.trainer.mended import OneRuntime, meant
from fabriclint.trainer.resolve import resolve
from fabriclint.views import JobView, TrainJobView
from fabriclint.workload import Workload

if TYPE_CHECKING:
    from fabriclint.cluster.snapshot import Snapshot
    from fabriclint.config import Settings

MakeJob = Callable[[Workload, str, str | None], JobView]


def view_of(
    trainjob: Manifest,
    named: Manifest | None,
    runtimes: list[Manifest],
    settings: Settings,
    contract: str,
    make: MakeJob,
    snapshot: Snapshot | None = None,
) -> TrainJobView:
    """One TrainJob with its runtime and the pods of both; `make` turns a workload into a job's view.

    `named`: the runtime in view that it names; `runtimes`: all that are in view.
    """
    path = settings.for_path(trainjob.uri)
    version = path.trainer_version
    view = TrainJobView(trainjob, version, contract, named, path.trainer_version_set, snapshot=snapshot)
    wanted = trainjob.root.string("spec", "runtimeRef", "name")
    view.namesakes = [m for m in runtimes if wanted is not None and m.name == wanted]
    if named is None and not view.namesakes:
        view.resolved = resolve(trainjob, OneRuntime(_installed(trainjob, snapshot)), version)
        view.runtime = view.resolved.runtime
    else:
        view.resolved = resolve(trainjob, OneRuntime(named), version)
        view.runtime = named or (view.namesakes[0] if len(view.namesakes) == 1 else None)
    if view.runtime is None:
        return view
    spoken = view.spoken = _spoken(trainjob, version)
    ours = view.resolved
    if spoken != version or ours.runtime is not view.runtime:
        ours = resolve(_by_right_name(trainjob, view.runtime), OneRuntime(view.runtime), spoken)
    view.landing = TrainJobLanding(trainjob, view.runtime, spoken, view.runtime.root.mapping("spec", "mlPolicy"))
    view.meant = meant(ours, spoken)
    jobset = view.meant.intended
    if jobset is not None:
        workload = Workload(trainjob, root=jobset, resolved=view.meant, landing=view.landing)
        workload.sites = jobset_sites(jobset)
        view.job = make(workload, contract, path.fabric)
    return view


def _spoken(trainjob: Manifest, version: str) -> str:
    """The release whose field for patches the TrainJob has, when it is not that of the release it is judged for."""
    own = patch_field(version)
    if given(trainjob.root.at("spec", own)):
        return version
    return next((v for v, f in FIELDS.items() if f != own and given(trainjob.root.at("spec", f))), version)


def _by_right_name(trainjob: Manifest, runtime: Manifest) -> Manifest:
    """The TrainJob with a reference that is of the runtime's own kind."""
    from dataclasses import replace

    from fabriclint.node import Mapping, build, copy_tree

    root = copy_tree(trainjob.root)
    assert isinstance(root, Mapping)
    ref = root.mapping("spec", "runtimeRef")
    if ref is not None:
        ref.put("kind", build(runtime.kind, ref))
        ref.put("apiGroup", build(GROUP, ref))
    return replace(trainjob, root=root)


def _installed(trainjob: Manifest, snapshot: Snapshot | None) -> Manifest | None:
    """The runtime of the cluster's snapshot that the TrainJob names."""
    ref = reference(trainjob)
    if snapshot is None or ref is None or ref[0] != GROUP or ref[1] not in KINDS:
        return None
    found = snapshot.find(ref[1], ref[2], trainjob.namespace if ref[1] == KINDS[0] else None)
    if found is None or not isinstance(found.get("spec"), dict):
        return None
    from fabriclint.document import Document, Source
    from fabriclint.node import Mapping, build

    root = build({k: v for k, v in found.items() if k in ("apiVersion", "kind", "metadata", "spec")})
    assert isinstance(root, Mapping)
    document = Document(Source("the cluster snapshot", "", reported=False), 0, 0, 0, root)
    return Manifest(document, root, f"{GROUP}/v1alpha1", ref[1])
