"""The GitHub Action: its steps run as a runner runs them, with the inputs in the environment."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = YAML(typ="safe").load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = ACTION["runs"]["steps"]
EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")
FAULTY = """apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata:
  name: torch
  labels: {trainer.kubeflow.org/framework: torch}
spec:
  mlPolicy: {numNodes: 2, torch: {}}
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
                      image: registry.example.com/trainer:1
"""
CLEAN = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"


class Ran(NamedTuple):
    """What a step left."""

    code: int
    log: str
    outputs: dict[str, str]
    summary: str


class Runner:
    """A job's folders, and the steps of the action run in them."""

    def __init__(self, home: Path) -> None:
        self.workspace = home / "work space"
        self.temp = home / "temp"
        self.outputs = home / "outputs"
        self.summary = home / "summary"
        for folder in (self.workspace, self.temp):
            folder.mkdir()
        for file in (self.outputs, self.summary):
            file.touch()
        subprocess.run(["git", "init", "-q"], cwd=self.workspace, check=True)

    def installed(self) -> Runner:
        """As if the first step had run, with the fabriclint of this tree."""
        folder = self.temp / "fabriclint" / "bin"
        folder.mkdir(parents=True)
        (folder / "fabriclint").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m fabriclint "$@"\n')
        (folder / "fabriclint").chmod(0o755)
        return self

    def step(self, number: int, **inputs: str) -> Ran:
        """Run a step as a runner does: expressions into the environment, the script in a file of its own."""
        step = STEPS[number]
        values = {f"inputs.{k}": v.get("default", "") for k, v in ACTION["inputs"].items()}
        values.update({f"inputs.{k.replace('_', '-')}": v for k, v in inputs.items()})
        values["github.action_path"] = str(ROOT)
        script = self.temp / f"step{number}.sh"
        script.write_text(step["run"])
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("GITHUB_", "FORCE_COLOR", "PYTEST"))}
        environment = {
            **kept,
            "RUNNER_TEMP": str(self.temp),
            "GITHUB_OUTPUT": str(self.outputs),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "GITHUB_ACTIONS": "true",
            "CI": "true",
            **{k: EXPRESSION.sub(lambda m: values[m[1]], v) for k, v in step.get("env", {}).items()},
        }
        ran = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)],
            cwd=self.workspace, env=environment, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        outputs = dict(line.split("=", 1) for line in self.outputs.read_text().splitlines())
        return Ran(ran.returncode, ran.stdout, outputs, self.summary.read_text())


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


def test_every_step_names_its_shell_and_takes_no_input_into_its_script() -> None:
    assert ACTION["runs"]["using"] == "composite"
    for step in STEPS:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"]
        assert "uses" not in step


def test_every_input_and_output_is_described_and_used() -> None:
    assert set(ACTION["inputs"]) == {"paths", "args", "version", "sarif-file", "fail-on"}
    used = {m for step in STEPS for v in step.get("env", {}).values() for m in EXPRESSION.findall(v)}
    assert {f"inputs.{name}" for name in ACTION["inputs"]} <= used
    for described in (*ACTION["inputs"].values(), *ACTION["outputs"].values()):
        assert described["description"].endswith(".")


def test_findings_fail_the_step_after_everything_is_written(runner: Runner) -> None:
    (runner.workspace / "runtime.yaml").write_text(FAULTY)
    ran = runner.installed().step(1, sarif_file="out/fabric.sarif")
    assert ran.code == 1
    assert ran.outputs == {"exit-code": "1", "sarif-file": "out/fabric.sarif"}
    assert "runtime.yaml:11:17: warning[TRN005]" in ran.log
    assert "\n::warning file=runtime.yaml,line=11,endLine=11,col=17,endColumn=21,title=TRN005" in ran.log
    assert "| `runtime.yaml:11` | warning |" in ran.summary
    sarif = json.loads((runner.workspace / "out/fabric.sarif").read_text())
    assert [r["ruleId"] for r in sarif["runs"][0]["results"]] == ["TRN005"]
    assert sarif["runs"][0]["invocations"][0]["exitCode"] == 1


def test_a_clean_tree_passes_and_says_so(runner: Runner) -> None:
    (runner.workspace / "a.yaml").write_text(CLEAN)
    ran = runner.installed().step(1)
    assert ran.code == 0
    assert ran.outputs == {"exit-code": "0"}
    assert "0 errors, 0 warnings" in ran.summary
    assert "::warning" not in ran.log


@pytest.mark.parametrize(("fail_on", "code"), [("error", 0), ("warning", 1), ("note", 1), ("never", 0)])
def test_fail_on_decides_the_exit_code(runner: Runner, fail_on: str, code: int) -> None:
    (runner.workspace / "runtime.yaml").write_text(FAULTY)
    ran = runner.installed().step(1, fail_on=fail_on)
    assert ran.code == code
    assert "TRN005" in ran.log


def test_a_wrong_option_is_2_with_its_sentence(runner: Runner) -> None:
    ran = runner.installed().step(1, args="--select NOPE999")
    assert ran.code == 2
    assert ran.outputs == {"exit-code": "2"}
    assert "There is no rule 'NOPE999'" in ran.log


def test_a_wrong_fail_on_is_2(runner: Runner) -> None:
    assert runner.installed().step(1, fail_on="fatal").code == 2


def test_paths_are_lines_and_may_hold_blanks(runner: Runner) -> None:
    for name in ("one two", "three", "other"):
        (runner.workspace / name).mkdir()
        (runner.workspace / name / "a.yaml").write_text(FAULTY.replace("name: torch", f"name: {name.split()[0]}"))
    ran = runner.installed().step(1, paths="one two\r\nthree\n\n", args="--ignore DOC\n  --output-format concise")
    assert sorted(set(re.findall(r"^([^:\n]+)/a\.yaml:", ran.log, re.M))) == ["one two", "three"]


def test_what_a_manifest_holds_is_no_command_to_the_runner(runner: Runner) -> None:
    (runner.workspace / "a.yaml").write_text(FAULTY.replace("name: torch", 'name: "$(touch owned)::error::x"'))
    ran = runner.installed().step(1, paths="a.yaml\n$(touch owned)\n`touch owned`")
    assert not (runner.workspace / "owned").exists()
    token = re.search(r"^::stop-commands::(\S+)$", ran.log, re.M)
    assert token is not None
    log, _, after = ran.log.partition(f"\n::{token[1]}::\n")
    assert "a.yaml:11:17" in log
    assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in after.splitlines())


def test_an_inputs_version_is_no_option_of_pip(runner: Runner) -> None:
    ran = runner.step(0, version="--index-url=x")
    assert ran.code == 2
    assert "is a release such as" in ran.log


@pytest.mark.skipif(
    os.environ.get("FABRICLINT_REQUIRE_TOOLS") != "1",
    reason="installs fabriclint from this tree with the package index; FABRICLINT_REQUIRE_TOOLS=1 runs it",
)
def test_both_steps_as_a_workflow_runs_them(runner: Runner) -> None:
    (runner.workspace / "runtime.yaml").write_text(FAULTY)
    made = runner.step(0)
    assert made.code == 0, made.log
    assert made.log.startswith("fabriclint ")
    ran = runner.step(1)
    assert ran.code == 1
    assert "TRN005" in ran.log
