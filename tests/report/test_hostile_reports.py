"""Reports of hostile text: line ends in messages, endless lines, spans over several lines, too many findings."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from fabriclint.report import render
from fabriclint.report.model import (
    Notification,
    Region,
    RelatedPlace,
    Report,
    ReportedFinding,
    RuleInfo,
    Summary,
    ToolInfo,
)


def _report(region: Region, message: str = "A fault.", source: str = "key: value\n", times: int = 1) -> Report:
    finding = ReportedFinding(
        code="FAB101",
        name="a-fault",
        severity="error",
        message=message,
        help="",
        url="https://example.org/FAB101",
        region=region,
        object=None,
        pointer="/key",
        fabric=None,
        fingerprint="f",
    )
    tool = ToolInfo("fabriclint", "0.0.0", "https://example.org")
    return Report(tool, (finding,) * times, (), (), Summary(files=1, errors=times), {region.path: source})


HERE = Region("a.yaml", 1, 6, 1, 11)
FORGED = "One.\n::error::two\r\x1b[31m\x00 tail"


@pytest.mark.parametrize("format_name", ["concise", "github"])
def test_a_message_with_line_ends_stays_on_one_line(format_name: str) -> None:
    text = render(format_name, _report(HERE, FORGED))
    assert len(text.splitlines()) == 1
    assert "tail" in text


def test_text_passes_no_control_character_on() -> None:
    text = render("text", _report(Region("a\x1b.yaml", 1, 6, 1, 11), FORGED))
    assert not [c for c in text if c != "\n" and not c.isprintable()]


def test_a_span_over_several_lines_is_underlined_to_its_first_lines_end() -> None:
    text = render("text", _report(Region("a.yaml", 1, 6, 2, 2), source="key: value\nx: y\n"))
    assert text.splitlines()[3].endswith(" " * 5 + "^^^^^")


def test_an_endless_span_is_clipped() -> None:
    text = render("text", _report(Region("a.yaml", 1, 6, 1, 9000), source="key: " + "v" * 9000))
    assert max(map(len, text.splitlines())) < 400


def test_the_notice_of_what_github_leaves_out_is_readable() -> None:
    last = render("github", _report(HERE, times=13)).splitlines()[-1]
    assert "a step; 3 more" in last
    assert "%3B" not in last


def test_junit_and_gitlab_stay_parseable() -> None:
    report = _report(HERE, FORGED, times=2)
    assert len(ElementTree.fromstring(render("junit", report)).findall(".//failure")) == 2
    prints = [entry["fingerprint"] for entry in json.loads(render("gitlab", report))]
    assert len(set(prints)) == 2


def test_brackets_in_related_places_and_notifications_are_no_sarif_links() -> None:
    plain = _report(HERE)
    finding = replace(plain.findings[0], related=(RelatedPlace(HERE, "see [x](1)"),))
    note = Notification("note", "unreadable", "b.yaml", "it is [odd](2)")
    rule = RuleInfo("FAB101", "a-fault", "S.", "D.", "H.", "H.", "error", None, "c", (), "high", "https://example.org")
    run = json.loads(render("sarif", replace(plain, findings=(finding,), notifications=(note,), rules=(rule,))))[
        "runs"
    ][0]
    assert run["results"][0]["relatedLocations"][0]["message"]["text"] == "see \\[x\\](1)"
    assert run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"] == "it is \\[odd\\](2)"


@pytest.mark.parametrize("format_name", ["text", "concise", "github", "markdown"])
def test_no_format_for_people_passes_control_or_direction_characters_on(format_name: str) -> None:
    text = render(format_name, _report(Region("a\x1b\u202e.yaml", 1, 6, 1, 11), f"{FORGED}\u202e\u2028\x7f"))
    assert not [c for c in text if c != "\n" and not c.isprintable()]


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("see ![x](http://example.org/x.png)", "see !\\[x](http://example.org/x.png)"),
        ("a | b `c` *d* &lt; <e>", "a \\| b \\`c\\` \\*d\\* &amp;lt; &lt;e>"),
    ],
)
def test_what_a_message_quotes_is_no_markdown(message: str, shown: str) -> None:
    assert f"| {shown} |" in render("markdown", _report(HERE, message))


@pytest.mark.parametrize(
    ("path", "shown"), [("a|b.yaml", "`a\\|b.yaml:1`"), ("a`b.yaml", "`` a`b.yaml:1 ``"), ("<a>", "`<a>:1`")]
)
def test_a_path_is_code_in_markdown(path: str, shown: str) -> None:
    assert f"| {shown} |" in render("markdown", _report(Region(path, 1, 6, 1, 11)))
