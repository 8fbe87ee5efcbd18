"""Files that ConfigMaps in view put into a container, by path."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fabriclint.node import Mapping, Scalar, open_value

if TYPE_CHECKING:
    from fabriclint.pod import ContainerView


def files_of(container: ContainerView) -> dict[str, Scalar]:
    """The files by their whole paths; those of ConfigMaps that are not in view are not known."""
    found: dict[str, Scalar] = {}
    for mount in container.mounts:
        folder, volume = mount.string("mountPath"), container.pod.volumes.get(mount.string("name") or "")
        if folder is None or volume is None or open_value(folder):
            continue
        folder, part = folder.rstrip("/"), mount.string("subPath")
        for path, text in _in_volume(container, volume):
            if part is None:
                found[f"{folder}/{path}"] = text
            elif path == part:
                found[folder] = text
            elif path.startswith(f"{part}/"):
                found[f"{folder}/{path[len(part) + 1 :]}"] = text
    return found


def _in_volume(container: ContainerView, volume: Mapping) -> Iterator[tuple[str, Scalar]]:
    """The files of a volume, by their paths in it."""
    sources = [volume.mapping("configMap"), *(s.mapping("configMap") for s in volume.mappings("projected", "sources"))]
    for source in sources:
        name = source.string("name") if source is not None else None
        if source is None or name is None or open_value(name):
            continue
        data = container.pod.lookup.config_map(container.pod.workload, name)
        items = source.mappings("items")
        for key, text in (data.fields if data is not None else {}).items():
            if not isinstance(text, Scalar) or not isinstance(text.value, str):
                continue
            if not items:
                yield key, text
            for item in items:
                path = item.string("path")
                if item.string("key") == key and path is not None:
                    yield path, text
