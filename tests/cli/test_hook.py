"""The pre-commit hook's manifest, read by pre-commit's own loader, and what the hook passes."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_manifest_is_one_that_pre_commit_accepts():
    clientlib = pytest.importorskip("pre_commit.clientlib")
    hooks = clientlib.load_manifest(ROOT / ".pre-commit-hooks.yaml")
    assert [h["id"] for h in hooks] == ["fabriclint", "fabriclint-fix"]
    for hook in hooks:
        assert hook["types_or"] == ["yaml", "json"]
        assert hook["require_serial"] is True
        assert hook["pass_filenames"] is True
        assert hook["entry"].startswith("fabriclint check")


def test_findings_do_not_depend_on_which_names_a_hook_passes(fabriclint, tmp_path, faulty_text):
    (tmp_path / "platform").mkdir()
    runtime = (
        faulty_text.replace(
            "          template:\n            spec:\n",
            "          template:\n            metadata:\n              labels:\n"
            "                trainer.kubeflow.org/trainjob-ancestor-step: trainer\n            spec:\n",
        )
        + "                      resources:\n                        limits:\n                          nvidia.com/gpu: 8\n"
    )
    (tmp_path / "platform" / "runtime.yaml").write_text(runtime)
    (tmp_path / "job.yaml").write_text(
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata:\n  name: job\nspec:\n"
        "  runtimeRef:\n    apiGroup: trainer.kubeflow.org\n    kind: TrainingRuntime\n    name: faulty\n"
        "  trainer:\n    numNodes: 2\n    resourcesPerNode:\n      limits:\n        vpc.amazonaws.com/efa: 32\n"
    )

    def of_the_job(*paths):
        lines = fabriclint("check", "-o", "concise", *paths).out.splitlines()
        return [line for line in lines if line.startswith("job.yaml:")]

    both = of_the_job("job.yaml", "platform/runtime.yaml")
    assert any("TRN006" in line for line in both)
    assert of_the_job("job.yaml") == both
    assert of_the_job(".") == both
