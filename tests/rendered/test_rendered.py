"""Rendered streams: findings stand in the template or the base where its line is certain, else in the stream."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
TEMPLATE = """{{- if .Values.enabled }}
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata:
  name: {{ .Release.Name }}-torch
  labels: {trainer.kubeflow.org/framework: torch}
spec:
  mlPolicy: {numNodes: {{ .Values.nodes }}, torch: {}}
  template:
    spec:
      replicatedJobs:
        - name: node
          template:
            spec:
              template:
                spec:
                  containers:
                    - name: node
                      image: {{ .Values.image }}
                      env:
                        - name: MODE
                          value: 1
                        {{- range .Values.more }}
                        - name: {{ . }}
                          value: 2
                        {{- end }}
{{- end }}
"""
VALUES = "enabled: true\nnodes: 2\nimage: registry.example.com/trainer:1\nmore: [A, B]\n"
PLAIN = """apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  labels:
    level: 3
"""


class Ran(NamedTuple):
    """Places of the findings, the whole report, and stderr."""

    places: list[tuple[str, str, int, int]]
    report: dict[str, Any]
    err: str


def check(folder: Path, stream: str, *arguments: str) -> Ran:
    ran = subprocess.run(
        [sys.executable, "-m", "fabriclint", "check", "-o", "json", *(arguments or ("-",))],
        cwd=folder, input=stream.encode(), capture_output=True, check=False,
    )  # fmt: skip
    assert ran.returncode in (0, 1), ran.stderr
    report = json.loads(ran.stdout)
    places = [(f["code"], f["path"], f["line"], f["column"]) for f in report["findings"] if f["severity"] != "note"]
    return Ran(places, report, ran.stderr.decode())


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    """A repository with a chart `training` in `deploy/chart`."""
    (tmp_path / ".git").mkdir()
    made = tmp_path / "deploy" / "chart"
    (made / "templates").mkdir(parents=True)
    (made / "Chart.yaml").write_text("apiVersion: v2\nname: training\nversion: 0.1.0\n")
    (made / "values.yaml").write_text(VALUES)
    (made / "templates" / "runtime.yaml").write_text(TEMPLATE)
    (made / "templates" / "plain.yaml").write_text(PLAIN)
    (made / "templates" / "_helpers.tpl").write_text('{{- define "x" }}{{ end }}\n')
    return tmp_path


def line_of(text: str, words: str) -> int:
    return next(n for n, line in enumerate(text.split("\n"), 1) if words in line)


RENDERED = TEMPLATE.split("\n", 1)[1].split("                        {{- range", maxsplit=1)[0]
RENDERED = RENDERED.replace("{{ .Release.Name }}", "x").replace("{{ .Values.nodes }}", "2")
RENDERED = RENDERED.replace("{{ .Values.image }}", "registry.example.com/trainer:1") + (
    "                        - name: A\n                          value: 2\n"
    "                        - name: B\n                          value: 2\n"
)
STREAM = (
    f"---\n# Source: training/templates/plain.yaml\n{PLAIN}---\n# Source: training/templates/runtime.yaml\n{RENDERED}"
)
RUNTIME = "deploy/chart/templates/runtime.yaml"


def test_findings_stand_in_the_template_where_its_line_is_certain(chart: Path) -> None:
    ran = check(chart, STREAM)
    assert ran.places == [
        ("DOC008", "deploy/chart/templates/plain.yaml", 6, 12),
        ("TRN005", RUNTIME, line_of(TEMPLATE, "- name: node"), 17),
        ("DOC008", RUNTIME, line_of(TEMPLATE, "value: 1"), 34),
        # One line of the template, rendered twice: one finding.
        ("DOC008", RUNTIME, line_of(TEMPLATE, "value: 2"), 34),
    ]


def test_what_is_rendered_is_not_mended_in_the_template(chart: Path) -> None:
    fixes = [f["fix"] for f in check(chart, STREAM).report["findings"] if f["path"] == RUNTIME]
    assert fixes == [None, None, None]


def test_without_the_template_the_finding_stays_in_the_stream(tmp_path: Path) -> None:
    assert {path for _, path, _, _ in check(tmp_path, STREAM, "-", "--stdin-filename", "all.yaml").places} == {
        "all.yaml"
    }


def test_isolated_reads_no_template(chart: Path) -> None:
    assert {path for _, path, _, _ in check(chart, STREAM, "-", "--isolated").places} == {"stdin"}


def test_a_rendered_file_is_its_own_place(chart: Path) -> None:
    (chart / "all.yaml").write_text(STREAM)
    assert {path for _, path, _, _ in check(chart, "", "all.yaml").places} == {"all.yaml"}


def test_of_two_charts_the_named_one_counts_and_of_two_alike_none(chart: Path) -> None:
    other = chart / "other"
    shutil.copytree(chart / "deploy" / "chart", other)
    (other / "Chart.yaml").write_text("name: another\n")
    assert check(chart, STREAM).places[0][1] == "deploy/chart/templates/plain.yaml"
    (other / "Chart.yaml").write_text("name: training\n")
    assert check(chart, STREAM).places[0][1] == "stdin"


def test_a_subcharts_template_is_found(chart: Path) -> None:
    inner = chart / "deploy" / "chart" / "charts" / "sub"
    (inner / "templates").mkdir(parents=True)
    (inner / "templates" / "x.yaml").write_text("# more\n" + PLAIN)
    stream = f"---\n# Source: training/charts/sub/templates/x.yaml\n{PLAIN}"
    assert check(chart, stream).places == [("DOC008", "deploy/chart/charts/sub/templates/x.yaml", 7, 12)]


def test_a_template_with_windows_line_breaks_and_another_indentation_is_found(chart: Path) -> None:
    path = chart / "deploy/chart/templates/plain.yaml"
    path.write_bytes(("{{- define }}\n" + PLAIN.replace("\n  ", "\n    ")).replace("\n", "\r\n").encode())
    assert check(chart, STREAM).places[0] == ("DOC008", "deploy/chart/templates/plain.yaml", 7, 14)


def test_a_line_that_stands_twice_in_the_template_stays_in_the_stream(chart: Path) -> None:
    path = chart / "deploy/chart/templates/plain.yaml"
    path.write_text("{{ if a }}\n    level: 3\n{{ else }}\n    level: 3\n{{ end }}\n")
    assert {path for _, path, _, _ in check(chart, STREAM).places} == {RUNTIME, "stdin"}


def test_raw_templates_are_skipped_with_a_notification(chart: Path) -> None:
    report = check(chart, "", "deploy").report
    assert [(n["code"], n["path"]) for n in report["notifications"]] == [("skipped-template", RUNTIME)]
    assert [f["path"] for f in report["findings"]] == ["deploy/chart/templates/plain.yaml"]


def tool(name: str) -> str:
    script = ROOT / "tests" / "tools" / "install_go_tools.sh"
    required = os.environ.get("FABRICLINT_REQUIRE_TOOLS") == "1"
    if not required:
        pytest.skip(f"{name} is built from its source; FABRICLINT_REQUIRE_TOOLS=1 does it")
    made = subprocess.run(["sh", str(script)], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr[-2000:]
    return f"{made.stdout.strip()}/{name}"


def output_of(*command: str, cwd: Path) -> str:
    ran = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_the_real_helm(chart: Path) -> None:
    stream = output_of(tool("helm"), "template", "x", "deploy/chart", cwd=chart)
    places = check(chart, stream).places
    assert places == [
        ("DOC008", "deploy/chart/templates/plain.yaml", 6, 12),
        ("TRN005", RUNTIME, line_of(TEMPLATE, "- name: node"), 17),
        ("DOC008", RUNTIME, line_of(TEMPLATE, "value: 1"), 34),
        ("DOC008", RUNTIME, line_of(TEMPLATE, "value: 2"), 34),
    ]


def kustomized(folder: Path, more: str = "") -> None:
    (folder / ".git").mkdir(exist_ok=True)
    (folder / "base").mkdir()
    (folder / "overlay").mkdir()
    (folder / "base" / "settings.yaml").write_text("# about it\n" + PLAIN)
    (folder / "base" / "kustomization.yaml").write_text("resources: [settings.yaml]\n")
    (folder / "overlay" / "kustomization.yaml").write_text(f"resources: [../base]\nnamePrefix: my-\n{more}")


def test_the_real_kustomize_without_origins_reports_in_the_stream(tmp_path: Path) -> None:
    program = tool("kustomize")
    kustomized(tmp_path)
    stream = output_of(program, "build", "overlay", cwd=tmp_path)
    (place,) = check(tmp_path, stream).places
    assert place[:2] == ("DOC008", "stdin")


def test_the_real_kustomize_with_origins_reports_in_the_base(tmp_path: Path) -> None:
    program = tool("kustomize")
    kustomized(tmp_path, "buildMetadata: [originAnnotations]\n")
    stream = output_of(program, "build", "overlay", cwd=tmp_path)
    assert check(tmp_path, stream).places == [("DOC008", "base/settings.yaml", 7, 12)]
