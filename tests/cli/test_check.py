"""`fabriclint check`: what it reads, what it prints where, and its exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

CLEAN = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  key: value\n"


def program(*arguments: str, stdin: str = "", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fabriclint", *arguments],
        check=False,
        input=stdin,
        capture_output=True,
        text=True,
        cwd=cwd,
    )


def test_a_clean_file_is_0(fabriclint, tmp_path):
    (tmp_path / "a.yaml").write_text(CLEAN)
    assert fabriclint("check").code == 0


def test_a_finding_is_1_and_stands_at_its_line(fabriclint, faulty):
    ran = fabriclint("check", "-o", "concise")
    assert ran.code == 1
    assert ran.out.startswith("faulty.yaml:11:17: warning[TRN005] ")


def test_below_fail_on_is_0_and_is_still_printed(fabriclint, faulty):
    ran = fabriclint("check", "--fail-on", "error")
    assert ran.code == 0
    assert "TRN005" in ran.out


def test_exit_zero_hides_findings_but_not_errors(fabriclint, faulty):
    assert fabriclint("check", "--exit-zero").code == 0
    assert fabriclint("check", "--exit-zero", "missing.yaml").code == 2


def test_a_missing_path_is_2_and_what_was_found_is_still_reported(fabriclint, faulty):
    ran = fabriclint("check", "faulty.yaml", "missing.yaml")
    assert ran.code == 2
    assert "TRN005" in ran.out
    assert "missing.yaml" in ran.err


def test_a_folder_without_manifests_is_0_with_a_line_on_stderr(fabriclint):
    ran = fabriclint("check")
    assert ran.code == 0
    assert "no YAML or JSON files" in ran.err


@pytest.mark.parametrize("form", ["text", "concise", "json", "sarif", "github", "gitlab", "junit", "markdown"])
def test_the_exit_code_is_the_same_in_every_format(fabriclint, faulty, form):
    assert fabriclint("check", "-o", form).code == 1


def test_both_names_of_the_format_option_are_one(fabriclint, faulty):
    assert fabriclint("check", "-o", "json").out == fabriclint("check", "--output-format", "json").out


def test_json_holds_the_finding_and_the_counts(fabriclint, faulty):
    report = json.loads(fabriclint("check", "-o", "json").out)
    assert report["version"] == 1
    assert [(f["code"], f["path"], f["line"]) for f in report["findings"] if f["severity"] != "note"] == [
        ("TRN005", "faulty.yaml", 11)
    ]
    assert report["summary"]["findings"]["warning"] == 1


def test_files_are_written_beside_the_report_on_stdout(fabriclint, faulty, tmp_path):
    ran = fabriclint("check", "--output-file", "json=out/a.json", "--output-file", "sarif=out/a.sarif")
    assert ran.code == 1
    assert "TRN005" in ran.out
    assert json.loads((tmp_path / "out/a.json").read_text())["version"] == 1
    assert json.loads((tmp_path / "out/a.sarif").read_text())["version"] == "2.1.0"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--select", "TCPX0003"],
        ["--ignore", "TRN999"],
        ["--output-format", "jsno"],
        ["--output-file", "sarif"],
        ["--fail-on", "fatal"],
        ["--trainer-version", "9.9"],
        ["--color", "sometimes"],
        ["--no-such-option"],
        ["--config", "missing.yaml"],
        ["--baseline", "missing.json"],
    ],
)
def test_a_wrong_option_is_2_and_leaves_stdout_empty(fabriclint, faulty, arguments):
    ran = fabriclint("check", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["check", "--select", "TCPXOX003"], "TCPXO003"),
        (["check", "--output-format", "jsno"], "json"),
        (["rule", "TRNX005"], "TRN005"),
    ],
)
def test_a_misspelling_gets_a_suggestion(fabriclint, arguments, hint):
    assert f"did you mean '{hint}" in fabriclint(*arguments).err


def test_a_fabric_that_is_none_is_2_with_a_suggestion(fabriclint, faulty, tmp_path):
    code, out, err = fabriclint("check", "--isolated", "--fabric", "gke-txpco", str(faulty))
    assert (code, out) == (2, "")
    assert "did you mean 'gke-tcpxo'?" in err


def test_select_and_ignore_take_codes_prefixes_and_names(fabriclint, faulty):
    assert fabriclint("check", "--select", "TRN").code == 1
    assert fabriclint("check", "--select", "DOC,POD").code == 0
    assert fabriclint("check", "--ignore", "TRN005").code == 0
    assert fabriclint("check", "--ignore", "missing-ancestor-label").code == 0


def test_show_files_lists_and_lints_nothing(fabriclint, faulty):
    ran = fabriclint("check", "--show-files")
    assert (ran.code, ran.out) == (0, "faulty.yaml\n")


def test_statistics_count_by_rule(fabriclint, faulty):
    assert fabriclint("check", "--statistics").out.startswith("1\tTRN005\t")


def test_no_color_beats_force_color_and_the_option_beats_both(fabriclint, faulty, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in fabriclint("check").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in fabriclint("check").out
    assert "\x1b[" in fabriclint("check", "--color", "always").out


def test_standard_input_is_named_as_told(faulty_text):
    ran = program("check", "-", "-o", "concise", "--isolated", "--stdin-filename", "k8s/job.yaml", stdin=faulty_text)
    assert ran.returncode == 1
    assert ran.stdout.startswith("k8s/job.yaml:11:17: ")


def test_a_closed_pipe_ends_without_a_traceback(tmp_path, faulty_text):
    (tmp_path / "a.yaml").write_text("---\n".join(faulty_text.replace("faulty", f"f{n}") for n in range(300)))
    command = [sys.executable, "-m", "fabriclint", "check", "a.yaml"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        errors = process.stderr.read()
    assert b"Traceback" not in errors
    assert b"Exception ignored" not in errors


def test_version_is_one_line():
    ran = program("--version")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("fabriclint ")
    assert ran.stdout.count("\n") == 1


@pytest.mark.parametrize(
    "command",
    [
        [], ["baseline"], ["config"], ["cluster"], ["new"], ["check"], ["rule"], ["rules"], ["explain"], ["resolve"], ["verify"], ["completion"],
        ["cluster", "trim"], ["cluster", "snapshot-command"],
        ["baseline", "create"], ["baseline", "update"], ["baseline", "check"],
        ["config", "show"], ["config", "check"], ["config", "schema"],
    ],
)  # fmt: skip
def test_every_commands_help_has_an_example(fabriclint, command):
    ran = fabriclint(*command, "--help")
    assert ran.code == 0
    assert "Example" in ran.out
    assert " ".join(("fabriclint", *command)) in ran.out.partition("Example")[2]


def test_every_rule_has_a_page(fabriclint):
    codes = [line.split()[0] for line in fabriclint("rules").out.splitlines()]
    assert len(codes) > 20
    for code in codes:
        ran = fabriclint("rule", code)
        assert ran.code == 0
        assert ran.out.startswith(code)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_the_commands_and_their_options(fabriclint, shell):
    ran = fabriclint("completion", shell)
    assert ran.code == 0
    for word in ("check", "baseline", "create", "output-format"):
        assert word in ran.out


def test_an_unknown_shell_is_2(fabriclint):
    assert fabriclint("completion", "tcsh").code == 2


def test_suppressed_findings_in_sarif_come_with_a_warning(fabriclint, faulty, tmp_path):
    assert "alert" not in fabriclint("check", "-o", "sarif").err
    ran = fabriclint("check", "--show-suppressed", "--output-file", f"sarif={tmp_path / 'a.sarif'}")
    assert "it would open an alert for each suppressed finding" in ran.err


def test_a_clean_run_says_that_a_runtime_was_not_seen(fabriclint, tmp_path):
    (tmp_path / "job.yaml").write_text(
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: a}\n"
        "spec:\n  runtimeRef: {name: somewhere}\n  trainer: {numNodes: 2}\n"
    )
    ran = fabriclint("check", "job.yaml")
    assert ran.code == 0
    assert "1 runtime not seen and the pods not checked" in ran.out
