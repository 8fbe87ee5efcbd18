"""The parts a GKE pod is wired to its fabric with: networks, the daemon, mounts, the node it asks for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from fabriclint.document import Document
from fabriclint.embedded import parse_embedded
from fabriclint.launch import Launch, read_launch
from fabriclint.node import UNKNOWN, Mapping, Node, Scalar, Sequence, Unknown, open_value
from fabriclint.pod import ContainerView, PodView
from fabriclint_schemas.pairs import Release

TCPXO, TCPX, GIB = "gke-tcpxo", "gke-tcpx", "gke-gib"
INTERFACES = "networking.gke.io/interfaces"
DEFAULT = "networking.gke.io/default-interface"
DEVICES = "devices.gke.io/container."
LIST = "kubectl get networks.networking.gke.io -o jsonpath='{range .items[*]}{.metadata.name}{\"\\n\"}{end}'"
NETWORK_RESOURCE = "networking.gke.io.networks/"


@cache
def nodes_table() -> dict[str, Any]:
    """GKE's accelerator labels and the labels that say no more than that a node has GPUs."""
    text = (files("fabriclint_schemas") / "tables" / "gke_nodes.json").read_text(encoding="utf-8")
    table: dict[str, Any] = json.loads(text)
    return table


def profile_of(pod: PodView) -> dict[str, Any]:
    """The data of the pod's fabric."""
    profile: dict[str, Any] = pod.fabric.profile if pod.fabric is not None else {}
    return profile


