"""Second networks of a pod: the entries of k8s.v1.cni.cncf.io/networks, and the objects in view that define them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from fabriclint.document import Document, Manifest
from fabriclint.embedded import parse_embedded
from fabriclint.node import Mapping, Scalar, Sequence, open_value
from fabriclint.pod import PodView

ANNOTATION = "k8s.v1.cni.cncf.io/networks"
_RESOURCE = "k8s.v1.cni.cncf.io/resourceName"
#: Kinds of the Network Operator and the SR-IOV operator that make a network of their own name, and its type.
_MAKERS = {
    "HostDeviceNetwork": "host-device",
    "MacvlanNetwork": "macvlan",
    "IPoIBNetwork": "ipoib",
    "SriovNetwork": "sriov",
    "SriovIBNetwork": "ib-sriov",
}
_ENTRY = re.compile(r"(?:(?P<space>[^/@]+)/)?(?P<name>[^/@]+)(?:@(?P<interface>.+))?")
#: Keys of a host-device or SR-IOV configuration that name the device themselves.
_DEVICE_KEYS = ("device", "hwaddr", "kernelpath", "pciBusID", "deviceID")


@dataclass(frozen=True, slots=True)
class Entry:
    """One network that a pod asks for."""

    name: str
    namespace: str | None
    interface: str | None


@dataclass(frozen=True, slots=True)
class Network:
    """A network in view: its type, the resource it takes a unit of (None for none), and its parent interface.

    `prefixed`: the resource's prefix is set by the operator and not known. `own_device`: its configuration names the
    device. `known`: type and configuration could be read.
    """

    manifest: Manifest
    sort: str
    resource: str | None
    master: Scalar | None
    prefixed: bool = True
    own_device: bool = False
    known: bool = True


def entries_of(pod: PodView) -> list[Entry] | None:
    """The networks that the annotation names, net1, net2, ... where none names its interface; None when open."""
    if pod.annotations_open:
        return None
    node = pod.annotations.get(ANNOTATION)
    if node is None:
        return []
    if not isinstance(node.value, str) or open_value(node.value):
        return None
    text = node.value.strip()
    found = _from_json(node) if text.startswith("[") else _from_list(text)
    if found is None:
        return None
    return [Entry(e.name, e.namespace, e.interface or f"net{n}") for n, e in enumerate(found, 1)]


def _from_list(text: str) -> list[Entry] | None:
    out: list[Entry] = []
    for part in text.split(","):
        if not part.strip():
            continue
        found = _ENTRY.fullmatch(part.strip())
        if found is None:
            return None
        out.append(Entry(found["name"], found["space"], found["interface"]))
    return out


def _from_json(node: Scalar) -> list[Entry] | None:
    parsed = parse_embedded(node, json=True)
    root = parsed.root if isinstance(parsed, Document) else None
    if not isinstance(root, Sequence):
        return None
    out: list[Entry] = []
    for item in root.items:
        name = item.string("name") if isinstance(item, Mapping) else None
        if name is None or not isinstance(item, Mapping):
            return None
        out.append(Entry(name, item.string("namespace"), item.string("interface")))
    return out


def network_of(pod: PodView, entry: Entry) -> Network | None:
    """The object in view that defines a network, else None."""
    found = pod.lookup.neighbour(pod.workload, "NetworkAttachmentDefinition", entry.name, entry.namespace)
    if found is not None:
        return definition(found)
    for kind, sort in _MAKERS.items():
        made = pod.lookup.neighbour(pod.workload, kind, entry.name, "")
        if made is not None:
            return _operator_network(made, sort)
    return None


def definition(manifest: Manifest) -> Network:
    """What a NetworkAttachmentDefinition says."""
    resource = manifest.root.string("metadata", "annotations", _RESOURCE)
    config = manifest.root.scalar("spec", "config")
    text = config.value if config is not None else None
    if config is None or not isinstance(text, str) or open_value(text) or (resource and open_value(resource)):
        return Network(manifest, "", resource, None, known=False)
    parsed = parse_embedded(config, json=True)
    root = parsed.root if isinstance(parsed, Document) else None
    if not isinstance(root, Mapping):
        return Network(manifest, "", resource, None, known=False)
    plugins = root.mappings("plugins")
    main = plugins[0] if plugins else root
    sort = main.string("type") or ""
    own = any(main.at(k) is not None for k in _DEVICE_KEYS)
    return Network(manifest, sort, resource, main.scalar("master"), own_device=own, known=bool(sort))


def _operator_network(manifest: Manifest, sort: str) -> Network:
    resource = manifest.root.string("spec", "resourceName")
    known = not (resource and open_value(resource))
    if resource and "/" not in resource and sort == "host-device":
        resource = f"nvidia.com/{resource}"
    prefixed = resource is None or "/" in resource
    return Network(manifest, sort, resource, manifest.root.scalar("spec", "master"), prefixed, known=known)


def resources_of(pod: PodView, entry: Entry, profile: dict[str, Any]) -> tuple[set[str], Manifest | None] | None:
    """The resources that an entry takes a unit of, one of them, by its definition in view or by the profile.

    None when it takes none, or that is not known. With the definition when that is in view.
    """
    network = network_of(pod, entry)
    if network is not None:
        if not network.known or network.resource is None:
            return None
        if network.prefixed:
            return {network.resource}, network.manifest
        asked = {r for c in pod.containers for r in c.resource_names if r.rpartition("/")[2] == network.resource}
        return (asked, network.manifest) if asked else None
    named = profile.get("attachments", {}).get(entry.name)
    return (set(named), None) if named else None
