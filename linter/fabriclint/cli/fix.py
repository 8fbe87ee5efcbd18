"""`fabriclint check --fix` and `--diff`: mend pass by pass, then write the files or print what would change."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fabriclint.cli.check import Request, UsageError, report_of
from fabriclint.cli.said import complain, notify, say
from fabriclint.disk import contents, is_file, is_link, real
from fabriclint.fix.diff import unified
from fabriclint.fix.mend import Mended, encode, mend

if TYPE_CHECKING:
    from io import FileIO

    from fabriclint.report.model import Report


def run_fix(request: Request, show: Callable[[Report], int], write: Callable[[Report], bool]) -> int:
    """Mend what the request names; `show` prints the report of what is left and gives its exit code.

    `write` writes the reports that go to files, which with --diff are of what was found.
    """
    options = request.options
    if request.stdin is not None and not options.diff:
        raise UsageError("--fix cannot write to standard input; --diff prints what it would change.")
    seen: list[Report] = []

    def lint(texts: dict[str, bytes]) -> Report:
        request.texts.update(texts)
        seen.append(report_of(request))
        return seen[-1]

    mended = mend(lint, unsafe=options.unsafe_fixes)
    if options.diff:
        return _print_diff(request, mended, seen[0], write)
    report = mended.report
    failed = _write(request, mended)
    if failed:
        # What could not be written is as it was, and so is the report of it.
        for uri in failed:
            del request.texts[uri]
        report = report_of(request)
    told = _told(mended, set(failed), listed=options.show_fixes)
    if told and request.format == "text" and not options.statistics:
        report = replace(report, options=replace(report.options, footer=(*report.options.footer, *told)))
    else:
        for line in told:
            say(line)
    code = show(report)
    for sentence in failed.values():
        complain(sentence)
    return 2 if failed else code


def _write(request: Request, mended: Mended) -> dict[str, str]:
    """Write the files; returns a sentence for each that could not be, by its path."""
    paths = {found.uri: found.path for _, listed in request.groups for found in listed}
    failed: dict[str, str] = {}
    for uri in _by_file(request, mended):
        path = real(paths[uri])
        if not is_file(path):
            failed[uri] = f"'{uri}' is not written: it is no regular file."
            continue
        try:
            data = contents(path)
            if _decoded(data) != mended.before[uri]:
                failed[uri] = f"'{uri}' is not written: it changed while it was checked."
                continue
            _replace(path, request.texts[uri])
        except OSError as error:
            failed[uri] = f"'{uri}' cannot be written: {error.strerror or error}."
    return failed


def _by_file(request: Request, mended: Mended) -> list[str]:
    """The mended paths, one for each file: a link may have been named beside what it leads to."""
    paths = {found.uri: found.path for _, listed in request.groups for found in listed}
    files: dict[object, str] = {}
    for uri in sorted(mended.after, key=lambda uri: (uri in paths and is_link(paths[uri]), uri)):
        files.setdefault(real(paths[uri]) if uri in paths else uri, uri)
    return sorted(files.values())


def _decoded(data: bytes) -> str | None:
    from fabriclint.source import read_source

    source = read_source("", data)
    return source.text if encode(source.text, source.encoding, source.bom) == data else None


def _replace(path: Path, data: bytes) -> None:
    """Through a file beside it, so that a full disk leaves the old one whole; mode bits and owner stay.

    A file with several names (hard links) is written in place: all its names go on to be one file.
    """
    import contextlib
    import os
    import shutil
    import tempfile

    if path.stat().st_nlink > 1:
        _write_over(path, data)
        return
    handle, beside = tempfile.mkstemp(prefix=".fabriclint-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
        old = path.stat()
        if hasattr(os, "chown"):
            with contextlib.suppress(OSError):  # a file of others that one may write, in a folder of one's own
                os.chown(beside, old.st_uid, old.st_gid)
        shutil.copymode(path, beside)
        Path(beside).replace(path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def _write_over(path: Path, data: bytes) -> None:
    """In place; what was there comes back when the disk takes no more."""
    before = path.read_bytes()
    with path.open("r+b", buffering=0) as out:
        try:
            _fill(out, data)
        except OSError:
            _fill(out, before)
            raise


def _fill(out: FileIO, data: bytes) -> None:
    out.seek(0)
    rest = memoryview(data)
    while rest:
        rest = rest[out.write(rest) :]
    out.truncate(len(data))


def _told(mended: Mended, failed: set[str], *, listed: bool) -> list[str]:
    """What was fixed, in a line or as a list; `failed`: the files that could not be written."""
    fixed = [f for f in mended.fixed if f.region.path not in failed]
    if not fixed:
        return []
    count = len(fixed)
    files = len(mended.after.keys() - failed)
    lines = [f"Fixed {count} finding{'' if count == 1 else 's'} in {files} file{'' if files == 1 else 's'}."]
    if listed:
        lines[0] = lines[0][:-1] + ":"
        for f in sorted(fixed, key=lambda f: (f.region.path, f.region.line, f.code)):
            assert f.fix is not None
            lines.append(f"  {f.region.path}:{f.region.line}: {f.code} {f.fix.message}")
    return lines


def _print_diff(request: Request, mended: Mended, report: Report, write: Callable[[Report], bool]) -> int:
    """The unified diff on stdout; 1 when there is one or a finding counts, 0 otherwise, 2 as without --diff."""
    from fabriclint.finding import Severity

    for uri in _by_file(request, mended):
        encoding, bom = mended.encodings[uri]
        if encoding != "utf-8":
            say(f"{uri}: note: The file is {encoding[:6].upper()}, of which no program applies a diff; --fix mends it.")
            continue
        mark = "\ufeff" if bom else ""
        sys.stdout.write(unified(uri, mark + mended.before[uri], mark + mended.after[uri]))
    for line in _told(mended, set(), listed=request.options.show_fixes):
        say(line.replace("Fixed", "Would fix", 1))
    failed = [n for n in report.notifications if n.level == "error"]
    for n in failed:
        notify(n)
    least = Severity(request.options.fail_on).rank
    counted = any(f.suppressed is None and Severity(f.severity).rank <= least for f in report.findings)
    code = 2 if failed else 1 if (counted or mended.after) and not request.options.exit_zero else 0
    report = replace(report, options=replace(report.options, exit_code=code))
    return code if write(report) else 2
