"""Comments and annotations that silence a finding, and what is said of wrong ones."""

from __future__ import annotations

import json

import pytest

LINE = "        - name: node\n          template:\n"
OBJECT = "metadata:\n  name: faulty\n"


def marked(text, where, comment):
    if where == "end":
        return text.replace(LINE, f"        - name: node  {comment}\n          template:\n")
    if where == "above":
        return text.replace(LINE, f"        {comment}\n{LINE}")
    return f"{comment}\n{text}"


def codes(fabriclint, tmp_path, text):
    (tmp_path / "a.yaml").write_text(text)
    return [f["code"] for f in json.loads(fabriclint("check", "-o", "json").out)["findings"] if not f.get("suppressed")]


@pytest.mark.parametrize(
    ("where", "comment"),
    [
        ("end", "# fabriclint: ignore[TRN005] not ours"),
        ("above", "# fabriclint: ignore[TRN005] not ours"),
        ("above", "# fabriclint: ignore[ TRN005 , TRN005] not ours"),
        ("top", "# fabriclint: ignore-file[TRN005] not ours"),
    ],
)
def test_a_comment_with_a_reason_silences_the_finding(fabriclint, tmp_path, faulty_text, where, comment):
    (tmp_path / "a.yaml").write_text(marked(faulty_text, where, comment))
    ran = fabriclint("check")
    assert "TRN005]" not in ran.out
    assert "1 suppressed" in ran.out
    shown = fabriclint("check", "--show-suppressed").out
    assert "TRN005" in shown
    assert "not ours" in shown


def test_the_code_of_a_list_that_suppresses_nothing_is_named(fabriclint, tmp_path, faulty_text):
    (tmp_path / "a.yaml").write_text(marked(faulty_text, "above", "# fabriclint: ignore[POD001,TRN005] not ours"))
    out = fabriclint("check").out
    assert "Nothing here is suppressed by 'POD001'" in out
    assert "1 suppressed" in out


def test_an_annotation_silences_the_finding_of_its_object(fabriclint, tmp_path, faulty_text):
    text = faulty_text.replace(OBJECT, OBJECT + '  annotations:\n    fabriclint.dev/ignore.TRN005: "not ours"\n')
    assert codes(fabriclint, tmp_path, text) == []


@pytest.mark.parametrize(
    ("where", "comment", "expected"),
    [
        ("end", "# fabriclint: ignore[TRN005]", ["SUP002"]),
        ("end", "# fabriclint: ignore[TRN999] because", ["SUP001", "TRN005"]),
        ("end", "# fabriclint: ignroe[TRN005] because", ["SUP001", "TRN005"]),
        ("end", "# fabriclint: ignore[POD003] because", ["SUP003", "TRN005"]),
        ("end", "# fabriclint: ignore TRN005 because", ["SUP001", "TRN005"]),
    ],
)
def test_a_wrong_suppression_is_a_finding_itself(fabriclint, tmp_path, faulty_text, where, comment, expected):
    assert sorted(codes(fabriclint, tmp_path, marked(faulty_text, where, comment))) == expected


def test_suppressions_cannot_be_suppressed_in_the_file(fabriclint, tmp_path, faulty_text):
    text = "# fabriclint: ignore-file[SUP003] never mind\n# fabriclint: ignore-file[POD003] because\n" + faulty_text
    assert "SUP003" in codes(fabriclint, tmp_path, text)


def test_a_marker_inside_a_block_scalar_is_text(fabriclint, tmp_path, faulty_text):
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: |\n    # fabriclint: ignore[X]\n"
    assert codes(fabriclint, tmp_path, text) == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('"waiting for #12"', []),
        ("waiting for #12", ["SUP002"]),
        ('""', ["SUP002"]),
        ("plain words  # and a comment", ["SUP002"]),
    ],
)
def test_an_annotations_reason_that_yaml_cuts_is_said(fabriclint, tmp_path, faulty_text, value, expected):
    text = faulty_text.replace(OBJECT, OBJECT + f"  annotations:\n    fabriclint.dev/ignore.TRN005: {value}\n")
    assert codes(fabriclint, tmp_path, text) == expected


def test_a_suppression_of_a_rule_that_does_not_run_is_only_a_note(fabriclint, tmp_path, faulty_text):
    (tmp_path / "a.yaml").write_text(marked(faulty_text, "end", "# fabriclint: ignore[TRN005] not ours"))
    found = json.loads(fabriclint("check", "-o", "json", "--ignore", "TRN005").out)["findings"]
    assert [(f["code"], f["severity"]) for f in found] == [("SUP003", "note")]
