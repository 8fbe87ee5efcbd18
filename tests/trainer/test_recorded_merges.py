"""Job templates and patches, and what Go's strategic merge and Go's types made of them (Kubernetes 0.34 libraries)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabriclint.node import Mapping, build
from fabriclint.trainer.assembly import complete
from fabriclint.trainer.merge import merge
from fabriclint.trainer.settle import settle
from fabriclint_schemas.load import Schema, schema_of

MERGES = json.loads((Path(__file__).parents[1] / "data" / "trainer" / "merges.json").read_text(encoding="utf-8"))


def below(kind: str, *path: str) -> Schema:
    """The schema of a Job template: in a runtime, or in a patch of a TrainJob."""
    schema = schema_of("trainer.kubeflow.org", kind, "v1alpha1", "2.2")
    assert schema is not None
    for step in ("spec", *path, "template", "spec", "replicatedJobs", "[]", "template"):
        schema = schema["items"] if step == "[]" else schema["properties"][step]
    return schema


RUNTIME = below("TrainingRuntime")
PATCH = below("TrainJob", "runtimePatches", "[]", "trainingRuntimeSpec")


@pytest.mark.parametrize("case", [pytest.param(c, id=str(i)) for i, c in enumerate(MERGES)])
def test_a_template_becomes_what_go_makes_of_it(case: dict[str, Any]) -> None:
    job = build({"template": case["template"]})
    assert isinstance(job, Mapping)
    template = job.mapping("template")
    assert template is not None
    settle(template, RUNTIME)
    for entry in case["patches"]:
        patch = build(entry)
        assert isinstance(patch, Mapping)
        settle(patch, PATCH, patch=True)
        merge(template, patch)
    settle(template, RUNTIME, stored=False)
    complete(job)
    assert template.plain() == case["merged"]
