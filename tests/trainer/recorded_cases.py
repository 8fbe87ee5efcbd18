"""The recorded outcomes, whole, and the resolver over objects as if they were a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fabriclint.engine import read_workspace
from fabriclint.trainer.lookup import RuntimeLookup
from fabriclint.trainer.resolve import ResolvedJob, resolve

FILE = Path(__file__).parents[1] / "data" / "trainer" / "recorded.json"
RELEASES = ("2.0", "2.1", "2.2", "2.3")


def expanded(value: Any, parts: list[Any]) -> Any:
    """A value with its shared parts put in."""
    if isinstance(value, dict):
        if set(value) == {"="}:
            return expanded(parts[value["="]], parts)
        return {k: expanded(v, parts) for k, v in value.items()}
    return [expanded(v, parts) for v in value] if isinstance(value, list) else value


def recorded() -> list[dict[str, Any]]:
    """All cases, whole."""
    table = json.loads(FILE.read_text(encoding="utf-8"))
    return [expanded(case, table["parts"]) for case in table["cases"]]


RECORDED = recorded()


def resolved(objects: list[Any], release: str) -> ResolvedJob:
    """The TrainJob among the objects, which are all there is."""
    text = "\n---\n".join(json.dumps(o) for o in objects)
    workspace = read_workspace([("case.yaml", text.encode())], [])
    runtimes = RuntimeLookup(closed=True, whole_cluster=True)
    for manifest in workspace.manifests:
        runtimes.add(manifest)
    return resolve(next(m for m in workspace.manifests if m.kind == "TrainJob"), runtimes, release)
