"""The same warning on each template of one job is one finding; errors, and files with comments for us, keep each line."""

from __future__ import annotations

from pathlib import Path

from fabriclint.assemble import assemble
from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.report.model import ReportOptions

BASE = (Path(__file__).parents[1] / "bases" / "tcpxo-volcano.yaml").read_text()
VARIABLE = "                - name: NCCL_DEBUG\n                  value: INFO\n"
DAEMON = "            - name: tcpxo-daemon\n"


def found(text: str) -> list[tuple[str, int, list[int]]]:
    """(code, line, lines of the related places) of errors and warnings."""
    given = Settings(isolated=True)
    report = assemble(lint([], given, stdin=("job.yaml", text.encode())), given, ReportOptions())
    return [
        (f.code, f.region.line, [r.region.line for r in f.related if r.region is not None])
        for f in report.findings
        if f.severity != "note" and f.suppressed is None
    ]


def with_variable(text: str) -> str:
    """The worker's variable on every daemon."""
    head, *parts = text.split(DAEMON)
    return head + "".join(DAEMON + p.replace("env:\n", "env:\n" + VARIABLE, 1) for p in parts)


def lines_of(text: str, what: str) -> list[int]:
    return [n for n, line in enumerate(text.split("\n"), 1) if what in line]


def test_one_warning_names_both_templates() -> None:
    text = with_variable(BASE)
    first, second = lines_of(text, "NCCL_DEBUG")
    ((code, line, related),) = found(text)
    assert (code, line) == ("TCPXO029", first)
    assert second in related


def test_an_error_stands_at_each_template() -> None:
    text = BASE.replace("add: [NET_ADMIN, NET_BIND_SERVICE]", "add: [NET_ADMIN]")
    assert found(text) == [("TCPXO016", line, []) for line in lines_of(text, "add: [NET_ADMIN]")]


def test_a_warning_that_is_accepted_at_one_line_stands_at_the_other() -> None:
    text = with_variable(BASE)
    first, second = lines_of(text, "NCCL_DEBUG")
    lines = text.split("\n")
    lines[second - 1] += "  # fabriclint: ignore[TCPXO029] for a colleague"
    ((code, line, related),) = found("\n".join(lines))
    assert (code, line) == ("TCPXO029", first)
    assert second not in related


def test_two_jobs_are_two() -> None:
    text = with_variable(BASE)
    assert [code for code, _, _ in found(text + "---\n" + text.replace("name: train", "name: other", 1))] == [
        "TCPXO029"
    ] * 2
