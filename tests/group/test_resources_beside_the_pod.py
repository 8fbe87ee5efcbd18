"""Dynamo writes GPUs, devices and variables of a service beside its pod: they are the main container's."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.pod import PodView
from fabriclint.report.model import ReportOptions

BASE = (Path(__file__).parents[1] / "bases" / "efa-dynamo.yaml").read_text()


def decode(text: str) -> PodView:
    result = lint([], Settings(isolated=True), stdin=("graph.yaml", text.encode()))
    (job,) = result.jobs
    return next(p for p in job.pods if p.site.name == "Decode")


def codes(text: str) -> list[tuple[str, int]]:
    given = Settings(isolated=True)
    report = assemble(lint([], given, stdin=("graph.yaml", text.encode())), given, ReportOptions())
    return [(f.code, f.region.line) for f in report.findings if f.severity != "note"]


def test_the_amounts_are_the_main_containers() -> None:
    worker = decode(BASE).worker
    assert worker is not None
    assert worker.gpus == 8
    assert worker.amount("vpc.amazonaws.com/efa") == 32
    assert {p for p, _, _ in worker.resources()} == {"limits"}


def test_a_finding_about_an_amount_stands_at_its_line() -> None:
    text = BASE.replace('vpc.amazonaws.com/efa: "32"', 'vpc.amazonaws.com/efa: "33"')
    assert codes(text) == [("EFA002", 1 + text[: text.index('efa: "33"')].count("\n"))]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('gpu: "8"', "gpu: '{{ gpus }}'"),
        ('gpu: "8"', 'gpu: "8"\n          gpuType: gpu.example.com/x'),
        ("      resources:\n", "      resources: # {{ resources }}\n"),
        ('          custom:\n            vpc.amazonaws.com/efa: "32"', "          custom: '{{ devices }}'"),
    ],
)
def test_what_is_open_or_of_another_maker_is_no_fault(old: str, new: str) -> None:
    assert old in BASE
    text = BASE.replace(old, new)
    assert [c for c, _ in codes(text) if not c.startswith("DOC")] == []


def test_resources_of_the_container_itself_stay_under_those_beside_the_pod() -> None:
    text = BASE.replace(
        "          image: registry.example/chat-efa:4\n          command: [python3, -m, dynamo.sglang]",
        "          image: registry.example/chat-efa:4\n          resources: {limits: {nvidia.com/gpu: 4, cpu: 16}}\n"
        "          command: [python3, -m, dynamo.sglang]",
    )
    worker = decode(text).worker
    assert worker is not None
    assert worker.gpus == 8
    assert worker.amount("cpu") == 16
    assert worker.amount("vpc.amazonaws.com/efa") == 32


ENVS = """      envs:
        - name: NCCL_DEBUG
          value: WARN
        - name: FI_PROVIDER
          value: tcp
"""


def test_variables_beside_the_pod_are_the_main_containers_whose_own_win() -> None:
    worker = decode(BASE.replace("      multinode:\n", ENVS + "      multinode:\n")).worker
    assert worker is not None
    assert worker.env.value("NCCL_DEBUG") == "WARN"
    assert worker.env.value("FI_PROVIDER") == "efa"


def test_a_fault_in_a_variable_beside_the_pod_stands_at_its_line() -> None:
    text = BASE.replace("      multinode:\n", ENVS.replace("NCCL_DEBUG", "NCCL_DEBUGG") + "      multinode:\n")
    assert codes(text) == [("NCCL001", 1 + text[: text.index("NCCL_DEBUGG")].count("\n"))]


def test_a_secret_beside_the_pod_leaves_the_variables_open() -> None:
    worker = decode(BASE.replace("      multinode:\n", "      envFromSecret: tokens\n      multinode:\n")).worker
    assert worker is not None
    assert worker.env.open
