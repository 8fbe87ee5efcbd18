"""Which fabric a pod is wired for, by the signals that the profiles name, with the evidence kept."""

from __future__ import annotations

from typing import Any

from fabriclint.node import Node
from fabriclint.pod import PodView
from fabriclint.rule import Evidence, FabricMatch
from fabriclint_schemas.profiles import profiles


def tell(pod: PodView) -> FabricMatch | None:
    """The fabric of a pod: declared by annotation or option, else the profile with the strongest signals."""
    known = profiles()
    declared = pod.declared_fabric
    note = pod.annotations.get("fabriclint.dev/fabric")
    if note is not None and note.text in known:
        return FabricMatch(note.text, True, (Evidence(note, "annotation fabriclint.dev/fabric"),), (), known[note.text])
    if declared is not None and declared in known:
        return FabricMatch(declared, True, (), (), known[declared])
    scores: list[tuple[int, str, list[Evidence]]] = []
    for name, profile in known.items():
        evidence = _evidence(pod, profile)
        strong = sum(3 if e.strong else 1 for e in evidence)
        if any(e.strong for e in evidence):
            scores.append((strong, name, evidence))
    if not scores:
        return None
    scores.sort(key=lambda s: (-s[0], s[1]))
    _, name, evidence = scores[0]
    rivals = tuple((n, es[0]) for _, n, es in scores[1:])
    return FabricMatch(name, False, tuple(evidence), rivals, known[name])


def _evidence(pod: PodView, profile: dict[str, Any]) -> list[Evidence]:
    signals = profile["signals"]
    out: list[Evidence] = []
    for container in pod.containers:
        image = container.image
        if isinstance(image, str):
            last = container.image_name
            folder = image.rsplit("/", 2)[-2] if image.count("/") >= 1 else ""
            for wanted in signals.get("images", ()):
                if last == wanted["name"] and (not wanted.get("folder") or folder == wanted["folder"]):
                    if wanted.get("not_folder") and folder == wanted["not_folder"]:
                        continue
                    node: Node = container.image_node or container.node
                    out.append(Evidence(node, f"image {last}"))
        for resource in signals.get("resources", ()):
            node_or_none = container.resource_node(resource)
            if node_or_none is not None:
                out.append(Evidence(node_or_none, f"resource {resource}"))
        for prefix in signals.get("env", ()):
            for variable in container.seen_env.starting(prefix):
                out.append(Evidence(variable.place.node, f"variable {variable.name}", strong=True))
                break
    for prefix in signals.get("annotations", ()):
        for key, value in pod.annotations.items():
            if key.startswith(prefix):
                out.append(Evidence(value, f"annotation {key}"))
    labels = signals.get("node_labels", {})
    for label, _operator, values in pod.node_labels():
        for value in values:
            if value.text in labels.get(label, ()):
                out.append(Evidence(value, f"node label {label}={value.text}", strong=False))
    return out
