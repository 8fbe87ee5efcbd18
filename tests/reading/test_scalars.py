"""Scalars become what Kubernetes' own reader makes of them (recorded with sigs.k8s.io/yaml)."""

from __future__ import annotations

import json
import math
from pathlib import Path

from fabriclint.node import Mapping
from fabriclint.scalars import key_text, resolve_plain
from fabriclint.source import parse, read_source

#: [text, [value] or null where it is refused, key or false where it is refused or null where it is no key].
ROWS = json.loads((Path(__file__).parents[1] / "data" / "scalars.json").read_text("utf-8"))


def read(text: str):
    source = read_source("x.yaml", ("apiVersion: v1\nkind: X\n" + text).encode("utf-8", "surrogatepass"))
    documents = parse(source)
    return documents[0].root, source.problems


def test_the_table_is_there():
    assert len(ROWS) > 350


def test_each_value_is_what_kubernetes_reads():
    wrong = []
    for text, expected, _ in ROWS:
        root, problems = read("v: " + text + "\n")
        if expected is None:
            value = root.scalar("v").value if root is not None and root.scalar("v") is not None else None
            if root is not None and not problems and not (isinstance(value, float) and not math.isfinite(value)):
                wrong.append((text, "accepted", value))
        elif root is None:
            wrong.append((text, expected, [p.message for p in problems]))
        else:
            node = root.at("v")
            value = node.plain() if node is not None else None
            same = value == expected[0] or (
                isinstance(value, float) and math.isclose(value, expected[0], rel_tol=1e-15)
            )
            if not same or isinstance(value, bool) != isinstance(expected[0], bool):
                wrong.append((text, expected[0], value))
    assert wrong == []


def test_each_key_is_what_kubernetes_reads():
    wrong = []
    for text, _, expected in ROWS:
        if expected is None or text.startswith(("---", "{")):  # other things below a head
            continue
        root, problems = read(text + ": x\n")
        if expected is False:
            if root is not None and not problems:
                wrong.append((text, "accepted", list(root.fields)))
        elif not isinstance(root, Mapping) or expected not in root.fields:
            wrong.append((text, expected, root and list(root.fields), problems))
    assert wrong == []


def test_an_integer_key_beyond_63_bits_is_refused():
    assert key_text(resolve_plain("9223372036854775808")) is None
    assert key_text(resolve_plain("9223372036854775807")) == "9223372036854775807"


def test_a_number_of_thousands_of_digits_is_read_in_bounded_time():
    assert isinstance(resolve_plain("9" * 300), float)
    assert resolve_plain("9" * 100_000) == "9" * 100_000
