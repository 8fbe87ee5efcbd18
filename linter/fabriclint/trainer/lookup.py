"""Which runtime a TrainJob names: among the files, among files that only answer questions, or shipped by Trainer."""

from __future__ import annotations

from dataclasses import dataclass, field

from fabriclint.document import Manifest
from fabriclint.node import Mapping, Scalar, build

GROUP = "trainer.kubeflow.org"
KINDS = ("TrainingRuntime", "ClusterTrainingRuntime")


@dataclass(slots=True)
class RuntimeLookup:
    """Runtimes by (kind, namespace, name); cluster runtimes have the namespace ''.

    `closed`: the files are all there is of Trainer's, so that a runtime that is not among them is missing.
    `whole_cluster`: they hold what a cluster's administrator makes as well, priority classes.
    """

    found: dict[tuple[str, str, str], list[Manifest]] = field(default_factory=dict)
    closed: bool = False
    whole_cluster: bool = False
    priority_classes: set[str] = field(default_factory=set)

    def add(self, runtime: Manifest) -> None:
        """Remember a runtime of the files, or a PriorityClass; other objects are ignored."""
        if runtime.kind == "PriorityClass" and runtime.name is not None:
            self.priority_classes.add(runtime.name)
        if runtime.group != GROUP or runtime.kind not in KINDS or runtime.name is None or runtime.partial:
            return
        namespace = (runtime.namespace or "") if runtime.kind == "TrainingRuntime" else ""
        self.found.setdefault((runtime.kind, namespace, runtime.name), []).append(runtime)

    def get(self, kind: str, namespace: str, name: str) -> tuple[Manifest | None, str]:
        """The runtime and its state: 'file', 'reference', 'ambiguous' (several of one name) or 'unknown'.

        A namespace that is not written down on one side may be any. Scanned files come before files that only answer
        questions.
        """
        there = self.found.get((kind, namespace if kind == "TrainingRuntime" else "", name), [])
        if not there and kind == "TrainingRuntime":
            there = [
                m
                for (k, space, n), some in self.found.items()
                if (k, n) == (kind, name) and (not space or not namespace)
                for m in some
            ]
        scanned = [m for m in there if m.document.source.reported]
        there = scanned or there
        if len(there) == 1:
            return there[0], "file" if scanned else "reference"
        return None, "ambiguous" if there else "unknown"

    @property
    def any_runtime(self) -> bool:
        """Whether any runtime was added."""
        return bool(self.found)


def shipped_runtime(release: str, kind: str, name: str) -> Manifest | None:
    """The ClusterTrainingRuntime of that name that a Trainer release installs, or None."""
    if kind != KINDS[1]:
        return None
    from fabriclint.document import Document, Source
    from fabriclint_schemas.trainer.load import shipped

    plain = shipped(release).get(name)
    if plain is None:
        return None
    root = build(plain)
    assert isinstance(root, Mapping)
    document = Document(Source(f"Trainer {release}: {name}", "", reported=False), 0, 0, 0, root)
    return Manifest(document, root, str(plain["apiVersion"]), kind)


def is_shipped(release: str, kind: str, name: str) -> bool:
    """Whether a Trainer release installs a runtime of that name, be its text carried or not."""
    from fabriclint_schemas.trainer.load import shipped

    return kind == KINDS[1] and name in shipped(release)


def reference(trainjob: Manifest) -> tuple[str, str, str] | None:
    """(group, kind, name) of spec.runtimeRef with the schema's defaults; None when open or without a name."""
    ref = trainjob.root.mapping("spec", "runtimeRef")
    if ref is None:
        return None
    values: list[str] = []
    for key, default in (("apiGroup", GROUP), ("kind", "ClusterTrainingRuntime"), ("name", "")):
        node = ref.fields.get(key)
        if node is None or (isinstance(node, Scalar) and node.value is None):
            values.append(default)
        elif isinstance(node, Scalar) and isinstance(node.value, str) and not node.open:
            values.append(node.value)
        else:
            return None
    return (values[0], values[1], values[2]) if values[2] else None
