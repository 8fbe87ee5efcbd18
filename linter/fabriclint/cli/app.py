"""The typer application: options in, exit code out."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    help="Says before kubectl apply whether a multi-node GPU job will run over its fabric.",
)

Codes = Annotated[list[str] | None, typer.Option(help="Codes, prefixes or names, comma-separated.")]


def _split(values: list[str] | None) -> tuple[str, ...]:
    return tuple(c.strip() for v in values or () for c in v.split(",") if c.strip())


@app.callback(invoke_without_command=True)
def _main(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        from fabriclint import __version__

        print(f"fabriclint {__version__}")
        raise typer.Exit(0)


@app.command(
    epilog="Examples:  fabriclint check  |  fabriclint check k8s/ --output-file sarif=fabric.sarif  |  "
    "helm template ./chart | fabriclint check - --stdin-filename chart.yaml"
)
def check(
    paths: Annotated[
        list[str] | None, typer.Argument(help="Files and folders; '-' for standard input.")
    ] = None,
    select: Codes = None,
    ignore: Codes = None,
    extend_select: Codes = None,
    severity: Annotated[
        str, typer.Option(help="Leave out what is less severe: error, warning, note.")
    ] = "note",
    fabric: Annotated[
        str | None, typer.Option(help="The fabric of every pod, instead of inferring it.")
    ] = None,
    trainer_version: Annotated[
        str | None, typer.Option(help="Kubeflow Trainer: 2.0, 2.1, 2.2 or 2.3.")
    ] = None,
    cluster: Annotated[str | None, typer.Option(help="A cluster snapshot.")] = None,
    output_format: Annotated[
        str,
        typer.Option(
            "-o", "--output-format", help="text, concise, json, sarif, github, gitlab, junit, markdown."
        ),
    ] = "text",
    output_file: Annotated[list[str] | None, typer.Option(help="FORMAT=PATH, repeatable.")] = None,
    sarif_category: Annotated[str | None, typer.Option(help="SARIF automationDetails id.")] = None,
    config: Annotated[str | None, typer.Option(help="This configuration instead of the nearest.")] = None,
    isolated: Annotated[bool, typer.Option("--isolated", help="No configuration, no other files.")] = False,
    fail_on: Annotated[
        str, typer.Option(help="Exit 1 from this severity on: error, warning, note.")
    ] = "warning",
    exit_zero: Annotated[bool, typer.Option("--exit-zero", help="Exit 0 even with findings.")] = False,
    statistics: Annotated[
        bool, typer.Option("--statistics", help="Counts per rule instead of findings.")
    ] = False,
    show_suppressed: Annotated[bool, typer.Option("--show-suppressed")] = False,
    show_files: Annotated[bool, typer.Option("--show-files", help="List what would be read.")] = False,
    stdin_filename: Annotated[str | None, typer.Option(help="The name of standard input.")] = None,
    color: Annotated[str, typer.Option(help="auto, always or never.")] = "auto",
    jobs: Annotated[int, typer.Option(help="Accepted for compatibility; one process is used.")] = 1,
    quiet: Annotated[bool, typer.Option("-q", "--quiet")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Notes too.")] = False,
) -> None:
    """Lint manifests."""
    from fabriclint.cli.check import Options, run_check

    code = run_check(
        Options(
            tuple(paths or ()),
            _split(select),
            _split(ignore),
            _split(extend_select),
            severity,
            fabric,
            trainer_version,
            cluster,
            output_format,
            tuple(output_file or ()),
            sarif_category,
            config,
            isolated,
            fail_on,
            exit_zero,
            statistics,
            show_suppressed,
            show_files,
            stdin_filename,
            color,
            quiet,
            verbose,
        )  # fmt: skip
    )
    raise typer.Exit(code)


@app.command("rule", epilog="Example:  fabriclint rule TCPXO003")
def rule_command(code: str) -> None:
    """One rule's page."""
    from fabriclint.cli.rules import show_rule

    raise typer.Exit(show_rule(code))


@app.command("rules", epilog="Example:  fabriclint rules -o markdown")
def rules_command(
    output_format: Annotated[
        str, typer.Option("-o", "--output-format", help="text, json or markdown.")
    ] = "text",
) -> None:
    """The table of rules."""
    from fabriclint.cli.rules import show_rules

    raise typer.Exit(show_rules(output_format))


def run(arguments: list[str]) -> int:
    """Run the application on arguments; usage errors are 2."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")
    try:
        result = app(arguments, standalone_mode=True)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else (0 if stop.code is None else 2)
    return result if isinstance(result, int) else 0
