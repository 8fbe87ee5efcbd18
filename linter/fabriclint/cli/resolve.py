"""`fabriclint resolve`: what Kubeflow Trainer makes of a TrainJob, as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabriclint.config import ConfigError

if TYPE_CHECKING:
    from fabriclint.trainer.resolve import ResolvedJob


def run(
    files: list[str],
    *,
    name: str | None,
    origins: bool,
    diff: bool,
    output_format: str,
    trainer_version: str | None,
) -> int:
    """Print what each TrainJob of the files becomes; returns the exit code."""
    from fabriclint.cli.check import Options, UsageError, settings_of

    try:
        if output_format != "json":
            raise UsageError(f"--output-format is json, not '{output_format}'.")
        settings = settings_of(Options(paths=tuple(files), trainer_version=trainer_version))
        jobs = _resolved(files, name, lambda uri: settings.for_path(uri).trainer_version)
    except (UsageError, ConfigError) as error:
        sys.stderr.write(f"fabriclint: {error}\n")
        return 2
    sys.stdout.write(json.dumps([as_json(job) for job in jobs], indent=2, ensure_ascii=False) + "\n")
    return 0


def _resolved(files: list[str], name: str | None, version_of: Any) -> list[ResolvedJob]:
    from fabriclint.cli.check import UsageError
    from fabriclint.engine import read_workspace
    from fabriclint.trainer.lookup import RuntimeLookup
    from fabriclint.trainer.resolve import resolve

    inputs: list[tuple[str, bytes]] = []
    for file in files:
        try:
            inputs.append((file, sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()))
        except OSError as problem:
            raise UsageError(f"{file}: cannot be read: {problem.strerror or 'unknown error'}.") from None
    workspace = read_workspace(inputs, [])
    runtimes = RuntimeLookup(closed=True)
    for manifest in workspace.manifests:
        runtimes.add(manifest)
    found = [m for m in workspace.manifests if m.kind == "TrainJob" and m.group == "trainer.kubeflow.org"]
    if name is not None:
        found = [m for m in found if m.name == name]
    if not found:
        raise UsageError(f"no TrainJob{f' named {name!r}' if name else ''} is in {', '.join(files)}.")
    return [resolve(m, runtimes, version_of(m.uri)) for m in found]


def as_json(job: ResolvedJob) -> dict[str, Any]:
    """One resolved TrainJob as the contract of `-o json` has it."""
    trainjob = job.trainjob
    shown = "?"
    if trainjob is not None:
        named = trainjob.name or (trainjob.root.string("metadata", "generateName") or "") + "?"
        shown = f"{trainjob.namespace or 'default'}/{named}"
    return {
        "trainjob": shown,
        "runtime": job.runtime_ref or None,
        "verdict": job.verdict,
        "reasons": [{"pointer": r.pointer, "message": r.message} for r in job.reasons],
        "jobset": job.jobset.plain() if job.jobset is not None else None,
    }
