"""A new repository, by the README alone: a failing pre-commit run, a mended one that passes, and SARIF to upload.

The hook is installed by the real pre-commit from a clone of this tree, so it needs the package index.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PLACE = "<where you cloned fabriclint from>"
COMMIT = "<a commit of it>"
#: What a clone holds that an installation needs.
TREE = (
    "linter", "rules", "schemas", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", ".pre-commit-hooks.yaml",
)  # fmt: skip
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
        - name: node  # the workers
          template:
            spec:
              template:
                spec:
                  containers:
                    - name: node
                      image: registry.example.com/trainer:1
"""


def block(after: str, beginning: str) -> str:
    """The first fenced YAML block below a heading that begins so."""
    section = README[README.index(after) :]
    found = re.search(r"```yaml\n(" + re.escape(beginning) + r".*?)```", section, re.DOTALL)
    assert found is not None, f"the README has no YAML block that begins with {beginning!r} below {after!r}"
    return found[1]


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"]
    return subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This tree as a repository of one commit, as one would clone it."""
    made = tmp_path_factory.mktemp("fabriclint")
    for name in TREE:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, made / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(source, made / name)
    git(made, "init", "-q")
    git(made, "add", "-A")
    git(made, "commit", "-q", "-m", "fabriclint")
    return made


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A new repository with one faulty manifest."""
    (tmp_path / "k8s").mkdir()
    (tmp_path / "k8s" / "runtime.yaml").write_text(FAULTY)
    git(tmp_path, "init", "-q")
    return tmp_path


def test_the_readmes_hooks_are_in_the_manifest() -> None:
    hooks = YAML(typ="safe").load(block("### In pre-commit", "repos:"))["repos"][0]["hooks"]
    ids = {h["id"] for h in YAML(typ="safe").load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    assert {h["id"] for h in hooks} <= ids


@pytest.mark.skipif(
    os.environ.get("FABRICLINT_REQUIRE_TOOLS") != "1",
    reason="installs fabriclint from the package index with pre-commit; FABRICLINT_REQUIRE_TOOLS=1 runs it",
)
def test_the_readmes_steps_lead_to_a_failing_and_then_a_passing_hook(
    clone: Path, repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    commit = git(clone, "rev-parse", "HEAD").strip()
    config = block("### In pre-commit", "repos:").replace(PLACE, clone.as_posix()).replace(COMMIT, commit)
    (repository / ".pre-commit-config.yaml").write_text(config)
    git(repository, "add", "-A")
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "PYTEST"))}
    environment = {**plain, "PRE_COMMIT_HOME": str(tmp_path_factory.mktemp("pre-commit"))}

    def hook(*arguments: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "pre_commit", "run", "--all-files", "--color", "never", *arguments]
        ran = subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True, check=False)
        return ran.returncode, ran.stdout + ran.stderr

    code, said = hook()
    assert code == 1, said
    assert "k8s/runtime.yaml:11:17: warning[TRN005]" in said
    assert (repository / "k8s/runtime.yaml").read_text() == FAULTY

    mending = config.replace("- id: fabriclint\n", "- id: fabriclint-fix\n")
    assert mending != config
    (repository / ".pre-commit-config.yaml").write_text(mending)
    git(repository, "add", "-A")
    code, said = hook()
    assert code == 1, said
    assert "files were modified by this hook" in said
    mended = (repository / "k8s/runtime.yaml").read_text()
    assert "trainjob-ancestor-step: trainer" in mended
    assert "name: node  # the workers" in mended

    git(repository, "add", "-A")
    (repository / ".pre-commit-config.yaml").write_text(config)
    git(repository, "add", "-A")
    code, said = hook()
    assert code == 0, said
    git(repository, "commit", "-q", "-m", "A mended runtime")


def test_the_readmes_workflow_writes_sarif_that_can_be_uploaded(repository: Path) -> None:
    workflow = YAML(typ="safe").load(block("### In code scanning", "name:"))
    steps = next(iter(workflow["jobs"].values()))["steps"]
    commands = [s["run"] for s in steps if "run" in s and not s["run"].startswith("pip install")]
    uploads = [s["with"]["sarif_file"] for s in steps if "upload-sarif" in s.get("uses", "")]
    assert uploads, "no step uploads SARIF"
    shims = repository / ".bin"
    shims.mkdir()
    (shims / "fabriclint").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m fabriclint "$@"\n')
    (shims / "fabriclint").chmod(0o755)
    environment = {**os.environ, "PATH": f"{shims}{os.pathsep}{os.environ['PATH']}"}
    ran = [
        subprocess.run(["bash", "-e", "-c", c], cwd=repository, env=environment, capture_output=True, check=False)
        for c in commands
    ]
    if not commands:
        pytest.skip("the README's workflow uses the action, which has tests of its own")
    assert [r.returncode for r in ran] == [1] * len(commands)
    run = json.loads((repository / uploads[0]).read_text())["runs"][0]
    assert [
        (r["ruleId"], r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]) for r in run["results"]
    ] == [("TRN005", "k8s/runtime.yaml")]
