"""Diffs of edited texts: what git makes of them is the edited text, however many lines repeat."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabriclint.fix.diff import unified

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "a: b", "x\r"]), max_size=30)


def applied(folder: Path, before: str, after: str) -> str:
    (folder / "f").write_bytes(before.encode())
    (folder / "d").write_bytes(unified("f", before, after).encode())
    subprocess.run(["git", "apply", "--whitespace=nowarn", "d"], cwd=folder, check=True, capture_output=True)
    return (folder / "f").read_bytes().decode() if (folder / "f").exists() else ""


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LINES, LINES, st.booleans(), st.booleans())
def test_git_applies_it(tmp_path: Path, one: list[str], two: list[str], end: bool, other: bool) -> None:
    before, after = "\n".join(["first", *one]) + "\n" * end, "\n".join(["first", *two]) + "\n" * other
    if before != after:
        assert applied(tmp_path, before, after) == after


def test_equal_texts_have_no_diff() -> None:
    assert unified("f", "a\n", "a\n") == ""


@pytest.mark.parametrize("copies", [3, 500])
def test_few_changes_among_many_equal_lines_are_few_lines(tmp_path: Path, copies: int) -> None:
    before = "".join(f"name: {n}\n" + "level: 3\nkey: value\n" * 20 for n in range(copies))
    after = before.replace("level: 3\nkey: value\nname", 'level: "3"\nadded: 1\nkey: value\nname')
    diff = unified("f", before, after)
    changed = [line for line in diff.splitlines()[2:] if line[0] in "+-"]
    assert len(changed) == 3 * (copies - 1)
    assert applied(tmp_path, before, after) == after
