"""Accepted findings: they stay accepted when lines move and files are renamed, and new ones are seen."""

from __future__ import annotations

import json


def test_what_is_accepted_is_not_counted_any_more(fabriclint, faulty):
    assert fabriclint("baseline", "create", "--reason", "from before").code == 0
    assert fabriclint("baseline", "check").code == 0
    ran = fabriclint("check", "--baseline", ".fabriclint-baseline.json", "-o", "json")
    assert ran.code == 0
    assert json.loads(ran.out)["summary"]["baselined"] == 1


def test_the_configuration_can_name_it(fabriclint, faulty, tmp_path):
    (tmp_path / ".fabriclint.yaml").write_text("baseline: accepted.json\n")
    assert fabriclint("baseline", "create").code == 0
    assert (tmp_path / "accepted.json").exists()
    assert fabriclint("check").code == 0


def test_moved_lines_and_a_renamed_file_stay_accepted(fabriclint, faulty, tmp_path):
    fabriclint("baseline", "create")
    (tmp_path / "renamed.yaml").write_text("# a line\n# another\n" + faulty.read_text())
    faulty.unlink()
    assert fabriclint("baseline", "check").code == 0


def test_a_new_finding_is_1(fabriclint, faulty, tmp_path):
    fabriclint("baseline", "create")
    (tmp_path / "new.yaml").write_text(faulty.read_text().replace("name: faulty", "name: other"))
    ran = fabriclint("baseline", "check", "-o", "concise")
    assert ran.code == 1
    assert "new.yaml" in ran.out
    assert "faulty.yaml" not in ran.out


def test_a_second_finding_of_one_fingerprint_is_new(fabriclint, faulty, tmp_path):
    fabriclint("baseline", "create")
    (tmp_path / "zz.yaml").write_text(faulty.read_text())
    assert fabriclint("baseline", "check").code == 1


def test_a_stale_entry_is_named_and_update_drops_it(fabriclint, faulty, tmp_path):
    fabriclint("baseline", "create")
    faulty.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    ran = fabriclint("baseline", "check")
    assert ran.code == 0
    assert "TRN005" in ran.err
    assert "baseline update" in ran.err
    assert "1 stale entry was removed" in fabriclint("baseline", "update").out
    assert fabriclint("baseline", "check").err == ""


def test_a_quiet_run_says_nothing_of_stale_entries(fabriclint, faulty, tmp_path):
    fabriclint("baseline", "create")
    faulty.write_text("kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\n")
    options = ("check", "--baseline", ".fabriclint-baseline.json")
    assert "no longer found" in fabriclint(*options).err
    assert fabriclint(*options, "-q") == (0, "", "")


def test_an_entry_of_a_file_that_was_not_looked_at_is_not_stale(fabriclint, faulty, tmp_path):
    fabriclint("baseline", "create")
    (tmp_path / "other.yaml").write_text("a: 1\n")
    assert "stale" not in fabriclint("check", "other.yaml", "--baseline", ".fabriclint-baseline.json").err


def test_a_run_of_some_rules_or_severities_calls_nothing_stale(fabriclint, faulty):
    fabriclint("baseline", "create")
    for narrow in (("--select", "DOC"), ("--ignore", "TRN005"), ("--severity", "error")):
        assert fabriclint("check", "--baseline", ".fabriclint-baseline.json", *narrow).err == ""


def test_update_of_one_file_keeps_the_entries_of_others(fabriclint, faulty, tmp_path):
    (tmp_path / "twice.yaml").write_text(faulty.read_text())
    (tmp_path / "other.yaml").write_text(faulty.read_text().replace("name: faulty", "name: other"))
    fabriclint("baseline", "create")
    before = (tmp_path / ".fabriclint-baseline.json").read_text()
    ran = fabriclint("baseline", "update", "other.yaml")
    assert ran.out == "3 findings are accepted in '.fabriclint-baseline.json'.\n"
    fabriclint("baseline", "update", "twice.yaml")
    assert (tmp_path / ".fabriclint-baseline.json").read_text().count('"fingerprint"') == 2
    assert fabriclint("baseline", "check").code == 0
    (tmp_path / "other.yaml").unlink()
    assert "1 stale entry was removed" in fabriclint("baseline", "update", "twice.yaml").out
    assert before.count('"path": "other.yaml"') == 1


def test_update_keeps_reasons(fabriclint, faulty, tmp_path):
    fabriclint("baseline", "create", "--reason", "old cluster")
    fabriclint("baseline", "update", "--reason", "new")
    entries = json.loads((tmp_path / ".fabriclint-baseline.json").read_text())["findings"]
    assert [e["reason"] for e in entries] == ["old cluster"]


def test_create_does_not_overwrite(fabriclint, faulty):
    fabriclint("baseline", "create")
    assert fabriclint("baseline", "create").code == 2


def test_broken_baselines_are_one_sentence_and_2(fabriclint, faulty, tmp_path):
    file = tmp_path / "b.json"
    wrong = (b"{", b"[]", b'{"version": 9, "findings": []}', b'{"version": 1, "findings": [1]}', b"\xff",
             b'{"version": 1, "findings": [{"fingerprint": "a", "count": 0}]}', b"[" * 99999)  # fmt: skip
    for text in wrong:
        file.write_bytes(text)
        ran = fabriclint("check", "--baseline", "b.json")
        assert ran.code == 2, text[:40]
        assert ran.err.startswith("fabriclint: b.json")
        assert ran.err.count("\n") == 1
