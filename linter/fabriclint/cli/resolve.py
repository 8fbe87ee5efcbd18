"""`fabriclint resolve`: what Kubeflow Trainer makes of a TrainJob, as YAML or JSON."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from fabriclint.cli.said import complain, standard_input
from fabriclint.config import ConfigError
from fabriclint.disk import contents

if TYPE_CHECKING:
    from fabriclint.node import Mapping
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
        if output_format not in ("yaml", "json"):
            raise UsageError(f"--output-format is yaml or json, not '{output_format}'.")
        if output_format == "json" and diff:
            raise UsageError("--diff is for reading and has no JSON; leave out one of the two.")
        settings = settings_of(Options(paths=tuple(files), trainer_version=trainer_version))
        jobs = _resolved(files, name, lambda uri: settings.for_path(uri).trainer_version)
    except (UsageError, ConfigError) as error:
        complain(error)
        return 2
    if output_format == "json":
        made = [as_json(job, origins=origins) for job in jobs]
        sys.stdout.write(json.dumps(made, indent=2, ensure_ascii=False) + "\n")
        return 0
    from fabriclint.resolve_page import page

    pages = []
    for job in jobs:
        uri = job.trainjob.uri if job.trainjob is not None else ""
        version = settings.for_path(uri).trainer_version
        base = _without_trainjob(job, version) if diff else None
        pages.append(page(job, version, origins=origins, base=base, diff=diff))
    sys.stdout.write("---\n".join(pages))
    return 0


def _without_trainjob(job: ResolvedJob, version: str) -> Mapping | None:
    """The JobSet of a TrainJob that says nothing but its name and its runtime."""
    from dataclasses import replace

    from fabriclint.node import Mapping as MappingNode
    from fabriclint.node import build
    from fabriclint.trainer.mended import OneRuntime
    from fabriclint.trainer.resolve import resolve

    if job.trainjob is None or job.runtime is None:
        return None
    root = job.trainjob.root
    kept = {k: v.plain() for k, v in root.fields.items() if k in ("apiVersion", "kind", "metadata")}
    ref = root.mapping("spec", "runtimeRef")
    bare = build({**kept, "spec": {"runtimeRef": ref.plain() if ref is not None else {}}})
    assert isinstance(bare, MappingNode)
    return resolve(replace(job.trainjob, root=bare), OneRuntime(job.runtime), version).intended


def _resolved(files: list[str], name: str | None, version_of: Any) -> list[ResolvedJob]:
    from fabriclint.cli.check import UsageError
    from fabriclint.engine import read_workspace
    from fabriclint.trainer.lookup import RuntimeLookup
    from fabriclint.trainer.resolve import resolve

    inputs: list[tuple[str, bytes]] = []
    for file in files:
        try:
            inputs.append((file, standard_input() if file == "-" else contents(file)))
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


def as_json(job: ResolvedJob, *, origins: bool = False) -> dict[str, Any]:
    """One resolved TrainJob as the contract of `-o json` has it; `origins` adds where each value came from."""
    trainjob = job.trainjob
    shown = "?"
    if trainjob is not None:
        named = trainjob.name or (trainjob.root.string("metadata", "generateName") or "") + "?"
        shown = f"{trainjob.namespace or 'default'}/{named}"
    made: dict[str, Any] = {
        "trainjob": shown,
        "runtime": job.runtime_ref or None,
        "verdict": job.verdict,
        "reasons": [{"pointer": r.pointer, "message": r.message} for r in job.reasons],
        "jobset": job.jobset.plain() if job.jobset is not None else None,
    }
    if origins and job.jobset is not None:
        from fabriclint.resolve_page import origins_of

        shipped = (
            job.runtime.document.source.uri if job.runtime is not None and job.runtime_state == "shipped" else None
        )
        made["origins"] = origins_of(job.jobset, shipped)
    return made
