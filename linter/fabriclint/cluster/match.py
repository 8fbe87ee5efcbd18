"""Where a pod may go: the scheduler's filters on plain data.

Selector, required affinity, taints, cordons, resources, topology keys. Every filter is judged on every node, because
the first refusal that an event counts may hide another. Preferred terms and PreferNoSchedule exclude nothing.
Source: kubernetes/kubernetes@v1.35.2 pkg/scheduler/framework/plugins; component-helpers scheduling/corev1, resource.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from fabriclint.cluster.snapshot import ClusterNode, Object, Snapshot, listed, mapping, strings
from fabriclint.node import open_value
from fabriclint.quantity import parse_quantity

_WHOLE = re.compile(r"[+-]?[0-9]+", re.ASCII)
_LABEL_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?", re.ASCII)
_CORDON = {"key": "node.kubernetes.io/unschedulable", "value": "", "effect": "NoSchedule"}
_EFFECTS = ("", "NoSchedule", "PreferNoSchedule", "NoExecute")
_POD_LEVEL = ("cpu", "memory")


class RefusedError(Exception):
    """The API server refuses such a pod, so that no node is ever looked for."""


class UnseenError(Exception):
    """A part that decides is filled in elsewhere (a template) or hidden (a trimmed name): nothing can be said."""


def _int64(text: str) -> int | None:
    if not _WHOLE.fullmatch(text):
        return None
    number = int(text) if len(text) < 25 else None
    return number if number is not None and -(2**63) <= number < 2**63 else None


# Selecting nodes ---------------------------------------------------------------------------------------------------
def _values(requirement: Object) -> list[str]:
    found = requirement.get("values")
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(v, str) for v in found):
        raise RefusedError("values are strings")
    return found


def check_requirement(requirement: Object, *, fields: bool = False) -> None:
    """Raise RefusedError for a requirement that the API server does not admit (`Gt` with a word is admitted)."""
    operator, values = requirement.get("operator"), _values(requirement)
    if fields:
        if requirement.get("key") != "metadata.name" or operator not in ("In", "NotIn") or len(values) != 1:
            raise RefusedError("a field requirement is metadata.name, In or NotIn, with one value")
        return
    if not isinstance(requirement.get("key"), str) or not requirement["key"]:
        raise RefusedError("a requirement has a key")
    if operator in ("In", "NotIn"):
        good = bool(values)
    elif operator in ("Exists", "DoesNotExist"):
        good = not values
    elif operator in ("Gt", "Lt"):
        good = len(values) == 1
    else:
        good = False
    if not good or not all(_LABEL_VALUE.fullmatch(v) for v in values):
        raise RefusedError(f"operator {operator} with {len(values)} values")


def requirement_holds(requirement: Object, labels: dict[str, str]) -> bool:
    """One matchExpressions entry against a node's labels. NotIn also holds where the label is missing."""
    operator, values = requirement.get("operator"), _values(requirement)
    value = labels.get(str(requirement.get("key")))
    if operator == "In":
        return value is not None and value in values
    if operator == "NotIn":
        return value is None or value not in values
    if operator == "Exists":
        return value is not None
    if operator == "DoesNotExist":
        return value is None
    if value is None or len(values) != 1:
        return False
    have, bound = _int64(value), _int64(values[0])
    if have is None or bound is None:
        return False
    return have > bound if operator == "Gt" else have < bound


def _term_holds(term: Object, node: ClusterNode) -> bool:
    expressions, fields = listed(term, "matchExpressions"), listed(term, "matchFields")
    if not expressions and not fields:
        return False
    for requirement in fields:
        if not node.named:
            raise UnseenError("the snapshot's names are not the nodes' own")
        if (node.name in _values(requirement)) != (requirement.get("operator") == "In"):
            return False
    return all(requirement_holds(r, node.labels) for r in expressions)


def required_terms(spec: Object) -> list[Object] | None:
    """The terms of required node affinity, None when there is none. Raises RefusedError."""
    required = mapping(spec, "affinity", "nodeAffinity").get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return None
    terms = listed(required, "nodeSelectorTerms")
    if not terms:
        raise RefusedError("required affinity needs a term")
    for term in terms:
        for requirement in listed(term, "matchExpressions"):
            check_requirement(requirement)
        for requirement in listed(term, "matchFields"):
            check_requirement(requirement, fields=True)
    return terms


