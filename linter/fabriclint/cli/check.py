"""`fabriclint check`: options and configuration to settings, a run, and its report on stdout and in files."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fabriclint.cli.said import complain, notify, say, standard_input
from fabriclint.config import (
    TRAINER_VERSIONS,
    ConfigError,
    Settings,
    find_config,
    load_config,
    relative,
    unknown_code,
    unknown_fabric,
)
from fabriclint.disk import exists, is_folder, real

if TYPE_CHECKING:
    from fabriclint.discover import Found
    from fabriclint.report.model import Report


@dataclass(frozen=True, slots=True)
class Options:
    """The command's options as given."""

    paths: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    severity: str = "note"
    fabric: str | None = None
    trainer_version: str | None = None
    cluster: str | None = None
    output_format: str = ""
    output_file: tuple[str, ...] = ()
    sarif_category: str | None = None
    config: str | None = None
    isolated: bool = False
    fail_on: str = "warning"
    exit_zero: bool = False
    statistics: bool = False
    show_suppressed: bool = False
    show_files: bool = False
    stdin_filename: str | None = None
    color: str = "auto"
    quiet: bool = False
    verbose: bool = False
    baseline: str | None = None
    fix: bool = False
    unsafe_fixes: bool = False
    diff: bool = False
    show_fixes: bool = False
    jobs: int = 1


def codes_of(values: Iterable[str]) -> tuple[str, ...]:
    """The codes, families and names in values that may each list several, by commas."""
    return tuple(c.strip() for v in values for c in v.split(",") if c.strip())


class UsageError(Exception):
    """Options that cannot be used; the text is a sentence."""


@dataclass(slots=True)
class Request:
    """What a run reads: the files by the configuration that holds for them, and standard input."""

    options: Options
    groups: list[tuple[Settings, list[Found]]]
    stdin: tuple[str, bytes] | None
    #: The format on stdout.
    format: str
    #: Edited texts that are judged instead of what the disk holds, by path.
    texts: dict[str, bytes] = field(default_factory=dict)


def settings_of(options: Options, start: Path | None = None) -> Settings:
    """Configuration, then options over it. Raises ConfigError or UsageError.

    `start` is the folder to look upwards from; without it the first path given, or the working directory.
    """
    if options.isolated:
        if options.config is not None:
            raise UsageError("--isolated reads no configuration and --config names one; leave out one of the two.")
        return _with_options(options, Settings(isolated=True))
    if options.config is not None:
        return _with_options(options, load_config(Path(options.config)))
    if start is None:
        first = next((p for p in options.paths if p != "-"), options.stdin_filename or ".")
        named = real(first)
        start = named if is_folder(named) else named.parent
    found = find_config(start)
    return _with_options(options, load_config(found) if found is not None else Settings())


def _with_options(options: Options, settings: Settings) -> Settings:
    for codes in (options.select, options.ignore, options.extend_select):
        sentence = unknown_code(list(codes), settings.packs) if codes else None
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
        sentence = unknown_fabric(options.fabric, settings)
        if sentence is not None:
            raise UsageError(f"--fabric: {sentence}")
        changes["fabric"] = (("*", options.fabric),)
    if options.cluster:
        changes["cluster"] = (("*", options.cluster),)
    if options.trainer_version:
        if options.trainer_version not in TRAINER_VERSIONS:
            known = ", ".join(TRAINER_VERSIONS)
            raise UsageError(f"--trainer-version is one of {known}, not '{options.trainer_version}'.")
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
    try:
        outputs = _outputs(options)
        if options.show_files:
            return _show_files(options)
        request = prepare(options)
        _spare(request, outputs)
        if options.fix or options.unsafe_fixes or options.diff:
            from fabriclint.cli.fix import run_fix

            return run_fix(
                request, lambda report: _show(request, report, outputs), lambda report: write(outputs, report)
            )
        return _show(request, report_of(request), outputs)
    except (UsageError, ConfigError) as error:
        complain(error)
        return 2


def _outputs(options: Options) -> list[tuple[str, str]]:
    """The files to write as (format, path). Raises UsageError for any word that is none of the allowed."""
    from fabriclint.report import FORMATS

    severities = ("error", "warning", "note")
    for name, value, allowed in (
        ("--severity", options.severity, severities),
        ("--fail-on", options.fail_on, severities),
        ("--color", options.color, ("auto", "always", "never")),
        ("--output-format", options.output_format, ("", *FORMATS)),
    ):
        if value not in allowed:
            from fabriclint.schema.suggest import hint

            words = [a for a in allowed if a]
            raise UsageError(f"{name} is one of {', '.join(words)}, not '{value}'{hint(value, words)}")
    outputs: list[tuple[str, str]] = []
    for pair in options.output_file:
        kind, equals, path = pair.partition("=")
        if not equals or kind not in FORMATS or not path:
            raise UsageError(f"--output-file takes FORMAT=PATH with one of {', '.join(FORMATS)}, not '{pair}'.")
        if path == "-":
            raise UsageError(f"--output-file writes files; '-o {kind}' writes to standard output.")
        if real(path) in {real(other) for _, other in outputs}:
            raise UsageError(f"--output-file names '{path}' twice; each report needs a file of its own.")
        outputs.append((kind, path))
    if options.diff and options.output_format not in ("", "text"):
        form = options.output_format
        raise UsageError(f"--diff prints a diff; write the {form} report with --output-file {form}=PATH.")
    return outputs


