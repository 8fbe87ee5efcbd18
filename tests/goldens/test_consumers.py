"""The golden files in the hands of those who read them: validators, parsers, and the way GitHub undoes its escapes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from sample import ODD, report

from fabriclint.report.model import ReportedFinding

HERE = Path(__file__).parent
SHOWN = [f for f in report().findings if f.suppressed is None]
LOUD = [f for f in SHOWN if f.severity != "note"]


def text_of(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def needed(module: str) -> Any:
    """A module that only the tests use; where the tools are required its absence is a failure."""
    if os.environ.get("FABRICLINT_REQUIRE_TOOLS") == "1":
        return __import__(module, fromlist=["_"])
    return pytest.importorskip(module)


def multitool() -> str:
    script = HERE.parent / "tools" / "install_node_tools.sh"
    made = subprocess.run(["bash", str(script)], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        if os.environ.get("FABRICLINT_REQUIRE_TOOLS") == "1":
            pytest.fail(f"The SARIF validator cannot be installed: {made.stderr[-400:]}")
        pytest.skip("node and npm, which the SARIF validator needs, are not on this machine")
    return made.stdout.strip().split("\n")[-1]


@pytest.mark.parametrize("name", ["report.sarif", "suppressed.sarif"])
def test_the_sarif_validator_has_no_error_and_no_warning(name: str, tmp_path: Path) -> None:
    tool = multitool()
    (tmp_path / name).write_bytes((HERE / name).read_bytes())
    subprocess.run(
        [tool, "validate", name, "-o", "out.sarif", "--rule-kind", "Sarif;Ghas", "--log", "ForceOverwrite",
         "--level", "Error;Warning"],
        cwd=tmp_path, check=True, capture_output=True,
    )  # fmt: skip
    out = json.loads((tmp_path / "out.sarif").read_text(encoding="utf-8-sig"))
    results = out["runs"][0].get("results", [])
    assert [(r["ruleId"], r["message"]) for r in results if r.get("level", "warning") != "note"] == []


def test_sarif_levels_are_of_the_format() -> None:
    run = json.loads(text_of("report.sarif"))["runs"][0]
    assert {r["level"] for r in run["results"]} == {"error", "warning", "note"}
    assert {n["level"] for n in run["invocations"][0]["toolExecutionNotifications"]} == {"warning", "note"}


def test_sarif_tools_read_every_result() -> None:
    loader = needed("sarif.loader")
    records = loader.load_sarif_file(str(HERE / "report.sarif")).get_records()
    assert [(r["Code"], r["Line"], r["Severity"]) for r in records] == [
        (f.code, f.region.line, f.severity) for f in SHOWN
    ]  # fmt: skip


def test_sarif_tools_count_by_severity() -> None:
    needed("sarif.loader")
    command = [sys.executable, "-m", "sarif", "--check", "error", "summary", str(HERE / "report.sarif")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 3, ran.stderr  # three errors
    assert re.search(r"error: 3", ran.stdout)
    assert re.search(r"warning: 3", ran.stdout)


def test_sarif_fixes_are_the_edits() -> None:
    results = json.loads(text_of("report.sarif"))["runs"][0]["results"]
    fixed = {r["ruleId"]: r["fixes"][0] for r in results if "fixes" in r}
    assert set(fixed) == {f.code for f in SHOWN if f.fix is not None and f.fix.edits}
    (change,) = fixed["TRN005"]["artifactChanges"]
    assert [r["insertedContent"]["text"] for r in change["replacements"]] == ["\n  labels:\n    step: trainer", "4"]
    assert change["replacements"][0]["deletedRegion"] == {
        "startLine": 3, "startColumn": 14, "endLine": 3, "endColumn": 14,
    }  # fmt: skip


@pytest.mark.parametrize(("name", "count"), [("gitlab.json", len(LOUD)), ("verbose-gitlab.json", len(SHOWN))])
def test_gitlabs_reports_have_the_shape_its_widget_reads(name: str, count: int) -> None:
    entries = json.loads(text_of(name))
    jsonschema.validate(entries, json.loads(text_of("gitlab.schema.json")))
    assert len({e["fingerprint"] for e in entries}) == len(entries) == count


def test_junit_is_valid_and_its_counts_are_right() -> None:
    etree = needed("lxml.etree")
    schema = etree.XMLSchema(etree.parse(str(HERE / "junit.xsd")))
    root = etree.parse(str(HERE / "junit.xml")).getroot()
    schema.assertValid(root)
    for suite in [root, *root.iter("testsuite")]:
        assert int(suite.get("tests")) == len(list(suite.iter("testcase")))
        assert int(suite.get("failures")) == len(list(suite.iter("failure")))
    assert int(root.get("failures")) == len(LOUD)


COMMAND = re.compile(r"::(?P<level>\w+) (?P<properties>[^:]*(?:=[^:,]*)*)::(?P<message>.*)")


def parsed(line: str) -> tuple[str, dict[str, str], str]:
    """A workflow command as the runner reads it: split first, unescaped afterwards."""
    level, _, rest = line.removeprefix("::").partition(" ")
    properties, _, message = rest.partition("::")
    pairs = dict(p.partition("=")[::2] for p in properties.split(","))
    plain = {
        k: v.replace("%0D", "\r").replace("%0A", "\n").replace("%3A", ":").replace("%2C", ",").replace("%25", "%")
        for k, v in pairs.items()
    }
    return level, plain, message.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")


def test_github_commands_come_out_as_they_went_in() -> None:
    lines = text_of("github.txt").splitlines()
    assert len(lines) == len(LOUD)
    for line, f in zip(lines, LOUD, strict=True):
        level, properties, message = parsed(line)
        assert level == f.severity
        assert properties == {
            "file": f"deploy/{f.region.path}", "line": str(f.region.line), "endLine": str(f.region.end_line),
            "col": str(f.region.column), "endColumn": str(f.region.end_column), "title": f"{f.code} {f.name}",
        }  # fmt: skip
        assert message.startswith(f"{f.region.path}:{f.region.line}: {f.message}")


def test_concise_lines_fit_a_problem_matcher() -> None:
    matcher = re.compile(r"(?P<path>.+):(?P<line>\d+):(?P<column>\d+): (?P<severity>\w+)\[(?P<code>\w+)\] (?P<text>.+)")
    found = [matcher.fullmatch(line) for line in text_of("concise.txt").splitlines()]
    assert [(m["path"], m["line"], m["code"]) for m in found if m] == [
        (f.region.path, str(f.region.line), f.code) for f in LOUD
    ]  # fmt: skip


def test_markdown_is_one_table_the_most_severe_first() -> None:
    rows = [line for line in text_of("report.md").splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {5}
    severities = [row.split("|")[2].strip() for row in rows[2:]]
    assert severities == sorted(severities)
    assert len(severities) == len(LOUD)


def test_the_text_report_underlines_what_the_region_says() -> None:
    lines = text_of("report.txt").splitlines()
    where = {f"{f.region.path}:{f.region.line}:{f.region.column}:": f for f in LOUD}
    for number, line in enumerate(lines):
        f: ReportedFinding | None = next((v for k, v in where.items() if line.startswith(k)), None)
        if f is not None and f.region.path != ODD:
            carets = lines[number + 3]
            assert carets.count("^") == f.region.end_column - f.region.column


def test_no_text_line_is_wider_than_the_terminal_where_it_shows_source() -> None:
    shown = [line for line in text_of("narrow.txt").splitlines() if re.match(r" *\d* \|", line)]
    assert shown
    assert max(map(len, shown)) <= 60
