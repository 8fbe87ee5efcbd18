"""Reads what is carried of Kubeflow Trainer: releases, names, and how Go's types print."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Release:
    """What a Trainer release does differently from others.

    `overrides`: the TrainJob's field for changes of the runtime. `processes`: where torch's process count comes from.
    `ssh_modes`: of the key volume and of its items, empty for the kubelet's default. `unknown_job`: what becomes of a patch for a replicated job that the runtime lacks. `reserved_env`: policy to the
    table of names that its TrainJobs may not set. `crashes_without_trainer_job`: policies whose plugin needs one.

    Source: kubeflow/trainer@117ad23, @73c9bec, @dc7656a, @658725b pkg/runtime, pkg/webhooks.
    """

    name: str
    overrides: Literal["podSpecOverrides", "podTemplateOverrides", "runtimePatches"]
    policies: tuple[str, ...]
    gangs: tuple[str, ...]
    labels_in_spec: bool
    slots_from_gpus: bool
    processes: Literal["job-limits-first", "whole"]
    torchtune: Literal["fixed-recipes", "lora", "lora-single-node"]
    reserved_env_needs_processes: bool
    resources: Literal["replace", "merge"]
    launcher_shares_with_node: bool
    one_count_for_labelled: bool
    required_containers: bool
    launcher_replicas: bool
    unknown_job: Literal["rejected", "added"]
    reserved_env: dict[str, str]
    ssh_modes: tuple[int, ...]
    hostfile_replicas: bool
    initializer_mount: bool
    crashes_without_trainer_job: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GoTypes:
    """Which fields vanish when Go's types are serialised with a zero value, which stay, and which are always there.

    `kept`, `always`: by the field that holds them.

    Source: kubernetes/api v0.35 core/v1, batch/v1; kubernetes-sigs/jobset@ecaf56a api/jobset/v1alpha2.
    """

    dropped_when_false: frozenset[str]
    dropped_when_zero: frozenset[str]
    kept_when_empty: frozenset[str]
    kept_in_patches: frozenset[str]
    kept: dict[str, list[str]]
    always: dict[str, dict[str, str]]


@cache
def releases() -> dict[str, Release]:
    """The releases by name, oldest first."""
    made: dict[str, Release] = {}
    for name, row in _json("releases.json").items():
        row = {k: tuple(v) if isinstance(v, list) else v for k, v in row.items()}
        made[name] = Release(name=name, **row)
    return made


@cache
def names() -> dict[str, Any]:
    """Names of jobs, containers, variables, volumes and recipes that Trainer's code holds."""
    return _json("names.json")


@cache
def go_types() -> GoTypes:
    """How Go's types print zero values."""
    table = _json("go_types.json")
    kept, always = table.pop("kept"), table.pop("always")
    return GoTypes(**{k: frozenset(v) for k, v in table.items()}, kept=kept, always=always)


@cache
def shipped(release: str) -> dict[str, dict[str, Any] | None]:
    """The ClusterTrainingRuntimes that a release installs, by name; None for one whose text is not carried."""
    table = _json("runtimes.json")
    objects: dict[str, dict[str, Any]] = table["runtimes"]
    chosen: dict[str, str | None] = table["releases"].get(release, {})
    return {name: objects[key] if key is not None else None for name, key in chosen.items()}


def _json(name: str) -> dict[str, Any]:
    text = (files("fabriclint_schemas") / "trainer" / name).read_text(encoding="utf-8")
    table: dict[str, Any] = json.loads(text)
    return table