def quoted(names: list[str], most: int = 3) -> str:
    """Names in single quotes, no more than a few of them."""
    shown = ", ".join(f"'{n}'" for n in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def joined(names: list[str]) -> str:
    """All the names in single quotes, as a sentence lists them: 'a', 'b' and 'c'."""
    *head, last = [f"'{n}'" for n in names]
    return f"{', '.join(head)} and {last}" if head else last


def entries(pod: PodView) -> tuple[Scalar, list[Node]] | None:
    """The interfaces annotation with its entries, when it is a list that can be read."""
    node = pod.annotations.get(INTERFACES)
    if node is None or not isinstance(node.value, str) or open_value(node.value):
        return None
    parsed = parse_embedded(node, json=True)
    if isinstance(parsed, Document) and isinstance(parsed.root, Sequence):
        return node, parsed.root.items
    return None


def on_host(pod: PodView) -> bool:
    """Whether the pod sees the host's NICs as they are, so that annotations attach nothing and nothing is needed."""
    return pod.host_network


def claims_networks(pod: PodView) -> bool:
    """Whether resource claims may bring the NICs, so that no annotation has to and no count is known."""
    return bool(pod.claim_names) or isinstance(pod.spec.at("resourceClaims"), Scalar)


@lru_cache(maxsize=64)
def launch_of(container: ContainerView) -> Launch:
    """What a container's command and args start."""
    env = container.env

    def environment(name: str) -> str | Unknown | None:
        found = env.get(name)
        return found.value if found is not None else (UNKNOWN if env.open else None)

    return read_launch([w.text for w in container.words], environment)


@lru_cache(maxsize=64)
def sidecar(pod: PodView) -> ContainerView | None:
    """The fabric's daemon: by the last part of its image's name, by the program it runs, else by its own name."""
    profile = profile_of(pod)
    wanted = profile.get("sidecar_image")
    if wanted is None:
        return None
    for container in pod.containers:
        if container.image_name in (wanted, "tcpgpudmarxd"):
            return container
    for container in pod.containers:
        if "entrypoint_rxdm_container" in container.start_text or "build/app/tcpgpudmarxd" in container.start_text:
            return container
    return next((c for c in pod.containers if c.name in profile["sidecar_names"] and not c.has_gpus), None)


def containers_open(pod: PodView) -> bool:
    """Whether a container may be added, or one may be another than it seems, by a template."""
    for key in ("containers", "initContainers"):
        node = pod.spec.at(key)
        if isinstance(node, Scalar) and node.value is not None:
            return True
        if isinstance(node, Sequence) and any(isinstance(i, Scalar) for i in node.items):
            return True
    return any(isinstance(c.image, Unknown) and c is not pod.worker for c in pod.containers)


def filled_in(container: ContainerView) -> bool:
    """Whether a part of the container is filled in elsewhere, so that what is missing may come with it."""
    for key in ("command", "args", "env", "securityContext", "volumeMounts"):
        node = container.node.at(key)
        if isinstance(node, Scalar) and node.open:
            return True
    return False


def chosen_subset(pod: PodView) -> bool:
    """Whether the pod says that it uses a part of the node's NICs or GPUs on purpose."""
    daemon = sidecar(pod)
    text = daemon.start_text if daemon is not None else ""
    return (
        "NCCL_FASTRAK_ALLOW_NIC_SUBSET" in pod.ranks_env
        or "NCCL_IB_HCA" in pod.ranks_env
        or "nics_to_use" in text
        or "num_gpus_to_use" in text
    )


def accelerators(pod: PodView) -> list[tuple[str, Scalar]]:
    """The accelerator labels, or machine types, that the pod's selector or required affinity names."""
    table = nodes_table()
    out: list[tuple[str, Scalar]] = []
    for label, operator, values in pod.node_labels():
        if label in (table["accelerator_label"], table["machine_label"]) and operator == "In":
            out.extend((v.text, v) for v in values)
    return out


def accelerator(pod: PodView) -> str | None:
    """The one accelerator of the nodes that the pod asks for, when it can be told."""
    machines = profile_of(pod).get("by_machine", {})
    found = {machines.get(text, text) for text, node in accelerators(pod) if not node.open}
    return found.pop() if len(found) == 1 else None


def shape(pod: PodView) -> dict[str, Any]:
    """Counts of the node the pod asks for: interfaces and GPUs, by its accelerator where that matters."""
    profile = profile_of(pod)
    by_node: dict[str, dict[str, Any]] = profile.get("by_accelerator", {})
    counts = {"interfaces": profile["interfaces"], "gpus": profile["gpus"]}
    known = accelerator(pod)
    if known is not None and known in by_node:
        return {**counts, **by_node[known], "known": True}
    if by_node and pod.worker is not None and pod.worker.gpus == 4:
        return {**counts, "interfaces": 5, "gpus": 4, "known": False}
    return {**counts, "known": not by_node}


def host_path(pod: PodView, mount: Mapping) -> str | Unknown | None:
    """The host's folder behind a mount; None when the volume is another one, UNKNOWN when it cannot be seen."""
    volume = pod.volumes.get(mount.string("name") or "")
    if volume is None:
        return UNKNOWN
    path = volume.at("hostPath", "path")
    if path is None:
        return None
    if not isinstance(path, Scalar) or path.open:
        return UNKNOWN
    return path.text.rstrip("/") or "/"


def volume_node(pod: PodView, mount: Mapping) -> Node | None:
    """The hostPath's path behind a mount, else the volume."""
    volume = pod.volumes.get(mount.string("name") or "")
    return (volume.at("hostPath", "path") or volume) if volume is not None else None


def mounts_below(container: ContainerView, folder: str) -> Iterator[Mapping]:
    """Mounts at a folder or below it."""
    for mount in container.mounts:
        where = (mount.string("mountPath") or "").rstrip("/")
        if where == folder or where.startswith(folder + "/"):
            yield mount


def tag_of(container: ContainerView) -> str | None:
    """The tag of a container's image, empty without one, None when it is open or only a digest is given."""
    image = container.image
    if not isinstance(image, str):
        return None
    name = image.rsplit("/", 1)[-1]
    plain, _, digest = name.partition("@")
    tag = plain.partition(":")[2]
    return None if digest and not tag else tag


def written(release: Release) -> str:
    """A release as a tag."""
    return "v" + ".".join(str(n) for n in release)


def parsed(text: str) -> Release:
    """A release of the profiles' data."""
    return tuple(int(n) for n in text.split("."))
