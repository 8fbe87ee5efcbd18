"""The short way to `check` reads options exactly as typer does, or leaves them to typer."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabriclint.cli import app, check, front
from fabriclint.cli.check import Options
from fabriclint.cli.front import plain_check

NAMES = [name for name in Options.__slots__ if name != "paths"]
FLAGS = [name for name in NAMES if isinstance(getattr(Options(), name), bool)]
VALUED = [name for name in NAMES if name not in FLAGS]


def spelled(name: str) -> str:
    return "--" + name.replace("_", "-")


def by_typer(words: list[str]) -> Options | None:
    """The options that typer hands to the command; None when it refuses them or prints help."""
    seen: list[Options] = []

    def note(options: Options) -> int:
        seen.append(options)
        return 0

    with patch.object(check, "run_check", note):
        app.run(words)
    return seen[0] if seen else None


word = st.one_of(
    st.sampled_from(["-", "--", "a.yaml", "k8s/", "", "--help", "-o", "-q", "-v", "-vq", "-ojson", "--jobs=2", "--fi"]),
    st.sampled_from(FLAGS).map(spelled),
    st.sampled_from(FLAGS).map(lambda n: spelled(n) + "=1"),
    st.sampled_from(VALUED).map(spelled),
    st.sampled_from(["json", "A,B", "A, ,", "7", "-1", "x=y"]),
    st.tuples(st.sampled_from(VALUED), st.sampled_from(["json", "A,B", "", "7", "-", "x=y"])).map(
        lambda pair: f"{spelled(pair[0])}={pair[1]}"
    ),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(word, max_size=6))
def test_what_is_read_without_typer_is_what_typer_reads(words):
    plain = plain_check(["check", *words])
    if plain is not None:
        assert plain == by_typer(["check", *words])


@pytest.mark.parametrize("name", NAMES)
def test_every_option_of_the_command_is_read_without_typer(name):
    words = ["check", "a.yaml", spelled(name), *(["3"] if name in VALUED else [])]
    plain = plain_check(words)
    assert plain is not None
    assert plain == by_typer(words)
    assert plain != Options(paths=("a.yaml",))


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["rules"],
        ["check", "--help"],
        ["check", "--"],
        ["check", "--fi"],
        ["check", "-qv"],
        ["check", "--quiet=1"],
        ["check", "--jobs", "many"],
        ["check", "--jobs", "-1"],
        ["check", "--output-format"],
        ["check", "--output_format", "json"],
        ["check", "--paths", "a"],
    ],
)
def test_what_can_be_read_in_two_ways_is_left_to_typer(words):
    assert plain_check(words) is None


def test_the_exit_code_of_the_run_is_the_programs(monkeypatch):
    monkeypatch.setattr(check, "run_check", lambda options: 1)
    assert front.run(["check"]) == 1
    assert front.run(["check", "--fi"]) == 2