def selects(spec: Object, node: ClusterNode) -> bool:
    """Whether nodeSelector and required affinity both admit the node. Raises RefusedError, UnseenError."""
    selector = spec.get("nodeSelector")
    if selector is not None:
        if not isinstance(selector, dict) or not all(isinstance(v, str) for v in selector.values()):
            raise RefusedError("nodeSelector maps strings to strings")
        if not node.named and "kubernetes.io/hostname" in selector:
            raise UnseenError("the snapshot's names are not the nodes' own")
        if any(node.labels.get(k) != v for k, v in selector.items()):
            return False
    terms = required_terms(spec)
    return terms is None or any(_term_holds(t, node) for t in terms)


# Taints ------------------------------------------------------------------------------------------------------------
def tolerations_of(spec: Object) -> list[Object]:
    """The tolerations as written. Raises RefusedError for those that the API server does not admit."""
    found = listed(spec, "tolerations")
    for t in found:
        key, operator = t.get("key") or "", t.get("operator") or "Equal"
        value, effect = t.get("value") or "", t.get("effect") or ""
        if operator not in ("Equal", "Exists") or (not key and operator != "Exists"):
            raise RefusedError(f"toleration operator {operator}")
        if (operator == "Exists" and value) or effect not in _EFFECTS or not isinstance(value, str):
            raise RefusedError("a toleration that exists has no value")
        if t.get("tolerationSeconds") is not None and effect != "NoExecute":
            raise RefusedError("tolerationSeconds needs the effect NoExecute")
    return found


def tolerates(toleration: Object, taint: dict[str, str]) -> bool:
    """Whether one toleration covers one taint; a missing value is the empty value."""
    if (toleration.get("effect") or "") not in ("", taint["effect"]):
        return False
    if (toleration.get("key") or "") not in ("", taint["key"]):
        return False
    return toleration.get("operator") == "Exists" or (toleration.get("value") or "") == taint["value"]


def untolerated(tolerations: list[Object], taints: Iterable[dict[str, str]]) -> list[dict[str, str]]:
    """The taints that keep the pod away; PreferNoSchedule never does."""
    return [
        taint
        for taint in taints
        if taint["effect"] in ("NoSchedule", "NoExecute") and not any(tolerates(t, taint) for t in tolerations)
    ]


# Resources ---------------------------------------------------------------------------------------------------------
def is_extended(resource: str) -> bool:
    """Whether it is an extended resource: with a domain that is not Kubernetes' own, and no quota's name."""
    domain, slash, _ = resource.partition("/")
    return bool(slash) and not domain.endswith("kubernetes.io") and not resource.startswith("requests.")


def _section(container: Object, section: str) -> dict[str, Decimal]:
    made: dict[str, Decimal] = {}
    for name, value in mapping(container, "resources", section).items():
        if value is None or value == "":
            continue
        amount = parse_quantity(value) if isinstance(value, str | int | float) else None
        if amount is None or amount < 0:
            raise RefusedError(f"quantity of {name}")
        if is_extended(name) and amount != amount.to_integral_value():
            raise RefusedError(f"{name} is whole")
        made[name] = amount
    return made


def _whole_pages(limits: dict[str, Decimal], requests: dict[str, Decimal]) -> None:
    """Extended resources and huge pages cannot be overcommitted, and huge pages need cpu or memory beside them."""
    for name in {**limits, **requests}:
        page = name.startswith("hugepages-")
        if name.startswith("requests."):
            raise RefusedError(f"{name} is a quota's name")
        if page and not {"cpu", "memory"} & {*limits, *requests}:
            raise RefusedError("huge pages need cpu or memory")
        if (page or is_extended(name)) and (name not in limits or requests.get(name, limits[name]) != limits[name]):
            raise RefusedError(f"{name}: request and limit are equal")