def _spare(request: Request, outputs: list[tuple[str, str]]) -> None:
    """No report takes the place of a file that is checked. A report of a run before, in a folder, is no input."""
    written = {real(path): path for _, path in outputs}
    if not written:
        return
    for number, (settings, listed) in enumerate(request.groups):
        for found in listed:
            if real(found.path) in written and (found.named or not found.path.endswith(".json")):
                raise UsageError(f"--output-file would replace '{found.uri}', which is checked; name another file.")
        request.groups[number] = (settings, [f for f in listed if real(f.path) not in written])


def write(outputs: list[tuple[str, str]], report: Report) -> bool:
    """Write the report in files beside standard output; False when one could not be written, which is said."""
    from fabriclint.report import render

    done = True
    plain = replace(report, options=replace(report.options, colour=False))
    for kind, path in outputs:
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(render(kind, plain), encoding="utf-8", errors="backslashreplace", newline="\n")
        except (FileExistsError, NotADirectoryError):
            complain(f"'{path}' cannot be written: a part of its way is a file, not a folder.")
            done = False
        except OSError as error:
            complain(f"'{path}' cannot be written: {error.strerror or error}.")
            done = False
    return done


def _paths(options: Options) -> list[str]:
    paths = [p for p in options.paths if p != "-"]
    return paths if paths or "-" in options.paths else ["."]


def _groups(options: Options) -> list[tuple[Settings, list[Found]]]:
    """The files to read, by the configuration that holds for them: the nearest above each file."""
    from fabriclint.discover import discover

    paths = _paths(options)
    if options.isolated or options.config is not None:
        settings = settings_of(options)
        return [(settings, _found(discover, paths, settings))]
    nearest: dict[Path, Path | None] = {}
    files: dict[Path | None, list[Found]] = {}
    for found in discover(paths):
        folder = real(found.path).parent
        if folder not in nearest:
            nearest[folder] = find_config(folder)
        files.setdefault(nearest[folder], []).append(found)
    groups: list[tuple[Settings, list[Found]]] = []
    for config, listed in sorted(files.items(), key=lambda item: str(item[0] or "")):
        settings = _with_options(options, load_config(config) if config is not None else Settings())
        if settings.exclude:
            kept = {f.uri for f in _found(discover, paths, settings)}
            listed = [f for f in listed if f.uri in kept]
        groups.append((settings, listed))
    return groups or [(settings_of(options), [])]


def _found(discover: Callable[..., Iterable[Found]], paths: list[str], settings: Settings) -> list[Found]:
    root = str(settings.root) if settings.root else None
    return list(discover(paths, exclude=settings.exclude, exclude_root=root)) if paths else []


def _show_files(options: Options) -> int:
    found = sorted((f for _, listed in _groups(options) for f in listed), key=lambda f: f.uri)
    sys.stdout.write("".join(f"{f.uri}\n" for f in found if f.error is None))
    broken = [f for f in found if f.error is not None]
    for f in broken:
        say(f"{f.uri}: error: {f.error}")
    return 2 if broken else 0


def prepare(options: Options) -> Request:
    """Find the files and their configurations. Raises UsageError or ConfigError."""
    stdin = None
    groups = _groups(options)
    if options.stdin_filename and "-" not in options.paths:
        raise UsageError(
            "--stdin-filename is the name of standard input, which only '-' reads; add '-' or leave it out."
        )
    if "-" in options.paths:
        name = (options.stdin_filename or "stdin").replace("\\", "/")
        stdin = (name, _standard_input())
        start = real(name).parent if options.stdin_filename else Path.cwd()
        # What an editor sends stands for the file of that name.
        listed = [(settings, [f for f in found if f.uri != name or f.error]) for settings, found in groups]
        groups = [g for g in listed if g[1]]
        groups.insert(0, (settings_of(options, start), []))
    wanted = options.output_format or next((s.output for s, _ in groups if s.output), None) or "text"
    return Request(options, groups, stdin, wanted)


def _standard_input() -> bytes:
    try:
        return standard_input()
    except OSError as error:
        raise UsageError(f"Standard input cannot be read: {error.strerror or error}.") from None


def read_report(options: Options, *, baseline: bool = True) -> Report:
    """Lint what the options name. Raises UsageError, ConfigError or BaselineError; everything else is in the report."""
    return report_of(prepare(options), baseline=baseline)


