"""The validation rules (CEL) of the schemas that apply when an object is created, as code.

Each function answers whether the value passes; it is given plain data without nulls. A rule that is not in the table
is not judged, so a schema that brings a new one never gives a false fault.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

_DNS_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://.+")


def _policies(*names: str) -> Callable[[Any], bool]:
    return lambda it: sum(name in it for name in names) <= 1


def _name_is_a_label(it: Any) -> bool:
    name = (it.get("metadata") or {}).get("name")
    return not isinstance(name, str) or _DNS_LABEL.fullmatch(name) is not None


def _name_is_short(it: Any) -> bool:
    name = (it.get("metadata") or {}).get("name")
    return not isinstance(name, str) or len(name) <= 63


def _processes(it: Any) -> bool:
    return it in ("auto", "cpu", "gpu") or (isinstance(it, int) and not isinstance(it, bool) and it > 0)


def _no_startup_with_depends(it: Any) -> bool:
    ordered = (it.get("startupPolicy") or {}).get("startupPolicyOrder") == "InOrder"
    return not (ordered and any("dependsOn" in job for job in it.get("replicatedJobs") or []))


def _claims_without_namespace(it: Any) -> bool:
    return all(not (t.get("metadata") or {}).get("namespace") for t in it.get("templates") or [])


#: Rule text as published -> function. Sources: kubeflow/trainer@658725b manifests/base/crds,
#: kubernetes-sigs/jobset@f22e565 config/components/crd/bases.
RULES: Final[dict[str, Callable[[Any], bool]]] = {
    "self in ['trainer.kubeflow.org/trainjob-controller', 'kueue.x-k8s.io/multikueue']": lambda it: (
        it in ("trainer.kubeflow.org/trainjob-controller", "kueue.x-k8s.io/multikueue")
    ),
    "self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')": _name_is_a_label,
    "size(self.metadata.name) <= 63": _name_is_short,
    "!(has(self.numNodes) && (has(self.torch) && has(self.torch.elasticPolicy)))": lambda it: (
        not ("numNodes" in it and "elasticPolicy" in (it.get("torch") or {}))
    ),
    "!(has(self.torch) && has(self.mpi))": _policies("torch", "mpi"),
    "[has(self.torch), has(self.mpi), has(self.jax), has(self.xgboost),has(self.flux)].filter(x, x).size() <= 1": (
        _policies("torch", "mpi", "jax", "xgboost", "flux")
    ),
    "self > 0 || self in ['auto', 'cpu', 'gpu']": _processes,
    "self >= 1": lambda it: not isinstance(it, int) or it >= 1,
    "!self.exists(c, c == 'node')": lambda it: "node" not in it,
    "self == '' || self.matches('^[A-Za-z][A-Za-z0-9+.-]*://.+$')": lambda it: (
        it == "" or _URI.fullmatch(it) is not None
    ),
    "!(has(self.startupPolicy) && self.startupPolicy.startupPolicyOrder == 'InOrder' && "
    "self.replicatedJobs.exists(x, has(x.dependsOn)))": _no_startup_with_depends,
    "self.templates.all(t, !has(t.metadata.namespace) || size(t.metadata.namespace) == 0)": _claims_without_namespace,
}


def passes(rule: str, value: Any) -> bool:
    """Whether a value passes a rule; also true for values that the rule's function cannot take."""
    check = RULES.get(rule)
    if check is None:
        return True
    try:
        return check(value)
    except (AttributeError, TypeError):
        return True  # a wrong type is another fault, told elsewhere
