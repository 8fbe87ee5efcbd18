"""The rules held against the recorded outcomes: what any stage refuses is an error, what all accept is not called refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from recorded_cases import RECORDED

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.report.model import ReportedFinding, ReportOptions

#: Codes that say that something is refused.
REFUSED = {
    "TRN001", "TRN002", "TRN003", "TRN004", "TRN009", "TRN011", "TRN014", "TRN016", "TRN017", "TRN018", "TRN019", "TRN022",
    "TRN027", "TRN029", "TRN031", "TRN033", "TRN034", "TRN035", "TRN036", "DOC005", "DOC012", "POD006", "POD010",
}  # fmt: skip
#: A runtime that is not in view is unknown to check, not missing.
UNSEEN = {"missing runtime"}


def errors(objects: list[Any], release: str) -> list[ReportedFinding]:
    text = "\n---\n".join(json.dumps(o, indent=1) for o in objects)
    settings = Settings(isolated=True, trainer_version=(("*", release),))
    result = lint([], settings, stdin=("case.json", text.encode()))
    assert [n.message for n in result.notes if n.code == "internal-error"] == []
    return [f for f in assemble(result, settings, ReportOptions()).findings if f.severity == "error"]


@pytest.mark.parametrize("release", ["2.2", "2.3"])
@pytest.mark.parametrize("case", [pytest.param(c, id=c["name"]) for c in RECORDED])
def test_what_is_refused_anywhere_is_an_error_and_what_is_accepted_is_not(case: dict[str, Any], release: str) -> None:
    found = errors(case["objects"], release)
    verdict, jobset, jobs = case["outcome"][release]
    refused = not verdict.startswith("accepted") or verdict == "accepted-not-built" or "rejected" in (jobset, jobs)
    if refused:
        assert found or case["name"] in UNSEEN
    else:
        assert [f.code for f in found if f.code in REFUSED] == []


@pytest.mark.parametrize(
    "case", [pytest.param(c, id=c["name"]) for c in RECORDED if c["outcome"]["2.2"][0] == "rejected"]
)
def test_one_reason_is_one_finding(case: dict[str, Any]) -> None:
    found = [f for f in errors(case["objects"], "2.2") if f.code in REFUSED]
    lines = [f.region.line for f in found]
    assert len(lines) == len(set(lines)), [(f.code, f.region.line) for f in found]