def report_of(request: Request, *, baseline: bool = True) -> Report:
    """Lint what was found. Raises BaselineError; everything else is in the report."""
    from fabriclint.assemble import assemble
    from fabriclint.engine import lint
    from fabriclint.report.model import ReportOptions

    options = request.options
    width = None
    if sys.stdout.isatty():
        import shutil

        width = shutil.get_terminal_size().columns
    shown = ReportOptions(
        colour=request.format == "text" and _colour(options.color),
        width=width,
        show_suppressed=options.show_suppressed,
        verbose=options.verbose,
        uri_prefix=_prefix(),
        sarif_category=options.sarif_category,
    )
    reports = []
    for number, (settings, found) in enumerate(request.groups):
        stdin = request.stdin if number == 0 else None
        if stdin is not None:
            stdin = (stdin[0], request.texts.get(stdin[0], stdin[1]))
        result = lint(found, settings, stdin=stdin, texts=request.texts)
        report = assemble(result, settings, shown, minimum=options.severity)
        if baseline:
            report = _without_accepted(options, settings, report)
        reports.append(report)
    return _join(reports)


def _without_accepted(options: Options, settings: Settings, report: Report) -> Report:
    given = options.baseline or settings.baseline
    if given is None:
        return report
    from fabriclint.baseline import apply_baseline, read_baseline

    file = Path(given if options.baseline else relative((settings.root or Path()) / given))
    narrowed = bool(options.select or options.ignore) or options.severity != "note"
    return apply_baseline(report, read_baseline(file), file, narrowed=narrowed)


def _join(reports: list[Report]) -> Report:
    """One report of several, as if it had been one run."""
    first = reports[0]
    if len(reports) == 1:
        return first
    findings = sorted(
        (f for r in reports for f in r.findings),
        key=lambda f: (f.region.path, f.region.line, f.region.column, f.code),
    )
    notes = sorted({n for r in reports for n in r.notifications}, key=lambda n: (n.path or "", n.code, n.message))
    rules = {rule.code: rule for r in reports for rule in r.rules}
    counts = {f.name: sum(getattr(r.summary, f.name) for r in reports) for f in fields(first.summary)}
    sources = {uri: text for r in reports for uri, text in r.sources.items()}
    return replace(
        first,
        findings=tuple(findings),
        notifications=tuple(notes),
        rules=tuple(rules[c] for c in sorted(rules)),
        summary=replace(first.summary, **counts),
        sources=sources,
        unseen=tuple(dict.fromkeys(name for r in reports for name in r.unseen)),
    )


def _show(request: Request, report: Report, outputs: list[tuple[str, str]]) -> int:
    from fabriclint.finding import Severity
    from fabriclint.report import render
    from fabriclint.report.model import counted

    options = request.options
    if options.verbose:
        for settings, found in request.groups:
            complain(f"{counted(len(found), 'file')} with {settings.file or 'no configuration'}")
    if options.show_suppressed and "sarif" in (request.format, *(kind for kind, _ in outputs)):
        complain("code scanning ignores suppressions in SARIF: it would open an alert for each suppressed finding.")
    failed = any(n.level == "error" for n in report.notifications)
    least = Severity(options.fail_on).rank
    counting = [f for f in report.findings if f.suppressed is None and Severity(f.severity).rank <= least]
    code = 2 if failed else (1 if counting and not options.exit_zero else 0)
    report = replace(report, options=replace(report.options, exit_code=code))
    if not write(outputs, report):
        code = 2
    for n in report.notifications:
        if n.level == "error" or options.verbose or (n.code == "stale-baseline" and not options.quiet):
            notify(n)
    if options.statistics:
        sys.stdout.write(_statistics(report))
        return code
    quiet = request.format == "text" and options.quiet and not counting and not failed
    sys.stdout.write("" if quiet else render(request.format, report))
    if not report.summary.files and not failed:
        complain("no YAML or JSON files were found here.")
    return code


def _statistics(report: Report) -> str:
    """Count, code and name per rule, the most frequent first."""
    counts: dict[str, int] = {}
    fixable: set[str] = set()
    for f in report.findings:
        if f.suppressed is None:
            counts[f.code] = counts.get(f.code, 0) + 1
            if f.fix is not None and f.fix.edits:
                fixable.add(f.code)
    names = {r.code: r.name for r in report.rules}
    lines = []
    for c, n in sorted(counts.items(), key=lambda x: (-x[1], x[0])):
        lines.append(f"{n}\t{c}\t[{'*' if c in fixable else ' '}] {names.get(c, '')}\n")
    return "".join(lines)


def _prefix() -> str:
    """The way from the git root to the working directory, for URIs in SARIF; empty outside a checkout."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        if exists(folder / ".git"):
            way = here.relative_to(folder).as_posix()
            return "" if way == "." else way + "/"
    return ""
