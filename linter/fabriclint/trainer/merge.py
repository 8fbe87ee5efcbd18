"""Strategic merge of a patch into a pod or Job template, each field keeping the node it came from."""

from __future__ import annotations

from fabriclint.node import Mapping, Node, Scalar, Sequence, copy_tree
from fabriclint.trainer.merge_order import merged_order

#: Lists of the pod API that merge by a key; every other list is replaced whole (kubernetes/api core/v1 types.go).
MERGE_KEYS = {
    "containers": "name",
    "initContainers": "name",
    "ephemeralContainers": "name",
    "volumes": "name",
    "env": "name",
    "imagePullSecrets": "name",
    "schedulingGates": "name",
    "resourceClaims": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "ports": "containerPort",
    "hostAliases": "ip",
    "topologySpreadConstraints": "topologyKey",
}
#: Empty values of these are not dropped when a patch is serialised: pointers to structs.
_KEPT_EMPTY = frozenset({"emptyDir", "securityContext", "affinity"})


def is_dropped(field: str, value: Node) -> bool:
    """Whether an empty patch value vanishes when the patch is serialised (Go's omitempty), and so does nothing."""
    if isinstance(value, Mapping):
        return not value.fields and field not in _KEPT_EMPTY
    if isinstance(value, Sequence):
        return not value.items
    return isinstance(value, Scalar) and (value.value is None or value.value == "")


def _key_of(item: Node, key: str) -> str | None:
    found = item.scalar(key)
    return found.text if found is not None else None


def merge_list(old: Sequence, patch: Sequence, key: str) -> None:
    """Merge `patch` into `old` by `key`, in place; without usable keys the patch replaces the list."""
    old_keys = [_key_of(i, key) for i in old.items]
    patch_keys = [_key_of(i, key) for i in patch.items]
    names = [k for k in old_keys if k is not None]
    wanted = [k for k in patch_keys if k is not None]
    if len(set(names)) != len(old_keys) or len(set(wanted)) != len(patch_keys):
        _replace(old, [copy_tree(i) for i in patch.items])
        return
    items = dict(zip(names, old.items, strict=True))
    for name, item in zip(wanted, patch.items, strict=True):
        there = items.get(name)
        if isinstance(there, Mapping) and isinstance(item, Mapping):
            merge(there, item)
        else:
            items[name] = copy_tree(item)
    _replace(old, [items[k] for k in merged_order(names, wanted)])


def _replace(target: Sequence, items: list[Node]) -> None:
    target.items = []
    for item in items:
        target.add(item)


def merge(target: Mapping, patch: Mapping) -> None:
    """Apply a strategic merge patch to `target` in place; `patch` is left as it is."""
    for field, value in patch.fields.items():
        if is_dropped(field, value):
            continue
        there = target.fields.get(field)
        if isinstance(there, Mapping) and isinstance(value, Mapping):
            merge(there, value)
        elif isinstance(there, Sequence) and isinstance(value, Sequence) and field in MERGE_KEYS:
            merge_list(there, value, MERGE_KEYS[field])
        else:
            target.put(field, copy_tree(value), value.key_start, value.key_end)
