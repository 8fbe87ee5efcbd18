"""Which objects carry pods, and where: the reader of the table `kinds.json`.

Adding a kind is one row of the table. A count that is more than one field is a small function here, named in the row.
Source of the table: the controllers' own code (kubernetes/kubernetes, kubernetes-sigs/jobset, kubeflow/trainer,
kubeflow/mpi-operator, kubernetes-sigs/lws, ray-project/kuberay, volcano-sh/volcano and others).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.resources import files
from typing import Any

from fabriclint.document import Document, Manifest
from fabriclint.node import UNKNOWN, Mapping, Node, Scalar, Sequence, Unknown
from fabriclint.workload import PodRole, PodSite, Workload, gpu_quantity


@cache
def _table() -> dict[str, Any]:
    text = (files("fabriclint_schemas") / "tables" / "kinds.json").read_text(encoding="utf-8")
    table: dict[str, Any] = json.loads(text)
    by_kind: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in table["templates"]:
        by_kind.setdefault((row["group"], row["kind"]), []).append(row)
    table["by_kind"] = by_kind
    return table


def carries_pods(group: str, kind: str) -> bool:
    """Whether the table has a pod template for the kind."""
    return (group, kind) in _table()["by_kind"]


def wrapped_objects(manifest: Manifest) -> Iterator[Manifest]:
    """Whole objects that stand inside another one: AppWrapper components, Katib trials, Argo resource manifests."""
    table = _table()
    for row in table["wrapped"]:
        if (row["group"], row["kind"]) == (manifest.group, manifest.kind):
            for node, _ in matches(manifest.root, row["path"]):
                inner = as_manifest(manifest.document, node)
                if inner is not None:
                    yield inner
    for row in table["embedded"]:
        if (row["group"], row["kind"]) == (manifest.group, manifest.kind):
            from fabriclint.embedded import parse_embedded

            for node, _ in matches(manifest.root, row["path"]):
                if isinstance(node, Scalar) and isinstance(node.value, str):
                    document = parse_embedded(node)
                    if isinstance(document, Document) and document.root is not None:
                        inner = as_manifest(document, document.root)
                        if inner is not None:
                            yield inner


def as_manifest(document: Document, node: Node) -> Manifest | None:
    """A node as an object, when it says its apiVersion and kind."""
    if not isinstance(node, Mapping):
        return None
    api_version, kind = node.string("apiVersion"), node.string("kind")
    if not api_version or not kind:
        return None
    return Manifest(document, node, api_version, kind)


def workload_of(manifest: Manifest) -> Workload | None:
    """The workload of a manifest, or None when its kind carries no pods."""
    rows = _table()["by_kind"].get((manifest.group, manifest.kind))
    if rows is None:
        return None
    workload = Workload(manifest, root=manifest.root)
    workload.sites = list(_sites(manifest.root, rows))
    return workload


def jobset_sites(jobset: Mapping) -> list[PodSite]:
    """The pod templates of a JobSet, also one that a controller would make."""
    return list(_sites(jobset, _table()["by_kind"][("jobset.x-k8s.io", "JobSet")]))


def _sites(root: Mapping, rows: list[dict[str, Any]]) -> Iterator[PodSite]:
    for row in rows:
        for node, stars in matches(root, row["path"]):
            if not isinstance(node, Mapping):
                continue
            form = row["form"]
            spec = node.mapping("spec") if form == "template" else node
            if spec is None:
                continue
            meta_path = row.get("meta")
            if meta_path is not None:
                metadata = _metadata(root, meta_path, stars, row.get("carried"))
            else:
                metadata = node.mapping("metadata") if form == "template" else None
            if "step of" in row:
                from fabriclint.own_shapes import step_pod

                workflow, template = root.mapping(*row["step of"].split("/")[1:]), node.parent
                if workflow is None or not isinstance(template, Mapping):
                    continue
                spec = step_pod(workflow, template, spec)
            elif form == "container":
                from fabriclint.own_shapes import as_pod_spec

                spec = as_pod_spec(spec, {}, [spec])
            elif "containers" in row:
                from fabriclint.own_shapes import as_pod_spec, with_listed_env, with_what_stands_beside

                held = [c for p in row["containers"] for c, _ in matches(spec, p) if isinstance(c, Mapping)]
                if not held and row.get("optional"):
                    continue
                if row.get("environment") == "map":
                    held = [with_listed_env(c) for c in held]
                if "amounts" in row:
                    from fabriclint.own_amounts import READERS

                    held = [READERS[row["amounts"]](c, root, row) for c in held]
                beside = root.at(*_bind(row["beside"], stars)) if "beside" in row else None
                if held and held[0].key == "mainContainer" and isinstance(beside, Mapping):
                    held[0] = with_what_stands_beside(held[0], beside)
                spec = as_pod_spec(spec, spec.fields, held)
            owner, name = _owner(root, row["path"], stars)
            pods, together = _count(row["pods"], root, node, owner)
            declared = row.get("roles", {}).get(name, row["role"])
            role = _role(declared, name, spec, owner)
            runs = row.get("ranks_when")
            runs_ranks = runs is not None and root.true(*runs.split("/")[1:])
            if root.string("apiVersion") in row.get("ranks_by_limits", ()):
                runs_ranks = _limits_gpus(spec)
            part = _part(root, row, name)
            site = PodSite(
                node, spec, metadata, form, role, pods, row.get("name", name), together, owner, runs_ranks, part
            )
            site.called = row.get("called", "")
            site.image_elsewhere = row.get("image") == "elsewhere"
            site.copies = _copies(root, row, owner, name)
            yield site


def _copies(root: Mapping, row: dict[str, Any], owner: Mapping | None, name: str) -> int | Unknown:
    """How many groups of these pods the object makes: counts of the object, of the role, and of the group that lists it."""
    factors: list[int | Unknown] = []
    for said in row.get("copies", ()):
        if said == "listed":
            listing = _listing(root, row, name)
            factors.append(number(listing.at("replicas"), 1) if listing is not None else 1)
        elif said.startswith("/"):
            factors.append(number(root.at(*said.split("/")[1:]), 1))
        else:
            factors.append(number(owner.at(*said.split("/")) if owner is not None else None, 1))
    return _times(*factors)


def _listing(root: Mapping, row: dict[str, Any], name: str) -> Mapping | None:
    """The group of several templates that lists one by its name."""
    for one in root.mappings(*row["part of"].split("/")[1:]) if "part of" in row else ():
        listed = one.sequence("cliqueNames")
        if any(isinstance(i, Scalar) and i.value == name for i in (listed.items if listed is not None else [])):
            return one
    return None


def _part(root: Mapping, row: dict[str, Any], name: str) -> str:
    """What a template works with: all of the object (empty), those of a name, or the group that lists it by name."""
    given: str = row.get("part", "")
    listing = _listing(root, row, name)
    if listing is not None:
        return listing.string("name") or name
    return name if given == "owner" else given


def _metadata(
    root: Mapping, paths: str | list[str], stars: list[str | int], carried: list[str] | None = None
) -> Mapping | None:
    """What reaches the pods of labels and annotations: of several places the first wins.

    `carried`: how the names begin that reach them from the last place, where not all do.
    """
    found = [root.at(*_bind(path, stars)) for path in ([paths] if isinstance(paths, str) else paths)]
    there = [n for n in found if isinstance(n, Mapping)]
    if carried is not None and isinstance(found[-1], Mapping):
        from fabriclint.own_shapes import beginning

        there[-1] = beginning(there[-1], tuple(carried))
    if len(there) < 2:
        return there[0] if there else None
    from fabriclint.own_shapes import over

    return over(there)


def _limits_gpus(spec: Mapping) -> bool:
    """Whether a launcher counts as one with GPUs, which takes its place among the hosts: a limit whose name holds `gpu`."""
    limits = (c.mapping("resources", "limits") for c in spec.mappings("containers"))
    return any("gpu" in name for one in limits if one is not None for name in one.fields)


def _bind(path: str, stars: list[str | int]) -> list[str | int]:
    steps: list[str | int] = []
    left = iter(stars)
    for step in path.split("/")[1:]:
        steps.append(next(left, "") if step == "*" else step)
    return steps


def matches(root: Mapping, path: str) -> Iterator[tuple[Node, list[str | int]]]:
    """Every node at a path of the table, `*` standing for every item or key, with what each `*` stood for."""
    steps = path.split("/")[1:]

    def below(node: Node, at: int, stars: list[str | int]) -> Iterator[tuple[Node, list[str | int]]]:
        if at == len(steps):
            yield node, stars
            return
        step = steps[at]
        if step == "*":
            if isinstance(node, Sequence):
                for index, item in enumerate(node.items):
                    yield from below(item, at + 1, [*stars, index])
            elif isinstance(node, Mapping):
                for key, item in node.fields.items():
                    yield from below(item, at + 1, [*stars, key])
        elif isinstance(node, Mapping) and step in node.fields:
            yield from below(node.fields[step], at + 1, stars)

    yield from below(root, 0, [])


def _owner(root: Mapping, path: str, stars: list[str | int]) -> tuple[Mapping | None, str]:
    """The mapping that the last `*` (or a replica key) selects, and the name of the role."""
    steps = path.split("/")[1:]
    if "*" in steps:
        last = len(steps) - 1 - steps[::-1].index("*")
        node = root.at(*_bind("/" + "/".join(steps[: last + 1]), stars))
        if isinstance(node, Mapping):
            name = node.string("name") or node.string("groupName") or str(stars[-1])
            return node, name
        return None, str(stars[-1])
    for index, step in enumerate(steps):
        if step.endswith("ReplicaSpecs") and index + 1 < len(steps):
            return root.mapping(*steps[: index + 2]), steps[index + 1]
    for step in reversed(steps):
        if step in (
            "headGroupSpec",
            "leaderTemplate",
            "workerTemplate",
            "submitterPodTemplate",
            "workerSpec",
        ):
            return None, {
                "headGroupSpec": "head",
                "leaderTemplate": "leader",
                "workerTemplate": "worker",
                "submitterPodTemplate": "submitter",
                "workerSpec": "worker",
            }[step]
    return None, ""


def number(node: Node | None, default: int) -> int | Unknown:
    """A whole number; the default when absent or null; UNKNOWN when open or no number."""
    if node is None:
        return default
    if isinstance(node, Scalar):
        if node.value is None:
            return default
        if isinstance(node.value, bool):
            return UNKNOWN
        if isinstance(node.value, int):
            return node.value
        if isinstance(node.value, float) and node.value.is_integer():
            return int(node.value)
    return UNKNOWN


def sum_of(counts: Iterable[int | Unknown]) -> int | Unknown:
    """The sum of counts; UNKNOWN when one of them is."""
    found = 0
    for count in counts:
        if isinstance(count, Unknown):
            return UNKNOWN
        found += count
    return found


def _times(*factors: int | Unknown) -> int | Unknown:
    product = 1
    for factor in factors:
        if isinstance(factor, Unknown):
            return UNKNOWN
        product *= factor
    return product


def _job_pods(spec: Node | None) -> int | Unknown:
    """Pods of a batch/v1 Job that run at once: no more than completions are left to do."""
    if spec is None:
        return 1
    parallelism = number(spec.at("parallelism"), 1)
    completions = spec.at("completions")
    if completions is None or isinstance(parallelism, Unknown):
        return parallelism
    wanted = number(completions, 1)
    return wanted if isinstance(wanted, Unknown) else min(parallelism, wanted)


Count = tuple[int | Unknown | None, bool]


def _count(expression: list[Any], root: Mapping, node: Mapping, owner: Mapping | None) -> Count:
    what = expression[0]
    reader = _COUNTS.get(what)
    if reader is not None:
        return reader(root, node, owner)
    if what == "replicas":
        holder = owner if owner is not None else root.mapping("spec")
        return number(holder.at("replicas") if holder else None, expression[1]), True
    if what == "at":
        return number(root.at(*expression[1].split("/")[1:]), expression[2]), True
    return UNKNOWN, True


def _count_job(root: Mapping, node: Mapping, owner: Mapping | None) -> Count:
    parent = node.parent
    return _job_pods(parent), True


def _count_jobset(root: Mapping, node: Mapping, owner: Mapping | None) -> Count:
    if owner is None:
        return UNKNOWN, True
    return _times(number(owner.at("replicas"), 1), _job_pods(owner.at("template", "spec"))), True


def _count_lws(root: Mapping, node: Mapping, owner: Mapping | None) -> Count:
    holder = node.parent
    size = number(holder.at("size") if holder is not None else None, 1)
    if node.key == "leaderTemplate":
        return 1, True
    if isinstance(size, Unknown) or holder is None:
        return UNKNOWN, True
    return (size - 1 if holder.at("leaderTemplate") is not None else size), True


def _count_ray(root: Mapping, node: Mapping, owner: Mapping | None) -> Count:
    if owner is None:
        return UNKNOWN, True
    if owner.true("suspend"):
        return 0, True
    low = number(owner.at("minReplicas"), 0)
    replicas = number(owner.at("replicas"), 0)
    high = number(owner.at("maxReplicas"), 2**31 - 1)
    hosts = number(owner.at("numOfHosts"), 1)
    if isinstance(low, Unknown) or isinstance(high, Unknown) or isinstance(replicas, Unknown):
        return UNKNOWN, True
    return _times(min(max(replicas, low), high), hosts), True


def _count_dynamo(root: Mapping, node: Mapping, owner: Mapping | None) -> Count:
    holder = owner if owner is not None else root.mapping("spec")
    return number(holder.at("multinode", "nodeCount") if holder else None, 1), True


def _count_clique(root: Mapping, node: Mapping, owner: Mapping | None) -> Count:
    return number(owner.at("spec", "replicas") if owner is not None else None, 1), True


def _count_predictor(root: Mapping, node: Mapping, owner: Mapping | None) -> Count:
    """A predictor leads a group when it has a workerSpec; else its replicas are independent servers."""
    return (1, True) if root.at("spec", "predictor", "workerSpec") is not None else (None, False)


def _count_predictor_workers(root: Mapping, node: Mapping, owner: Mapping | None) -> Count:
    stages = node.at("pipelineParallelSize")
    size = number(stages, 1)
    return (UNKNOWN if stages is None or isinstance(size, Unknown) else max(size - 1, 0)), True


def _count_llm(root: Mapping, node: Mapping, owner: Mapping | None) -> Count:
    """The leader of a group and its workers, by the parallelism beside them; without a worker independent servers."""
    holder = node.parent
    if holder is None or holder.at("worker") is None:
        return None, False
    if node.key == "template":
        return 1, True
    data, local = number(holder.at("parallelism", "data"), 0), number(holder.at("parallelism", "dataLocal"), 1)
    stages = number(holder.at("parallelism", "pipeline"), 0)
    if isinstance(data, int) and isinstance(local, int) and data > 0 and local > 0:
        return max(data // local - 1, 0), True
    if isinstance(stages, int) and stages > 0:
        return stages - 1, True
    return UNKNOWN, True


def _count_nim(root: Mapping, node: Mapping, owner: Mapping | None) -> Count:
    if root.at("spec", "multiNode") is None:
        return None, False
    stages = root.at("spec", "multiNode", "parallelism", "pipeline")
    return (UNKNOWN if stages is None else number(stages, 1)), True


def _count_runtime_part(root: Mapping, node: Mapping, owner: Mapping | None) -> Count:
    """A serving runtime says how, and the service that uses it says how many."""
    return UNKNOWN, True


def _count_podgroup(root: Mapping, node: Mapping, owner: Mapping | None) -> Count:
    return number(owner.at("podGroupSize") if owner else None, 1), True


_COUNTS: dict[str, Callable[[Mapping, Mapping, Mapping | None], Count]] = {
    "one": lambda root, node, owner: (1, True),
    "unknown": lambda root, node, owner: (UNKNOWN, True),
    "independent": lambda root, node, owner: (None, False),
    "job": _count_job,
    "jobset": _count_jobset,
    "lws": _count_lws,
    "ray": _count_ray,
    "dynamo": _count_dynamo,
    "podgroup": _count_podgroup,
    "clique": _count_clique,
    "predictor": _count_predictor,
    "predictor workers": _count_predictor_workers,
    "llm": _count_llm,
    "nim": _count_nim,
    "runtime part": _count_runtime_part,
}

_LAUNCHER_NAMES = ("launcher", "submitter", "driver", "coordinator", "leader-launcher")
#: The label by which Trainer tells what a replicated job is to a TrainJob (kubeflow/trainer v2).
ANCESTOR_LABEL = "trainer.kubeflow.org/trainjob-ancestor-step"


def _role(declared: str, name: str, spec: Mapping, owner: Mapping | None) -> PodRole:
    has_gpu = any(
        gpu_quantity(container.at("resources"))
        for container in (spec.sequence("containers") or Sequence(None, 0, 0)).items
    )
    step = owner.string("template", "metadata", "labels", ANCESTOR_LABEL) if owner is not None else None
    if step in ("dataset-initializer", "model-initializer") or name in (
        "dataset-initializer",
        "model-initializer",
    ):
        return PodRole.INITIALIZER
    if declared in ("worker", "by-name"):
        lowered = name.lower()
        if not has_gpu and (lowered in _LAUNCHER_NAMES or lowered.endswith("-launcher")):
            return PodRole.LAUNCHER
        if declared == "by-name" and not has_gpu and lowered in ("ps", "frontend", "planner", "router", "scheduler"):
            return PodRole.OTHER
        return PodRole.WORKER
    return PodRole(declared)
