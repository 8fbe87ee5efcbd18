"""Rule packs of third parties: found by the entry point that the configuration names."""

from __future__ import annotations

import json
import sys

import pytest

PACK = '''
from collections.abc import Iterator

from fabriclint.document import Manifest
from fabriclint.rule import Finding, Pack, Place, Rule, Severity


def owner(manifest: Manifest) -> Iterator[Finding]:
    """Every object says who owns it."""
    if manifest.root.string("metadata", "labels", "owner") is None:
        yield Finding(Place(manifest.root.nearest("metadata", "labels")), "There is no owner.", help="Add one.")


PACK = Pack("acme", lambda: [Rule("ACME001", "owner-label", Severity.WARNING, Manifest, owner)])
NOT_ONE = 5
TWICE = Pack("twice", lambda: [Rule("DOC001", "owner-label", Severity.WARNING, Manifest, owner)])


def broken():
    raise ValueError("no rules today")


BROKEN = Pack("broken", broken)
'''
POINTS = """[fabriclint.rules]
acme = acme_rules:PACK
number = acme_rules:NOT_ONE
twice = acme_rules:TWICE
broken = acme_rules:BROKEN
gone = acme_missing:PACK
"""
OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"


@pytest.fixture
def acme(tmp_path, monkeypatch):
    """An installed package with packs."""
    site = tmp_path / ".venv"
    (site / "acme-1.0.dist-info").mkdir(parents=True)
    (site / "acme-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (site / "acme-1.0.dist-info" / "entry_points.txt").write_text(POINTS)
    (site / "acme_rules.py").write_text(PACK)
    monkeypatch.syspath_prepend(str(site))
    yield
    sys.modules.pop("acme_rules", None)


def test_a_named_packs_rules_run_and_its_codes_are_known(fabriclint, tmp_path, acme):
    (tmp_path / "a.yaml").write_text(OBJECT)
    (tmp_path / ".fabriclint.yaml").write_text("severity: {ACME001: error}\npacks: [acme]\n")
    found = json.loads(fabriclint("check", "-o", "json").out)["findings"]
    assert [(f["code"], f["severity"], f["line"]) for f in found] == [("ACME001", "error", 3)]
    assert fabriclint("check", "--select", "ACME001", "-o", "concise").code == 1
    (tmp_path / "a.yaml").write_text(OBJECT + "  # fabriclint: ignore[ACME001] not ours\n")
    assert "SUP001" not in fabriclint("check").out


def test_a_pack_that_is_not_named_does_not_run(fabriclint, tmp_path, acme):
    (tmp_path / "a.yaml").write_text(OBJECT)
    assert fabriclint("check").code == 0
    assert fabriclint("check", "--select", "ACME001").code == 2


def test_the_built_in_pack_may_be_named(fabriclint, tmp_path, acme):
    (tmp_path / "a.yaml").write_text(OBJECT)
    (tmp_path / ".fabriclint.yaml").write_text("packs: [fabric, acme]\n")
    assert fabriclint("check", "-o", "concise").out.startswith("a.yaml:3:1: warning[ACME001] ")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("acmee", "did you mean 'acme'?"),
        ("number", "is of type int, not a fabriclint.rule.Pack"),
        ("twice", "gives the code 'DOC001', which another pack has"),
        ("broken", "cannot be loaded: ValueError: no rules today"),
        ("gone", "cannot be loaded: ModuleNotFoundError"),
    ],
)
def test_a_pack_that_cannot_be_used_is_one_sentence_and_2(fabriclint, tmp_path, acme, name, words):
    (tmp_path / "a.yaml").write_text(OBJECT)
    (tmp_path / ".fabriclint.yaml").write_text(f"ignore: []\npacks:\n  - {name}\n")
    ran = fabriclint("check")
    assert ran.code == 2
    assert ran.err.startswith("fabriclint: .fabriclint.yaml:3: ")
    assert words in ran.err
    assert ran.err.count("\n") == 1


def test_the_pages_and_the_table_show_the_rules_of_named_packs(fabriclint, tmp_path, acme):
    assert fabriclint("rule", "ACME001").code == 2
    assert "ACME001" not in fabriclint("rules").out
    (tmp_path / ".fabriclint.yaml").write_text("packs: [acme]\n")
    assert fabriclint("rule", "ACME001").out.startswith("ACME001 owner-label (warning)")
    assert fabriclint("rules").out.startswith("ACME001")
    assert "ACME001" in fabriclint("rules", "-o", "json").out


