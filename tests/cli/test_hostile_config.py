"""Configurations with any value at any key: one sentence with file and line and 2, or a run."""

from __future__ import annotations

import json

import pytest

KEYS = (
    "extend", "select", "ignore", "extend-select", "severity", "per-file-ignores", "exclude", "reference-paths", "packs",
    "fabric", "contract", "trainer-version", "kubernetes-version", "profiles", "cluster", "baseline", "output",
)  # fmt: skip
VALUES = (
    "null", "''", "[]", "{}", "1", "1e400", ".nan", "true", "x", "[1]", "[null]", "[[a]]", "{a: b}", "{1: 2}", "{a: [1]}",
    "{a: {b: c}}", "{null: null}", "'" + "a" * 9999 + "'", "2026-01-01", "!!binary aGk=", "!x y", "|\n  x\n  y\n",
    '"\\0"', '["\\0"]', '{a: "\\0"}', "/", "'*'", "['[']", "{'[': gke-tcpxo}", "{'x/*': '2.2', '*': '2.9'}",
)  # fmt: skip


@pytest.mark.parametrize("key", KEYS)
def test_any_value_is_a_sentence_or_a_run(fabriclint, faulty, tmp_path, key):
    for value in VALUES:
        (tmp_path / ".fabriclint.yaml").write_text(f"{key}: {value}\n")
        ran = fabriclint("check", "-o", "concise")
        assert ran.code in (0, 1, 2), value[:40]
        if ran.code == 2:
            assert ran.err.count("\n") == 1, value[:40]
            assert len(ran.err) < 1200, value[:40]
            assert str(tmp_path) not in ran.err


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("select: [TRN]\n---\nignore: [TRN]\n", 2, "it is one document"),
        ("select: [TRN]\n...\n# why\nignore: [TRN]\n", 4, "it is one document"),
        ('cluster: "a\\0b"\n', 1, "U+0000"),
    ],
)
def test_what_would_be_left_out_is_said(fabriclint, tmp_path, text, line, words):
    (tmp_path / ".fabriclint.yaml").write_text(text)
    ran = fabriclint("config", "check")
    assert ran.code == 2
    assert ran.err.startswith(f"fabriclint: .fabriclint.yaml:{line}: ")
    assert words in ran.err


def test_a_document_may_end_with_its_marker(fabriclint, tmp_path):
    (tmp_path / ".fabriclint.yaml").write_text("---\nselect: [TRN]\n...\n# nothing more\n")
    assert fabriclint("config", "check").code == 0


@pytest.mark.parametrize("text", ["tool.fabriclint.select = ['NOPE']", "tool = {fabriclint = {select = ['NOPE']}}"])
def test_a_table_is_found_however_it_is_written(fabriclint, tmp_path, text):
    (tmp_path / "pyproject.toml").write_text(text)
    assert "pyproject.toml:1: There is no rule 'NOPE'" in fabriclint("check").err


def test_a_table_in_a_comment_is_none(fabriclint, tmp_path):
    (tmp_path / "pyproject.toml").write_text("# [tool.fabriclint]\n")
    assert "no configuration file" in fabriclint("config", "show").out


def test_reports_name_a_snapshot_and_a_baseline_as_the_configuration_does(fabriclint, faulty, tmp_path):
    (tmp_path / ".fabriclint.yaml").write_text("cluster: gone.json\n")
    report = json.loads(fabriclint("check", "-o", "json").out)
    assert [n["message"] for n in report["notifications"]] == [
        "The snapshot 'gone.json' cannot be read: No such file or directory."
    ]
    (tmp_path / ".fabriclint.yaml").write_text("baseline: kept.json\n")
    assert fabriclint("baseline", "create").code == 0
    faulty.unlink()
    (tmp_path / "other.yaml").write_text("a: 1\n")
    report = json.loads(fabriclint("check", "-o", "json").out)
    assert [n["path"] for n in report["notifications"]] == ["kept.json"]
