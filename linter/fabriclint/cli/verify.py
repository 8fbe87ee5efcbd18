"""`fabriclint verify`: a log is judged, a manifest gives the command that collects the log."""

from __future__ import annotations

import re
import shlex
import sys
from typing import BinaryIO

from fabriclint.cli.said import complain, say
from fabriclint.disk import BLOCK, is_file, is_folder, opened, real


def run(path_or_dash: str, expected: str | None, output_format: str, stdin: BinaryIO | None) -> tuple[str, int]:
    """Read one log (`-` is standard input; `stdin`, where given, is the open log) and say what it proves.

    Returns the text and the exit code: 0 fabric, 1 partly/sockets/failed, 2 none or unreadable.
    """
    from fabriclint.verify.evidence import collect
    from fabriclint.verify.lines import Tally, telling
    from fabriclint.verify.report import as_json, as_text
    from fabriclint.verify.verdict import judge

    unknown = _unknown(expected)
    if unknown is not None:
        return f"fabriclint: {unknown}\n", 2
    tally = Tally()
    try:
        if path_or_dash == "-" or stdin is not None:
            if stdin is None and sys.stdin is None:
                return "fabriclint: Standard input cannot be read: it is closed.\n", 2
            log = collect(telling(stdin or sys.stdin.buffer, tally))
        else:
            with opened(path_or_dash) as stream:
                log = collect(telling(stream, tally))
    except OSError as problem:
        return _unreadable(path_or_dash, problem), 2
    verdict = judge(log, tally, expected)
    return (as_json if output_format == "json" else as_text)(verdict), verdict.exit_code


def _unreadable(file: str, problem: OSError) -> str:
    if is_folder(file):
        return f"fabriclint: '{file}' is a folder; name one manifest or one log.\n"
    return f"fabriclint: {file}: cannot be read: {problem.strerror or 'unknown error'}.\n"


def _unknown(expected: str | None) -> str | None:
    """What is wrong with the name of an expected fabric, None for nothing."""
    from fabriclint.verify.tables import tables

    if expected is None or expected in tables().expected:
        return None
    from fabriclint.schema.suggest import hint

    known = sorted(tables().expected)
    return f"'{expected}' is no fabric that a log can show{hint(expected, known)} Known are {', '.join(known)}."


def main(file: str, *, expect: str | None = None, output_format: str = "text") -> int:
    """The command: a log is judged; a manifest, told from a log by its first lines, gives commands. Returns the exit code."""
    from fabriclint.schema.suggest import hint

    if output_format not in ("text", "json"):
        complain(f"--output-format is text or json, not '{output_format}'{hint(output_format, ('text', 'json'))}")
        return 2
    unknown = _unknown(expect)
    if unknown is not None:
        complain(unknown)
        return 2
    text, code = run(file, expect, output_format, None) if file == "-" else _of_file(file, expect, output_format)
    if code == 2 and text.startswith("fabriclint:"):
        say(text[:-1])
    else:
        sys.stdout.write(text)
    return code


def _of_file(file: str, expect: str | None, output_format: str) -> tuple[str, int]:
    """A log or a manifest, opened once: a pipe (`<(kubectl logs ...)`) gives its bytes but once."""
    try:
        with opened(file) as stream:
            if not _begins_as_manifest(stream.peek(BLOCK)):
                return run(file, expect, output_format, stream)
            data = None if is_file(file) else stream.read()
    except OSError as problem:
        return _unreadable(file, problem), 2
    return of_manifest(file, output_format, data)


def of_manifest(file: str, output_format: str, data: bytes | None = None) -> tuple[str, int]:
    """The commands that show the transport of a manifest's jobs; 2 when it holds no job with GPU workers.

    `data`: what was read of it, where it cannot be read again.
    """
    from fabriclint.config import ConfigError, Settings, find_config, load_config
    from fabriclint.discover import discover
    from fabriclint.engine import builtin_pack, lint
    from fabriclint.rule import Pack
    from fabriclint.verify.manifest import as_json, as_text, commands
    from fabriclint.verify.tables import tables

    config = find_config(real(file).parent)
    try:
        settings = load_config(config) if config is not None else Settings()
    except ConfigError as error:
        return f"fabriclint: {error}\n", 2
    pack = Pack("verify", tuple, builtin_pack().fabric_of)
    if data is None:
        done = lint(list(discover([file])), settings, pack=pack)
    else:
        done = lint([], settings, stdin=(file, data), pack=pack)
    found = commands(done.jobs, set(tables().expected))
    if not found and output_format != "json":
        said = (
            f"fabriclint: '{file}' holds no job with GPU workers that can be seen. A TrainJob needs its runtime in the same "
            f"repository, and only one of that name; 'fabriclint check -v {shlex.quote(file)}' says what is missing.\n"
        )
        return said, 2
    return (as_json if output_format == "json" else as_text)(found), 0 if found else 2


def is_manifest(path: str) -> bool:
    """Whether the file's first document has apiVersion and kind at its top level; unreadable files are none."""
    try:
        with opened(path) as stream:
            return _begins_as_manifest(stream.peek(BLOCK))
    except OSError:
        return False


def _begins_as_manifest(head: bytes) -> bool:
    first = re.split(rb"^---", head.lstrip(b"\xef\xbb\xbf"), maxsplit=2, flags=re.M)
    for document in first:
        keys = set(re.findall(rb"^[\"']?(apiVersion|kind)[\"']?\s*:", document, re.M))
        if not keys:
            keys = set(re.findall(rb"^\{?\s*\"(apiVersion|kind)\"\s*:", document, re.M))
        if len(keys) == 2:
            return True
        if any(line.strip() and not line.lstrip().startswith(b"#") for line in document.splitlines()):
            return False
    return False
