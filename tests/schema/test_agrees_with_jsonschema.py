"""The walker against jsonschema, on the same compact schemas and mutated objects."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from fabriclint.node import Mapping, build
from fabriclint.schema import validate
from fabriclint_schemas.load import index, schema_of

BASE: dict[str, Any] = {
    "apiVersion": "jobset.x-k8s.io/v1alpha2",
    "kind": "JobSet",
    "metadata": {"name": "train"},
    "spec": {
        "suspend": False,
        "ttlSecondsAfterFinished": 10,
        "network": {"enableDNSHostnames": True, "subdomain": "train"},
        "successPolicy": {"operator": "All"},
        "failurePolicy": {"maxRestarts": 3},
        "replicatedJobs": [
            {
                "name": "node",
                "replicas": 1,
                "template": {
                    "spec": {
                        "parallelism": 2,
                        "template": {
                            "spec": {
                                "nodeSelector": {"pool": "gpu"},
                                "tolerations": [{"operator": "Exists"}],
                                "containers": [
                                    {
                                        "name": "node",
                                        "command": ["train"],
                                        "env": [{"name": "A", "value": "1"}],
                                        "ports": [{"containerPort": 80, "protocol": "TCP"}],
                                        "resources": {"limits": {"nvidia.com/gpu": 8}},
                                        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
                                    }
                                ],
                                "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}}],
                            }
                        },
                    }
                },
            }
        ],
    },
}


def _routes(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [at] if len(at) > 1 else []
    if isinstance(value, dict):
        for key, below in value.items():
            found += _routes(below, (*at, key))
    elif isinstance(value, list):
        for number, below in enumerate(value):
            found += _routes(below, (*at, number))
    return found


ROUTES = [r for r in _routes(BASE) if r[0] == "spec"]


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    st.sampled_from(ROUTES),
    st.sampled_from([True, 7, -3, 2.5, "text", "8Gi", "", [], {}, [1], ["a"], {"a": "b"}]),
)
def test_a_mutated_jobset_is_refused_by_both_or_by_neither(route: tuple[Any, ...], value: Any) -> None:
    changed = copy.deepcopy(BASE)
    holder: Any = changed
    for step in route[:-1]:
        holder = holder[step]
    holder[route[-1]] = value
    schema = schema_of("jobset.x-k8s.io", "JobSet", "v1alpha2")
    assert schema is not None
    theirs = [e for e in Draft7Validator(schema).iter_errors(changed) if e.validator != "format"]
    root = build(copy.deepcopy(changed))
    assert isinstance(root, Mapping)
    ours = validate(root, group="jobset.x-k8s.io", version="v1alpha2", kind="JobSet")
    beyond = [f for f in ours if f.kind not in ("unknown-field", "duplicate", "rule")]
    assert bool(beyond) == bool(theirs), (route, value, beyond, theirs)


def test_the_base_object_has_no_fault() -> None:
    root = build(copy.deepcopy(BASE))
    assert isinstance(root, Mapping)
    assert validate(root, group="jobset.x-k8s.io", version="v1alpha2", kind="JobSet") == []


def test_every_carried_schema_can_be_read_and_says_where_it_comes_from() -> None:
    for (group, kind), releases in index().items():
        for release in releases:
            assert "@" in release.origin
            for version in release.versions:
                schema = schema_of(group, kind, version, release.name or None)
                assert schema is not None
                assert "properties" in schema, (group, kind, version)


def test_trainer_kinds_are_carried_in_four_releases() -> None:
    for group, kind in (("trainer.kubeflow.org", "TrainJob"), ("jobset.x-k8s.io", "JobSet")):
        assert [r.name for r in index()[group, kind]] == ["2.0", "2.1", "2.2", "2.3"]
