"""`fabriclint baseline create|update|check`: accept what is there, and see only what is new."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from fabriclint.baseline import DEFAULT_FILE, entries_of, read_baseline, write_baseline
from fabriclint.cli.check import Options, UsageError, read_report, run_check, settings_of
from fabriclint.cli.said import complain, notify
from fabriclint.config import BaselineError, ConfigError, relative
from fabriclint.disk import exists


def _file(options: Options, given: str | None) -> Path:
    """The baseline's path: the option, else the configuration's, else the default in the working directory."""
    if given is not None:
        return Path(given)
    settings = settings_of(options)
    if settings.baseline is not None:
        return Path(relative((settings.root or Path()) / settings.baseline))
    return Path(DEFAULT_FILE)


def run_create(options: Options, file: str | None, reason: str, *, update: bool) -> int:
    """Write the baseline of the findings at hand; `update` wants one to be there and keeps its reasons."""
    try:
        path = _file(options, file)
        if update:
            old = read_baseline(path)
        elif exists(path):
            way = "update it with 'fabriclint baseline update', or delete it first"
            raise BaselineError(f"{path}: There is a baseline here already; {way}.")
        else:
            old = ()
        report = read_report(options, baseline=False)
        entries = entries_of(report, path.parent, reason, old)
        write_baseline(path, entries)
    except (ConfigError, UsageError) as error:
        complain(error)
        return 2
    total = sum(e.count for e in entries)
    gone = {e.fingerprint for e in old} - {e.fingerprint for e in entries}
    tail = f" {len(gone)} stale {'entry was' if len(gone) == 1 else 'entries were'} removed." if gone else ""
    noun = "finding is" if total == 1 else "findings are"
    sys.stdout.write(f"{total} {noun} accepted in '{path.as_posix()}'.{tail}\n")
    if not update and options.config is None and settings_of(options).baseline is None:
        way = f"'baseline: {path.as_posix()}' in .fabriclint.yaml, or --baseline"
        complain(f"'check' uses it with {way}.")
    failed = [n for n in report.notifications if n.level == "error"]
    for n in failed:
        notify(n)
    return 2 if failed else 0


def run_baseline_check(options: Options, file: str | None) -> int:
    """Lint against the baseline: what `check` would say with it."""
    try:
        path = _file(options, file)
    except (ConfigError, UsageError) as error:
        complain(error)
        return 2
    return run_check(replace(options, baseline=str(path)))
