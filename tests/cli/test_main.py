"""The console script turns every way a run can end into an exit code and at most a sentence."""

from __future__ import annotations

import sys

import pytest

from fabriclint.__main__ import main
from fabriclint.cli import front


@pytest.mark.parametrize(
    ("raised", "code", "words"),
    [
        (KeyboardInterrupt(), 130, ""),
        (ValueError("a surprise"), 2, "internal error: ValueError: a surprise. Please report it."),
        (RecursionError("too deep"), 2, "internal error: RecursionError"),
    ],
)
def test_what_escapes_a_run_is_a_code_and_no_traceback(monkeypatch, capsys, raised, code, words):
    def fail(_arguments: list[str]) -> int:
        raise raised

    monkeypatch.setattr("gc.set_threshold", lambda count: None)  # the tests go on after this run
    monkeypatch.setattr(front, "run", fail)
    monkeypatch.setattr(sys, "argv", ["fabriclint", "check"])
    assert main() == code
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert "Traceback" not in err
    assert err.count("\n") <= 1
