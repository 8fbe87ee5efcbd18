"""The views of whole jobs that rules look at: a workload with its pods, a TrainJob with its runtime, a runtime."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fabriclint.document import Manifest
from fabriclint.pod import PodView
from fabriclint.workload import Landing, Workload

if TYPE_CHECKING:
    from fabriclint.cluster.match import Blame, Pod, Verdict
    from fabriclint.cluster.snapshot import Snapshot
    from fabriclint.group import GroupView


@dataclass(slots=True, eq=False)
class JobView:
    """A workload with the views of all its pods: what rules about a whole job look at."""

    workload: Workload
    pods: list[PodView]
    contract: str
    _group: GroupView | None = None

    @property
    def group(self) -> GroupView:
        """The ranks of the job over all its roles; made when first asked for."""
        if self._group is None:
            from fabriclint.group import group_of

            self._group = group_of(self)
        return self._group

    @property
    def workers(self) -> list[PodView]:
        """The pods with GPUs."""
        return [p for p in self.pods if p.is_worker]


@dataclass(slots=True, eq=False)
class TrainJobView:
    """A TrainJob, the runtime it names when that is known, and the pods the controller would make of both."""

    manifest: Manifest
    runtime: Manifest | None
    version: str
    version_given: bool
    contract: str
    #: What becomes of it (ResolvedJob), and the same with what is refused or lost mended, which `job` has the pods of.
    resolved: Any = None
    meant: Any = None
    job: JobView | None = None
    landing: Landing | None = None


@dataclass(slots=True, eq=False)
class RuntimeView:
    """A TrainingRuntime or ClusterTrainingRuntime, and the TrainJobs in view that use it."""

    manifest: Manifest
    trainjobs: list[Manifest]
    version: str
    contract: str


@dataclass(slots=True, eq=False)
class PlacedJob:
    """A job set against the snapshot of a cluster: every workload as it is, a TrainJob with its runtime."""

    job: JobView
    snapshot: Snapshot
    _judged: dict[int, tuple[Pod, list[Verdict], Blame] | None] = field(default_factory=dict)

    @property
    def workload(self) -> Workload:
        """The workload whose pods are placed."""
        return self.job.workload

    @property
    def namespace(self) -> str | None:
        """The namespace that the file names, or None."""
        return self.job.workload.manifest.namespace

    def judged(self, pod: PodView) -> tuple[Pod, list[Verdict], Blame] | None:
        """A pod as admitted, every node's answer, and whom to blame; None when nothing can be said of it."""
        from fabriclint.cluster.match import RefusedError, UnseenError, blame, judge

        if id(pod) not in self._judged:
            spec = pod.spec.plain()
            made = None
            if self.snapshot.nodes and isinstance(spec, dict):
                try:
                    placed, verdicts = judge(spec, self.snapshot, self.namespace or "")
                    made = (placed, verdicts, blame(placed, verdicts))
                except (RefusedError, UnseenError):
                    made = None
            self._judged[id(pod)] = made
        return self._judged[id(pod)]
