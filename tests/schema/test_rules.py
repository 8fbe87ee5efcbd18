"""DOC005, DOC006 and DOC007 on whole files."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.locate import locate
from fabriclint.node import Mapping, build
from fabriclint.schema import known, validate

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: node
          image: registry.example/train:1
          resources:
            limits: {nvidia.com/gpu: 8}
"""


def found(text: str) -> list[tuple[str, str, int]]:
    result = lint([], Settings(), stdin=("job.yaml", text.encode()))
    return [
        (f.code, f.severity.value if f.severity else "", locate(f.place).line)
        for f in result.findings
        if f.code in ("DOC005", "DOC006", "DOC007")
    ]


def test_a_right_job_is_silent() -> None:
    assert found(JOB) == []


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        ("          resources:", "          ressources:", ("DOC005", "error", 11)),
        ("gpu: 8}", "gpu: 8 GPUs}", ("DOC005", "error", 12)),
        ("gpu: 8}", "gpu: }", ("DOC005", "error", 12)),
        ("          image:", "          hostNetwork: true\n          image:", ("DOC007", "error", 10)),
        ("metadata: {name: train}", "metadata: {name: train, annotations: {sidecar.istio.io/inject: no}}", None),
        ("batch/v1\nkind: Job", "kubeflow.org/v2alpha1\nkind: TrainJob", ("DOC006", "error", 1)),
    ],
)
def test_a_fault_stands_at_its_line(old: str, new: str, want: tuple[str, str, int] | None) -> None:
    assert old in JOB
    told = found(JOB.replace(old, new))
    assert want in told if want is not None else "DOC007" in {c for c, _, _ in told}


def test_a_field_without_a_near_name_in_a_core_kind_is_a_note() -> None:
    assert found(JOB.replace("      restartPolicy", "      brandNewThing: 1\n      restartPolicy")) == [
        ("DOC005", "note", 7)
    ]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "8Gi", "{{ x }}"]),
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(
            st.sampled_from(["spec", "template", "metadata", "containers", "name", "env", "tasks"]), below, max_size=4
        )
    ),
    max_leaves=20,
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    JSON,
    st.sampled_from(
        [
            ("batch", "v1", "Job"),
            ("jobset.x-k8s.io", "v1alpha2", "JobSet"),
            ("trainer.kubeflow.org", "v1alpha1", "TrainJob"),
            ("trainer.kubeflow.org", "v1alpha1", "TrainingRuntime"),
            ("batch.volcano.sh", "v1alpha1", "Job"),
        ]
    ),
)
def test_no_object_of_any_shape_makes_it_fail(spec: Any, kind: tuple[str, str, str]) -> None:
    root = build({"spec": spec, "metadata": spec})
    assert isinstance(root, Mapping)
    assert known(kind[0], kind[2])
    first = validate(root, group=kind[0], version=kind[1], kind=kind[2], release="2.1")
    again = validate(root, group=kind[0], version=kind[1], kind=kind[2], release="2.1")
    assert [f.message for f in first] == [f.message for f in again]
