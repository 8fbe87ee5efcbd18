"""`check --fix`, `--unsafe-fixes`, `--diff` and `--show-fixes`: what is written, what is only shown, and the exit code."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from fabriclint.cli import fix

LABEL = """            metadata:
              labels:
                trainer.kubeflow.org/trainjob-ancestor-step: trainer
"""
AT = "          template:\n"


def labelled(text: str) -> str:
    return text.replace(AT, AT + LABEL, 1)


TWICE = """apiVersion: v1
kind: ConfigMap
metadata:
  name: a
data:
  key: first
  # about the second
  key: second
"""


def test_fix_writes_the_file_and_reports_what_is_left(fabriclint, faulty, faulty_text):
    ran = fabriclint("check", "--fix")
    assert ran.code == 0
    assert faulty.read_text() == labelled(faulty_text)
    assert "Fixed 1 finding in 1 file." in ran.out
    assert "No errors or warnings" in ran.out
    assert fabriclint("check").code == 0


def test_fixing_twice_changes_nothing_more(fabriclint, faulty):
    fabriclint("check", "--fix")
    once = faulty.read_bytes()
    ran = fabriclint("check", "--fix")
    assert faulty.read_bytes() == once
    assert "Fixed" not in ran.out


def test_show_fixes_lists_what_was_done(fabriclint, faulty):
    assert "  faulty.yaml:11: TRN005 add the label\n" in fabriclint("check", "--fix", "--show-fixes").out


def test_diff_prints_what_git_can_apply_and_writes_nothing(fabriclint, faulty, faulty_text, tmp_path):
    ran = fabriclint("check", "--diff")
    assert ran.code == 1
    assert faulty.read_text() == faulty_text
    assert ran.err == "Would fix 1 finding in 1 file.\n"
    (tmp_path / "a.patch").write_text(ran.out)
    subprocess.run(["git", "apply", "a.patch"], cwd=tmp_path, check=True)
    assert faulty.read_text() == labelled(faulty_text)


@pytest.mark.parametrize("last", ["", "\n"])
def test_a_diff_tells_a_missing_last_line_break(fabriclint, faulty, faulty_text, tmp_path, last):
    faulty.write_text(faulty_text.rstrip("\n").replace("trainer:1", "trainer:1\n  x: 1") + last)
    ran = fabriclint("check", "--diff", "--select", "TRN005")
    (tmp_path / "a.patch").write_text(ran.out)
    subprocess.run(["git", "apply", "a.patch"], cwd=tmp_path, check=True)
    assert faulty.read_text().endswith("x: 1" + last)


def test_diff_of_clean_files_is_empty_and_0(fabriclint, faulty, faulty_text):
    faulty.write_text(labelled(faulty_text))
    assert fabriclint("check", "--diff") == (0, "", "")


def test_diff_of_standard_input_is_named_as_told(fabriclint, faulty_text, monkeypatch):
    import io
    import sys

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(faulty_text.encode())))
    ran = fabriclint("check", "-", "--diff", "--stdin-filename", "k8s/job.yaml")
    assert ran.out.startswith("--- a/k8s/job.yaml\n+++ b/k8s/job.yaml\n")


def test_standard_input_cannot_be_fixed(fabriclint, monkeypatch):
    import io
    import sys

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a: 1\n")))
    ran = fabriclint("check", "-", "--fix")
    assert (ran.code, ran.out) == (2, "")
    assert "--diff" in ran.err


def test_an_unsafe_fix_waits_for_its_option(fabriclint, tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text(TWICE)
    assert "(--unsafe-fixes)" in fabriclint("check", "--fix").out
    assert path.read_text() == TWICE
    assert fabriclint("check", "--unsafe-fixes").code == 0
    assert path.read_text() == TWICE.replace("  key: first\n", "")


@pytest.mark.parametrize("form", ["json", "sarif", "github", "gitlab", "junit", "markdown", "concise"])
def test_stdout_carries_the_report_alone(fabriclint, faulty, form):
    ran = fabriclint("check", "--fix", "-o", form)
    assert "Fixed" not in ran.out
    assert ran.err == "Fixed 1 finding in 1 file.\n"


def test_json_holds_the_edits(fabriclint, faulty):
    fix = json.loads(fabriclint("check", "-o", "json").out)["findings"][0]["fix"]
    assert fix["applicability"] == "safe"
    assert fix["message"] == "add the label"
    assert fix["edits"] == [
        {"path": "faulty.yaml", "line": 13, "column": 1, "end_line": 13, "end_column": 1, "text": LABEL},
    ]  # fmt: skip


def test_suppressed_and_accepted_findings_are_not_fixed(fabriclint, faulty, faulty_text):
    fabriclint("baseline", "create")
    fabriclint("check", "--fix", "--baseline", ".fabriclint-baseline.json")
    assert faulty.read_text() == faulty_text
    text = faulty_text.replace("- name: node\n", "- name: node  # fabriclint: ignore[TRN005] not ours\n", 1)
    faulty.write_text(text)
    fabriclint("check", "--fix")
    assert faulty.read_text() == text


def test_what_is_not_selected_is_not_fixed(fabriclint, faulty, faulty_text):
    fabriclint("check", "--fix", "--ignore", "TRN005")
    assert faulty.read_text() == faulty_text


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_the_encoding_stays(fabriclint, faulty, faulty_text, encoding):
    faulty.write_bytes(faulty_text.replace("faulty", "fäulty").encode(encoding))
    fabriclint("check", "--fix")
    assert faulty.read_bytes() == labelled(faulty_text).replace("faulty", "fäulty").encode(encoding)


def test_mode_bits_and_links_stay(fabriclint, faulty, faulty_text, tmp_path):
    faulty.chmod(0o640)
    link = tmp_path / "link.yaml"
    link.symlink_to(faulty)
    fabriclint("check", "--fix", "link.yaml")
    assert link.is_symlink()
    assert faulty.read_text() == labelled(faulty_text)
    assert faulty.stat().st_mode & 0o777 == 0o640
    assert sorted(p.name for p in tmp_path.iterdir()) == [".git", "faulty.yaml", "link.yaml"]


def test_a_file_that_cannot_be_written_is_a_sentence_and_2(fabriclint, faulty, faulty_text, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copymode", full)
    ran = fabriclint("check", "--fix")
    assert ran.code == 2
    assert "'faulty.yaml' cannot be written: No space left on device." in ran.err
    assert faulty.read_text() == faulty_text


def test_a_refused_fix_says_why(fabriclint, faulty, faulty_text):
    faulty.write_text(
        faulty_text.replace(
            "        - name: node\n          template:\n", "        - name: node\n          template: &t\n"
        )
        + "  other: *t\n"
    )
    ran = fabriclint("check", "--fix", "--select", "TRN005")
    assert ran.code == 1
    assert "= fix: add the label (by hand: an alias uses the place too, and would change with it)" in ran.out


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("data: {a: b}  # fabriclint: ignore[POD003] not so\n", "data: {a: b}\n"),
        ("# fabriclint: ignore[POD003] not so\ndata: {a: b}\n", "data: {a: b}\n"),
        ("data:\n  # fabriclint: ignore[POD003, POD001] not so\n  a: b\n", "data:\n  a: b\n"),
        ("# fabriclint: ignore-file[POD003] not so\ndata: {a: b}", "data: {a: b}"),
        ("data: {a: b}\n# fabriclint: ignore-file[POD003] not so", "data: {a: b}\n"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_an_unused_suppression_is_taken_out(fabriclint, tmp_path, before, after, eol):
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
    path = tmp_path / "a.yaml"
    path.write_bytes((head + before).replace("\n", eol).encode())
    assert fabriclint("check", "--fix").code == 0
    assert path.read_bytes() == (head + after).replace("\n", eol).encode()


def test_only_the_unused_code_of_a_list_is_taken_out(fabriclint, faulty, faulty_text):
    at = "        - name: node\n"
    faulty.write_text(faulty_text.replace(at, f"        # fabriclint: ignore[TRN005, POD001] not ours\n{at}", 1))
    assert fabriclint("check", "--fix").code == 0
    assert faulty.read_text() == faulty_text.replace(at, f"        # fabriclint: ignore[TRN005] not ours\n{at}", 1)


@pytest.mark.parametrize("line", ["broken: a: b\n", "made: {{ .Values.x }}\n"])
def test_in_a_file_that_cannot_be_read_no_suppression_is_unused(fabriclint, faulty, faulty_text, line):
    text = "# fabriclint: ignore-file[POD003] not so\n" + faulty_text + line
    faulty.write_text(text)
    assert "SUP003" not in fabriclint("check", "--fix").out
    assert faulty.read_text() == text


def test_an_unused_annotation_goes_with_its_mapping(fabriclint, tmp_path):
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
    path = tmp_path / "a.yaml"
    path.write_text(head + '  annotations:\n    fabriclint.dev/ignore.POD003: "not so"\ndata: {a: b}\n')
    fabriclint("check", "--fix")
    assert path.read_text() == head + "data: {a: b}\n"
    path.write_text(head + '  annotations:\n    fabriclint.dev/ignore.POD003: "not so"\n    b: c\n')
    fabriclint("check", "--fix")
    assert path.read_text() == head + "  annotations:\n    b: c\n"


def test_files_that_were_not_given_are_not_written(fabriclint, tmp_path, faulty, faulty_text):
    (tmp_path / "job.yaml").write_text(
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: job}\nspec:\n"
        "  runtimeRef: {apiGroup: trainer.kubeflow.org, kind: TrainingRuntime, name: faulty}\n"
        "  trainer: {numNodes: 2, image: registry.example.com/other:1}\n"
    )
    fabriclint("check", "--unsafe-fixes", "job.yaml")
    assert faulty.read_text() == faulty_text


def test_a_file_and_a_link_to_it_are_one_file(fabriclint, faulty, tmp_path):
    (tmp_path / "another.yaml").symlink_to("faulty.yaml")
    assert fabriclint("check", "--diff", "another.yaml", "faulty.yaml").out.count("+++ b/") == 1
    ran = fabriclint("check", "--fix", "another.yaml", "faulty.yaml")
    assert (ran.code, ran.err) == (0, "")
    assert (tmp_path / "another.yaml").is_symlink()


def test_a_name_as_long_as_may_be_is_written(fabriclint, tmp_path, faulty_text):
    path = tmp_path / ("n" * 250 + ".yaml")
    path.write_text(faulty_text)
    assert fabriclint("check", "--fix").code == 0
    assert path.read_text() != faulty_text


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away")
def test_the_owner_stays(fabriclint, faulty):
    os.chown(faulty, 1234, 4321)
    assert fabriclint("check", "--fix").code == 0
    assert (faulty.stat().st_uid, faulty.stat().st_gid) == (1234, 4321)


def test_an_interrupted_write_leaves_the_old_file_and_nothing_beside_it(
    fabriclint, faulty, faulty_text, monkeypatch, tmp_path
):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    before = {p.name for p in tmp_path.iterdir()}
    monkeypatch.setattr("shutil.copymode", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fabriclint("check", "--fix")
    assert faulty.read_text() == faulty_text
    assert {p.name for p in tmp_path.iterdir()} == before


def test_all_names_of_a_file_go_on_to_be_one_file(fabriclint, faulty, faulty_text, tmp_path):
    other = tmp_path / "deploy"
    other.mkdir()
    os.link(faulty, other / "name")
    assert fabriclint("check", "--fix", "faulty.yaml").code == 0
    assert os.path.samefile(faulty, other / "name")  # noqa: PTH121
    assert (other / "name").read_text() == labelled(faulty_text)


def test_a_file_of_several_names_is_as_it_was_when_the_disk_takes_no_more(
    fabriclint, faulty, faulty_text, tmp_path, monkeypatch
):
    os.link(faulty, tmp_path / "name")
    fill = fix._fill
    calls = []

    def full(out, data):
        calls.append(data)
        fill(out, data[:20] if len(calls) == 1 else data)
        if len(calls) == 1:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(fix, "_fill", full)
    ran = fabriclint("check", "--fix", "faulty.yaml")
    assert ran.code == 2
    assert "cannot be written: No space left on device" in ran.err
    assert faulty.read_text() == faulty_text