def test_a_pack_that_cannot_be_used_is_said_for_pages_too(fabriclint, tmp_path, acme):
    (tmp_path / ".fabriclint.yaml").write_text("packs: [gone]\n")
    for arguments in (["rule", "POD003"], ["rules"]):
        ran = fabriclint(*arguments)
        assert (ran.code, ran.out) == (2, "")
        assert "cannot be loaded" in ran.err


#: What a package may hold in place of a pack, and a word of the sentence that says so.
BROKEN_PACKS = {
    "ends": ("raise SystemExit(5)", "SystemExit: 5"),
    "numbers": ("PACK = Pack('p', lambda: [1])", "of type int, not a fabriclint.rule.Rule"),
    "code": ("PACK = Pack('p', lambda: [Rule('a|b', 'a', Severity.ERROR, Manifest, owner)])", "its code is 'a|b'"),
    "none": ("PACK = Pack('p', lambda: [Rule(None, 'a', Severity.ERROR, Manifest, owner)])", "its code is None"),
    "name": ("PACK = Pack('p', lambda: [Rule('A1', None, Severity.ERROR, Manifest, owner)])", "the name of A1 is None"),
    "word": ("PACK = Pack('p', lambda: [Rule('A1', 'a', 'error', Manifest, owner)])", "the severity of A1 is 'error'"),
    "view": ("PACK = Pack('p', lambda: [Rule('A1', 'a', Severity.ERROR, 'Manifest', owner)])", "no class of views"),
    "check": ("PACK = Pack('p', lambda: [Rule('A1', 'a', Severity.ERROR, Manifest, None)])", "is no function"),
}
#: What a check may do in place of giving findings.
BROKEN_CHECKS = {
    "leaves": "raise SystemExit(9)",
    "text": "yield 'x'",
    "message": "yield Finding(Place(manifest.root), None)",
    "help": "yield Finding(Place(manifest.root), 'x', help=5)",
    "place": "yield Finding(manifest.root, 'x')",
    "nowhere": "yield Finding(None, 'x')",
    "related": "yield Finding(Place(manifest.root), 'x', related=(1,))",
    "severity": "yield Finding(Place(manifest.root), 'x', severity='fatal')",
    "fix": "yield Finding(Place(manifest.root), 'x', fix=5)",
}


def _installed(tmp_path, monkeypatch, name, text):
    site = tmp_path / ".venv"
    (site / "acme-1.0.dist-info").mkdir(parents=True)
    (site / "acme-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (site / "acme-1.0.dist-info" / "entry_points.txt").write_text(f"[fabriclint.rules]\n{name} = acme_{name}:PACK\n")
    (site / f"acme_{name}.py").write_text(PACK.partition("PACK =")[0] + text + "\n")
    monkeypatch.syspath_prepend(str(site))
    (tmp_path / ".fabriclint.yaml").write_text(f"packs: [{name}]\n")
    (tmp_path / "a.yaml").write_text(OBJECT)


@pytest.mark.parametrize("name", BROKEN_PACKS)
def test_a_pack_of_a_wrong_shape_is_one_sentence_and_2(fabriclint, tmp_path, monkeypatch, name):
    text, words = BROKEN_PACKS[name]
    _installed(tmp_path, monkeypatch, name, text)
    for arguments in (["check"], ["explain"], ["rules"], ["config", "check"]):
        ran = fabriclint(*arguments)
        assert ran.code == 2
        assert ran.err.startswith("fabriclint: .fabriclint.yaml:1: ")
        assert words in ran.err


@pytest.mark.parametrize("name", BROKEN_CHECKS)
def test_a_check_that_gives_no_findings_loses_itself_alone(fabriclint, tmp_path, monkeypatch, faulty, name):
    text = f"def wrong(manifest):\n    {BROKEN_CHECKS[name]}\n    yield None\n"
    text += "PACK = Pack('p', lambda: [Rule('ACME001', 'a', Severity.ERROR, Manifest, wrong)])"
    _installed(tmp_path, monkeypatch, name, text)
    ran = fabriclint("check", "-o", "concise")
    assert ran.code == 2
    assert "a.yaml: error: Rule ACME001 failed: " in ran.err
    assert [line.split(":")[:2] for line in ran.out.splitlines()] == [["faulty.yaml", "11"]]
