"""Selectors of devices: recorded answers of the scheduler's own CEL, and what is left open."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabriclint.cluster.cel import ERROR, OPEN, holds

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "cluster" / "selectors.json").read_text())
GPU: dict[str, Any] = {
    "attributes": {
        "type": {"string": "gpu"},
        "productName": {"string": "NVIDIA H200"},
        "index": {"int": 3},
        "mig": {"bool": False},
        "driverVersion": {"version": "570.86.15"},
        "resource.kubernetes.io/pcieRoot": {"string": "pci0000:00"},
    },
    "capacity": {"memory": {"value": "141Gi"}},
}
A, R, C = (
    "device.attributes['gpu.example.com']",
    "device.attributes['resource.kubernetes.io']",
    "device.capacity['gpu.example.com']",
)


def said(expression: str) -> object:
    return holds(expression, "gpu.example.com", GPU)


@pytest.mark.parametrize(("expression", "met", "unmet", "errors"), RECORDED["rows"])
def test_recorded_answers(expression: str, met: list[int], unmet: list[int], errors: list[int]) -> None:
    for numbers, answer in ((met, True), (unmet, False), (errors, ERROR)):
        for number in numbers:
            driver, device = RECORDED["devices"][number]
            assert holds(expression, driver, device) is answer, device


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        ("device.driver == 'gpu.example.com'", True),
        ('device.driver == "other"', False),
        (f"{A}.type == 'gpu' && {R}.pcieRoot == 'pci0000:00'", True),
        (f'{A}["type"] == "gpu"', True),
        (f"{A}.index >= 3 && {A}.index < 4", True),
        (f"{A}.index in [1, 2]", False),
        (f"{A}.type in ['gpu', 'mig']", True),
        (f"!{A}.mig", True),
        (f"!({A}.mig || {A}.index == 3)", False),
        (f"{A}.absent == 1", ERROR),
        (f"{A}.absent == 1 || {A}.index == 3", True),
        (f"{A}.absent == 1 && {A}.index == 4", False),
        (f"{A}.absent == 1 && {A}.index == 3", ERROR),
        (f"has({A}.absent) && {A}.absent == 1", False),
        (f"!has({A}.absent)", True),
        (f"'type' in {A}", True),
        (f"{A}.?absent.orValue(true)", True),
        (f"{A}.?mig.orValue(true)", False),
        (f"{A}.?mig.hasValue()", True),
        (f"{A}.productName.lowerAscii().matches('^.*h200.*$')", True),
        (f"{A}.productName.matches('^h200$')", False),
        (f"{A}.productName.startsWith('NVIDIA')", True),
        (f"{A}.productName.contains('H100')", False),
        (f"{A}.driverVersion.isGreaterThan(semver('560.0.0'))", True),
        (f"{A}.driverVersion.isLessThan(semver('560.35.3'))", False),
        (f"{A}.driverVersion.compareTo(semver('570.86.15')) == 0", True),
        (f"{C}.memory.compareTo(quantity('40Gi')) >= 0", True),
        (f"{C}.memory.isLessThan(quantity('80Gi'))", False),
        (f"{C}.memory == quantity('144384Mi')", True),
        (f"{C}.absent.compareTo(quantity('1')) > 0", ERROR),
        (f"{A}.type", ERROR),
        (f"{A}.type == 3", False),
    ],
)
def test_what_an_expression_says_of_a_device(expression: str, answer: object) -> None:
    assert said(expression) is answer


@pytest.mark.parametrize(
    "expression",
    [
        "",
        f"{A}.index == 3 ? true : false",
        f"{A}.index + 1 == 4",
        f"{A}.type.matches('g{{1,3}}')",
        f"{A}.type.matches('(g|u)*$')",
        f"{A}.type.matches('(?i)GPU')",
        f"{A}.driverVersion.isGreaterThan(semver('v560', true))",
        f"{A}.driverVersion.isGreaterThan(semver('560.0.0-rc.1'))",
        f"{A}.driverVersion == '570.86.15'",
        f"{A}.type.replace('g', 'x') == 'xpu'",
        f"{A}.exists(k, k == 'type')",
        "device.attributes['type'] == 'gpu'",
        "device.allowMultipleAllocations",
        "object.spec == 1",
        f"{A}.productName = 'NVIDIA H200'",
        "r'a' == 'a'",
        "((((",
        "!" * 300 + "true",
    ],
)
def test_what_is_not_read_is_left_open(expression: str) -> None:
    assert said(expression) is OPEN


def test_an_open_side_does_not_hide_a_certain_one() -> None:
    assert said(f"device.allowMultipleAllocations && {A}.index == 9") is False
    assert said(f"device.allowMultipleAllocations || {A}.index == 3") is True
    assert said(f"device.allowMultipleAllocations && {A}.index == 3") is OPEN
    assert said(f"device.allowMultipleAllocations && {A}.absent == 3") is ERROR


@settings(max_examples=100)
@given(
    st.text(max_size=60)
    | st.lists(
        st.sampled_from(["device", ".", "attributes", "['a']", "&&", "!", "(", ")", "has(", "1", "in", "["]),
        max_size=14,
    ).map(" ".join)
)
def test_any_text_has_an_answer(text: str) -> None:
    assert said(text) in (True, False, ERROR, OPEN)
