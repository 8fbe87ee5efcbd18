"""Formats: what consumers read of one report, and that equal runs give equal bytes."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.report import FORMATS, render
from fabriclint.report.line_hash import line_hashes
from fabriclint.report.model import Report, ReportOptions

HOSTILE = """\
apiVersion: v1
kind: Pod
metadata:
  name: "näm 日本 😀"
spec:
  containers:
    - name: a
      image: <your [image] here>  # 日本
      env:
        - {name: "😀", value: 1}
        - {name: B, value: off}\r
"""


def report(text: str = HOSTILE, path: str = "dir with space/ä,b:c.yaml") -> Report:
    result = lint([], Settings(isolated=True), stdin=(path, text.encode()))
    return assemble(result, Settings(), ReportOptions(exit_code=1))


VECTORS = {
    "": ["c129715d7a2bc9a3:1"],
    " a\nb\n  \t\tc\n d": ["271789c17abda88f:1", "54703d4cd895b18:1", "180aee12dab6264:1", "a23a3dc5e078b07b:1"],
    " hello; \t\nworld!!!\n\n\n  \t\tGreetings\n End": [
        "8b7cf3e952e7aeb2:1", "b1ae1287ec4718d9:1", "bff680108adb0fcc:1", "c6805c5e1288b612:1", "b86d3392aea1be30:1",
        "e6ceba753e1a442:1",
    ],
}  # fmt: skip


@pytest.mark.parametrize("text", VECTORS)
def test_line_hashes_are_githubs(text: str) -> None:
    assert line_hashes(text) == VECTORS[text]


def test_line_hashes_do_not_depend_on_line_ends() -> None:
    text = "a\n b\n\nc\n" * 40
    assert line_hashes(text) == line_hashes(text.replace("\n", "\r\n")) == line_hashes(text.replace("\n", "\r"))


@pytest.mark.parametrize("name", FORMATS)
def test_equal_runs_give_equal_bytes(name: str) -> None:
    assert render(name, report()) == render(name, report())


def test_json_holds_the_contract() -> None:
    data = json.loads(render("json", report()))
    assert set(data) == {"version", "tool", "findings", "notifications", "summary"}
    first = data["findings"][0]
    assert [(f["code"], f["line"], f["column"]) for f in data["findings"]] == [
        ("DOC003", 8, 14), ("DOC008", 10, 30), ("DOC008", 11, 28),
    ]  # fmt: skip
    assert set(first) == {
        "code", "name", "severity", "message", "help", "url", "path", "line", "column", "end_line", "end_column",
        "object", "pointer", "fabric", "related", "fix", "fingerprint",
    }  # fmt: skip
    assert first["pointer"] == "/spec/containers/0/image"


def test_sarif_has_one_run_with_relative_encoded_uris_and_all_four_coordinates() -> None:
    data = json.loads(render("sarif", report()))
    run = data["runs"][0]
    assert run["originalUriBaseIds"] == {"%SRCROOT%": {"description": {"text": "The root of the checkout."}}}
    result = run["results"][0]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "dir%20with%20space/%C3%A4,b%3Ac.yaml"
    assert set(place["region"]) == {"startLine", "startColumn", "endLine", "endColumn"}
    assert result["level"] == "error" and run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    assert set(result["partialFingerprints"]) == {"fabriclint/v1", "primaryLocationLineHash"}


def test_github_escapes_properties_and_data() -> None:
    line = render("github", report()).split("\n")[0]
    assert line.startswith("::error file=dir with space/ä%2Cb%3Ac.yaml,line=8,endLine=8,col=14,endColumn=")


def test_junit_is_xml_and_counts_failures() -> None:
    root = ElementTree.fromstring(render("junit", report(HOSTILE.replace("image]", "image\\u0001]"))))
    assert root.get("failures") == str(len(list(root.iter("failure")))) != "0"


def test_gitlab_has_unlike_fingerprints() -> None:
    data = json.loads(render("gitlab", report()))
    assert len({d["fingerprint"] for d in data}) == len(data) == 3


def test_no_findings_still_make_valid_reports() -> None:
    empty = report("a: 1\n", "values.yaml")
    assert json.loads(render("sarif", empty))["runs"][0]["results"] == []
    assert json.loads(render("gitlab", empty)) == []
    ElementTree.fromstring(render("junit", empty))
