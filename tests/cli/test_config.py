"""The configuration: which file counts, what it may say, and what is said of a wrong one."""

from __future__ import annotations

import json

import jsonschema
import pytest

from fabriclint.cli.config import schema
from fabriclint.config import _KEYS


def write(root, name, text):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("ignore: [TRN005]\nselct: [TRN]\n", 2, "did you mean 'select'"),
        ("ignore: [TRNX005]\n", 1, "did you mean 'TRN005'"),
        ("fabric: x\nignore: 5\n", 2, "list of strings"),
        ("severity: {TRN005: fatal}\n", 1, "error, warning, note or off"),
        ("per-file-ignores: {'*': [NOPE99]}\n", 1, "NOPE99"),
        ("extend: missing.yaml\n", 1, "does not exist"),
        ("trainer-version: '7'\n", 1, "2.2"),
        ("contract: strict\n", 1, "generic"),
        ("baseline: [a]\n", 1, "is a word"),
        ("ignore: [TRN005\n", 1, "YAML"),
        ("- ignore\n", 1, "keys"),
        ("# what holds\n\n- ignore\n", 3, "keys"),
        ("ignore:\n  - TRN005\n  - TRNX005\n", 3, "did you mean 'TRN005'"),
        ("severity:\n  TRN005: error\n  TRN006: fatal\n", 3, "The severity of 'TRN006' is error, warning, note or off"),
        ("severity:\n  TRN005: error\n  NOPE1: error\n", 3, "There is no rule 'NOPE1'"),
        ("severity: [TRN005]\n", 1, "maps codes"),
        ("per-file-ignores:\n  'a/*': [TRN005]\n  'b/*':\n    - TRN005\n    - NOPE99\n", 5, "NOPE99"),
        ("per-file-ignores:\n  'a/*': [5]\n", 2, "list of codes"),
        ("contract:\n  'a/*': aicr\n  'b/*': strict\n", 3, "not 'strict'"),
        ("fabric:\n  'a/*': [x]\n", 2, "maps path patterns to words"),
        ("exclude: {a: b}\n", 1, "list of strings"),
        ("extend:\n  - 7\n", 1, "a file's path"),
        ("ignore: []\nextend: [missing.yaml]\n", 2, "does not exist"),
        ("ignore: []\nfabric: a\nignore: []\n", 3, "twice"),
        ("output: jsn\n", 1, "did you mean 'json'"),
        ("kubernetes-version: latest\n", 1, "such as 1.34"),
        ("ignore: []\npacks:\n  - fabric\n  - acme\n", 4, "No installed package gives a rule pack 'acme'"),
        ("ignore: [TRN005\nfabric: a\n", 2, "YAML"),
    ],
)
def test_a_wrong_configuration_is_one_sentence_with_file_and_line_and_2(fabriclint, tmp_path, text, line, words):
    write(tmp_path, ".fabriclint.yaml", text)
    write(tmp_path, "a.yaml", "a: 1\n")
    for command in (["check"], ["config", "check"], ["config", "show"]):
        ran = fabriclint(*command)
        assert ran.code == 2, command
        assert words in ran.err
        assert ran.err.count("\n") == 1
        assert ran.err.startswith("fabriclint: .fabriclint.yaml:")
        if words != "YAML" or line > 1:
            assert f".fabriclint.yaml:{line}:" in ran.err


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("[project]\nname = 'x'\n[tool.fabriclint]\nselct = ['TRN']\n", 4, "did you mean 'select'"),
        ("[tool.fabriclint]\nignore = [\n  'TRN005',\n]\nfabric = 'x'\nexclude = 5\n", 6, "list of strings"),
        ("[tool.fabriclint]\n[tool.fabriclint.severity]\nTRN005 = 'error'\nTRN006 = 'fatal'\n", 4, "'TRN006'"),
        ("[tool.fabriclint]\nignore = [\n", 1, "no TOML"),
        ("[tool]\nfabriclint = 5\n#[tool.fabriclint\n", 1, "is a table"),
    ],
)
def test_a_wrong_table_in_pyproject_is_one_sentence_too(fabriclint, tmp_path, text, line, words):
    write(tmp_path, "pyproject.toml", text)
    ran = fabriclint("config", "check")
    assert ran.code == 2
    assert words in ran.err
    assert ran.err.count("\n") == 1
    assert ran.err.startswith("fabriclint: pyproject.toml:")
    if words not in ("no TOML", "is a table"):
        assert f"pyproject.toml:{line}:" in ran.err


def test_a_fabric_may_be_one_that_another_file_of_the_chain_adds(fabriclint, tmp_path):
    write(tmp_path, "base.yaml", "fabric: lab\n")
    added = "profiles:\n  lab: {like: network-operator-shared, signals: {resources: [lab.example/ib]}}\n"
    write(tmp_path, ".fabriclint.yaml", "extend: base.yaml\n" + added)
    assert fabriclint("config", "check", str(tmp_path))[0] == 0
    write(tmp_path, ".fabriclint.yaml", "fabric:\n  '*': lab\n")
    code, _, err = fabriclint("config", "check", str(tmp_path))
    assert code == 2 and "fabriclint.yaml:2: There is no fabric 'lab'" in err


def test_a_fault_in_an_extended_file_names_that_file(fabriclint, tmp_path):
    write(tmp_path, ".fabriclint.yaml", "extend: shared/base.yaml\n")
    write(tmp_path, "shared/base.yaml", "\nselct: []\n")
    assert fabriclint("config", "check").err.startswith("fabriclint: shared/base.yaml:2: ")


