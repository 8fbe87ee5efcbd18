"""Objects against the schema of their kind."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from fabriclint.node import Mapping, build
from fabriclint.schema import SchemaFault, known, validate

TRAINER = ("trainer.kubeflow.org", "v1alpha1")


def faults(value: dict[str, Any], release: str | None = None) -> list[SchemaFault]:
    root = build(copy.deepcopy(value))
    assert isinstance(root, Mapping)
    group, _, version = value["apiVersion"].rpartition("/")
    return validate(root, group=group, version=version, kind=value["kind"], release=release)


def told(value: dict[str, Any], release: str | None = None) -> list[tuple[str, str]]:
    return [(f.kind, ".".join(map(str, f.path))) for f in faults(value, release)]


def trainjob(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "fit"},
        "spec": {"runtimeRef": {"name": "torch"}, **spec},
    }


def pod(container: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return {"containers": [{"name": "node", "image": "i", **(container or {})}], **spec}


def jobset(template: dict[str, Any], **spec: Any) -> dict[str, Any]:
    job = {"name": "node", "template": {"spec": {"template": {"spec": template}}}}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "train"},
        "spec": {"replicatedJobs": [job], **spec},
    }


POD = "spec.replicatedJobs.0.template.spec.template.spec"


def patched(pod_spec: dict[str, Any]) -> dict[str, Any]:
    job = {"name": "node", "template": {"spec": {"template": {"spec": pod_spec}}}}
    patch = {"manager": "example.com/p", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [job]}}}}
    return trainjob(runtimePatches=[patch])


PATCH = "spec.runtimePatches.0.trainingRuntimeSpec.template." + POD

#: What the releases' own API validation said of inputs of these shapes.
CASES = [
    (trainjob(), None, []),
    (trainjob(managedBy="me.example.com/x"), "2.0", [("rule", "spec.managedBy")]),
    (trainjob(managedBy="kueue.x-k8s.io/multikueue"), "2.0", []),
    (trainjob(runtimePatches=[]), "2.0", [("unknown-field", "spec.runtimePatches")]),
    (trainjob(runtimePatches=[]), "2.1", [("unknown-field", "spec.runtimePatches")]),
    (trainjob(podSpecOverrides=[]), "2.1", [("unknown-field", "spec.podSpecOverrides")]),
    (trainjob(podTemplateOverrides=[]), "2.0", [("unknown-field", "spec.podTemplateOverrides")]),
    (trainjob(activeDeadlineSeconds=0), "2.2", [("range", "spec.activeDeadlineSeconds")]),
    (trainjob(activeDeadlineSeconds=5), "2.0", [("unknown-field", "spec.activeDeadlineSeconds")]),
    (trainjob(trainer={"env": [{"name": "A", "value": 1}]}), "2.0", [("type", "spec.trainer.env.0.value")]),
    (trainjob(trainer={"env": [{"name": "A", "value": None}]}), "2.0", []),
    (trainjob(annotations={"a": "b"}), "2.2", [("unknown-field", "spec.annotations")]),
    (patched({"tolerations": [{"key": True}]}), "2.2", [("type", PATCH + ".tolerations.0.key")]),
    (jobset(pod({"ressources": {}})), None, [("unknown-field", POD + ".containers.0.ressources")]),
    (jobset(pod(nodeSelector={"gpu": True})), None, [("type", POD + ".nodeSelector.gpu")]),
    (
        jobset(pod(volumes=[{"name": "shm", "emptyDir": {"sizeLimit": "64 GB"}}])),
        None,
        [("quantity", POD + ".volumes.0.emptyDir.sizeLimit")],
    ),
    (jobset(pod(), parallelism=2), None, [("unknown-field", "spec.parallelism")]),
    (jobset(pod(), failurePolicy={"rules": [{"action": "FailJobSet"}]}), None, []),
    (
        jobset(pod({"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]})),
        None,
        [("duplicate", POD + ".containers.0.env.1")],
    ),
    (jobset(pod({"resources": {"limits": {"nvidia.com/gpu": "{{ gpus }}"}}})), None, []),
]


@pytest.mark.parametrize(("value", "release", "want"), CASES)
def test_an_object_has_the_faults_that_the_api_server_tells(
    value: dict[str, Any], release: str | None, want: list[tuple[str, str]]
) -> None:
    assert told(value, release) == want


def test_a_name_with_a_dot_passes_trainer_2_0_and_no_later_release() -> None:
    value = trainjob()
    value["metadata"]["name"] = "my.job"
    assert told(value, "2.0") == []
    for release in ("2.1", "2.2", "2.3"):
        assert [k for k, _ in told(value, release)] == ["rule"]


def test_mounts_are_keyed_by_name_in_a_patch_and_by_path_in_a_runtime() -> None:
    same_path = [{"name": "a", "mountPath": "/x"}, {"name": "b", "mountPath": "/x"}]
    same_name = [{"name": "a", "mountPath": "/x"}, {"name": "a", "mountPath": "/y"}]

    def mounts(value: list[dict[str, str]]) -> tuple[list[str], list[str]]:
        container = {"name": "node", "volumeMounts": value}
        patch = told(patched({"containers": [container]}), "2.2")
        return [k for k, _ in patch], [k for k, _ in told(jobset(pod({"volumeMounts": value})))]

    assert mounts(same_path) == ([], ["duplicate"])
    assert mounts(same_name) == (["duplicate"], [])


def test_a_removed_field_says_which_release_had_it() -> None:
    (fault,) = faults(trainjob(podTemplateOverrides=[]), "2.2")
    assert (fault.older, fault.newer) == ("2.1", None)
    (fault,) = faults(trainjob(runtimePatches=[]), "2.0")
    assert (fault.older, fault.newer) == (None, "2.2")


@pytest.mark.parametrize(
    ("template", "target"),
    [
        (pod({"tolerations": []}), POD + ".tolerations"),
        (pod({"hostNetwork": True}), POD + ".hostNetwork"),
        (pod(env=[]), POD + ".containers.0.env"),
        (pod(securityContext={"capabilities": {}}), POD + ".containers.0.securityContext.capabilities"),
    ],
)
def test_a_field_one_level_off_says_where_it_belongs(template: dict[str, Any], target: str) -> None:
    (fault,) = faults(jobset(template))
    assert fault.moves_to is not None
    assert ".".join(map(str, fault.moves_to)) == target


def test_a_misspelt_field_names_the_near_one() -> None:
    (fault,) = faults(jobset(pod({"ressources": {}})))
    assert fault.suggestion == "resources"


def test_core_kinds_only_warn_of_a_variable_twice_and_refuse_unknown_fields() -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}}
    twice = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    job["spec"] = {"template": {"spec": pod({"env": twice}, restartPolicy="Never")}}
    assert told(job) == []
    job["spec"]["parallelisms"] = 2  # type: ignore[index]
    assert told(job) == [("unknown-field", "spec.parallelisms")]


def test_unknown_groups_kinds_and_versions_have_no_faults() -> None:
    value = {"apiVersion": "jobset.x-k8s.io/v9", "kind": "JobSet", "spec": {"nonsense": 1}}
    assert told(value) == []
    assert told({"apiVersion": "example.com/v1", "kind": "JobSet", "spec": 1}) == []
    assert known("jobset.x-k8s.io", "JobSet")
    assert not known("example.com", "JobSet")


def test_every_message_is_one_line_that_ends_in_a_full_stop() -> None:
    for value, release, _ in CASES:
        for fault in faults(value, release):
            assert fault.message.endswith(".")
            assert "\n" not in fault.message
