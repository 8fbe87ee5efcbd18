"""Schemas of core kinds: hand-written top levels around the pod template of the newest JobSet definition.

Source: kubernetes/api v0.35 core/v1, apps/v1, batch/v1 types.go.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from fabriclint_schemas.load import Schema, schema_of

_TEXT: Schema = {"type": "string"}
_WHOLE: Schema = {"type": "integer"}
_FLAG: Schema = {"type": "boolean"}
_ANY: Schema = {"x-kubernetes-preserve-unknown-fields": True}
_SOME: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_TEXTS: Schema = {"type": "object", "additionalProperties": _TEXT}

#: metadata of any object, also of those whose CRD only says `type: object`.
OBJECT_META: Schema = {
    "type": "object",
    "properties": {
        "name": _TEXT,
        "generateName": _TEXT,
        "namespace": _TEXT,
        "labels": _TEXTS,
        "annotations": _TEXTS,
        "finalizers": {"type": "array", "items": _TEXT},
        "ownerReferences": {"type": "array", "items": _SOME},
        "managedFields": {"type": "array", "items": _SOME},
        "uid": _TEXT,
        "resourceVersion": _TEXT,
        "generation": _WHOLE,
        "creationTimestamp": _TEXT,
        "deletionTimestamp": _TEXT,
        "deletionGracePeriodSeconds": _WHOLE,
        "selfLink": _TEXT,
    },
}


def _object(required: tuple[str, ...] = (), **properties: Any) -> Schema:
    made: Schema = {"type": "object", "properties": properties}
    if required:
        made["required"] = list(required)
    return made


def _top(spec: Schema) -> Schema:
    return _object(("spec",), apiVersion=_TEXT, kind=_TEXT, metadata=OBJECT_META, spec=spec, status=_SOME)


@cache
def job_spec() -> Schema:
    """The spec of a batch/v1 Job, as the newest JobSet definition holds it."""
    jobset = schema_of("jobset.x-k8s.io", "JobSet", "v1alpha2") or {}
    jobs = jobset["properties"]["spec"]["properties"]["replicatedJobs"]
    found: Schema = jobs["items"]["properties"]["template"]["properties"]["spec"]
    return found


@cache
def pod_template() -> Schema:
    """metadata and spec of a pod. Core objects take all metadata there, CRDs only a part."""
    found: Schema = dict(job_spec()["properties"]["template"])
    found["properties"] = {**found["properties"], "metadata": OBJECT_META}
    return found


def _selected(**more: Any) -> Schema:
    return _top(
        _object(
            ("selector", "template"),
            replicas=_WHOLE,
            minReadySeconds=_WHOLE,
            revisionHistoryLimit=_WHOLE,
            selector=_selector(),
            template=pod_template(),
            **more,
        )
    )


def _selector() -> Schema:
    found: Schema = job_spec()["properties"]["selector"]
    return found


def _job() -> Schema:
    spec = dict(job_spec())
    spec["properties"] = {**spec["properties"], "template": pod_template()}
    return spec


@cache
def core_schema(group: str, version: str, kind: str) -> Schema | None:
    """The schema of a core kind, or None for kinds and versions that are not carried."""
    if (group, version) == ("", "v1") and kind == "Pod":
        pod = pod_template()["properties"]
        return _top(pod["spec"])
    if (group, version) == ("batch", "v1"):
        if kind == "Job":
            return _top(_job())
        if kind == "CronJob":
            template = _object((), metadata=OBJECT_META, spec=_job())
            return _top(
                _object(
                    ("schedule", "jobTemplate"),
                    schedule=_TEXT,
                    timeZone=_TEXT,
                    startingDeadlineSeconds=_WHOLE,
                    concurrencyPolicy={"type": "string", "enum": ["Allow", "Forbid", "Replace", ""]},
                    suspend=_FLAG,
                    jobTemplate=template,
                    successfulJobsHistoryLimit=_WHOLE,
                    failedJobsHistoryLimit=_WHOLE,
                )
            )
    if (group, version) == ("apps", "v1"):
        if kind == "Deployment":
            return _selected(strategy=_SOME, paused=_FLAG, progressDeadlineSeconds=_WHOLE)
        if kind == "ReplicaSet":
            made = _selected()
            made["properties"]["spec"]["required"] = ["selector"]
            return made
        if kind == "DaemonSet":
            made = _selected(updateStrategy=_SOME)
            made["properties"]["spec"]["properties"].pop("replicas")
            return made
        if kind == "StatefulSet":
            return _selected(
                serviceName=_TEXT,
                podManagementPolicy={"type": "string", "enum": ["OrderedReady", "Parallel", ""]},
                volumeClaimTemplates={"type": "array", "items": _SOME},
                updateStrategy=_SOME,
                persistentVolumeClaimRetentionPolicy=_SOME,
                ordinals=_object((), start=_WHOLE),
            )
    return None
