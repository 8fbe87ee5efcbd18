"""Which fabric a pod is wired for, by the signals that the profiles name, with the evidence kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from fabriclint.node import Node, Scalar
from fabriclint.pod import ContainerView, PodView
from fabriclint.rule import Evidence, FabricMatch
from fabriclint_schemas.profiles import overridden, profiles

#: What a signal weighs: a daemon's image tells most, as one cannot run another fabric with it.
_DAEMON, _STRONG, _SHARED, _WEAK = 5, 3, 2, 1
_INTERFACES = "networking.gke.io/interfaces"
_NETWORKS = "k8s.v1.cni.cncf.io/networks"

_Signal = tuple[int, Evidence]


def tell(pod: PodView) -> FabricMatch | None:
    """The fabric of a pod: declared by annotation or option, else the profile with the strongest signals."""
    known = overridden(pod.lookup.profiles) if pod.lookup.profiles else profiles()
    declared = pod.declared_fabric
    note = pod.annotations.get("fabriclint.dev/fabric")
    if note is not None and note.text in known:
        return FabricMatch(note.text, True, (Evidence(note, "annotation fabriclint.dev/fabric"),), (), known[note.text])
    if declared is not None and declared in known:
        return FabricMatch(declared, True, (), (), known[declared])
    found = {name: _supported(list(_signals(pod, profile))) for name, profile in known.items()}
    scores = [
        (sum(weight for weight, _ in signals), name, [e for _, e in signals])
        for name, signals in found.items()
        if any(e.strong for _, e in signals)
    ]
    # What only says "some RDMA" counts where no fabric of its own name is told.
    scores = [s for s in scores if not known[s[1]].get("fallback")] or scores
    if not scores:
        return _by_networks(pod, known, found)
    scores.sort(key=lambda s: (-s[0], s[1]))
    _, name, evidence = scores[0]
    family = known[name]["family"]
    rivals = tuple((n, next(e for e in es if e.strong)) for _, n, es in scores[1:] if known[n]["family"] != family)
    return FabricMatch(name, False, tuple(evidence), rivals, known[name])


def _by_networks(pod: PodView, known: dict[str, dict[str, Any]], found: dict[str, list[_Signal]]) -> FabricMatch | None:
    """A pod that names several networks and nothing else that is a fabric's own: by its node, else by their names."""
    node = pod.annotations.get(_INTERFACES)
    if node is None:
        return None
    for by_node in (True, False):
        fitting = [
            name
            for name, profile in known.items()
            if "networks" in profile["signals"]
            and (bool(found[name]) if by_node else any(n in node.text for n in profile["signals"]["networks"]))
        ]
        if len(fitting) == 1:
            evidence = (Evidence(node, f"annotation {_INTERFACES}"), *(e for _, e in found[fitting[0]]))
            return FabricMatch(fitting[0], False, evidence, (), known[fitting[0]])
    return None


def _supported(signals: list[_Signal]) -> list[_Signal]:
    """A signal that several profiles have tells one of them when another sign of that profile stands beside it."""
    alone = len({e.signal.split()[0] for _, e in signals}) < 2
    return [(weight, replace(e, strong=not alone) if weight == _SHARED else e) for weight, e in signals]


def _signals(pod: PodView, profile: dict[str, Any]) -> Iterator[_Signal]:
    signals = profile["signals"]
    for container in pod.containers:
        yield from _of_container(container, signals)
    for prefix in signals.get("annotations", ()):
        for key, value in pod.annotations.items():
            if key.startswith(prefix):
                yield _STRONG, Evidence(value, f"annotation {key}")
    for key, weight in (("host_paths", _STRONG), ("shared_host_paths", _SHARED)):
        for start in signals.get(key, ()):
            for volume in pod.volumes.values():
                path = volume.scalar("hostPath", "path")
                if path is not None and path.text.startswith(start):
                    yield weight, Evidence(path, f"volume {path.text}", strong=weight == _STRONG)
                    break
    networks = pod.annotations.get(_NETWORKS)
    for wanted in signals.get("attachments", ()):
        if networks is not None and wanted in networks.text:
            yield _STRONG, Evidence(networks, f"network {wanted}")
    for name in signals.get("privileged_with", ()):
        worker = pod.worker
        variable = pod.ranks_env.get(name) if worker is not None and worker.privileged else None
        if variable is not None:
            yield _STRONG, Evidence(variable.place.node, f"variable {name} in a privileged container")
    for wanted in signals.get("device_classes", ()):
        if wanted in pod.claim_classes():
            yield _STRONG, Evidence(pod.spec, f"device class {wanted}")
    labels = signals.get("node_labels", {})
    for label, _operator, values in pod.node_labels():
        for value in values:
            known = any(fnmatchcase(value.text, wanted) for wanted in labels.get(label, ()))
            if known or label.startswith(tuple(signals.get("label_prefixes", ()))):
                yield _WEAK, Evidence(value, f"node label {label}={value.text}", strong=False)


def _of_container(container: ContainerView, signals: dict[str, Any]) -> Iterator[_Signal]:
    image = container.image
    if isinstance(image, str):
        last = container.image_name
        folder = image.rsplit("/", 2)[-2] if image.count("/") >= 1 else ""
        tag = image.rsplit("/", 1)[-1].partition(":")[2]
        for wanted in signals.get("images", ()):
            if last != wanted["name"] and not (wanted.get("begins") and last.startswith(wanted["name"])):
                continue
            if (
                wanted.get("folder")
                and folder != wanted["folder"]
                and not (wanted.get("tag") and tag.startswith(wanted["tag"]))
            ):
                continue
            if wanted.get("not_folder") and folder == wanted["not_folder"]:
                continue
            if wanted.get("not_tag") and tag.startswith(wanted["not_tag"]) and folder != wanted.get("own_folder"):
                continue
            node: Node = container.image_node or container.node
            shared = bool(wanted.get("shared"))
            weight = _DAEMON if wanted.get("daemon") else _SHARED if shared else _STRONG
            yield weight, Evidence(node, f"image {last}", strong=not shared)
    begins = tuple(signals.get("resource_prefixes", ()))
    for resource in sorted(container.resource_names):
        node_or_none = container.resource_node(resource)
        if node_or_none is None or container.amount(resource) == 0:
            continue
        if resource in signals.get("resources", ()) or (begins and resource.startswith(begins)):
            yield _STRONG, Evidence(node_or_none, f"resource {resource}")
        elif resource in signals.get("shared_resources", ()):
            yield _SHARED, Evidence(node_or_none, f"resource {resource}", strong=False)
    for prefix in signals.get("env", ()):
        for variable in container.seen_env.starting(prefix):
            yield _STRONG, Evidence(variable.place.node, f"variable {variable.name}")
            break
    for name, values in signals.get("values", {}).items():
        found = container.seen_env.get(name)
        if found is not None and found.value in values:
            yield _STRONG, Evidence(found.place.node, f"variable {name}={found.value}")
    for text in signals.get("texts", ()):
        word: Scalar | None = next((w for w in container.words if text in w.text), None)
        if word is not None:
            yield _STRONG, Evidence(word, f"'{text}' in the command")