def container_requests(container: Object, defaults: LimitDefaults | None = None) -> dict[str, Decimal]:
    """What one container asks for: requests, filled from limits name by name, then from a LimitRange."""
    limits, made = _section(container, "limits"), _section(container, "requests")
    _whole_pages(limits, made)
    if defaults is not None:
        for name, amount in defaults.requests.items():
            if name not in made and name not in limits:
                made[name] = amount
        for name, amount in defaults.limits.items():
            limits.setdefault(name, amount)
    if any(name in limits and amount > limits[name] for name, amount in made.items()):
        raise RefusedError("a request above its limit")
    for name, amount in limits.items():
        made.setdefault(name, amount)
    return made


def _add(total: dict[str, Decimal], more: dict[str, Decimal]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, Decimal(0)) + amount


def pod_requests(spec: Object, defaults: LimitDefaults | None = None) -> dict[str, Decimal]:
    """What the scheduler counts: the larger of the running containers' sum and each init container's moment.

    Sidecars (init containers that restart always) run beside all that follows them. Pod-level resources replace the
    sum of cpu, memory and huge pages. Raises RefusedError.
    """
    sidecars: dict[str, Decimal] = {}
    peaks: list[dict[str, Decimal]] = []
    for container in listed(spec, "initContainers"):
        asked = container_requests(container, defaults)
        if container.get("restartPolicy") == "Always":
            _add(sidecars, asked)
            continue
        moment = dict(sidecars)
        _add(moment, asked)
        peaks.append(moment)
    total = dict(sidecars)
    for container in listed(spec, "containers"):
        _add(total, container_requests(container, defaults))
    for moment in peaks:
        for name, amount in moment.items():
            total[name] = max(total.get(name, Decimal(0)), amount)
    written = spec.get("resources")
    if isinstance(written, dict) and any(
        is_extended(n) for part in ("limits", "requests") for n in mapping(written, part)
    ):
        raise RefusedError("pod-level resources know no extended resources")
    level = container_requests({"resources": spec.get("resources")})
    for name, amount in level.items():
        if name in _POD_LEVEL or name.startswith("hugepages-"):
            total[name] = amount
    return {name: amount for name, amount in total.items() if amount > 0}


@dataclass(slots=True)
class LimitDefaults:
    """What LimitRanges of a namespace give to each container that does not say it itself."""

    limits: dict[str, Decimal] = field(default_factory=dict)
    requests: dict[str, Decimal] = field(default_factory=dict)


def limit_defaults(snapshot: Snapshot, namespace: str) -> LimitDefaults | None:
    """The defaults of type Container; `max` alone is a default too, `default` is a default request too.

    Source: kubernetes/kubernetes pkg/apis/core/v1/defaults.go SetDefaults_LimitRangeItem.
    """
    made = LimitDefaults()
    for item in snapshot.in_namespace("LimitRange", namespace):
        for limit in listed(item, "spec", "limits"):
            if limit.get("type") != "Container":
                continue
            default = {**_range(limit, "max"), **_range(limit, "default")}
            made.limits.update(default)
            made.requests.update({**_range(limit, "min"), **default, **_range(limit, "defaultRequest")})
            for name in _range(limit, "min"):
                if name not in _range(limit, "defaultRequest") and name in default:
                    made.requests[name] = default[name]
    return made if made.limits or made.requests else None


def _range(limit: Object, key: str) -> dict[str, Decimal]:
    return {n: a for n, v in mapping(limit, key).items() if (a := parse_quantity(v)) is not None}


# A pod as the API server makes it ----------------------------------------------------------------------------------
@dataclass(slots=True)
class Pod:
    """What the filters look at, after admission has filled it in. `asked`: requests with overhead."""

    spec: Object
    tolerations: list[Object]
    asked: dict[str, Decimal]
    keys: list[tuple[str, str]]


