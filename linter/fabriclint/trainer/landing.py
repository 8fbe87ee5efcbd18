"""Where a finding about the pod of a TrainJob stands: at the line that its user would edit.

The pod is made of the TrainJob and its runtime. What a file says leads to its own line by itself; what is missing, and
what stands in a runtime that no file of the user holds (a shipped one), is sent to the TrainJob.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabriclint.finding import Place
from fabriclint.kinds import ANCESTOR_LABEL
from fabriclint.node import Mapping, Node, Sequence
from fabriclint.trainer.job_patch import patches_of

if TYPE_CHECKING:
    from fabriclint.document import Manifest
    from fabriclint.pod import ContainerView

_LISTS = ("containers", "initContainers")


class TrainJobLanding:
    """Finds the user's line for the pods of one TrainJob."""

    def __init__(self, trainjob: Manifest, runtime: Manifest | None, version: str, policy: Mapping | None) -> None:
        self.trainjob = trainjob
        self.version = version
        #: Whether the user can edit the runtime: it stands in a file that was read.
        self.own_runtime = runtime is not None and runtime.root.doc is not None
        self._launcher_is_node = policy is not None and policy.true("mpi", "runLauncherAsNode")

    def at_home(self, node: Node) -> bool:
        """Whether a node stands in one of the user's files."""
        document = node.source.doc
        return document is not None

    def __call__(self, place: Place) -> Place:
        """The place itself when it stands in a file, else the line of the TrainJob that has to do with it."""
        if self.at_home(place.node):
            return place
        job, listed, container, below = _whereabouts(place.node)
        return self.fallback(job, listed, container, below)

    def missing(self, container: ContainerView, *path: str) -> Place | None:
        """Where a thing that the container lacks is reported; None when the container's own line is right."""
        if path[:1] == ("env",) and self.feeds(container):
            trainer = self.trainjob.root.mapping("spec", "trainer")
            env = trainer.at("env") if trainer is not None else None
            return Place(
                env if isinstance(env, Sequence) else self.trainjob.root.nearest("spec", "trainer"), on_key=True
            )
        if self.own_runtime and not self._asks(container):
            return None
        there = container.node.nearest(*path)
        if there is not container.node and self._in_trainjob(there):
            return None
        listed = "containers" if container.kind == "main" else "initContainers"
        return self.fallback(container.pod.name, listed, container.name, path)

    def feeds(self, container: ContainerView) -> bool:
        """Whether the TrainJob's trainer block writes into the container."""
        owner = container.pod.site.owner
        if self.trainjob.root.mapping("spec", "trainer") is None or container.kind != "main" or owner is None:
            return False
        if container.name != "node":
            return False
        if owner.string("template", "metadata", "labels", ANCESTOR_LABEL) == "trainer":
            return True
        return self._launcher_is_node and container.pod.name == "node"

    def _asks(self, container: ContainerView) -> bool:
        """Whether the container's resources are the TrainJob's own."""
        amounts = container.node.at("resources", "limits") or container.node.at("resources", "requests")
        if amounts is None:
            return False
        return self._in_trainjob(amounts)

    def _in_trainjob(self, node: Node) -> bool:
        inside: Node | None = node.source
        while inside is not None:
            if inside is self.trainjob.root:
                return True
            inside = inside.parent
        return False

    def fallback(self, job: str, listed: str | None, container: str, path: tuple[str | int, ...]) -> Place:
        """The deepest existing patch for the container (or the pod), else `trainer`, else `runtimeRef`."""
        best: Place | None = None
        depth = -1
        for patch in patches_of(self.trainjob.root, self.version):
            if patch.job != job or patch.spec is None:
                continue
            found, reached = _deepest(patch.spec, path)
            if listed is not None:
                entry = next(
                    (c for kind, c in patch.containers() if kind == listed and c.string("name") == container), None
                )
                if entry is None:
                    continue
                found, reached = _deepest(entry, path)
                if reached == 0:
                    found = entry.nearest("name")
            if reached > depth:
                best, depth = Place(found, on_key=found.key != "name"), reached
        if best is not None:
            return best
        spec = self.trainjob.root
        node = spec.at("spec", "trainer")
        return Place(node if node is not None else spec.nearest("spec", "runtimeRef"), on_key=True)


def _deepest(node: Node, path: tuple[str | int, ...]) -> tuple[Node, int]:
    reached = 0
    for step in path:
        below = node.at(step) if isinstance(step, str) else None
        if below is None:
            break
        node = below
        reached += 1
    return node, reached


def _whereabouts(node: Node) -> tuple[str, str | None, str, tuple[str | int, ...]]:
    """Replicated job, list and container that a node of a resolved JobSet stands in, and the path below."""
    job, listed, container = "", None, ""
    steps: list[str | int] = []
    at: Node | None = node
    while at is not None:
        parent = at.parent
        if isinstance(parent, Sequence) and isinstance(at, Mapping):
            if parent.key in _LISTS and listed is None:
                listed, container = str(parent.key), at.string("name") or ""
                return _job_of(parent), listed, container, tuple(reversed(steps))
            if parent.key == "replicatedJobs":
                job = at.string("name") or ""
                break
        if at.key is not None:
            steps.append(at.key)
        at = parent
    path = list(reversed(steps))
    inner = ["template", "spec", "template", "spec"]
    return job, None, "", tuple(path[4:] if path[:4] == inner else ())


def _job_of(node: Node) -> str:
    at: Node | None = node
    while at is not None:
        if isinstance(at.parent, Sequence) and at.parent.key == "replicatedJobs":
            return at.string("name") or ""
        at = at.parent
    return ""
