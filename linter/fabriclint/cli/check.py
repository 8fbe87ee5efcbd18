"""`fabriclint check`: options and configuration to settings, a run, and its report on stdout and in files."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from fabriclint.config import TRAINER_VERSIONS, ConfigError, Settings, find_config, load_config, unknown_code


@dataclass(frozen=True, slots=True)
class Options:
    """The command's options as given."""

    paths: tuple[str, ...]
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    extend_select: tuple[str, ...]
    severity: str
    fabric: str | None
    trainer_version: str | None
    cluster: str | None
    output_format: str
    output_file: tuple[str, ...]
    sarif_category: str | None
    config: str | None
    isolated: bool
    fail_on: str
    exit_zero: bool
    statistics: bool
    show_suppressed: bool
    show_files: bool
    stdin_filename: str | None
    color: str
    quiet: bool
    verbose: bool


class UsageError(Exception):
    """Options that cannot be used; the text is a sentence."""


def settings_of(options: Options) -> Settings:
    """Configuration, then options over it. Raises ConfigError or UsageError."""
    settings = Settings(isolated=options.isolated)
    if not options.isolated:
        if options.config is not None:
            settings = load_config(Path(options.config))
        else:
            first = next((p for p in options.paths if p != "-"), options.stdin_filename or ".")
            start = Path(first).resolve()
            found = find_config(start if start.is_dir() else start.parent)
            if found is not None:
                settings = load_config(found)
    for codes in (options.select, options.ignore, options.extend_select):
        sentence = unknown_code(list(codes))
        if sentence is not None:
            raise UsageError(sentence)
    changes: dict[str, object] = {}
    if options.select:
        changes["select"] = options.select
    if options.ignore:
        changes["ignore"] = (*settings.ignore, *options.ignore)
    if options.extend_select:
        changes["extend_select"] = (*settings.extend_select, *options.extend_select)
    if options.fabric:
        changes["fabric"] = (("*", options.fabric),)
    if options.cluster:
        changes["cluster"] = (("*", options.cluster),)
    if options.trainer_version:
        if options.trainer_version not in TRAINER_VERSIONS:
            raise UsageError(
                f"--trainer-version is one of {', '.join(TRAINER_VERSIONS)}, not '{options.trainer_version}'."
            )
        changes["trainer_version"] = (("*", options.trainer_version),)
    return replace(settings, **changes)  # type: ignore[arg-type]


def _colour(choice: str) -> bool:
    if choice in ("always", "never"):
        return choice == "always"
    env = os.environ
    if env.get("NO_COLOR"):
        return False
    if env.get("FORCE_COLOR", "0") not in ("", "0") or env.get("CLICOLOR_FORCE", "0") not in ("", "0"):
        return True
    return env.get("TERM") != "dumb" and sys.stdout.isatty()


def run_check(options: Options) -> int:
    """Run; returns the exit code of the contract."""
    from fabriclint.report import FORMATS

    try:
        for name, value, allowed in (
            ("--severity", options.severity, ("error", "warning", "note")),
            ("--fail-on", options.fail_on, ("error", "warning", "note")),
            ("--color", options.color, ("auto", "always", "never")),
            ("--output-format", options.output_format, FORMATS),
        ):
            if value not in allowed:
                raise UsageError(f"{name} is one of {', '.join(allowed)}, not '{value}'.")
        outputs = []
        for pair in options.output_file:
            kind, equals, path = pair.partition("=")
            if not equals or kind not in FORMATS or not path:
                raise UsageError(
                    f"--output-file takes FORMAT=PATH with one of {', '.join(FORMATS)}, not '{pair}'."
                )
            outputs.append((kind, path))
        settings = settings_of(options)
    except (UsageError, ConfigError) as error:
        sys.stderr.write(f"fabriclint: {error}\n")
        return 2
    return _lint(options, settings, outputs)


def _lint(options: Options, settings: Settings, outputs: list[tuple[str, str]]) -> int:
    from fabriclint.assemble import assemble
    from fabriclint.discover import discover
    from fabriclint.engine import lint
    from fabriclint.report import render
    from fabriclint.report.model import ReportOptions

    paths = [p for p in options.paths if p != "-"]
    use_stdin = "-" in options.paths
    if not paths and not use_stdin:
        paths = ["."]
    found = list(
        discover(paths, exclude=settings.exclude, exclude_root=str(settings.root) if settings.root else None)
    )
    if options.show_files:
        sys.stdout.write("".join(f"{f.uri}\n" for f in found if f.error is None))
        return 2 if any(f.error is not None for f in found) else 0
    stdin = None
    if use_stdin:
        name = (options.stdin_filename or "stdin").replace("\\", "/")
        stdin = (name, sys.stdin.buffer.read())
    result = lint(found, settings, stdin=stdin)
    prefix = _prefix()
    shown = ReportOptions(
        colour=options.output_format == "text" and _colour(options.color),
        show_suppressed=options.show_suppressed,
        verbose=options.verbose,
        uri_prefix=prefix,
        sarif_category=options.sarif_category,
    )
    report = assemble(result, settings, shown, minimum=options.severity)
    failed = any(n.level == "error" for n in report.notifications)
    ranks = {"error": 0, "warning": 1, "note": 2}
    counted = [
        f for f in report.findings if f.suppressed is None and ranks[f.severity] <= ranks[options.fail_on]
    ]
    code = 2 if failed else (1 if counted and not options.exit_zero else 0)
    report = replace(report, options=replace(shown, exit_code=code))
    for kind, path in outputs:
        quiet_report = replace(report, options=replace(report.options, colour=False))
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(
                render(kind, quiet_report), encoding="utf-8", errors="backslashreplace", newline="\n"
            )
        except OSError as error:
            sys.stderr.write(f"fabriclint: '{path}' cannot be written: {error.strerror or error}.\n")
            code = 2
    for n in report.notifications:
        if n.level == "error" or options.verbose:
            sys.stderr.write(f"{n.path + ': ' if n.path else ''}{n.level}: {n.message}\n")
    if options.statistics:
        counts: dict[str, int] = {}
        for f in report.findings:
            if f.suppressed is None:
                counts[f.code] = counts.get(f.code, 0) + 1
        names = {r.code: r.name for r in report.rules}
        for c, n in sorted(counts.items(), key=lambda x: (-x[1], x[0])):
            sys.stdout.write(f"{n}\t{c}\t{names.get(c, '')}\n")
        return code
    text = render(options.output_format, report)
    if options.output_format == "text" and options.quiet and not report.findings:
        text = ""
    sys.stdout.write(text)
    if not result.files and options.output_format == "text":
        sys.stderr.write("fabriclint: no YAML or JSON files were found here.\n")
    return code


def _prefix() -> str:
    """The way from the git root to the working directory, for URIs in SARIF; empty outside a checkout."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / ".git").exists():
            way = here.relative_to(folder).as_posix()
            return "" if way == "." else way + "/"
    return ""