def _strings_of(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for k, v in value.items():
            yield str(k)
            yield from _strings_of(v)
    elif isinstance(value, list):
        for v in value:
            yield from _strings_of(v)


_DECIDES = ("nodeSelector", "affinity", "tolerations", "nodeName", "runtimeClassName", "topologySpreadConstraints", "overhead")  # fmt: skip


def _seen(spec: Object) -> None:
    parts: list[Any] = [spec.get(k) for k in _DECIDES]
    for key in ("containers", "initContainers"):
        found = spec.get(key)
        if isinstance(found, str):
            raise UnseenError(key)
        parts += [c.get("resources") for c in listed(spec, key)]
        if isinstance(found, list) and not all(isinstance(c, dict) for c in found):
            raise UnseenError(key)
    if any(open_value(text) for part in parts for text in _strings_of(part)):
        raise UnseenError("a template expression")
    for key, kind in (("nodeSelector", dict), ("affinity", dict), ("tolerations", list)):
        if spec.get(key) is not None and not isinstance(spec[key], kind):
            raise UnseenError(key)


def admitted(spec: Object, snapshot: Snapshot, namespace: str) -> Pod:
    """The pod as admission leaves it. Raises RefusedError, UnseenError."""
    _seen(spec)
    if spec.get("nodeName") and spec.get("schedulingGates"):
        raise RefusedError("nodeName and a scheduling gate exclude each other")
    spec = dict(spec)
    tolerations = tolerations_of(spec)
    asked = pod_requests(spec, limit_defaults(snapshot, namespace))
    name = spec.get("runtimeClassName")
    if isinstance(name, str) and name:
        found = snapshot.find("RuntimeClass", name)
        if found is None:
            if snapshot.collected("RuntimeClass"):
                raise RefusedError(f"RuntimeClass {name} does not exist")
        else:
            wanted = mapping(found, "scheduling", "nodeSelector")
            own = mapping(spec, "nodeSelector")
            if any(own.get(k, v) != v for k, v in wanted.items()):
                raise RefusedError("pod and RuntimeClass select different values of one label")
            if wanted:
                spec["nodeSelector"] = {**own, **wanted}
            tolerations = [*tolerations, *listed(found, "scheduling", "tolerations")]
            _add(asked, {n: a for n, v in mapping(found, "overhead", "podFixed").items() if (a := parse_quantity(v))})
    elif spec.get("overhead"):
        raise RefusedError("overhead without a RuntimeClass")
    if snapshot.gke:
        tolerations = [
            *tolerations,
            *({"key": r, "operator": "Exists", "effect": "NoSchedule"} for r in sorted(asked) if is_extended(r)),
        ]
    keys = [
        (str(c["topologyKey"]), "topologySpreadConstraints")
        for c in listed(spec, "topologySpreadConstraints")
        if c.get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule" and isinstance(c.get("topologyKey"), str)
    ]
    keys += [
        (str(t["topologyKey"]), "affinity")
        for t in listed(spec, "affinity", "podAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
        if isinstance(t.get("topologyKey"), str)
    ]
    return Pod(spec, tolerations, asked, keys)


# Judging -----------------------------------------------------------------------------------------------------------
@dataclass(slots=True)
class Verdict:
    """One node's answers, filter by filter."""

    node: ClusterNode
    selected: bool
    taints: list[dict[str, str]]
    cordoned: bool
    short: dict[str, Decimal]
    lacks_keys: list[str]

    @property
    def open(self) -> bool:
        """Whether it may be entered at all: selected, tolerated, not cordoned."""
        return self.selected and not self.taints and not self.cordoned

    @property
    def eligible(self) -> bool:
        """Whether the pod fits on the empty node."""
        return self.open and not self.short and not self.lacks_keys


def judge_node(pod: Pod, node: ClusterNode) -> Verdict:
    """Every filter on one node. `nodeName` skips the scheduler: then only NoExecute, affinity and resources count."""
    pinned = pod.spec.get("nodeName")
    selected = selects(pod.spec, node)
    taints = untolerated(pod.tolerations, (t for t in node.taints if t["key"] != _CORDON["key"]))
    cordon = node.unschedulable or any(
        t["key"] == _CORDON["key"] and t["effect"] != "PreferNoSchedule" for t in node.taints
    )
    cordoned = cordon and bool(untolerated(pod.tolerations, [_CORDON]))
    if isinstance(pinned, str) and pinned:
        if not node.named:
            raise UnseenError("the snapshot's names are not the nodes' own")
        selected = selected and node.name == pinned
        taints = [t for t in taints if t["effect"] == "NoExecute"]
        cordoned = False
    short = {name: node.offers(name) for name, amount in pod.asked.items() if node.offers(name) < amount}
    lacks = [key for key, _ in pod.keys if key not in node.labels]
    return Verdict(node, selected, taints, cordoned, short, lacks)


def judge(spec: Object, snapshot: Snapshot, namespace: str = "default") -> tuple[Pod, list[Verdict]]:
    """The pod as admitted, and every node's answer. Raises RefusedError, UnseenError."""
    pod = admitted(spec, snapshot, namespace)
    required_terms(pod.spec)
    return pod, [judge_node(pod, node) for node in snapshot.nodes]


@dataclass(slots=True)
class Blame:
    """What keeps the pod out, in the order an editor would mend it.

    `cause`: none, selector, taint, cordon, resource, topology or disagree. `verdicts`: the nodes that speak for it.
    """

    cause: str
    verdicts: list[Verdict]
    taints: list[dict[str, str]] = field(default_factory=list)
    resources: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)


def _accelerators(asked: dict[str, Decimal]) -> list[str]:
    from fabriclint.workload import is_accelerator

    return [r for r in asked if is_accelerator(r)]


def blame(pod: Pod, verdicts: list[Verdict]) -> Blame:
    """Whom to blame when no node is eligible; the nodes with room speak first.

    Without that, an untainted CPU node would turn a missing toleration into "no GPU".
    """
    selected = [v for v in verdicts if v.selected]
    if not selected:
        return Blame("selector", verdicts)
    if any(v.eligible for v in selected):
        return Blame("none", [v for v in selected if v.eligible])
    room = [v for v in selected if not v.short]
    if not room:
        accelerators = _accelerators(pod.asked)
        best = [v for v in selected if v.open] or selected
        offering = [v for v in best if all(v.node.offers(a) for a in accelerators)]
        if not offering:
            offering = [v for v in selected if all(v.node.offers(a) for a in accelerators)] or best
        names = sorted({r for v in offering for r in v.short})
        common = [r for r in names if all(r in v.short for v in offering)]
        return Blame("resource", offering, resources=common or names)
    free = [v for v in room if not v.taints and not v.cordoned]
    if free:
        keys = [k for k, _ in pod.keys if all(k in v.lacks_keys for v in free)]
        return Blame("topology", free, keys=keys or sorted({k for v in free for k in v.lacks_keys}))
    tainted = [v for v in room if v.taints and not v.cordoned] or [v for v in room if v.taints]
    if not tainted or all(v.cordoned for v in room):
        return Blame("cordon", room)
    seen: dict[tuple[str, str, str], dict[str, str]] = {}
    for v in tainted:
        for t in v.taints:
            seen.setdefault((t["key"], t["value"], t["effect"]), t)
    return Blame("taint", tainted, taints=[seen[k] for k in sorted(seen)])


def disagreements(pod: Pod, verdicts: list[Verdict]) -> dict[str, list[tuple[ClusterNode, Decimal]]]:
    """Asked extended resources, accelerators aside, that the nodes the pod may enter offer in different amounts.

    Compared are nodes that pass selector, taints and cordon and offer the accelerators; absent is 0.
    """
    accelerators = _accelerators(pod.asked)
    entered = [v for v in verdicts if v.open and not v.lacks_keys]
    entered = [v for v in entered if all(v.node.offers(a) >= pod.asked[a] for a in accelerators)]
    out: dict[str, list[tuple[ClusterNode, Decimal]]] = {}
    if not accelerators:
        return out
    for resource in sorted(pod.asked):
        if not is_extended(resource) or resource in accelerators:
            continue
        counts = [(v.node, v.node.offers(resource)) for v in entered]
        if len({c for _, c in counts}) > 1:
            out[resource] = counts
    return out


def can_be_made(snapshot: Snapshot, selector: dict[str, str]) -> bool:
    """Whether a Karpenter pool of the snapshot may make a node with these labels; keys it does not speak of are open."""
    for pool in snapshot.objects("NodePool"):
        labels = strings(mapping(pool, "spec", "template", "metadata").get("labels"))
        requirements = listed(pool, "spec", "template", "spec", "requirements")
        if all(
            labels.get(key, value) == value
            and all(requirement_holds(r, {key: value}) for r in requirements if r.get("key") == key)
            for key, value in selector.items()
        ):
            return True
    return False
