"""The views of whole jobs that rules look at: a workload with its pods, a TrainJob with its runtime, a runtime."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fabriclint.document import Manifest
from fabriclint.node import Mapping
from fabriclint.pod import PodView
from fabriclint.workload import Landing, Workload

if TYPE_CHECKING:
    from fabriclint.cluster.match import Blame, Pod, Verdict
    from fabriclint.cluster.snapshot import Snapshot
    from fabriclint.group import GroupView
    from fabriclint.trainer.job_patch import JobPatch
    from fabriclint.trainer.outcome import Reason, ResolvedJob


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
class TrainerView:
    """What views of Kubeflow Trainer's objects share: the object, the release it is judged for, the contract."""

    manifest: Manifest
    version: str
    contract: str


@dataclass(slots=True, eq=False)
class TrainJobView(TrainerView):
    """A TrainJob, the runtime it names when that is known, and the pods the controller would make of both.

    `runtime`: the runtime it names, else the one that is plainly meant (`namesakes` has all in view of that name).
    `resolved`: what becomes of it; `meant`: the same with what is lost put back, which `job` has the pods of.
    """

    runtime: Manifest | None = None
    version_given: bool = False
    resolved: ResolvedJob | None = None
    meant: ResolvedJob | None = None
    job: JobView | None = None
    landing: Landing | None = None
    namesakes: list[Manifest] = field(default_factory=list)
    snapshot: Snapshot | None = None
    #: The release whose field for patches it uses, when that is another than `version`.
    spoken: str | None = None
    #: The TrainJobs that one finding about the reference to a runtime can speak for: those of its file that name the
    #: same one and found the same of it, itself among them, in their order; itself alone where comments accept findings.
    alike: list[TrainJobView] = field(default_factory=list)
    _patches: list[JobPatch] | None = None

    @property
    def trainer(self) -> Mapping | None:
        """The trainer block."""
        return self.manifest.root.mapping("spec", "trainer")

    @property
    def patches(self) -> list[JobPatch]:
        """What it changes in the runtime's replicated jobs, in the field that it uses."""
        if self._patches is None:
            from fabriclint.trainer.job_patch import patches_of

            self._patches = list(patches_of(self.manifest.root, self.spoken or self.version))
        return self._patches

    @property
    def policy(self) -> str:
        """The runtime's policy: torch, mpi, jax, xgboost, flux or plainml."""
        return self.meant.policy if self.meant is not None else "plainml"

    @property
    def own_runtime(self) -> bool:
        """Whether the runtime stands in a file that was read."""
        return self.runtime is not None and self.runtime.root.doc is not None

    @property
    def runtime_jobs(self) -> list[Mapping]:
        """The replicated jobs of the runtime, without patches; empty when it is not known."""
        return replicated_jobs(self.runtime)

    def reasons(self, *codes: str) -> list[Reason]:
        """Why it is refused, of the given kinds; all without any."""
        found = self.resolved.reasons if self.resolved is not None else []
        return [r for r in found if not codes or r.code in codes]


@dataclass(slots=True, eq=False)
class RuntimeView(TrainerView):
    """A TrainingRuntime or ClusterTrainingRuntime, the TrainJobs in view that use it, and the views of those judged."""

    trainjobs: list[Manifest] = field(default_factory=list)
    users: list[TrainJobView] = field(default_factory=list)

    @property
    def jobs(self) -> list[Mapping]:
        """Its replicated jobs."""
        return replicated_jobs(self.manifest)

    @property
    def policy(self) -> str:
        """torch, mpi, jax, xgboost, flux or plainml."""
        block = self.manifest.root.mapping("spec", "mlPolicy")
        known = ("torch", "mpi", "jax", "xgboost", "flux")
        return next((p for p in known if block is not None and block.mapping(p) is not None), "plainml")


def replicated_jobs(runtime: Manifest | None) -> list[Mapping]:
    """The replicated jobs of a runtime, as written."""
    return runtime.root.mappings("spec", "template", "spec", "replicatedJobs") if runtime is not None else []


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
