"""The typer application: options in, exit code out. Every command's work is in a module of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from copy import copy
from importlib import import_module
from typing import Annotated, Any

import typer


def _application(about: str, example: str) -> typer.Typer:
    return typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        no_args_is_help=True,
        help=about,
        epilog=example,
    )


app = _application(
    "Says before kubectl apply whether a multi-node GPU job will run over its fabric.",
    "Examples:  fabriclint check k8s/  |  fabriclint explain job.yaml  |  fabriclint rule TCPXO003; "
    "'fabriclint COMMAND --help' has more.",
)
baseline_app = _application(
    "Accept the findings that are there, and see only new ones.",
    "Example:  fabriclint baseline create k8s/, then 'baseline: .fabriclint-baseline.json' in .fabriclint.yaml",
)
config_app = _application(
    "The configuration: what holds, whether it is right, its schema.", "Example:  fabriclint config show k8s/job.yaml"
)
cluster_app = _application(
    "Snapshots of a cluster, for the rules that compare with it.",
    "Example:  fabriclint cluster snapshot-command | sh, then fabriclint check --cluster cluster/ k8s/",
)
app.add_typer(baseline_app, name="baseline")
app.add_typer(config_app, name="config")
app.add_typer(cluster_app, name="cluster")

Paths = Annotated[list[str] | None, typer.Argument(help="Files and folders; '-' for standard input.")]
Only = Annotated[list[str] | None, typer.Option(help="Only these rules: codes, families or names, by commas.")]
Without = Annotated[list[str] | None, typer.Option(help="Not these rules.")]
Also = Annotated[list[str] | None, typer.Option(help="These rules too, beside those of --select.")]
Format = Annotated[str, typer.Option("-o", "--output-format", help="text or json.")]
Config = Annotated[str | None, typer.Option(help="This configuration instead of the nearest.")]
Isolated = Annotated[bool, typer.Option("--isolated", help="No configuration, no other files.")]
TrainerVersion = Annotated[str | None, typer.Option(help="Kubeflow Trainer: 2.0, 2.1, 2.2 or 2.3.")]
BaselineFile = Annotated[str | None, typer.Option("--baseline", help="The file of accepted findings.")]
CHECK_FORMATS = "text (default), concise, json, sarif, github, gitlab, junit, markdown."


def _later(module: str, function: str, command: str) -> Callable[..., Any]:
    """A command's function, or exit 2 with a sentence when this build does not have it."""
    try:
        return getattr(import_module(module), function)  # type: ignore[no-any-return]
    except (ModuleNotFoundError, AttributeError) as error:
        if isinstance(error, ModuleNotFoundError) and error.name != module:
            raise
        sys.stderr.write(f"fabriclint: This version has no '{command}' yet.\n")
        raise typer.Exit(2) from None


