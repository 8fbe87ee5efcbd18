"""Accepted findings: a file of fingerprints that turns what was there before into what is not counted.

A fingerprint names the rule, the object and the route, not the line or the file, so that moved lines and renamed
files keep their entries. The path in an entry is for people, and tells a stale entry from one that was not looked at.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from fabriclint.config import BaselineError
from fabriclint.disk import contents, exists, real
from fabriclint.report.model import Notification, Report, ReportedFinding, Suppression

DEFAULT_FILE = ".fabriclint-baseline.json"


@dataclass(frozen=True, slots=True)
class Entry:
    """One accepted finding. `path` is relative to the baseline's folder, in POSIX form; `count` is at least 1."""

    fingerprint: str
    code: str
    path: str
    message: str
    count: int = 1
    reason: str = ""


def read_baseline(path: Path) -> tuple[Entry, ...]:
    """The entries of a baseline file. Raises BaselineError."""
    try:
        data = json.loads(contents(path).decode("utf-8-sig"))
    except OSError as error:
        way = "run 'fabriclint baseline create' to make one"
        raise BaselineError(f"{path}: The baseline cannot be read ({error.strerror or error}); {way}.") from None
    except UnicodeDecodeError:
        raise BaselineError(f"{path}: The baseline is no UTF-8 text; create it anew.") from None
    except RecursionError:
        raise BaselineError(f"{path}:1: This is no baseline: it is nested too deep; create it anew.") from None
    except json.JSONDecodeError as error:
        raise BaselineError(f"{path}:{error.lineno}: The baseline is no JSON ({error.msg}); create it anew.") from None
    if not isinstance(data, dict) or not isinstance(data.get("findings"), list):
        raise BaselineError(f"{path}:1: This is no baseline: it has no list 'findings'; create it anew.")
    if data.get("version") != 1:
        raise BaselineError(f"{path}:1: The baseline's version is '{data.get('version')}', and this program reads 1.")
    return tuple(_entry(path, n, item) for n, item in enumerate(data["findings"]))


def _entry(path: Path, index: int, item: Any) -> Entry:
    if not isinstance(item, dict):
        raise BaselineError(f"{path}: Entry {index} of 'findings' is no object; create the baseline anew.")
    words = [item.get(k, "") for k in ("fingerprint", "code", "path", "message", "reason")]
    count = item.get("count", 1)
    if not all(isinstance(w, str) for w in words) or not words[0] or type(count) is not int or count < 1:
        raise BaselineError(f"{path}: Entry {index} of 'findings' lacks a fingerprint or has values of a wrong type.")
    return Entry(words[0], words[1], words[2], words[3], count, words[4])


def write_baseline(path: Path, entries: tuple[Entry, ...]) -> None:
    """Write a baseline, sorted, so that its differences in version control are readable. Raises BaselineError."""
    found = []
    for e in sorted(entries, key=lambda e: (e.path, e.code, e.fingerprint)):
        item: dict[str, object] = {
            "code": e.code,
            "path": e.path,
            "fingerprint": e.fingerprint,
            "message": e.message,
        }
        if e.count > 1:
            item["count"] = e.count
        if e.reason:
            item["reason"] = e.reason
        found.append(item)
    text = json.dumps({"version": 1, "findings": found}, indent=2, ensure_ascii=False) + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # In JSON the escape of a lone surrogate (a byte of a name that is no UTF-8) is the surrogate itself.
        path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
    except OSError as error:
        raise BaselineError(f"{path}: The baseline cannot be written ({error.strerror or error}).") from None


def entries_of(report: Report, folder: Path, reason: str = "", old: tuple[Entry, ...] = ()) -> tuple[Entry, ...]:
    """Entries for all findings that no comment or annotation suppresses; reasons of old entries are kept, and so are
    old entries of files that are there and were not looked at.
    """
    reasons = {e.fingerprint: e.reason for e in old}
    first: dict[str, ReportedFinding] = {}
    counts: Counter[str] = Counter()
    for f in report.findings:
        if f.suppressed is not None and f.suppressed.kind != "external":
            continue
        first.setdefault(f.fingerprint, f)
        counts[f.fingerprint] += 1
    looked = _looked(report, folder)
    kept = {e.fingerprint: e for e in old if not _in_view(e, looked, folder)}
    for fingerprint in kept.keys() & counts.keys():
        counts[fingerprint] = max(counts[fingerprint], kept.pop(fingerprint).count)
    return (
        *kept.values(),
        *(
            Entry(p, f.code, _from(folder, f.region.path), f.message, counts[p], reasons.get(p) or reason)
            for p, f in first.items()
        ),
    )


def _looked(report: Report, folder: Path) -> set[str]:
    return {_from(folder, uri) for uri in report.sources}


def _in_view(entry: Entry, looked: set[str], folder: Path) -> bool:
    """Whether a run could have found it: its file was looked at, or is gone."""
    return entry.path in looked or not exists(folder / entry.path)


def _from(folder: Path, uri: str) -> str:
    """A path of the report (relative to the working directory) as seen from the baseline's folder."""
    try:
        return real(uri).relative_to(real(folder)).as_posix()
    except ValueError:
        return PurePosixPath(uri).as_posix()


def apply_baseline(report: Report, entries: tuple[Entry, ...], file: Path, *, narrowed: bool = False) -> Report:
    """The report with accepted findings marked as suppressed, and a notification for each stale entry; for none in a
    `narrowed` run, which leaves out rules or severities.
    """
    left: dict[str, int] = {}
    why: dict[str, str] = {}
    for e in entries:
        left[e.fingerprint] = left.get(e.fingerprint, 0) + e.count
        why[e.fingerprint] = e.reason
    findings: list[ReportedFinding] = []
    accepted = 0
    for f in report.findings:
        if f.suppressed is None and left.get(f.fingerprint, 0) > 0:
            left[f.fingerprint] -= 1
            accepted += 1
            reason = why[f.fingerprint] or "Accepted in the baseline."
            f = replace(f, suppressed=Suppression("external", reason))
        findings.append(f)
    live = Counter(f.severity for f in findings if f.suppressed is None)
    summary = replace(
        report.summary,
        errors=live["error"],
        warnings=live["warning"],
        notes=live["note"],
        baselined=report.summary.baselined + accepted,
    )
    looked = _looked(report, file.parent)
    shown = file.as_posix()
    stale = [
        Notification(
            "note",
            "stale-baseline",
            shown,
            f"The baseline accepts {e.code} in '{e.path}', which is no longer found there; "
            "run 'fabriclint baseline update'.",
        )
        for e in entries
        if not narrowed and left[e.fingerprint] > 0 and _in_view(e, looked, file.parent)
    ]
    return replace(
        report,
        findings=tuple(findings),
        summary=summary,
        notifications=(*report.notifications, *stale),
    )
