"""`fabriclint resolve`: the JobSet as YAML or JSON, where each line came from, and what the TrainJob changed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from fabriclint.cli.resolve import run

BASES = Path(__file__).parents[1] / "bases"
PAIRS = (
    "trainer-torch",
    "trainer-fabric",
    "trainer-mpi",
    "trainer-steps",
    "trainer-shipped",
    "trainer-tcpxo",
    "trainer-tune",
)


def resolve(capsys, base: str, *, code: int = 0, **options) -> str:
    given = {"name": None, "origins": False, "diff": False, "output_format": "yaml", "trainer_version": None} | options
    files = [base] if "/" in base else [str(BASES / f"{base}.yaml")]
    assert run(files, **given) == code
    said = capsys.readouterr()
    return said.err if code else said.out


def loaded(text: str):
    return YAML(typ="safe", pure=True).load(text)


def without_empty(value):
    """What the page leaves out: structures that say nothing."""
    if isinstance(value, dict):
        return {k: without_empty(v) for k, v in value.items() if not (k in ("metadata", "resources") and v == {})}
    return [without_empty(v) for v in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", PAIRS)
def test_the_yaml_is_the_jobset_of_the_json(capsys, name):
    page = resolve(capsys, name)
    (job,) = json.loads(resolve(capsys, name, output_format="json"))
    assert loaded(page) == without_empty(job["jobset"])
    assert page.startswith(f"# TrainJob '{job['jobset']['metadata']['name']}' on ")
    assert loaded(resolve(capsys, name, origins=True)) == without_empty(job["jobset"])


def origins(page: str) -> dict[str, str]:
    """The comment behind each line, by the line's text."""
    found = {}
    for line in page.splitlines():
        text, mark, where = line.rpartition("  # ")
        if mark and not line.startswith("#"):
            found[text.strip()] = where.strip()
    return found


def test_each_line_says_where_it_came_from(capsys):
    path = BASES / "trainer-torch.yaml"
    found = origins(resolve(capsys, "trainer-torch", origins=True))
    lines = path.read_text().splitlines()
    for text, line in (
        ("zone: a", "zone: a"),
        ("pool: h100", "pool: h100"),
        ("image: registry.example/train:2", "image: registry.example/train:2"),
        ("- name: EPOCHS", "- name: EPOCHS"),
        ("memory: 900Gi", "memory: 900Gi"),
    ):
        wanted = next(i for i, t in enumerate(lines, 1) if t.strip() == line)
        assert found[text].endswith(f"trainer-torch.yaml:{wanted}") and not found[text].startswith("Trainer"), text
    count = next(i for i, t in enumerate(lines, 1) if t.strip() == "numNodes: 2" and i > 50)
    assert found["parallelism: 2"].startswith("Trainer, for ") and found["parallelism: 2"].endswith(f":{count}")


def test_a_shipped_runtime_is_named_in_place_of_a_file(capsys):
    page = resolve(capsys, "trainer-tune", origins=True)
    assert "# Trainer 2.2: torchtune-llama3.2-1b" in page
    assert "a cluster may have changed it" in page


@pytest.mark.parametrize("name", PAIRS)
def test_the_difference_holds_only_changed_lines_and_the_keys_above_them(capsys, name):
    page = resolve(capsys, name, diff=True)
    body = [line for line in page.splitlines() if not line.startswith("#")]
    for number, line in enumerate(body):
        if line.startswith("  "):
            depth = len(line) - len(line.lstrip())
            below = body[number + 1]
            assert len(below[1:]) - len(below[1:].lstrip()) + 1 > depth, line
    assert any(line[0] in "+-" for line in body) or "changes nothing" in page


def test_the_difference_shows_what_the_trainjob_says(capsys):
    page = resolve(capsys, "trainer-torch", diff=True)
    assert re.search(r"^-\s+image: registry.example/train:1$", page, re.M)
    assert re.search(r"^\+\s+image: registry.example/train:2$", page, re.M)
    assert re.search(r"^\+\s+zone: a$", page, re.M)
    assert "pool: h100" not in page


def test_a_refused_trainjob_is_shown_with_the_reason_and_as_it_is_meant(capsys, tmp_path):
    text = (BASES / "trainer-torch.yaml").read_text().replace("vision.example/pool", "pool")
    file = tmp_path / "job.yaml"
    file.write_text(text)
    page = resolve(capsys, str(file))
    assert ": rejected." in page and "Trainer's webhook refuses" in page
    line = next(i for i, t in enumerate(text.splitlines(), 1) if "manager: pool" in t)
    assert f"job.yaml:{line}: 'manager'" in page
    assert loaded(page)["kind"] == "JobSet"


def test_a_runtime_that_is_not_there_is_said_and_nothing_is_made_up(capsys, tmp_path):
    file = tmp_path / "job.yaml"
    file.write_text((BASES / "trainer-shipped.yaml").read_text().replace("torch-distributed", "in-the-cluster"))
    page = resolve(capsys, str(file))
    assert all(line.startswith("#") for line in page.splitlines())
    assert "not among the files" in page


def test_the_release_decides(capsys, tmp_path):
    file = tmp_path / "job.yaml"
    file.write_text(
        (BASES / "trainer-torch.yaml")
        .read_text()
        .replace(
            "    numNodes: 2\n    image", "    numNodes: 2\n    resourcesPerNode: {limits: {memory: 1Gi}}\n    image"
        )
    )
    assert "nvidia.com/gpu" not in resolve(capsys, str(file), trainer_version="2.2")
    assert "nvidia.com/gpu" in resolve(capsys, str(file), trainer_version="2.3")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"output_format": "xml"}, "--output-format is yaml or json"),
        ({"output_format": "json", "diff": True}, "--diff is for reading"),
        ({"name": "nobody"}, "no TrainJob named 'nobody'"),
    ],
)
def test_errors_are_sentences(capsys, options, said):
    error = resolve(capsys, "trainer-torch", code=2, **options)
    assert said in error and error.startswith("fabriclint: ") and error.rstrip().endswith(".")


def test_a_file_that_is_not_there_is_a_sentence(capsys):
    assert "cannot be read" in resolve(capsys, "no/such/file.yaml", code=2)


def test_json_names_the_origin_of_each_value(capsys):
    (job,) = json.loads(resolve(capsys, "trainer-torch", output_format="json", origins=True))
    pod = "/spec/replicatedJobs/0/template/spec/template/spec"
    assert job["origins"][f"{pod}/nodeSelector/zone"].endswith(":77")
    assert len(job["origins"]) > 20


def test_a_script_stays_readable(capsys):
    page = resolve(capsys, "trainer-tcpxo")
    assert "exec torchrun train.py" in page and "\\n" not in page
