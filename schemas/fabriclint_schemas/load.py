"""Reads the compact schemas: one kind at a time, each file once, shared parts as shared objects."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple, TypeAlias

#: A structural schema as published, without descriptions; equal subtrees may be one and the same object.
Schema: TypeAlias = dict[str, Any]


class Release(NamedTuple):
    """One carried release of a kind: its name (`2.2` for Trainer's kinds and JobSet, else empty or the release's
    own), its versions with the data file of each, and where it was published.
    """

    name: str
    versions: dict[str, str]
    origin: str


@cache
def index() -> dict[tuple[str, str], tuple[Release, ...]]:
    """Every carried (group, kind) with its releases, oldest first."""
    raw: dict[str, list[dict[str, Any]]] = json.loads(_text("index.json"))
    made: dict[tuple[str, str], tuple[Release, ...]] = {}
    for key, rows in raw.items():
        group, _, kind = key.rpartition("/")
        made[group, kind] = tuple(Release(r["release"], r["versions"], r["origin"]) for r in rows)
    return made


def releases_of(group: str, kind: str, version: str) -> tuple[Release, ...]:
    """The releases that serve a version of a kind, oldest first; empty when none is carried."""
    return tuple(r for r in index().get((group, kind), ()) if version in r.versions)


@cache
def schema_of(group: str, kind: str, version: str, release: str | None = None) -> Schema | None:
    """The schema of a kind in a release, the newest when None or when the kind has no such release."""
    found = releases_of(group, kind, version)
    if not found:
        return None
    chosen = next((r for r in found if r.name == release), found[-1])
    return _read(f"{chosen.versions[version]}.json")


def _text(name: str) -> str:
    return (files("fabriclint_schemas") / "crds" / name).read_text(encoding="utf-8")


@cache
def _read(name: str) -> Schema:
    """A file with its definitions and parts put in their places (definitions stand before their use)."""
    defined: dict[int, Any] = {}

    def put(value: dict[str, Any]) -> Any:
        if len(value) == 1:
            if "$ref" in value:
                return defined[value["$ref"]]
            if "$part" in value:
                return _read(f"parts/{value['$part']}.json")
        elif "$def" in value:
            defined[value["$def"]] = value["schema"]
        return value

    schema: Schema = json.loads(_text(name), object_hook=put)["schema"]
    return schema


@cache
def served_versions() -> dict[str, Any]:
    """What API versions were removed or never served, and which metadata never reaches a pod.

    Sources: the Kubernetes project's list of removed APIs; kubeflow/trainer@658725b manifests/base/crds;
    kubernetes-sigs/jobset@f22e565 pkg/controllers.
    """
    text = (files("fabriclint_schemas") / "tables" / "removed_versions.json").read_text(encoding="utf-8")
    table: dict[str, Any] = json.loads(text)
    return table
