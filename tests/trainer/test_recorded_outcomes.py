"""What four releases of Trainer really did with small inputs, held against the resolver, field by field."""

from __future__ import annotations

from typing import Any

import pytest
from recorded_cases import RECORDED, RELEASES, resolved

from fabriclint.node import Mapping, Node, Sequence


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("case", [pytest.param(c, id=c["name"]) for c in RECORDED])
def test_the_outcome_is_the_recorded_one(case: dict[str, Any], release: str) -> None:
    job = resolved(case["objects"], release)
    verdict, jobset_verdict, jobs_verdict = case["outcome"][release]
    wanted = "accepted" if verdict.startswith("accepted") else "rejected"
    assert job.verdict == wanted, [r.message for r in job.reasons]
    assert (job.jobset_verdict, job.jobs_verdict) == (jobset_verdict, jobs_verdict), [r.message for r in job.reasons]
    spec = case["spec"].get(release)
    if isinstance(spec, str):
        spec = case["spec"][spec]
    if spec is None:
        assert job.jobset is None
        return
    assert job.jobset is not None
    built = job.jobset.plain()
    assert isinstance(built, dict)
    assert {"metadata": built["metadata"], "spec": built["spec"]} == spec


@pytest.mark.parametrize("case", [pytest.param(c, id=c["name"]) for c in RECORDED if c["spec"].get("2.2")])
def test_every_field_of_the_jobset_leads_to_the_files(case: dict[str, Any]) -> None:
    job = resolved(case["objects"], "2.2")
    assert job.jobset is not None
    trainjob, runtime = job.trainjob, job.runtime
    assert trainjob is not None and runtime is not None
    roots = (trainjob.root, runtime.root)
    for node in job.jobset.walk():
        top: Node = node.source
        while top.parent is not None:
            top = top.parent
        assert any(top is root for root in roots), node
        if isinstance(node, Mapping | Sequence):
            for below in node.fields.values() if isinstance(node, Mapping) else node.items:
                assert below.parent is node


def test_reasons_stand_at_the_users_own_lines() -> None:
    for case in RECORDED:
        job = resolved(case["objects"], "2.2")
        for reason in job.reasons:
            assert reason.node.origin is None and reason.node.doc is not None, (case["name"], reason.message)
            assert reason.message.endswith(".") and "\n" not in reason.message, reason.message
