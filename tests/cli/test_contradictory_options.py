"""Options that contradict each other or the files they are given with: a sentence with the way out, nothing lost."""

from __future__ import annotations

import json

import pytest


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["check", "faulty.yaml", "--output-file", "json=faulty.yaml"],
            "would replace 'faulty.yaml', which is checked",
        ),
        (["check", "--output-file", "json=./faulty.yaml"], "would replace 'faulty.yaml', which is checked"),
        (["check", "--output-file", "json=-"], "'-o json' writes to standard output"),
        (["check", "--output-file", "json=a", "--output-file", "sarif=./a"], "names './a' twice"),
        (["check", "--output-file", "json=faulty.yaml/a"], "a part of its way is a file"),
        (["check", "--isolated", "--config", "faulty.yaml"], "leave out one of the two"),
        (["explain", "--isolated", "--config", "faulty.yaml"], "leave out one of the two"),
        (["check", "faulty.yaml", "--stdin-filename", "a.yaml"], "which only '-' reads"),
        (["config", "show", "-o", "yaml"], "--output-format is text or json"),
        (["config", "show", "gone.yaml"], "There is no such file"),
        (["check", "--diff", "-o", "json"], "--output-file json=PATH"),
        (["verify", "faulty.yaml", "-o", "xml"], "--output-format is text or json, not 'xml'"),
        (["verify", "faulty.yaml", "--expect", "gke-tcpx0"], "did you mean 'gke-tcpx"),
        (["rule", "TRN"], "'TRN' is a family of"),
        (["rule", "POD0003"], "did you mean 'POD003'?"),
        (["rule", "nothing like it"], "'fabriclint rules' lists all"),
        (["cluster", "snapshot-command", ""], "has no name"),
        (["new", "aks-ib", "--instance-type", "Standard_NC4as_T4_v3"], "has no InfiniBand"),
    ],
)
def test_it_is_2_with_the_way_out_and_the_file_stays(fabriclint, faulty, faulty_text, arguments, words):
    ran = fabriclint(*arguments)
    assert ran.code == 2
    assert words in ran.err
    assert faulty.read_text() == faulty_text


def test_a_report_in_the_folder_that_is_checked_is_no_input_of_the_next_run(fabriclint, faulty, tmp_path):
    first = fabriclint("check", "--output-file", "json=report.json")
    report = (tmp_path / "report.json").read_text()
    assert fabriclint("check", "--output-file", "json=report.json") == first
    assert (tmp_path / "report.json").read_text() == report


def test_diff_writes_the_reports_that_go_to_files(fabriclint, faulty, tmp_path):
    assert fabriclint("check", "--diff", "--output-file", "json=report.json").code == 1
    assert [f["code"] for f in json.loads((tmp_path / "report.json").read_text())["findings"]] == ["TRN005"]


def test_a_snapshots_folder_that_looks_like_an_option_is_a_folder(fabriclint):
    assert "mkdir -p ./-x\n" in fabriclint("cluster", "snapshot-command", "--", "-x").out


@pytest.mark.parametrize(
    ("fabric", "machine", "words"),
    [
        (
            "eks-efa",
            "p9",
            "not known: the machine type 'p9'; if it is right, give its counts with --gpus and --efa-count.",
        ),
        ("eks-efa", "p5.48xlarg", "did you mean 'p5.48xlarge'?"),
        ("aks-ib", "Standard_ND96isr_H100_v55", "did you mean 'Standard_ND96isr_H100_v5'?"),
    ],
)
def test_a_machine_type_that_is_not_known_is_said(fabriclint, fabric, machine, words):
    ran = fabriclint("new", fabric, "--instance-type", machine)
    assert ran.code == 0
    assert words in ran.err
    assert "not known" not in fabriclint("new", "eks-efa", "--instance-type", "p5.48xlarge").err


def test_a_name_with_blanks_is_quoted_in_the_next_command(fabriclint, tmp_path):
    ran = fabriclint("new", "eks-efa", "--output", "a b.yaml")
    assert "next: fabriclint check 'a b.yaml'\n" in ran.err