def test_a_cycle_of_extends_is_an_error(fabriclint, tmp_path):
    write(tmp_path, ".fabriclint.yaml", "extend: b.yaml\n")
    write(tmp_path, "b.yaml", "extend: .fabriclint.yaml\n")
    ran = fabriclint("config", "check")
    assert ran.code == 2
    assert ran.err == "fabriclint: b.yaml:1: 'extend' leads back to '.fabriclint.yaml'; remove one of the two.\n"


def test_extend_is_the_base_and_the_file_wins(fabriclint, tmp_path, faulty):
    write(tmp_path, "base.yaml", "severity: {TRN005: error}\nignore: [TRN005]\n")
    write(tmp_path, ".fabriclint.yaml", "extend: base.yaml\nignore: []\n")
    assert "error[TRN005]" in fabriclint("check", "-o", "concise").out


def test_the_nearest_file_above_each_linted_file_counts(fabriclint, tmp_path, faulty):
    write(tmp_path, "sub/faulty.yaml", faulty.read_text().replace("name: faulty", "name: other"))
    write(tmp_path, "sub/.fabriclint.yaml", "severity: {TRN005: error}\n")
    ran = fabriclint("check", "-o", "concise")
    assert "\nsub/faulty.yaml:11:17: error[TRN005]" in "\n" + ran.out
    assert "\nfaulty.yaml:11:17: warning[TRN005]" in "\n" + ran.out


def test_isolated_reads_no_configuration(fabriclint, tmp_path, faulty):
    write(tmp_path, ".fabriclint.yaml", "ignore: [TRN005]\n")
    assert fabriclint("check").code == 0
    assert fabriclint("check", "--isolated").code == 1


def test_config_names_one_file_for_all(fabriclint, tmp_path, faulty):
    write(tmp_path, "other.yaml", "ignore: [TRN005]\n")
    assert fabriclint("check", "faulty.yaml", "--config", "other.yaml").code == 0


def test_pyproject_is_read_too(fabriclint, tmp_path, faulty):
    write(tmp_path, "pyproject.toml", '[tool.fabriclint]\nignore = ["TRN005"]\n')
    assert fabriclint("check").code == 0


def test_severity_off_switches_a_rule_off(fabriclint, tmp_path, faulty):
    write(tmp_path, ".fabriclint.yaml", "severity:\n  TRN005: off\n")
    assert fabriclint("check").code == 0


@pytest.mark.parametrize("pattern", ["k8s/*", "k8s/", "k8s", "**/faulty.yaml", "k8s/faulty.yaml"])
def test_path_patterns_are_relative_to_the_configuration(fabriclint, tmp_path, faulty, monkeypatch, pattern):
    write(tmp_path, "k8s/faulty.yaml", faulty.read_text())
    faulty.unlink()
    write(tmp_path, ".fabriclint.yaml", f"per-file-ignores:\n  '{pattern}': [TRN005]\n")
    assert fabriclint("check").code == 0
    monkeypatch.chdir(tmp_path / "k8s")
    assert fabriclint("check").code == 0


def test_a_pattern_for_another_path_changes_nothing(fabriclint, tmp_path, faulty):
    write(tmp_path, ".fabriclint.yaml", "per-file-ignores:\n  'k8s/*': [TRN005]\n")
    assert fabriclint("check").code == 1


def test_excluded_files_are_not_read(fabriclint, tmp_path, faulty):
    write(tmp_path, ".fabriclint.yaml", "exclude: [faulty.yaml]\n")
    assert "faulty.yaml" not in fabriclint("check", "--show-files").out


def test_show_tells_each_value_and_its_origin(fabriclint, tmp_path):
    write(tmp_path, ".fabriclint.yaml", "fabric: gke-tcpxo\n")
    told = json.loads(fabriclint("config", "show", "-o", "json").out)
    assert told["settings"]["fabric"] == {"value": "gke-tcpxo", "from": ".fabriclint.yaml:1"}
    assert told["settings"]["trainer-version"] == {"value": "2.2", "from": "default"}


def test_show_tells_the_origin_through_extend(fabriclint, tmp_path):
    write(tmp_path, "org.yaml", "contract: aicr\nignore: [TRN005]\nexclude: [old/]\n")
    write(tmp_path, "team/base.yaml", "extend: ../org.yaml\nfabric: eks-efa\nexclude: []\n")
    write(tmp_path, ".fabriclint.yaml", "extend: team/base.yaml\n\nignore: []\nkubernetes-version: 1.30\n")
    told = json.loads(fabriclint("config", "show", "-o", "json").out)["settings"]
    assert told["contract"] == {"value": "aicr", "from": "org.yaml:1"}
    assert told["fabric"] == {"value": "eks-efa", "from": "team/base.yaml:2"}
    assert told["exclude"] == {"value": [], "from": "team/base.yaml:3"}
    assert told["ignore"] == {"value": [], "from": ".fabriclint.yaml:3"}
    assert told["kubernetes-version"] == {"value": "1.30", "from": ".fabriclint.yaml:4"}
    assert told["select"] == {"value": [], "from": "default"}
    assert 'contract: "aicr"  # org.yaml:1\n' in fabriclint("config", "show").out


def test_the_output_of_the_configuration_is_the_format(fabriclint, tmp_path, faulty):
    write(tmp_path, ".fabriclint.yaml", "output: json\n")
    assert json.loads(fabriclint("check").out)["version"] == 1
    assert fabriclint("check", "-o", "concise").out.startswith("faulty.yaml:11:17: ")


def test_the_schema_is_valid_and_knows_every_key(fabriclint):
    told = json.loads(fabriclint("config", "schema").out)
    jsonschema.Draft202012Validator.check_schema(told)
    assert set(told["properties"]) == set(_KEYS)
    jsonschema.validate({"fabric": {"a/*": "eks-efa"}, "ignore": ["TRN005"]}, schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"selct": []}, schema())
