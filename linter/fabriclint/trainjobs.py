"""The TrainJobs of a run as views: each with its runtime, what the controller makes of both, and the pods of that.

The pods are those of the JobSet as it is meant (trainer/mended.py): what is refused, and devices that are lost, are
findings of their own, and do not hide the faults of the pod.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fabriclint.document import Manifest
from fabriclint.kinds import jobset_sites
from fabriclint.views import JobView, TrainJobView
from fabriclint.workload import Workload

if TYPE_CHECKING:
    from fabriclint.config import Settings
    from fabriclint.trainer.lookup import RuntimeLookup

MakeJob = Callable[[Workload, str, str | None], JobView]


def view_of(
    trainjob: Manifest,
    runtime: Manifest | None,
    others: RuntimeLookup,
    settings: Settings,
    contract: str,
    make: MakeJob,
) -> TrainJobView:
    """One TrainJob with its runtime and the pods of both; `make` turns a workload into a job's view."""
    from fabriclint.trainer.landing import TrainJobLanding
    from fabriclint.trainer.mended import OneRuntime, meant
    from fabriclint.trainer.resolve import resolve

    path = settings.for_path(trainjob.uri)
    view = TrainJobView(trainjob, runtime, path.trainer_version, path.trainer_version_set, contract)
    view.resolved = resolve(trainjob, OneRuntime(runtime, others), path.trainer_version)
    view.runtime = view.resolved.runtime if runtime is None else runtime
    if view.runtime is None:
        return view
    policy = view.runtime.root.mapping("spec", "mlPolicy")
    view.landing = TrainJobLanding(trainjob, view.runtime, path.trainer_version, policy)
    view.meant = meant(view.resolved, view.runtime, path.trainer_version)
    jobset = view.meant.jobset
    if jobset is not None:
        workload = Workload(trainjob, root=jobset, resolved=view.meant, landing=view.landing)
        workload.sites = jobset_sites(jobset)
        view.job = make(workload, contract, path.fabric)
    return view
