"""Groups against what the real operators built: counts, host names and every variable; and what they refused.

tests/data/group/recorded.jsonl holds one recorded case a line: the manifest, and per role how many pods were made, the
first and the last host name, and the env of the first container (null where it differs, has no value, or stands twice).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabriclint.assemble import assemble
from fabriclint.cli.explain import as_json
from fabriclint.config import Settings
from fabriclint.engine import builtin_pack, lint
from fabriclint.explain import explain
from fabriclint.report.model import ReportOptions

TABLE = Path(__file__).parent.parent / "data" / "group" / "recorded.jsonl"
CASES = [json.loads(line) for line in TABLE.read_text(encoding="utf-8").splitlines()]
BUILT = [c for c in CASES if "refused" not in c]
REFUSED = [c for c in CASES if "refused" in c]
#: What only the cluster knows.
BEYOND_FILES = {"volcano-job/038-queue-closed"}
#: The first pass makes a pod that the next one deletes again; the group is what remains.
FIRST_PASS_ONLY = {"jaxjob/004-replicas-zero", "xgboostjob/006-worker-zero"}
#: Which rule answers for what an operator, its webhook or its schema refuses: kind, then case and code.
ANSWERS = """
pytorchjob 004 DOC005, 008 RUN016, 012 RUN007, 022 RUN016, 034 RUN016, 038 RUN015, 040 RUN015, 042 RUN015, 044 RUN016, 046 DOC005, 050 RUN016, 052 DOC005, 054 POD010, 062 DOC012
tfjob 006 RUN007, 014 DOC005, 016 RUN015
jaxjob 006 RUN016
xgboostjob 004 RUN016
mpijob-v1 008 RUN016
mpijob 014 RUN016, 016 RUN016, 030 RUN016, 034 RUN015, 036 RUN015, 040 DOC007, 044 RUN016, 046 POD006
leaderworkerset 014 RUN016, 020 RUN016, 030 RUN015, 032 RUN015, 034 DOC005, 044 DOC012
ray 006 POD006, 038 RUN015, 042 RUN016, 052 RUN016, 054 RUN015, 056 DOC012
volcano-job 014 RUN016, 024 DOC005, 026 RUN016, 032 RUN016, 034 DOC005, 044 RUN016, 048 POD006, 050 RUN015, 052 DOC012
jobset 008 RUN012, 012 RUN016, 018 RUN016, 020 RUN016, 030 RUN016, 034 RUN016, 038 DOC012, 040 RUN015, 042 RUN015, 046 DOC007, 048 POD006
"""
ANSWER = {
    (kind, case): code
    for kind, _, cases in (line.partition(" ") for line in ANSWERS.strip().split("\n"))
    for case, code in (pair.split() for pair in cases.split(", "))
}


def told(manifest: dict[str, Any]) -> dict[str, Any]:
    settings = Settings(isolated=True)
    text = json.dumps(manifest).encode()
    made = explain(
        lambda pack: lint([], settings, stdin=("job.json", text), pack=pack),
        builtin_pack(),
        settings,
        lambda done: assemble(done, settings, ReportOptions()),
    )
    return json.loads(as_json(made))


def role_of(groups: list[dict[str, Any]], role: str, hosts: list[str]) -> dict[str, Any] | None:
    by_host = next((g for g in groups if set(g["hosts"]) & set(hosts)), None)
    return by_host or next((g for g in groups if g["role"].lower() == role), None)


@pytest.mark.parametrize("case", BUILT, ids=lambda c: c["case"])
def test_a_group_is_what_the_operator_built(case: dict[str, Any]) -> None:
    groups = [g for w in told(case["manifest"])["workloads"] for g in w["groups"]]
    for role, recorded in case["roles"].items():
        group = role_of(groups, role, recorded.get("hosts", []))
        assert group is not None, role
        if case["case"] in FIRST_PASS_ONLY and group["pods"] == 0:
            continue
        if recorded["pods"] is not None:
            assert group["pods"] == recorded["pods"]
        if recorded.get("hosts") and group["hosts"]:
            assert [group["hosts"][0], group["hosts"][-1]] == recorded["hosts"]
        wrong = {
            name: (group["environment"][name], value)
            for name, value in recorded["environment"].items()
            if group["environment"].get(name) is not None and group["environment"][name] != value
        }
        assert wrong == {}


def test_nearly_every_variable_of_the_operators_is_known() -> None:
    known = missing = 0
    for case in BUILT:
        groups = [g for w in told(case["manifest"])["workloads"] for g in w["groups"]]
        for role, recorded in case["roles"].items():
            group = role_of(groups, role, recorded.get("hosts", []))
            for name in recorded["environment"]:
                known += group is not None and name in group["environment"]
                missing += group is None or name not in group["environment"]
    assert known > 1000
    assert missing == 0


@pytest.mark.parametrize("case", [c for c in REFUSED if c["case"] not in BEYOND_FILES], ids=lambda c: c["case"])
def test_what_an_operator_refuses_is_an_error(case: dict[str, Any]) -> None:
    settings = Settings(isolated=True)
    result = lint([], settings, stdin=("job.json", json.dumps(case["manifest"]).encode()))
    report = assemble(result, settings, ReportOptions())
    kind, _, number = case["case"].partition("/")
    assert ANSWER[kind, number[:3]] in [f.code for f in report.findings if f.severity == "error"]


def test_every_answer_is_to_a_recorded_refusal() -> None:
    refused = {(kind, name[:3]) for kind, _, name in (c["case"].partition("/") for c in REFUSED)}
    beyond = {(kind, name[:3]) for kind, _, name in (c.partition("/") for c in BEYOND_FILES)}
    assert set(ANSWER) == refused - beyond


@pytest.mark.parametrize("case", BUILT, ids=lambda c: c["case"])
def test_what_an_operator_builds_is_not_called_refused(case: dict[str, Any]) -> None:
    settings = Settings(isolated=True, select=("RUN007", "RUN015", "RUN016"))
    result = lint([], settings, stdin=("job.json", json.dumps(case["manifest"]).encode()))
    assert [f.message for f in result.findings if f.severity is not None and f.severity.value == "error"] == []
