"""The entry: which schema an object is held against, and what other releases say of its unknown fields."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from fabriclint.node import Mapping
from fabriclint.schema.fault import SchemaFault

if TYPE_CHECKING:
    from fabriclint_schemas.load import Schema

_CORE_GROUPS = ("", "apps", "batch")
_CORE_KINDS = {
    ("", "Pod"),
    ("batch", "Job"),
    ("batch", "CronJob"),
    ("apps", "Deployment"),
    ("apps", "ReplicaSet"),
    ("apps", "DaemonSet"),
    ("apps", "StatefulSet"),
}


def known(group: str, kind: str) -> bool:
    """Whether any version of the kind can be validated."""
    if group in _CORE_GROUPS:
        return (group, kind) in _CORE_KINDS
    from fabriclint_schemas.load import index

    return (group, kind) in index()


def validate(root: Mapping, *, group: str, version: str, kind: str, release: str | None = None) -> list[SchemaFault]:
    """What the API server refuses when the object is created, in document order.

    `release`: the Trainer release (`2.2`) that the object goes to, which also pins a JobSet; the newest when None.
    Empty for groups, kinds and versions without a schema.
    """
    return list(_faults(root, group, version, kind, release))


@lru_cache(maxsize=64)
def _faults(root: Mapping, group: str, version: str, kind: str, release: str | None) -> tuple[SchemaFault, ...]:
    """Kept for the last objects: several rules and the resolver ask for the faults of one."""
    return tuple(_validate(root, group, version, kind, release))


def _validate(root: Mapping, group: str, version: str, kind: str, release: str | None) -> list[SchemaFault]:
    from fabriclint.schema.walk import Walk, field_at
    from fabriclint_schemas.load import releases_of, schema_of

    core = group in _CORE_GROUPS
    if core:
        from fabriclint.schema.core import core_schema

        schema = core_schema(group, version, kind)
    else:
        schema = schema_of(group, kind, version, release)
    if schema is None:
        return []
    faults = Walk(schema, kind, core=core).run(root)
    if core or not faults:
        return faults
    found = releases_of(group, kind, version)
    at = next((i for i, r in enumerate(found) if r.name == release), len(found) - 1)
    others: dict[str, set[tuple[str, tuple[str | int, ...]]]] = {}

    def accepts(name: str, fault: SchemaFault) -> bool:
        """Whether another release knows the field and has nothing against what stands there."""
        schema = schema_of(group, kind, version, name)
        if schema is None or not field_at(schema, [str(s) for s in fault.path]):
            return False
        if fault.kind == "unknown-field":
            return True
        if name not in others:
            others[name] = {(f.kind, f.path) for f in Walk(schema, kind).run(root)}
        return (fault.kind, fault.path) not in others[name]

    told: list[SchemaFault] = []
    for fault in faults:
        newer = [r.name for r in found[at + 1 :] if accepts(r.name, fault)]
        older = [r.name for r in found[:at] if accepts(r.name, fault)]
        if newer or older:
            fault = replace(fault, newer=newer[0] if newer else None, older=older[-1] if older else None)
        elif fault.kind == "unknown-field" and _newer_kubernetes(schema, fault):
            fault = replace(fault, newer="A newer Kubernetes")
        told.append(fault)
    return told


def _newer_kubernetes(schema: Schema, fault: SchemaFault) -> bool:
    """Whether a field of a pod is unknown only because the kind's definition is older than the pod API."""
    from fabriclint.schema.core import pod_template
    from fabriclint.schema.walk import field_at

    path = [str(s) for s in fault.path]
    for index in range(len(path) - 1, 0, -1):
        if path[index] == "spec" and path[index - 1].lower().endswith("template"):
            pods = field_at(schema, [*path[: index + 1], "containers"])  # not the template of a Job around them
            return pods and field_at(pod_template(), path[index:])
    return False
