"""Small made-up logs: every network, every outcome, every known cause."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from fabriclint.cli.verify import run
from fabriclint.verify.tables import tables
from fabriclint.verify.verdict import EXITS

DATA = Path(__file__).parent.parent / "data" / "verify"
#: What is next where the rule depends on a fabric that was not said.
_CHECK = "fabriclint check MANIFEST"
with (DATA / "expected.tsv").open(encoding="utf-8", newline="") as _table:
    ROWS = list(csv.DictReader(_table, delimiter="\t"))


@pytest.mark.parametrize("row", ROWS, ids=[r["file"] for r in ROWS])
def test_a_made_log_is_judged_as_its_table_says(row: dict[str, str]) -> None:
    expected = None if row["expected"] == "-" else row["expected"]
    text, code = run(str(DATA / row["file"]), expected, "json", None)
    said = json.loads(text)
    for key in ("verdict", "fabric", "gpudirect", "strength"):
        if row[key] != "-":
            assert said[key] == row[key], (key, said["reason"])
    assert code == EXITS[said["verdict"]]
    if row["rule"] != "-":
        assert row["rule"] in [c["rule"] for c in said["causes"]]
    elif row["file"].startswith("cause-"):
        assert said["causes"]
    if row["note"] != "-":
        assert any(row["note"] in n for n in [*said["notes"], said["reason"]])
    if said["verdict"] == "none":
        assert said["reason"]
        assert said["next"]


def test_every_made_log_stands_in_the_table() -> None:
    assert {p.name for p in DATA.iterdir()} - {"expected.tsv"} == {r["file"] for r in ROWS}


def test_every_cause_has_a_rule_or_says_what_to_do() -> None:
    for cause in tables().causes:
        assert cause.rules or cause.step.endswith("."), cause.message


@pytest.mark.parametrize("row", [r for r in ROWS if r["file"].startswith("cause-")], ids=lambda r: r["file"])
def test_the_next_step_is_that_of_the_first_cause(row: dict[str, str]) -> None:
    text, _ = run(str(DATA / row["file"]), None if row["expected"] == "-" else row["expected"], "json", None)
    said = json.loads(text)
    first = said["causes"][0]
    if said["verdict"] == "failed":
        steps = {c.step for c in tables().causes if c.message == first["message"]}
        assert said["next"] in ({f"fabriclint rule {first['rule']}"} if first["rule"] else {*steps, _CHECK})
