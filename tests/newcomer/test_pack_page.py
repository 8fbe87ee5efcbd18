"""The pack of docs/packs.md works as it is printed."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path

import pytest

from fabriclint import views
from fabriclint.cli.front import run
from fabriclint.document import Manifest
from fabriclint.packs import pack_of
from fabriclint.pod import ContainerView, PodView, WorkerPod

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "packs.md").read_text(encoding="utf-8")
JOB = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: captions
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 33
      template:
        spec:
          containers:
            - name: pytorch
              image: registry.example/captions:2.1
              env:
                - {name: NCCL_DEBUG, value: WARN}
              resources:
                limits: {nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 32}
"""
#: The same job as the pack's rules want it.
MENDED = (
    JOB.replace("WARN", "INFO")
    .replace("registry.example", "registry.acme.example")
    .replace(
        "  name: captions\n",
        "  name: captions\n  labels: {acme.example/cost-centre: vision}\n  annotations: {acme.example/announced: today}\n",
    )
)


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The page's two files as pip would install them, and a repository that names the pack."""
    site, repository = tmp_path / "site", tmp_path / "repository"
    information = site / "acme_rules-1.0.dist-info"
    information.mkdir(parents=True)
    project = tomllib.loads(block("toml"))["project"]
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 1.0\n")
    points = project["entry-points"]["fabriclint.rules"]
    lines = "".join(f"{name} = {target}\n" for name, target in points.items())
    (information / "entry_points.txt").write_text(f"[fabriclint.rules]\n{lines}")
    (site / "acme_rules.py").write_text(block("python"))
    (repository / ".git").mkdir(parents=True)
    (repository / ".fabriclint.yaml").write_text("packs: [acme]\n")
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.chdir(repository)
    pack_of.cache_clear()
    yield repository
    pack_of.cache_clear()
    sys.modules.pop("acme_rules", None)


def found(capsys: pytest.CaptureFixture[str]) -> list[tuple[str, int]]:
    run(["check", "--select", "ACME", "-o", "json"])
    return [(f["code"], f["line"]) for f in json.loads(capsys.readouterr().out)["findings"]]


def test_each_rule_finds_its_fault(acme: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (acme / "job.yaml").write_text(JOB)
    assert found(capsys) == [("ACME001", 3), ("ACME004", 3), ("ACME002", 13), ("ACME003", 15)]


def test_the_job_as_it_should_be_has_none(acme: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (acme / "job.yaml").write_text(MENDED)
    assert found(capsys) == []


def test_what_cannot_be_seen_is_not_held_against_the_job(acme: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = MENDED.replace("registry.acme.example/captions:2.1", '"{{ image }}"')
    (acme / "job.yaml").write_text(text.replace("value: INFO", 'value: "{{ level }}"'))
    assert found(capsys) == []


def test_its_fix_is_made(acme: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (acme / "job.yaml").write_text(JOB)
    run(["check", "--select", "ACME", "--fix", "-q"])
    capsys.readouterr()
    assert (acme / "job.yaml").read_text() == JOB.replace("WARN", "INFO")


def test_the_page_of_a_rule_is_its_docstring(acme: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["rule", "ACME002"])
    assert "push the image there" in capsys.readouterr().out.lower()


@pytest.mark.parametrize(
    ("name", "view"),
    [
        ("Manifest", Manifest),
        ("PodView", PodView),
        ("WorkerPod", WorkerPod),
        ("JobView", views.JobView),
        ("TrainJobView", views.TrainJobView),
    ],
)
def test_the_views_have_what_the_page_names(name: str, view: type) -> None:
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |"))
    _, _, home, _, has, _ = row.split("|")
    assert home.strip(" `") in (view.__module__, "fabriclint.views")
    own, _, inner = has.partition("(")
    after = has.partition("),")[2] if inner else ""
    known = {*dir(view), *getattr(view, "__slots__", ()), *getattr(view, "__dataclass_fields__", ())}
    assert set(re.findall(r"`(\w+)`", own + after)) <= known
    assert set(re.findall(r"`(\w+)[`(]", inner.partition("),")[0])) <= set(dir(ContainerView))
