"""What is said of a TrainJob: the verdict of admission, the reasons, and the JobSet."""

from __future__ import annotations

from dataclasses import dataclass, field

from fabriclint.document import Manifest
from fabriclint.node import Mapping, Node

_WHO = {"schema": "the API server", "name": "the API server", "webhook": "Trainer's webhook", "build": "Trainer"}


@dataclass(slots=True)
class Reason:
    """Why something is refused: the stage, the user's node, its pointer and a sentence.

    `stage`: schema, name, webhook (the TrainJob or its runtime is refused); build (it exists, Trainer's controller
    cannot make the JobSet); jobset (the JobSet is refused); job (the JobSet exists, a Job of it is refused).
    `code`: which rule of the program it is, as R1 to R21, J1 to J8 or empty.
    """

    stage: str
    node: Node
    pointer: str
    message: str
    code: str = ""


@dataclass(slots=True)
class Host:
    """A line of an MPI hostfile; `slots` is None when the count cannot be known."""

    name: str
    slots: int | None


@dataclass(slots=True)
class ResolvedJob:
    """A TrainJob with its runtime, the verdict of admission, and the JobSet when it can be known.

    `runtime_state`: file, reference, shipped, ambiguous, missing or unknown. `jobset`: what the controller applies;
    None when the TrainJob is refused or it cannot be built. `intended`: the same also for a TrainJob that is refused,
    as far as it can be told: what it would be once the refusal is mended.
    """

    trainjob: Manifest | None
    runtime: Manifest | None
    runtime_ref: str
    runtime_state: str
    verdict: str = "unknown"
    reasons: list[Reason] = field(default_factory=list)
    jobset: Mapping | None = None
    num_nodes: int | None = None
    policy: str = "plainml"
    intended: Mapping | None = None
    hosts: list[Host] = field(default_factory=list)
    warnings: list[Reason] = field(default_factory=list)
    #: Objects that decide on the verdict and were not seen.
    doubts: list[Reason] = field(default_factory=list)

    def refuse(self, node: Node, message: str, code: str = "", stage: str = "webhook") -> None:
        """Record a refusal of the TrainJob or its runtime; who refuses is put behind a message that says only what."""
        if ";" not in message:
            message = f"{message.rstrip('.')}; {_WHO[stage]} refuses the object."
        self.reasons.append(Reason(stage, node.source, node.pointer, message, code))
        self.verdict = "rejected"

    def fail(self, stage: str, node: Node, message: str, code: str = "") -> None:
        """Record that a later stage fails, which leaves the verdict as it is."""
        self.reasons.append(Reason(stage, node.source, node.pointer, message, code))

    def of_stage(self, *stages: str) -> list[Reason]:
        """The reasons of some stages."""
        return [r for r in self.reasons if r.stage in stages]

    @property
    def jobset_verdict(self) -> str | None:
        """What JobSet's webhook says: accepted or rejected; None when there is no JobSet."""
        if self.jobset is None:
            return None
        return "rejected" if self.of_stage("jobset") else "accepted"

    @property
    def jobs_verdict(self) -> str | None:
        """What the API server says of the Jobs; None when there are none."""
        if self.jobset_verdict != "accepted":
            return None
        return "rejected" if self.of_stage("job") else "accepted"
