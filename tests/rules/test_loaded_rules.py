"""A run loads the rules that can speak of what it reads, and no others."""

from __future__ import annotations

from importlib import import_module
from inspect import signature

import pytest

from fabriclint.config import Settings
from fabriclint.engine import lint
from fabriclint.rule import rules_of
from fabriclint_rules import pack
from fabriclint_rules.pack import MODULES, PACK, SPEAKS_OF

#: What a rule of these looks at stands only where one of its module's words is in view.
BY_THE_OBJECT = {
    "TRN013": "pods of runtimes and TrainJobs",
    "TRN037": "JobSets",
    "EFA014": "ClusterConfigs of eksctl",
}
POD = b"""apiVersion: v1
kind: Pod
metadata: {name: one}
spec:
  containers:
    - {name: worker, image: "registry.example/worker:1", resources: {limits: {nvidia.com/gpu: 8}}}
"""


def families(data: bytes, settings: Settings | None = None) -> set[str]:
    """The families of the rules that a run over one file has loaded."""
    return {r.family for r in lint([], settings or Settings(isolated=True), stdin=("x.yaml", data)).ran}


@pytest.mark.parametrize("module", sorted(SPEAKS_OF))
def test_what_a_module_needs_in_view_is_what_its_rules_look_at(module):
    assert module in MODULES
    for rule in rules_of(import_module(f"fabriclint_rules.{module}")):
        if rule.code in BY_THE_OBJECT:
            continue
        bases = {c.__name__ for c in rule.on.__mro__}
        covered = bool(bases & set(SPEAKS_OF[module])) or (rule.fabrics and set(rule.fabrics) <= set(SPEAKS_OF[module]))
        covered = covered or ("snapshot" in SPEAKS_OF[module] and "snapshot" in signature(rule.check).parameters)
        assert covered, f"{rule.code} looks at {rule.on.__name__}, of which SPEAKS_OF of {module} says nothing"


def test_an_object_without_pods_loads_no_rule_about_pods():
    assert families(b"apiVersion: v1\nkind: Service\nmetadata: {name: x}\n") <= {"DOC", "SUP", "DEV", "IB"}


def test_a_pod_without_a_fabric_loads_no_rule_of_a_trainer_a_snapshot_or_another_fabric():
    found = {r.code for r in lint([], Settings(isolated=True), stdin=("x.yaml", POD)).ran}
    assert {"POD001", "RUN001", "EFA001", "TCPXO010"} <= found
    assert not {"TRN001", "FIT007", "TCPXO007", "GIB026"} & found


def test_a_declared_fabric_loads_its_rules():
    assert "TCPXO007" in {
        r.code for r in lint([], Settings(isolated=True, fabric=(("*", "gke-tcpxo"),)), stdin=("x.yaml", POD)).ran
    }


def test_all_rules_of_the_run_are_known_to_the_report():
    made = lint([], Settings(isolated=True), stdin=("x.yaml", POD))
    assert [r.code for r in made.rules()] == [r.code for r in PACK.load() if r.default]
    assert len(made.ran) < len(made.rules())


def test_everything_in_view_loads_everything():
    words = frozenset(word for words in SPEAKS_OF.values() for word in words)
    assert list(pack.load_for(words)) == list(pack.load())
