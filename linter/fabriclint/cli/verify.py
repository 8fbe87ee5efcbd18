"""`fabriclint verify` over a log: text and exit code."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import BinaryIO


def run(path_or_dash: str, expected: str | None, output_format: str, stdin: BinaryIO | None) -> tuple[str, int]:
    """Read one log (`-` is standard input) and say what it proves.

    Returns the text and the exit code: 0 fabric, 1 partly/sockets/failed, 2 none or unreadable.
    """
    from fabriclint.verify.evidence import collect
    from fabriclint.verify.lines import Tally, telling
    from fabriclint.verify.report import as_json, as_text
    from fabriclint.verify.tables import tables
    from fabriclint.verify.verdict import judge

    if expected is not None and expected not in tables().expected:
        known = ", ".join(sorted(tables().expected))
        return f"'{expected}' is no fabric that a log can show; known are {known}.\n", 2
    tally = Tally()
    try:
        if path_or_dash == "-":
            log = collect(telling(stdin or sys.stdin.buffer, tally))
        else:
            with Path(path_or_dash).open("rb") as stream:
                log = collect(telling(stream, tally))
    except OSError as problem:
        return f"{path_or_dash}: cannot be read: {problem.strerror or 'unknown error'}.\n", 2
    verdict = judge(log, tally, expected)
    return (as_json if output_format == "json" else as_text)(verdict), verdict.exit_code
