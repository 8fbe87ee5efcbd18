"""Pods as Kubernetes itself judged them: what the API server refuses, and what a Pod Security level forbids."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import WorkspaceLookup, lint, make_job, read_workspace
from fabriclint.kinds import workload_of
from fabriclint.report.model import ReportOptions
from fabriclint_rules.pod_security import forbidden

DATA = Path(__file__).parent.parent / "data" / "pods"
SECURITY: list[dict[str, Any]] = json.loads((DATA / "pod_security.json").read_text())["cases"]
VALIDATION: list[dict[str, Any]] = json.loads((DATA / "pod_validation.json").read_text())["cases"]


def job(spec: dict[str, Any], annotations: dict[str, str] | None = None) -> dict[str, Any]:
    template = {"metadata": {"annotations": annotations or {}}, "spec": {"restartPolicy": "Never", **spec}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "research"},
        "spec": {"template": template},
    }


def codes(*objects: dict[str, Any], select: tuple[str, ...]) -> list[str]:
    text = "\n---\n".join(json.dumps(o) for o in objects)
    result = lint([], Settings(isolated=True, select=select), stdin=("x.yaml", text.encode()))
    assert not [n for n in result.notes if n.code == "internal-error"], result.notes
    return [f.code for f in assemble(result, Settings(), ReportOptions()).findings if f.severity == "error"]


@pytest.mark.parametrize("case", SECURITY, ids=lambda c: c["about"])
def test_a_level_forbids_what_the_admission_plugin_forbids(case: dict[str, Any]) -> None:
    text = json.dumps(job(case["spec"], case.get("annotations")))
    workspace = read_workspace([("x.yaml", text.encode())], [])
    workload = workload_of(workspace.manifests[0])
    assert workload is not None
    (pod,) = make_job(workload, WorkspaceLookup(workspace), None, "generic").pods
    for name, wanted in case["forbidden"].items():
        level, _, version = name.partition(":")
        assert sorted({f.check for f in forbidden(pod, level, version)}) == wanted, name


@pytest.mark.parametrize("case", [c for c in SECURITY if "refused" in c], ids=lambda c: c["about"])
def test_a_job_in_a_namespace_is_judged_as_its_pods_will_be(case: dict[str, Any]) -> None:
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "research", "labels": case["labels"]},
    }
    found = codes(namespace, job(case["spec"], case.get("annotations")), select=("POD015",))
    assert found == (["POD015"] if case["refused"] else [])


@pytest.mark.parametrize("case", VALIDATION, ids=lambda c: c["about"])
def test_what_the_api_server_refuses_is_an_error_and_nothing_else_is(case: dict[str, Any]) -> None:
    found = codes(job(case["spec"]), select=("POD006", "POD018"))
    assert found == ([case["refused"]] if case["refused"] else [])
