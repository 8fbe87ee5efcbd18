"""The views of whole jobs that rules look at: a workload with its pods, a TrainJob with its runtime, a runtime."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fabriclint.document import Manifest
from fabriclint.pod import PodView
from fabriclint.workload import Workload


@dataclass(slots=True, eq=False)
class JobView:
    """A workload with the views of all its pods: what rules about a whole job look at."""

    workload: Workload
    pods: list[PodView]
    contract: str

    @property
    def workers(self) -> list[PodView]:
        """The pods with GPUs."""
        return [p for p in self.pods if p.is_worker]


@dataclass(slots=True, eq=False)
class TrainJobView:
    """A TrainJob, the runtime it names when that is in view, and the pods the controller would make of both."""

    manifest: Manifest
    runtime: Manifest | None
    version: str
    version_given: bool
    contract: str
    resolved: Any = None
    job: JobView | None = None


@dataclass(slots=True, eq=False)
class RuntimeView:
    """A TrainingRuntime or ClusterTrainingRuntime, and the TrainJobs in view that use it."""

    manifest: Manifest
    trainjobs: list[Manifest]
    version: str
    contract: str
