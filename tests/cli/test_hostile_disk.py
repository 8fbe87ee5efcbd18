"""Names, links, devices and streams that are not what one hopes for: a sentence and a code, and the rest still judged."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

#: Commands that are given a file, and stay at it when it cannot be used.
READERS = ("check", "explain", "resolve", "verify", "baseline create", "config check", "cluster trim")


@pytest.mark.parametrize("command", READERS)
@pytest.mark.parametrize("name", ["loop.yaml", "n" * 300, "faulty.yaml/below", "nowhere.yaml", "gone/"])
def test_a_path_that_leads_nowhere_is_2_and_a_sentence(fabriclint, faulty, tmp_path, command, name):
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    (tmp_path / "nowhere.yaml").symlink_to("gone.yaml")
    ran = fabriclint(*command.split(), name)
    assert ran.code == 2
    assert ran.err.strip()
    assert "internal error" not in ran.err


@pytest.mark.parametrize("name", ["loop.yaml", "n" * 300, "nowhere.yaml", "", os.devnull.replace("null", "zero")])
def test_the_files_beside_a_path_that_leads_nowhere_are_judged(fabriclint, faulty, tmp_path, name):
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    (tmp_path / "nowhere.yaml").symlink_to("gone.yaml")
    ran = fabriclint("check", name, "faulty.yaml", "-o", "concise")
    assert ran.code == 2
    assert ran.out.startswith("faulty.yaml:11:")
    assert ran.err.count("\n") == 1


def test_an_empty_path_is_told_from_the_folder(fabriclint):
    assert "An empty path" in fabriclint("check", "").err


def test_an_endless_device_is_no_file(fabriclint):
    assert "'/dev/zero' is a device, not a file." in fabriclint("check", "/dev/zero").err
    assert fabriclint("check", os.devnull).code == 0


@pytest.mark.parametrize("command", [*READERS, "config show"])
def test_a_name_with_line_ends_and_escapes_stays_in_its_line(fabriclint, faulty_text, tmp_path, command):
    name = "a\n\x1b[31mb.yaml"
    (tmp_path / name).write_text(faulty_text)
    ran = fabriclint(*command.split(), name)
    assert "\x1b" not in ran.out + ran.err
    assert not any(line.startswith(("[31m", "b.yaml")) for line in (ran.out + ran.err).splitlines())


def test_the_origins_of_a_resolved_job_stay_comments(fabriclint, tmp_path):
    (tmp_path / "a\nkind: Other.yaml").write_text(
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: t}\n"
        "spec: {runtimeRef: {name: torch-distributed}, trainer: {image: a/b:1}}\n"
    )
    ran = fabriclint("resolve", "a\nkind: Other.yaml", "--origins")
    assert ran.code == 0
    assert "kind: Other.yaml:4" in ran.out
    assert not any(line.startswith("kind: Other") for line in ran.out.splitlines())


def test_a_name_that_is_no_utf_8_has_a_baseline(fabriclint, faulty_text, tmp_path):
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.yaml")).write_text(faulty_text)
    assert fabriclint("baseline", "create").code == 0
    assert json.loads((tmp_path / ".fabriclint-baseline.json").read_text())["findings"]
    assert fabriclint("baseline", "check").code == 0


@pytest.mark.parametrize("form", ["json", "sarif", "gitlab", "junit", "markdown", "github"])
def test_a_name_that_is_no_utf_8_is_written_to_files_too(fabriclint, faulty_text, tmp_path, form):
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.yaml")).write_text(faulty_text)
    assert fabriclint("check", "--output-file", f"{form}=out").code == 1
    assert (tmp_path / "out").read_text(encoding="utf-8")


def test_a_configuration_that_leads_nowhere_is_not_none(fabriclint, faulty, tmp_path):
    (tmp_path / ".fabriclint.yaml").symlink_to(".fabriclint.yaml")
    ran = fabriclint("check")
    assert ran.code == 2
    assert "The configuration cannot be read" in ran.err


def test_what_an_editor_sends_stands_for_the_file(fabriclint, faulty, faulty_text, monkeypatch):
    import io

    text = "# one line more\n" + faulty_text
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    ran = fabriclint("check", "faulty.yaml", "-", "--stdin-filename", "faulty.yaml", "-o", "concise")
    assert [line.split(":")[1] for line in ran.out.splitlines()] == ["12"]


@pytest.mark.parametrize("command", ["check -", "explain -", "verify -", "resolve -"])
def test_a_closed_standard_input_is_not_an_empty_one(fabriclint, monkeypatch, command):
    monkeypatch.setattr(sys, "stdin", None)
    ran = fabriclint(*command.split())
    assert ran.code == 2
    assert "it is closed" in ran.err
    assert "internal error" not in ran.err


def test_what_could_not_be_fixed_is_reported_as_it_was(fabriclint, faulty, faulty_text, monkeypatch):
    def fail(_path: Path, _data: bytes) -> None:
        raise OSError(13, "Permission denied")

    monkeypatch.setattr("fabriclint.cli.fix._replace", fail)
    ran = fabriclint("check", "--fix")
    assert ran.code == 2
    assert "TRN005" in ran.out
    assert "Fixed" not in ran.out
    assert "cannot be written: Permission denied" in ran.err
    assert faulty.read_text() == faulty_text


def shell(line: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of bash, in which FL is the program."""
    text = f'set -o pipefail; FL() {{ {sys.executable} -m fabriclint "$@"; }}; {line}'
    return subprocess.run(["bash", "-c", text], cwd=cwd, capture_output=True, text=True, check=False)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("FL check faulty.yaml > /dev/full", 2, "the output cannot be written: No space left on device"),
        ("FL rules > /dev/full", 2, "the output cannot be written: No space left on device"),
        ("FL check faulty.yaml -v 2> /dev/full", 1, ""),
        ("FL check faulty.yaml > /dev/full 2>&1", 2, ""),
        ("FL check faulty.yaml >&-", 1, ""),
        ("FL check faulty.yaml -v >&- 2>&-", 1, ""),
        ("FL --version >&-", 0, ""),
        ("FL rules | true", 0, ""),
        ("mkdir d; cd d; rmdir ../d; FL check", 2, "the working directory is no longer there"),
        ("FL check --output-file sarif=/dev/full faulty.yaml", 2, "'/dev/full' cannot be written"),
    ],
)
def test_streams_that_take_nothing_cost_a_sentence_and_no_traceback(faulty, tmp_path, line, code, words):
    ran = shell(line, tmp_path)
    assert ran.returncode == code
    assert words in ran.stderr
    for word in ("Traceback", "internal error", "Exception ignored"):
        assert word not in ran.stderr
