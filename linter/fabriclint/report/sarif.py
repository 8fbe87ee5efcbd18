"""SARIF 2.1.0 for code scanning, built from sarif-om's classes and written by an own walk over them.

sarif-om's usual serialiser drops values equal to a default (`level: warning`), which the contract wants written.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any
from urllib.parse import quote

import attr
import sarif_om as om

from fabriclint.finding import Severity
from fabriclint.report.line_hash import counted_hashes, written
from fabriclint.report.model import Notification, Region, Report, ReportedFinding, RuleInfo

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_MOST_RESULTS = 5000
_MOST_RELATED = 50
_CONFIGURATION = ("config", "unknown-code")
#: Written even where the value is the class' default.
_ALWAYS = {("Result", "level"), ("Notification", "level"), ("ReportingConfiguration", "level")}
_DESCRIPTORS = {
    "skipped-template": "A file that is a template was skipped.",
    "skipped-not-manifest": "A file that is no manifest was skipped.",
    "unreadable": "A file could not be read.",
    "internal-error": "A rule failed; the run went on without it.",
    "limit": "A limit was reached and something was left out.",
    "unresolved-reference": "A name points to an object that is not in view.",
    "stale-baseline": "The baseline names findings that are gone.",
    "older-snapshot": "The cluster snapshot is older than the format in use.",
}


class _Ready(dict[str, Any]):
    """A part of the file that is as it will be written; it may stand in several places."""


_AS_THEY_ARE = frozenset((str, int, bool, _Ready))


@cache
def _fields(kind: Any) -> tuple[Callable[[Any], tuple[Any, ...]], list[str], list[Any]] | None:
    """What reads all attributes of a class, their names in SARIF, and the values that are not written."""
    if not attr.has(kind):
        return None
    names, defaults = [], []
    for f in attr.fields(kind):
        names.append(f.metadata.get("schema_property_name", f.name))
        default = f.default.factory() if isinstance(f.default, attr.Factory) else f.default  # type: ignore[arg-type]
        defaults.append(None if (kind.__name__, f.name) in _ALWAYS else default)
    return attrgetter(*(f.name for f in attr.fields(kind))), names, defaults


def _plain(value: Any) -> Any:
    kind: Any = type(value)
    if kind in _AS_THEY_ARE:
        return value
    if kind is list or kind is tuple:
        return [_plain(v) for v in value]
    if kind is dict:
        return {k: _plain(v) for k, v in value.items()}
    fields = _fields(kind)
    if fields is None:
        return value
    read, names, defaults = fields
    # Most attributes of these classes are None, and most of the others have a default of None.
    return {
        name: inner if type(inner) in _AS_THEY_ARE else _plain(inner)
        for inner, name, default in zip(read(value), names, defaults, strict=True)
        if inner is not None and (default is None or inner != default)
    }


@cache
def _artifact(uri: str) -> _Ready:
    return _Ready(_plain(om.ArtifactLocation(uri=uri, uri_base_id="%SRCROOT%")))


@cache
def _place_names() -> tuple[list[str], list[str]]:
    """The names of a place's two parts and of a region's four coordinates, in the order in which they are written."""
    region = om.Region(start_line=1, start_column=1, end_line=1, end_column=1)
    place = _plain(om.PhysicalLocation(artifact_location=om.ArtifactLocation(uri="."), region=region))
    return list(place), list(place["region"])


def _region(r: Region) -> _Ready:
    return _Ready(zip(_place_names()[1], (r.end_column, r.end_line, r.column, r.line), strict=True))


@cache
def uri_of(path: str) -> str:
    """A path as a relative URI: every byte outside RFC 3986's path characters, and `:`, encoded; no `..`, no root."""
    steps = [s for s in path.replace("\\", "/").split("/") if s not in ("", ".", "..")]
    return "/".join(quote(s.encode("utf-8", "surrogatepass"), safe="!$&'()*+,;=@~-._") for s in steps)


def _pascal(name: str) -> str:
    return "".join(w[:1].upper() + w[1:] for w in name.split("-"))


def _location(report: Report, region: Region, **extra: Any) -> Any:
    artifact = _artifact(uri_of(report.options.uri_prefix + region.path))
    return om.Location(
        physical_location=_Ready(zip(_place_names()[0], (artifact, _region(region)), strict=True)), **extra
    )


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")


def _rule(rule: RuleInfo) -> Any:
    severity = "recommendation" if rule.severity == "note" else rule.severity
    return om.ReportingDescriptor(
        id=rule.code,
        name=_pascal(rule.name),
        short_description=om.MultiformatMessageString(text=rule.summary[:1024]),
        full_description=om.MultiformatMessageString(text=(rule.description or rule.summary)[:1024]),
        help=om.MultiformatMessageString(text=rule.help_text, markdown=rule.help_markdown),
        help_uri=rule.url,
        default_configuration=om.ReportingConfiguration(level=rule.severity),
        properties={"tags": list(rule.tags)[:10], "precision": rule.precision, "problem.severity": severity},
    )


