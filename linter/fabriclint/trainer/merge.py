"""Strategic merge of a patch into a pod, Job or JobSet template, each field keeping the node it came from.

Source: kubernetes/apimachinery v0.35 pkg/util/strategicpatch; kubernetes/api v0.35 core/v1 types.go.
"""

from __future__ import annotations

from fabriclint.node import Mapping, Node, Scalar, Sequence, copy_tree
from fabriclint.trainer.edit import set_item
from fabriclint.trainer.merge_order import merged_order

#: Lists of the pod and JobSet APIs that merge by a key; every other list is replaced whole.
MERGE_KEYS = {
    "containers": "name",
    "initContainers": "name",
    "ephemeralContainers": "name",
    "volumes": "name",
    "env": "name",
    "imagePullSecrets": "name",
    "schedulingGates": "name",
    "resourceClaims": "name",
    "replicatedJobs": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "ports": "containerPort",
    "hostAliases": "ip",
    "topologySpreadConstraints": "topologyKey",
}
#: Lists of plain values that merge: the old ones and the new ones, each once.
_MERGED_VALUES = frozenset({"finalizers"})
#: The key in a map of a patch that says what to do with the old map.
_DIRECTIVE = "$patch"


def merge(target: Mapping, patch: Mapping) -> None:
    """Apply a strategic merge patch to `target` in place; `patch` is left as it is.

    The patch is taken as it was serialised: what Go leaves out of it has to be out of it already (`settle`).
    """
    directive = patch.string(_DIRECTIVE)
    if directive in ("replace", "delete"):
        for field in list(target.fields):
            target.drop(field)
        if directive == "delete":
            return
    for field, value in patch.fields.items():
        if field == _DIRECTIVE:
            continue
        there = target.fields.get(field)
        if isinstance(value, Scalar) and value.value is None:
            target.drop(field)
        elif isinstance(there, Mapping) and isinstance(value, Mapping):
            merge(there, value)
        elif isinstance(there, Sequence) and isinstance(value, Sequence) and field in MERGE_KEYS:
            merge_list(there, value, MERGE_KEYS[field])
        elif isinstance(there, Sequence) and isinstance(value, Sequence) and field in _MERGED_VALUES:
            _merge_values(there, value)
        else:
            target.put(field, copy_tree(value), value.key_start, value.key_end)


def merge_list(old: Sequence, patch: Sequence, key: str) -> None:
    """Merge `patch` into `old` by `key`, in place.

    Items without the key, which the schema refuses, stay where they are; a key that stands twice counts once.
    """
    items: dict[str, Node] = {}
    names: list[str] = []
    loose: list[Node] = []
    for item in old.items:
        name = _key_of(item, key)
        if name is None or name in items:
            loose.append(item)
            continue
        items[name] = item
        names.append(name)
    wanted: list[str] = []
    for item in patch.items:
        name = _key_of(item, key)
        if name is None:
            loose.append(copy_tree(item))
            continue
        there = items.get(name)
        if isinstance(there, Mapping) and isinstance(item, Mapping):
            merge(there, item)
        else:
            items[name] = copy_tree(item)
        if name not in wanted:
            wanted.append(name)
    old.items = []
    for name in merged_order(names, wanted):
        old.add(items[name])
    for item in loose:
        old.add(item)


def _merge_values(old: Sequence, patch: Sequence) -> None:
    """Patch values first, as the order of the merged list goes by the patch, unless both stand in the old list."""
    known = {i.text: copy_tree(i) for i in [*old.items, *patch.items] if isinstance(i, Scalar)}
    names = list(dict.fromkeys(i.text for i in old.items if isinstance(i, Scalar)))
    wanted = list(dict.fromkeys(i.text for i in patch.items if isinstance(i, Scalar)))
    old.items = []
    for index, name in enumerate(merged_order(names, wanted)):
        old.items.append(known[name])
        set_item(old, index, known[name])


def _key_of(item: Node, key: str) -> str | None:
    found = item.scalar(key)
    return found.text if found is not None and found.value is not None else None
