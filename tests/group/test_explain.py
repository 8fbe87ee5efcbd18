"""`fabriclint explain`: golden text and JSON, its rules, its exit codes; and an answer for every example."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "data" / "group" / "explain"
CASES = sorted(p.stem for p in GOLDEN.glob("*.yaml"))
KEYS = {
    "object", "path", "line", "fabric", "declared", "contract", "evidence", "nodes", "gpus", "ranks", "multi_node",
    "lost", "groups", "launch", "unknown", "rules",
}  # fmt: skip


def explain(*arguments: str, cwd: Path = GOLDEN, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fabriclint", "explain", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, input=stdin, check=False)


def workloads(*arguments: str, cwd: Path = GOLDEN) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(explain(*arguments, "--isolated", "-o", "json", cwd=cwd).stdout)[
        "workloads"
    ]
    return found


def without_rules(text: str) -> str:
    """The text without the rows about rules, which every new rule changes."""
    return text.split("  rules ", maxsplit=1)[0]


@pytest.mark.parametrize("case", CASES)
def test_the_text_is_the_golden_one(case: str) -> None:
    ran = explain(f"{case}.yaml", "--isolated")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert without_rules(ran.stdout) == (GOLDEN / f"{case}.txt").read_text()


@pytest.mark.parametrize("case", CASES)
def test_the_json_is_the_golden_one(case: str) -> None:
    found = workloads(f"{case}.yaml")
    for one in found:
        assert set(one) == KEYS
        assert set(one.pop("rules")) == {"fired", "passed", "not_applicable", "could_not_judge", "silent"}
    assert found == json.loads((GOLDEN / f"{case}.json").read_text())


@pytest.mark.parametrize("case", CASES)
def test_every_rule_has_one_answer(case: str) -> None:
    from fabriclint.engine import builtin_pack

    rules = workloads(f"{case}.yaml")[0]["rules"]
    named = [
        *rules["fired"],
        *rules["passed"],
        *rules["not_applicable"],
        *(r["code"] for r in rules["could_not_judge"]),
        *(r["code"] for r in rules["silent"]),
    ]
    assert sorted(named) == sorted(r.code for r in builtin_pack().load() if r.default)


def test_a_rule_that_fires_is_named_and_one_that_cannot_see_says_what() -> None:
    rules = workloads("leaderworkerset.yaml")[0]["rules"]
    assert "RUN016" in rules["passed"]
    assert "FIT001" in rules["not_applicable"]
    assert all(r["why"] for r in rules["could_not_judge"])


def test_what_is_refused_is_among_the_fired(tmp_path: Path) -> None:
    text = (GOLDEN / "mpijob.yaml").read_text().replace("replicas: 1", "replicas: 2")
    (tmp_path / "job.yaml").write_text(text)
    assert "RUN016" in workloads("job.yaml", cwd=tmp_path)[0]["rules"]["fired"]


def test_a_suppressed_finding_is_neither_fired_nor_passed(tmp_path: Path) -> None:
    text = (GOLDEN / "mpijob.yaml").read_text()
    text = text.replace("replicas: 1", "replicas: 2  # fabriclint: ignore[RUN016] two on purpose")
    (tmp_path / "job.yaml").write_text(text)
    rules = workloads("job.yaml", cwd=tmp_path)[0]["rules"]
    assert "RUN016" not in rules["fired"] + rules["passed"]
    assert {"code": "RUN016", "why": "suppressed"} in rules["silent"]
    assert "RUN016" not in [r["code"] for r in rules["could_not_judge"]]


@pytest.mark.parametrize("folder", sorted(p.parent for p in (ROOT / "examples").glob("*/*/trainjob.yaml")))
def test_every_example_is_answered(folder: Path) -> None:
    found = workloads(str(folder), cwd=ROOT)
    assert {w["path"].rsplit("/", 1)[-1] for w in found} == {p.name for p in folder.glob("*.yaml")}
    trainjob = next(w for w in found if w["object"]["kind"] == "TrainJob")
    assert trainjob["fabric"] == folder.parent.name
    assert trainjob["groups"][0]["hosts"][0].endswith("-node-0-0")
    assert trainjob["rules"]["passed"]
    if folder.name == "correct":
        assert trainjob["rules"]["fired"] == []
    else:
        assert trainjob["rules"]["fired"]


def test_a_trainjob_gives_the_group_that_its_runtime_makes() -> None:
    found = workloads("examples/eks-efa/correct", cwd=ROOT)
    trainjob = next(w for w in found if w["object"]["kind"] == "TrainJob")
    assert (trainjob["nodes"], trainjob["gpus"]) == (2, 16)
    assert trainjob["groups"][0]["environment"]["PET_NNODES"] == "2"
    assert "PET_MASTER_ADDR" in trainjob["groups"][0]["injected"]


def test_a_job_that_loses_its_gpus_is_shown_without_them() -> None:
    found = workloads("examples/eks-efa/broken", cwd=ROOT)
    trainjob = next(w for w in found if w["object"]["kind"] == "TrainJob")
    assert (trainjob["nodes"], trainjob["gpus"], trainjob["groups"][0]["gpus"]) == (2, 0, 0)
    assert [(one["resource"], one["amount"]) for one in trainjob["lost"]] == [("nvidia.com/gpu", "8")]
    assert trainjob["groups"][0]["devices"] == {"vpc.amazonaws.com/efa": 32}
    # torch counts the CPUs then, of which none is asked for.
    assert trainjob["groups"][0]["environment"]["PET_NPROC_PER_NODE"] == "1"
    shown = explain("examples/eks-efa/broken", "--isolated", cwd=ROOT).stdout
    assert "job         2 nodes, no GPUs; 2 ranks\n" in shown


@pytest.mark.parametrize(
    ("base", "rows"),
    [
        ("run-jaxjob", ["2 nodes x 1 GPU = 2 GPUs", "proteins-worker-0:6666 (set by the training-operator)"]),
        ("run-xgboostjob", ["3 nodes x 1 GPU = 3 GPUs", "credit-master-0:9999 (set by the training-operator)"]),
        ("run-paddlejob", ["only at run time, in PADDLE_MASTER (set by the training-operator)"]),
        ("run-mpijob-exec", ["mpi: 2 nodes, 1 process on each", "OMPI_MCA_plm_rsh_agent=/etc/mpi/kubexec.sh"]),
        ("run-rayjob", ["by KubeRay; no address is asked of the file", "worker 'gpu': 2 pods, 1 GPU"]),
        ("run-volcano", ["speech-master-0.speech:23456 (set by Volcano)", "WORLD_SIZE=3 RANK=0"]),
        ("run-statefulset", ["engine-0.engine:29400 (said by the command)", "2 pods, engine-0 .. engine-1"]),
        (
            "run-indexed",
            ["stars-0.stars:29500 (said by the command)", "set by the Job controller: JOB_COMPLETION_INDEX"],
        ),
        ("run-workflow", ["stars-master-0:23456 (set by the training-operator)"]),
        ("nccl-mpijob", ["sshd starts the ranks", "; forwarded to the ranks: "]),
    ],
)
def test_what_is_said_of_a_group_is_what_its_controller_makes(base: str, rows: list[str]) -> None:
    shown = explain(f"tests/bases/{base}.yaml", "--isolated", cwd=ROOT).stdout
    assert [row for row in rows if row not in shown] == []


def test_standard_input_is_explained() -> None:
    ran = explain("-", "-o", "json", "--isolated", stdin=(GOLDEN / "job.yaml").read_text())
    assert json.loads(ran.stdout)["workloads"][0]["object"]["name"] == "fold"


def test_usage_errors_are_sentences_and_two() -> None:
    ran = explain("job.yaml", "-o", "xml")
    assert ran.returncode == 2
    assert ran.stderr == "fabriclint: --output-format is text or json, not 'xml'.\n"


def test_a_file_that_is_not_there_is_two() -> None:
    ran = explain("nowhere.yaml", "--isolated")
    assert ran.returncode == 2
    assert "nowhere.yaml" in ran.stderr


def test_nothing_to_explain_is_said(tmp_path: Path) -> None:
    (tmp_path / "map.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    ran = explain("map.yaml", "--isolated", cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (0, "")
    assert "no workload was found" in ran.stderr


def test_the_text_draws_codes_together_that_follow_each_other() -> None:
    from fabriclint.cli.explain import _ranges

    codes = ["ACME1", "DEV001", "DEV002", "DEV003", "DOC001", "DOC009", "RUN022"]
    assert _ranges(codes) == ["ACME1", "DEV001-DEV003", "DOC001", "DOC009", "RUN022"]
    assert _ranges([]) == []