@app.callback(invoke_without_command=True)
def _main(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        from fabriclint import __version__

        sys.stdout.write(f"fabriclint {__version__}\n")
        raise typer.Exit(0)


@app.command(
    epilog="Examples:  fabriclint check  |  fabriclint check k8s/ --output-file sarif=fabric.sarif  |  "
    "fabriclint check --diff, then fabriclint check --fix  |  "
    "helm template ./chart | fabriclint check - --stdin-filename chart.yaml"
)
def check(
    paths: Paths = None,
    select: Only = None,
    ignore: Without = None,
    extend_select: Also = None,
    severity: Annotated[str, typer.Option(help="Leave out what is less severe: error, warning, note.")] = "note",
    fabric: Annotated[
        str | None, typer.Option(help="The fabric of every pod, as gke-tcpxo, instead of inferring it.")
    ] = None,
    trainer_version: TrainerVersion = None,
    cluster: Annotated[str | None, typer.Option(help="A cluster's snapshot: a file, or a folder.")] = None,
    output_format: Annotated[str, typer.Option("-o", "--output-format", help=CHECK_FORMATS)] = "",
    output_file: Annotated[
        list[str] | None, typer.Option(help="A report beside the one on stdout: FORMAT=PATH, repeatable.")
    ] = None,
    sarif_category: Annotated[str | None, typer.Option(help="SARIF automationDetails id.")] = None,
    config: Config = None,
    isolated: Isolated = False,
    baseline: BaselineFile = None,
    fail_on: Annotated[str, typer.Option(help="Exit 1 from this severity on: error, warning, note.")] = "warning",
    exit_zero: Annotated[bool, typer.Option("--exit-zero", help="Exit 0 even with findings.")] = False,
    fix: Annotated[bool, typer.Option("--fix", help="Mend what can be mended safely, in the files.")] = False,
    unsafe_fixes: Annotated[
        bool, typer.Option("--unsafe-fixes", help="Mend also where a look at the result is wise.")
    ] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Print what --fix would change; write nothing.")] = False,
    show_fixes: Annotated[bool, typer.Option("--show-fixes", help="List what was mended.")] = False,
    statistics: Annotated[bool, typer.Option("--statistics", help="Counts per rule instead of findings.")] = False,
    show_suppressed: Annotated[
        bool,
        typer.Option("--show-suppressed", help="Suppressed and accepted findings too, with their reasons."),
    ] = False,
    show_files: Annotated[bool, typer.Option("--show-files", help="List what would be read.")] = False,
    stdin_filename: Annotated[str | None, typer.Option(help="The name of standard input.")] = None,
    color: Annotated[str, typer.Option(help="auto, always or never.")] = "auto",
    jobs: Annotated[int, typer.Option(help="Has no effect: one process is used.")] = 1,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Nothing when nothing is wrong.")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="In text: notes too, and what is read.")] = False,
) -> None:
    """Lint manifests.

    Exit code: 0 nothing at or above --fail-on, 1 findings, 2 a wrong option or configuration, or a file that cannot be
    read.
    """
    from fabriclint.cli.check import Options, codes_of, run_check

    options = Options(
        paths=tuple(paths or ()),
        select=codes_of(select or ()),
        ignore=codes_of(ignore or ()),
        extend_select=codes_of(extend_select or ()),
        severity=severity,
        fabric=fabric,
        trainer_version=trainer_version,
        cluster=cluster,
        output_format=output_format,
        output_file=tuple(output_file or ()),
        sarif_category=sarif_category,
        config=config,
        isolated=isolated,
        fix=fix,
        unsafe_fixes=unsafe_fixes,
        diff=diff,
        show_fixes=show_fixes,
        fail_on=fail_on,
        exit_zero=exit_zero,
        statistics=statistics,
        show_suppressed=show_suppressed,
        show_files=show_files,
        stdin_filename=stdin_filename,
        color=color,
        quiet=quiet,
        verbose=verbose,
        baseline=baseline,
        jobs=jobs,
    )
    raise typer.Exit(run_check(options))


@app.command("rule", epilog="Example:  fabriclint rule TCPXO003")
def rule_command(code: Annotated[str, typer.Argument(help="A code or a name.")]) -> None:
    """One rule's page."""
    from fabriclint.cli.rules import show_rule

    raise typer.Exit(show_rule(code))


@app.command("rules", epilog="Example:  fabriclint rules -o markdown")
def rules_command(
    output_format: Annotated[str, typer.Option("-o", "--output-format", help="text, json or markdown.")] = "text",
) -> None:
    """The table of rules."""
    from fabriclint.cli.rules import show_rules

    raise typer.Exit(show_rules(output_format))


@app.command(epilog="Example:  fabriclint explain job.yaml -o json")
def explain(
    paths: Paths = None,
    output_format: Format = "text",
    config: Config = None,
    isolated: Isolated = False,
    trainer_version: TrainerVersion = None,
) -> None:
    """Why nothing was said: what was seen of each job.

    For each workload: its fabric, what the controller adds, what was not seen, and which rules looked at it.
    """
    run_explain = _later("fabriclint.cli.explain", "run", "explain")
    raise typer.Exit(
        run_explain(
            paths or ["."],
            output_format=output_format,
            config=config,
            isolated=isolated,
            trainer_version=trainer_version,
        )
    )


@app.command(epilog="Example:  fabriclint resolve trainjob.yaml runtime.yaml --origins")
def resolve(
    files: Annotated[list[str], typer.Argument(help="The TrainJob's file and, when elsewhere, its runtime's.")],
    name: Annotated[str | None, typer.Option(help="The TrainJob, when there are several.")] = None,
    origins: Annotated[bool, typer.Option("--origins", help="Say where each line comes from.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Only what differs from the runtime.")] = False,
    output_format: Annotated[str, typer.Option("-o", "--output-format", help="yaml or json.")] = "yaml",
    trainer_version: TrainerVersion = None,
) -> None:
    """What Kubeflow Trainer makes of a TrainJob and its runtime."""
    run_resolve = _later("fabriclint.cli.resolve", "run", "resolve")
    raise typer.Exit(
        run_resolve(
            files,
            name=name,
            origins=origins,
            diff=diff,
            output_format=output_format,
            trainer_version=trainer_version,
        )
    )


@app.command(
    "new",
    epilog="Examples:  fabriclint new eks-efa --name llama --nodes 4 --image registry.example/llama-efa:1 "
    "--instance-type p5.48xlarge > llama.yaml  |  fabriclint new gke-tcpxo --from-snapshot cluster/ --output job.yaml",
)
def new_command(
    fabric: Annotated[str, typer.Argument(help="gke-tcpxo, gke-tcpx, gke-gib, eks-efa or aks-ib.")],
    name: Annotated[str | None, typer.Option(help="The job's name.")] = None,
    namespace: Annotated[str | None, typer.Option(help="Its namespace.")] = None,
    nodes: Annotated[str | None, typer.Option(help="How many nodes.")] = None,
    image: Annotated[str | None, typer.Option(help="The training image.")] = None,
    command: Annotated[str | None, typer.Option(help="What starts the ranks, as one shell line.")] = None,
    networks: Annotated[str | None, typer.Option(help="GKE: the GPU NICs' networks, comma-separated.")] = None,
    rxdm_tag: Annotated[str | None, typer.Option(help="GKE TCPXO, TCPX: the daemon's tag.")] = None,
    instance_type: Annotated[str | None, typer.Option(help="The machine type; counts follow from it.")] = None,
    gpus: Annotated[str | None, typer.Option(help="GPUs per node.")] = None,
    efa_count: Annotated[str | None, typer.Option(help="EKS: EFA devices per node.")] = None,
    library_path: Annotated[str | None, typer.Option(help="EKS: where the image has the plugin.")] = None,
    node_selector: Annotated[list[str] | None, typer.Option(help="KEY=VALUE, repeatable.")] = None,
    toleration: Annotated[
        list[str] | None, typer.Option(help="KEY[=VALUE]:EFFECT, repeatable; none for no tolerations.")
    ] = None,
    from_snapshot: Annotated[str | None, typer.Option(help="A cluster snapshot that fills in the rest.")] = None,
    output: Annotated[str | None, typer.Option(help="Write to this file instead of standard output.")] = None,
) -> None:
    """Write a first manifest for a fabric.

    What is not given stays a <placeholder> that check reports.
    """
    from fabriclint.cli.new import Asked
    from fabriclint.cli.new import run as run_new

    texts = {
        "name": name,
        "namespace": namespace,
        "nodes": nodes,
        "image": image,
        "command": command,
        "rxdm-tag": rxdm_tag,
        "instance-type": instance_type,
        "gpus": gpus,
        "efa-count": efa_count,
        "library-path": library_path,
    }
    asked = Asked(texts, networks, node_selector or [], toleration or [], from_snapshot)
    raise typer.Exit(run_new(fabric, asked, output))


@app.command(
    epilog="Examples:  fabriclint verify job.yaml  |  kubectl logs ... | fabriclint verify - --expect gke-tcpxo"
)
def verify(
    file: Annotated[str, typer.Argument(help="A manifest, or an NCCL log; '-' reads a log.")],
    expect: Annotated[str | None, typer.Option(help="The fabric that the log is to show, as gke-tcpxo.")] = None,
    output_format: Format = "text",
) -> None:
    """Whether a job really used its fabric.

    Of a manifest: the command that collects the log. Of an NCCL log: which network the ranks used.
    """
    run_verify = _later("fabriclint.cli.verify", "main", "verify")
    raise typer.Exit(run_verify(file, expect=expect, output_format=output_format))


@cluster_app.command("snapshot-command", epilog="Example:  fabriclint cluster snapshot-command | sh")
def cluster_snapshot_command(
    folder: Annotated[str, typer.Argument(help="The folder that the loop writes to.")] = "cluster",
    namespace_only: Annotated[
        bool,
        typer.Option(
            "--namespace-only", help="For a role that may only read its own namespace; run it as: | NAMESPACE=ml sh"
        ),
    ] = False,
) -> None:
    """Print the shell loop that takes a snapshot.

    fabriclint itself never talks to a cluster.
    """
    run_command = _later("fabriclint.cli.cluster", "snapshot_command", "cluster snapshot-command")
    raise typer.Exit(run_command(folder, namespace_only))


@cluster_app.command("trim", epilog="Example:  fabriclint cluster trim cluster/ > cluster.json")
def cluster_trim(
    source: Annotated[str, typer.Argument(help="A dump: a file or the folder of a snapshot.")],
) -> None:
    """Reduce a snapshot to what the rules use, fit to be committed."""
    raise typer.Exit(_later("fabriclint.cli.cluster", "trim", "cluster trim")(source))


def _baseline_options(
    paths: list[str] | None, config: str | None, baseline: str | None, output_format: str = ""
) -> Any:
    from fabriclint.cli.check import Options

    return Options(paths=tuple(paths or ()), config=config, baseline=baseline, output_format=output_format)


@baseline_app.command("create", epilog="Example:  fabriclint baseline create k8s/ --reason 'before fabriclint'")
def baseline_create(
    paths: Paths = None,
    reason: Annotated[str, typer.Option(help="Why these findings are accepted.")] = "",
    baseline: BaselineFile = None,
    config: Config = None,
) -> None:
    """Accept all findings that are there."""
    from fabriclint.cli.baseline import run_create

    raise typer.Exit(run_create(_baseline_options(paths, config, None), baseline, reason, update=False))


@baseline_app.command("update", epilog="Example:  fabriclint baseline update k8s/")
def baseline_update(
    paths: Paths = None,
    reason: Annotated[str, typer.Option(help="Why new findings are accepted; old reasons stay.")] = "",
    baseline: BaselineFile = None,
    config: Config = None,
) -> None:
    """Drop entries that are no longer found, and accept what is new."""
    from fabriclint.cli.baseline import run_create

    raise typer.Exit(run_create(_baseline_options(paths, config, None), baseline, reason, update=True))


@baseline_app.command("check", epilog="Example:  fabriclint baseline check k8s/")
def baseline_check(
    paths: Paths = None,
    baseline: BaselineFile = None,
    config: Config = None,
    output_format: Annotated[str, typer.Option("-o", "--output-format", help=CHECK_FORMATS)] = "",
) -> None:
    """0 without new findings, 1 with; stale entries are named."""
    from fabriclint.cli.baseline import run_baseline_check

    raise typer.Exit(run_baseline_check(_baseline_options(paths, config, None, output_format), baseline))


@config_app.command("show", epilog="Example:  fabriclint config show k8s/job.yaml")
def config_show(
    path: Annotated[str | None, typer.Argument(help="The file or folder that the settings hold for.")] = None,
    output_format: Format = "text",
) -> None:
    """The settings that hold for a path, and where each comes from."""
    from fabriclint.cli.config import run_show

    raise typer.Exit(run_show(path, output_format))


@config_app.command("check", epilog="Example:  fabriclint config check .fabriclint.yaml")
def config_check(
    path: Annotated[str | None, typer.Argument(help="A configuration file, or a folder to look up from.")] = None,
) -> None:
    """0 when the configuration can be used, 2 with a sentence when not."""
    from fabriclint.cli.config import run_check

    raise typer.Exit(run_check(path))


@config_app.command("schema", epilog="Example:  fabriclint config schema > fabriclint.schema.json")
def config_schema() -> None:
    """The JSON Schema of .fabriclint.yaml, for editors."""
    from fabriclint.cli.config import run_schema

    raise typer.Exit(run_schema())


@app.command(epilog="Example:  fabriclint completion bash > ~/.local/share/bash-completion/completions/fabriclint")
def completion(shell: Annotated[str, typer.Argument(help="bash, zsh or fish.")]) -> None:
    """The completion script of a shell."""
    from fabriclint.cli.completion import run as run_completion

    raise typer.Exit(run_completion(shell))


def _with_command(first: list[str]) -> typer.Typer:
    """The application with the one command that is called: typer reads the options of every command that it is given."""
    commands = [c for c in app.registered_commands if first == [c.name or getattr(c.callback, "__name__", "")]]
    if not commands:
        return app
    one = copy(app)
    one.registered_commands, one.registered_groups = commands, []
    return one


def run(arguments: list[str]) -> int:
    """Run the application on arguments; usage errors are 2."""
    try:
        result = _with_command(arguments[:1])(arguments, prog_name="fabriclint", standalone_mode=True)
    except SystemExit as stop:
        if type(sys.stdout).__name__ == "PacifyFlushWrapper":
            raise BrokenPipeError from None  # typer's own answer to a closed pipe is 1, a finding's code
        sys.stdout.flush()  # so that a closed pipe is met while it can still be caught
        return stop.code if isinstance(stop.code, int) else (0 if stop.code is None else 2)
    return result if isinstance(result, int) else 0
