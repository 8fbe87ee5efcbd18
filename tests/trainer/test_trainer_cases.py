"""A table of small inputs over four releases of Trainer: the verdict, and fields of the JobSet."""

from __future__ import annotations

import copy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from recorded_cases import RELEASES, resolved
from ruamel.yaml import YAML

DATA = Path(__file__).parents[1] / "data" / "trainer"
#: Numbers of the facts that are about updates, clusters, tools or what a pod does at run time, or that a rule says.
ELSEWHERE = {"T07", "B8"}


@cache
def table() -> dict[str, Any]:
    loaded: dict[str, Any] = YAML(typ="safe").load((DATA / "cases.yaml").read_text(encoding="utf-8"))
    return loaded


def merged(base: Any, change: Any) -> Any:
    """A mapping with changes: mappings are merged, `null` takes away, `~~` is a null that stays."""
    if not isinstance(change, dict):
        return None if change == "~~" else change
    made = dict(base) if isinstance(base, dict) else {}
    for key, value in change.items():
        if value is None:
            made.pop(key, None)
        else:
            made[key] = merged(made.get(key), value)
    return made


def overrides(patches: list[dict[str, Any]], release: str) -> dict[str, Any]:
    """The patches in the release's own field."""
    entries = []
    for index, patch in enumerate(patches):
        job, pod = patch.get("job", "node"), patch.get("pod")
        if release == "2.0":
            entries.append({"targetJobs": [{"name": job}], **(pod or {})})
            continue
        if release == "2.1":
            entry = {"targetJobs": [{"name": job}]}
            for key, value in (("metadata", patch.get("podmeta")), ("spec", pod)):
                if value is not None:
                    entry[key] = value
            entries.append(entry)
            continue
        template: dict[str, Any] = {}
        if pod is not None or "podmeta" in patch:
            inner = {k: v for k, v in (("metadata", patch.get("podmeta")), ("spec", pod)) if v is not None}
            template["spec"] = {"template": inner}
        if "jobmeta" in patch:
            template["metadata"] = patch["jobmeta"]
        whole: dict[str, Any] = {"spec": {"replicatedJobs": [{"name": job, "template": template}]}}
        if "meta" in patch:
            whole["metadata"] = patch["meta"]
        manager = patch.get("manager", f"example.com/p{index}")
        entries.append({"manager": manager, "trainingRuntimeSpec": {"template": whole}})
    field = {"2.0": "podSpecOverrides", "2.1": "podTemplateOverrides"}.get(release, "runtimePatches")
    return {field: entries}


def documents(case: dict[str, Any], release: str) -> list[dict[str, Any]]:
    """The runtime and the TrainJob of a case."""
    made = []
    if case["base"] is not None:
        base = {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainingRuntime",
            "metadata": {"name": "rt", "namespace": "ns"},
            **copy.deepcopy(table()["bases"][case["base"]]),
        }
        made.append(merged(base, case.get("runtime", {})) if case.get("runtime") else base)
    job: dict[str, Any] = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "job", "namespace": "ns"},
        "spec": {"runtimeRef": {"name": "rt", "kind": "TrainingRuntime"}, "trainer": {}},
    }
    if "patch" in case:
        patches = case["patch"] if isinstance(case["patch"], list) else [case["patch"]]
        job["spec"].update(overrides(patches, release))
    made.append(merged(job, case.get("job", {})) if case.get("job") else job)
    return made


def item(listed: list[Any], step: str) -> Any:
    if step.isdigit():
        return listed[int(step)] if int(step) < len(listed) else None
    return next((i for i in listed if isinstance(i, dict) and step in (i.get("name"), i.get("mountPath"))), None)


def field(jobset: Any, path: str) -> Any:
    """The value at a path of the table's language; None when it is not there."""
    if jobset is None:
        return None
    if path.startswith("#"):
        here, steps = jobset, path[1:].split("/")
    else:
        name, *steps = path.removeprefix("@").split("/")
        here = item(jobset["spec"]["replicatedJobs"], name)
        if not path.startswith("@"):
            steps = ["template", "spec", "template", "spec", *steps]
    while steps and here is not None:
        step = steps.pop(0)
        if isinstance(here, list):
            if step == "":  # a mount path begins with a slash
                rest = sorted((i.get("mountPath", "") for i in here), key=len, reverse=True)
                text = "/" + "/".join(steps)
                path_of = next((r for r in rest if text == r or text.startswith(r + "/")), None)
                if path_of is None:
                    return None
                step, steps = path_of, [s for s in text[len(path_of) :].split("/") if s]
            here = item(here, step)
            continue
        if not isinstance(here, dict):
            return None
        key = step
        while key not in here and steps:  # names of labels and resources hold slashes
            key += "/" + steps.pop(0)
        here = here.get(key)
    return here


CASES = [(c, r) for c in table()["cases"] for r in c.get("on", RELEASES)]


@pytest.mark.parametrize(("case", "release"), [pytest.param(c, r, id=f"{c['name']} ({r})") for c, r in CASES])
def test_a_trainjob_becomes_what_trainer_makes_of_it(case: dict[str, Any], release: str) -> None:
    job = resolved(documents(case, release), release)
    want = dict(case["want"])
    assert job.verdict == want.pop("verdict"), [r.message for r in job.reasons]
    stage, says = want.pop("stage", None), want.pop("says", None)
    if says is not None:
        stages = (stage,) if stage else ("schema", "name", "webhook")
        assert any(says in r.message for r in job.of_stage(*stages)), [(r.stage, r.message) for r in job.reasons]
    if want.pop("clean", False):
        assert job.reasons == []
    jobset = job.jobset.plain() if job.jobset is not None else None
    assert (jobset is not None) == (want.pop("built", job.verdict != "rejected"))
    for path, value in want.items():
        if path == "nodes":
            assert job.num_nodes == value
        elif path == "hosts":
            assert len(job.hosts) == value
        elif path == "state":
            assert job.runtime_state == value
        elif path == "warns":
            assert [value in w.message for w in job.warnings] == ([True] if value else [])
        elif path == "names":
            assert [e["name"] for e in field(jobset, "node/containers/node/env") or []] == value
        elif path == "order":
            assert [c["name"] for c in field(jobset, "node/initContainers")] == value
        elif path.startswith("meant/"):
            assert job.intended is not None
            assert field(job.intended.plain(), path.removeprefix("meant/")) == value
        else:
            assert field(jobset, path) == value, path


def test_every_number_of_the_facts_has_a_case() -> None:
    shown = {f for c in table()["cases"] for f in c["facts"]}
    wanted = {f"T{n:02}" for n in range(1, 13)} | {f"B{n}" for n in range(14)} | {f"J{n}" for n in range(1, 9)}
    wanted |= {f"R{n}" for n in (*range(1, 15), 20, 21)} | {f"t{n}" for n in range(1, 72)}
    assert wanted - shown - ELSEWHERE == set()


def test_the_table_has_more_than_two_hundred_cases() -> None:
    assert len(CASES) > 200
    assert len({c["name"] for c in table()["cases"]}) == len(table()["cases"])
