"""A container whose controller names it is called by that name; no sentence shows an empty name."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabriclint.cli.check import Options, read_report

STEP = """\
apiVersion: argoproj.io/v1alpha1
kind: {kind}
metadata:
  name: nightly
spec:
  entrypoint: tune
  templates:
    - name: tune
      {part}:
        image: registry.example/tuner:2
        command: [torchrun, --nproc-per-node=8, tune.py]
        resources:
          limits:
            nvidia.com/gpu: "8"
"""


@pytest.mark.parametrize("kind", ["Workflow", "WorkflowTemplate", "ClusterWorkflowTemplate"])
@pytest.mark.parametrize("part", ["container", "script"])
def test_a_step_is_called_main(tmp_path: Path, kind: str, part: str) -> None:
    path = tmp_path / "workflow.yaml"
    path.write_text(STEP.format(kind=kind, part=part))
    report = read_report(Options(paths=(str(path),), isolated=True))
    messages = [f.message for f in report.findings if f.code == "POD001"]
    assert len(messages) == 1
    assert "'main'" in messages[0]
    assert not [f.message for f in report.findings if "''" in f.message]
