"""What holds of any input: nothing raises, nothing is changed, patches go on in order, the answer is one."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from recorded_cases import RECORDED, RELEASES, resolved

from fabriclint.engine import read_workspace
from fabriclint.node import Mapping, build, copy_tree
from fabriclint.trainer.lookup import RuntimeLookup
from fabriclint.trainer.merge import merge
from fabriclint.trainer.resolve import resolve

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**40), 2**40),
    st.sampled_from(
        ["", "node", "launcher", "trainer", "{{ .x }}", "${N}", "8", "1.5Gi", "auto", "$patch", "a/b", "é"]
    ),
)
VALUES = st.recursive(
    SCALARS,
    lambda below: (
        st.lists(below, max_size=3) | st.dictionaries(st.sampled_from(["name", "value", "x"]), below, max_size=3)
    ),
    max_leaves=5,
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """(holder, key) of everything below a value."""
    found: list[tuple[Any, Any]] = []
    stack = [value]
    while stack:
        here = stack.pop()
        keys = list(here) if isinstance(here, dict) else range(len(here)) if isinstance(here, list) else ()
        for key in keys:
            found.append((here, key))
            stack.append(here[key])
    return found


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_no_change_of_an_input_makes_it_raise(data: st.DataObject) -> None:
    objects = copy.deepcopy(data.draw(st.sampled_from(RECORDED))["objects"])
    for _ in range(data.draw(st.integers(1, 4))):
        holder, key = data.draw(st.sampled_from(places(objects)))
        if data.draw(st.booleans()):
            holder[key] = data.draw(VALUES)
        elif isinstance(holder, dict):
            holder.pop(key, None)
    kinds = [o.get("kind") for o in objects if isinstance(o, dict)]
    if "TrainJob" not in kinds:
        return
    text = "\n---\n".join(json.dumps(o) for o in objects)
    workspace = read_workspace([("case.yaml", text.encode())], [])
    runtimes = RuntimeLookup(closed=data.draw(st.booleans()))
    for manifest in workspace.manifests:
        runtimes.add(manifest)
    for trainjob in [m for m in workspace.manifests if m.kind == "TrainJob"]:
        before = trainjob.root.plain()
        job = resolve(trainjob, runtimes, data.draw(st.sampled_from(RELEASES)))
        assert job.verdict in ("accepted", "rejected", "unknown")
        assert (job.verdict == "rejected") <= bool(job.reasons)
        assert job.jobset is None or job.verdict != "rejected"
        assert trainjob.root.plain() == before


@settings(max_examples=60, deadline=None)
@given(case=st.sampled_from(RECORDED), release=st.sampled_from(RELEASES))
def test_the_same_input_has_one_answer(case: dict[str, Any], release: str) -> None:
    one, other = resolved(case["objects"], release), resolved(case["objects"], release)
    plain = [j.jobset.plain() if j.jobset is not None else None for j in (one, other)]
    assert json.dumps(plain[0]) == json.dumps(plain[1])
    assert [(r.stage, r.pointer, r.message) for r in one.reasons] == [
        (r.stage, r.pointer, r.message) for r in other.reasons
    ]


NAMES = st.sampled_from(["a", "b", "c", "d", "e"])
PODS = st.fixed_dictionaries(
    {},
    optional={
        "nodeSelector": st.dictionaries(NAMES, NAMES, min_size=1, max_size=3),
        "tolerations": st.lists(st.fixed_dictionaries({"key": NAMES}), min_size=1, max_size=3),
        "volumes": st.lists(
            st.fixed_dictionaries({"name": NAMES}, optional={"emptyDir": st.fixed_dictionaries({"medium": NAMES})}),
            min_size=1,
            max_size=4,
            unique_by=lambda v: v["name"],
        ),
        "initContainers": st.lists(
            st.fixed_dictionaries(
                {"name": NAMES},
                optional={
                    "env": st.lists(
                        st.fixed_dictionaries({"name": NAMES, "value": NAMES}),
                        min_size=1,
                        max_size=3,
                        unique_by=lambda v: v["name"],
                    )
                },
            ),
            min_size=1,
            max_size=4,
            unique_by=lambda v: v["name"],
        ),
    },
)


def tree(value: Any) -> Mapping:
    made = build(value)
    assert isinstance(made, Mapping)
    return made


@given(pod=PODS)
@settings(max_examples=60, deadline=None)
def test_an_empty_patch_changes_nothing(pod: dict[str, Any]) -> None:
    target = tree(pod)
    merge(target, tree({}))
    assert target.plain() == pod


@given(pod=PODS)
@settings(max_examples=60, deadline=None)
def test_a_pod_laid_over_itself_is_itself(pod: dict[str, Any]) -> None:
    target = tree(pod)
    merge(target, tree(pod))
    assert target.plain() == pod


@given(pod=PODS, patch=PODS)
@settings(max_examples=100, deadline=None)
def test_a_patch_twice_is_a_patch_once(pod: dict[str, Any], patch: dict[str, Any]) -> None:
    target = tree(pod)
    given_patch = tree(patch)
    merge(target, given_patch)
    once = copy_tree(target).plain()
    merge(target, given_patch)
    assert target.plain() == once
    assert given_patch.plain() == patch


@given(pod=PODS, patch=PODS)
@settings(max_examples=100, deadline=None)
def test_a_merge_keeps_what_the_patch_says_and_what_it_does_not_name(
    pod: dict[str, Any], patch: dict[str, Any]
) -> None:
    target = tree(pod)
    merge(target, tree(patch))
    merged: Any = target.plain()
    for field in ("volumes", "initContainers"):
        names = [i["name"] for i in merged.get(field, [])]
        assert len(set(names)) == len(names)
        wanted = [i["name"] for i in patch.get(field, [])]
        assert [n for n in names if n in wanted] == wanted
        kept = [i["name"] for i in pod.get(field, []) if i["name"] not in wanted]
        assert [n for n in names if n in kept] == kept
    assert merged.get("nodeSelector", {}) == {**pod.get("nodeSelector", {}), **patch.get("nodeSelector", {})}
    assert merged.get("tolerations") == patch.get("tolerations", pod.get("tolerations"))


@given(patches=st.lists(PODS, max_size=4))
@settings(max_examples=60, deadline=None)
def test_patches_of_a_trainjob_go_on_in_their_order(patches: list[dict[str, Any]]) -> None:
    runtime = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": {"name": "rt", "namespace": "ns"},
        "spec": {
            "template": {
                "spec": {
                    "replicatedJobs": [
                        {
                            "name": "node",
                            "template": {
                                "spec": {"template": {"spec": {"containers": [{"name": "node", "image": "x"}]}}}
                            },
                        }
                    ]
                }
            }
        },
    }
    entries = [
        {
            "manager": f"a.b/{index}",
            "trainingRuntimeSpec": {
                "template": {
                    "spec": {
                        "replicatedJobs": [{"name": "node", "template": {"spec": {"template": {"spec": pod}}}}],
                    }
                }
            },
        }
        for index, pod in enumerate(patches)
    ]
    trainjob = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "job", "namespace": "ns"},
        "spec": {"runtimeRef": {"name": "rt", "kind": "TrainingRuntime"}, "runtimePatches": entries},
    }
    expected = tree({})
    for pod in patches:
        merge(expected, tree(pod))
    for release in ("2.2", "2.3"):
        job = resolved([runtime, trainjob], release)
        assert job.intended is not None
        pod_spec = job.intended.mapping("spec", "replicatedJobs", 0, "template", "spec", "template", "spec")
        assert pod_spec is not None
        built: Any = pod_spec.plain()
        for field, value in expected.plain().items():  # type: ignore[union-attr]
            got = built[field]
            if field == "initContainers":
                got = [{k: v for k, v in c.items() if k != "resources"} for c in got]
            assert got == value