def _result(report: Report, f: ReportedFinding, index: int, hashes: dict[str, list[tuple[int, int]]]) -> Any:
    fingerprints = {"fabriclint/v1": f.fingerprint}
    path = f.region.path
    if path in report.sources:
        lines = hashes[path]
        if f.region.line <= len(lines):
            fingerprints["primaryLocationLineHash"] = written(*lines[f.region.line - 1])
    logical = None
    if f.object is not None:
        about = [f.object.kind, f.object.namespace or "", f.object.name or ""]
        name = "/".join(p for p in about if p)
        logical = [om.LogicalLocation(fully_qualified_name=name + f.pointer, kind="object")]
    text = _escaped(f.message) + (f" {_escaped('Help: ' + f.help)}" if f.help else "")
    fixes = None
    if f.fix is not None and f.fix.edits:
        changes: dict[str, list[Any]] = {}
        for e in f.fix.edits:
            changes.setdefault(e.region.path, []).append(
                om.Replacement(deleted_region=_region(e.region), inserted_content=om.ArtifactContent(text=e.text))
            )
        fixes = [
            om.Fix(
                description=om.Message(text=_escaped(f.fix.message)),
                artifact_changes=[
                    om.ArtifactChange(
                        artifact_location=_artifact(uri_of(report.options.uri_prefix + p)),
                        replacements=rs,
                    )
                    for p, rs in sorted(changes.items())
                ],
            )
        ]
    suppressions = None
    if report.options.show_suppressed:
        suppressions = (
            [om.Suppression(kind=f.suppressed.kind, justification=f.suppressed.reason)]
            if f.suppressed is not None
            else []
        )
    return om.Result(
        message=om.Message(text=text),
        rule_id=f.code,
        rule_index=index,
        level=f.severity,
        locations=[_location(report, f.region, logical_locations=logical)],
        related_locations=[
            _location(report, r.region, id=number, message=om.Message(text=_escaped(r.message)))
            for number, r in enumerate(f.related[:_MOST_RELATED], 1)
        ]
        or None,
        partial_fingerprints=fingerprints,
        fixes=fixes,
        suppressions=suppressions,
    )


def _notification(report: Report, n: Notification, codes: list[str]) -> Any:
    locations = None
    if n.path is not None:
        line = n.line or 1
        locations = [_location(report, Region(n.path, line, 1, line, 2))]
    return om.Notification(
        message=om.Message(text=_escaped(n.message)),
        level=n.level,
        locations=locations,
        descriptor=om.ReportingDescriptorReference(id=n.code, index=codes.index(n.code)),
    )


def render(report: Report) -> str:
    """The SARIF file as text with a final newline."""
    rules = list(report.rules)
    index = {r.code: i for i, r in enumerate(rules)}
    shown = [f for f in report.findings if f.code in index and (f.suppressed is None or report.options.show_suppressed)]
    notes = list(report.notifications)
    if len(shown) > _MOST_RESULTS:
        left = len(shown) - _MOST_RESULTS
        ranked = sorted(shown, key=lambda f: Severity(f.severity).rank)[:_MOST_RESULTS]
        kept = {id(f) for f in ranked}
        shown = [f for f in shown if id(f) in kept]
        notes.append(Notification("warning", "limit", None, f"{left} less severe findings are left out of this file."))
    codes = sorted({n.code for n in notes})
    last: dict[str, int] = {}
    for f in shown:
        last[f.region.path] = max(f.region.line, last.get(f.region.path, 1))
    hashes = {p: counted_hashes(report.sources[p], line) for p, line in last.items() if p in report.sources}
    execution = [_notification(report, n, codes) for n in notes if n.code not in _CONFIGURATION]
    configuration = [_notification(report, n, codes) for n in notes if n.code in _CONFIGURATION]
    driver = om.ToolComponent(
        name=report.tool.name,
        semantic_version=report.tool.version,
        information_uri=report.tool.url,
        rules=[_rule(r) for r in rules],
        notifications=[
            om.ReportingDescriptor(
                id=c,
                name=_pascal(c),
                short_description=om.MultiformatMessageString(text=_DESCRIPTORS.get(c, "What the run has to say.")),
                full_description=om.MultiformatMessageString(text=_DESCRIPTORS.get(c, "What the run has to say.")),
                help=om.MultiformatMessageString(text="See the message; `fabriclint check --verbose` says more."),
                help_uri=report.tool.url,
            )
            for c in codes
        ]
        or None,
    )
    run = om.Run(
        tool=om.Tool(driver=driver),
        column_kind="unicodeCodePoints",
        original_uri_base_ids={
            "%SRCROOT%": om.ArtifactLocation(description=om.Message(text="The root of the checkout."))
        },
        invocations=[
            om.Invocation(
                execution_successful=report.options.exit_code in (0, 1),
                exit_code=report.options.exit_code,
                tool_execution_notifications=execution or None,
                tool_configuration_notifications=configuration or None,
            )
        ],
        automation_details=om.RunAutomationDetails(id=report.options.sarif_category.rstrip("/") + "/")
        if report.options.sarif_category
        else None,
        results=[_result(report, f, index[f.code], hashes) for f in shown],
    )
    data = _plain(om.SarifLog(version="2.1.0", schema_uri=_SCHEMA, runs=[run]))
    data["runs"][0].setdefault("results", [])
    data["runs"][0]["tool"]["driver"].setdefault("rules", [])
    data["runs"][0]["invocations"][0]["executionSuccessful"] = report.options.exit_code in (0, 1)
    data["runs"][0]["invocations"][0]["exitCode"] = report.options.exit_code
    return _written({"$schema": data.pop("$schema"), **data})


def _written(data: dict[str, Any]) -> str:
    """JSON with a line per rule and per result: fast to write, and a change of one result is a change of one line."""
    run = data["runs"][0]
    driver = run["tool"]["driver"]
    lines = [driver["rules"], run["results"]]
    driver["rules"], run["results"] = ["@rules@"], ["@results@"]
    text = json.dumps(data, ensure_ascii=False, indent=1)
    encode = json.JSONEncoder(ensure_ascii=False).encode
    for name, some in zip(("rules", "results"), lines, strict=True):
        before, found, after = text.partition(f'"@{name}@"')
        assert found
        pad = before[before.rindex("\n") :]
        listed = f",{pad}".join(map(encode, some))
        text = before + listed + after if some else before.rstrip() + after.lstrip()
    return text + "\n"
