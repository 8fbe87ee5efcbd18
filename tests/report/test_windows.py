"""Windows: line ends in manifests, and backslashes in names."""

from __future__ import annotations

import io
import json
import sys

import pytest

from fabriclint.cli.front import run

POD = (
    "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  containers:\n    - name: a\n      image: registry.example.com/a:1\n"
    "      env:\n        - name: É\n          value: 1\n"
)


def report(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str, form: str, name: str) -> str:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    run(["check", "-", "--isolated", "--stdin-filename", name, "-o", form])
    return capsys.readouterr().out


@pytest.mark.parametrize("form", ["concise", "json", "sarif", "github", "gitlab", "junit", "markdown", "text"])
def test_line_ends_change_no_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    unix = report(monkeypatch, capsys, POD, form, "a.yaml")
    windows = report(monkeypatch, capsys, POD.replace("\n", "\r\n"), form, "a.yaml")
    assert "DOC008" in unix
    assert windows == unix
    assert "\r" not in windows


def test_backslashes_in_a_name_are_slashes_in_reports(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = json.loads(report(monkeypatch, capsys, POD, "json", "k8s\\team\\a.yaml"))["findings"]
    assert {f["path"] for f in found} == {"k8s/team/a.yaml"}
