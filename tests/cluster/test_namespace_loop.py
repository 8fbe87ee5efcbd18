"""The loop for one namespace: it asks in that namespace, and says when none is given."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from fabriclint.cluster.command import snapshot_command

PAGE = Path(__file__).parents[2] / "docs" / "cluster.md"


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    """A kubectl that writes down what it is asked."""
    tool = tmp_path / "bin" / "kubectl"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n')
    tool.chmod(0o755)
    return tmp_path / "asked"


def shell(asked: Path, command: str) -> subprocess.CompletedProcess[str]:
    (asked.parent / "loop").write_text(snapshot_command("out", namespace_only=True))
    environment = {k: v for k, v in os.environ.items() if k != "NAMESPACE"}
    environment["PATH"] = f"{asked.parent / 'bin'}{os.pathsep}{environment['PATH']}"
    return subprocess.run(
        ["sh", "-c", command], cwd=asked.parent, env=environment, capture_output=True, text=True, check=False
    )


def test_the_command_of_the_page_hands_the_namespace_on(asked: Path) -> None:
    found = re.search(r"^\$ (fabriclint cluster snapshot-command --namespace-only .*?) +#", PAGE.read_text(), re.M)
    assert found is not None
    shell(asked, found[1].replace("fabriclint cluster snapshot-command --namespace-only", "cat loop"))
    assert all(" -n ml -o json" in line for line in asked.read_text().splitlines())


def test_without_a_namespace_nothing_is_asked(asked: Path) -> None:
    ran = shell(asked, "cat loop | sh")
    assert ran.returncode != 0
    assert "NAMESPACE=name sh" in ran.stderr
    assert not asked.exists()
