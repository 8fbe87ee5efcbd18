"""Which runtime a TrainJob names, among those of the files."""

from __future__ import annotations

from dataclasses import dataclass, field

from fabriclint.document import Manifest
from fabriclint.node import Scalar

GROUP = "trainer.kubeflow.org"
KINDS = ("TrainingRuntime", "ClusterTrainingRuntime")


@dataclass(slots=True)
class RuntimeLookup:
    """Runtimes by (kind, namespace, name); cluster runtimes have the namespace ''."""

    found: dict[tuple[str, str, str], list[Manifest]] = field(default_factory=dict)

    def add(self, runtime: Manifest) -> None:
        """Remember a runtime of the files; other objects are ignored."""
        if runtime.group != GROUP or runtime.kind not in KINDS or runtime.name is None:
            return
        namespace = (runtime.namespace or "") if runtime.kind == "TrainingRuntime" else ""
        self.found.setdefault((runtime.kind, namespace, runtime.name), []).append(runtime)

    def get(self, kind: str, namespace: str, name: str) -> tuple[Manifest | None, str]:
        """The runtime and its state: 'file', 'ambiguous' (two of one name) or 'unknown'."""
        there = self.found.get((kind, namespace if kind == "TrainingRuntime" else "", name), [])
        if len(there) == 1:
            return there[0], "file"
        return None, "ambiguous" if there else "unknown"


def reference(trainjob: Manifest) -> tuple[str, str, str] | None:
    """(group, kind, name) of spec.runtimeRef with the schema's defaults; None when open or without a name."""
    ref = trainjob.root.mapping("spec", "runtimeRef")
    if ref is None:
        return None
    values: list[str] = []
    for key, default in (("apiGroup", GROUP), ("kind", "ClusterTrainingRuntime"), ("name", "")):
        node = ref.fields.get(key)
        if node is None:
            values.append(default)
        elif isinstance(node, Scalar) and isinstance(node.value, str) and not node.open:
            values.append(node.value)
        else:
            return None
    return (values[0], values[1], values[2]) if values[2] else None
