"""POD018, POD019: placements that the API server refuses, and those that pass the scheduler by."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fabriclint.node import Mapping, Node, Scalar, Sequence
from fabriclint.pod import PodView, WorkerPod
from fabriclint.rule import Change, Finding, Fix, Place, SetValue, Severity, rule
from fabriclint.schema.suggest import nearest
from fabriclint_schemas.pods import pods

_LABEL_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?", re.ASCII)
_LABEL_PART = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", re.ASCII)
_DOMAIN = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*", re.ASCII)
_REFUSED = "the API server refuses the pod"

Said = tuple[Place, str, str, tuple[Change, ...]]


@rule("POD018", "placement-refused", Severity.ERROR, on=PodView, yields_on_line=("DOC005", "DOC008"))
def placement_refused(pod: PodView) -> Iterator[Finding]:
    """Affinity, tolerations and spreading are what the API server takes.

    It checks them when a pod is created. A Job, JobSet or TrainJob around a bad one is admitted all the same: its
    pods then never appear, and only an event says why. An operator that a feature gate allows is named with the gate.

    Fix: the edit that each finding names.

    Silent: values that a template fills in, `Gt` with a text for a number (it is admitted and matches no node).

    Bad: an operator in lower case (pod-jobset)
        + affinity:
        +   nodeAffinity:
        +     requiredDuringSchedulingIgnoredDuringExecution:
        +       nodeSelectorTerms:
        +         - matchExpressions:
        +             - key: pool
        +               operator: in  # <-
        +               values: [h100]
          containers:
    Bad: a toleration with a value for Exists (pod-mpijob)
        @@ mpirun
        + tolerations:
        +   - key: nvidia.com/gpu
        +     operator: Exists
        +     value: present  # <-
          containers:
    Bad: a misspelt effect (pod-lws)
        + tolerations:
        +   - key: nvidia.com/gpu
        +     operator: Exists
        +     effect: NoSchedul  # <-
          containers:
    Good: a toleration of everything (pod-jobset)
        + tolerations:
        +   - operator: Exists
          containers:
    Good: a number that is a text, as it has to be (pod-mpijob)
        @@ mpirun
        + affinity:
        +   nodeAffinity:
        +     requiredDuringSchedulingIgnoredDuringExecution:
        +       nodeSelectorTerms:
        +         - matchExpressions:
        +             - key: nvidia.com/gpu.count
        +               operator: Gt
        +               values: ["7"]
          containers:
    Good: a toleration without operator (pod-lws)
        + tolerations:
        +   - key: nvidia.com/gpu
        +     value: present
        +     effect: NoSchedule
          containers:
    Source: kubernetes/kubernetes@v1.35.2 pkg/apis/core/validation/validation.go (ValidateTolerations,
        ValidateNodeSelector, validateTopologySpreadConstraints), recorded by running it.
    """
    if pod.site.form not in ("template", "podspec"):
        return
    for place, message, help, changes in _said(pod):
        yield pod.finding(
            place, f"{message}; {_REFUSED}.", help=help, fix=Fix(help.rstrip("."), changes) if changes else None
        )


def _said(pod: PodView) -> Iterator[Said]:
    yield from _node_affinity(pod)
    yield from _pod_affinity(pod)
    yield from _tolerations(pod)
    yield from _spread(pod)
    name = pod.spec.at("nodeName")
    if _word(name) is not None and name is not None and pod.spec.mappings("schedulingGates"):
        yield Place(name), "nodeName is set beside scheduling gates", "Take nodeName or the gates out.", ()


def _word(node: Node | None) -> str | None:
    """A string that the file gives, None when it is absent, empty, open or no string."""
    if not isinstance(node, Scalar) or not isinstance(node.value, str) or node.open or not node.value:
        return None
    return node.value


def _is_open(node: Node | None) -> bool:
    return isinstance(node, Scalar) and node.open


def _node_affinity(pod: PodView) -> Iterator[Said]:
    affinity = pod.spec.mapping("affinity", "nodeAffinity")
    if affinity is None:
        return
    required = affinity.at("requiredDuringSchedulingIgnoredDuringExecution")
    if isinstance(required, Mapping):
        terms = required.at("nodeSelectorTerms")
        if terms is None or (isinstance(terms, Sequence) and not terms.items):
            yield (
                Place(terms if terms is not None else required, on_key=True),
                "A required node affinity has no nodeSelectorTerms",
                "Write at least one term, or take the affinity out.",
                (),
            )
        for term in required.mappings("nodeSelectorTerms"):
            yield from _term(term)
    for preferred in affinity.mappings("preferredDuringSchedulingIgnoredDuringExecution"):
        weight = preferred.scalar("weight")
        if weight is not None and isinstance(weight.value, int) and not 1 <= weight.value <= 100:
            yield (
                Place(weight),
                f"The weight '{weight.text}' is not between 1 and 100",
                "Write a weight from 1 to 100.",
                (),
            )
        preference = preferred.mapping("preference")
        if preference is not None:
            yield from _term(preference)


def _term(term: Mapping) -> Iterator[Said]:
    for expression in term.mappings("matchExpressions"):
        yield from _expression(expression, pods()["selector_operators"])
    for field in term.mappings("matchFields"):
        yield from _field(field)


def _expression(expression: Mapping, operators: list[str]) -> Iterator[Said]:
    key, operator, values = expression.at("key"), expression.at("operator"), expression.at("values")
    name = _word(key)
    if name is not None and not _is_label_key(name):
        assert key is not None
        yield Place(key), f"'{name}' is no name of a label", "Write the label's name as nodes or pods carry it.", ()
    word = _word(operator)
    if word is None or operator is None:
        return
    if word not in operators:
        yield from _misspelt(operator, word, operators, "operator")
        return
    if isinstance(values, Scalar) and values.value is not None:
        return
    items = values.items if isinstance(values, Sequence) else []
    if any(_is_open(i) or not isinstance(i, Scalar) for i in items):
        return
    place = Place(values if values is not None else operator, on_key=values is not None)
    if word in ("In", "NotIn") and not items:
        yield place, f"The operator '{word}' has no values", "List the values, or write 'Exists'.", ()
    elif word in ("Exists", "DoesNotExist") and items:
        yield place, f"The operator '{word}' has values", "Take the values out, or write 'In' or 'NotIn'.", ()
    elif word in ("Gt", "Lt") and len(items) != 1:
        yield (
            place,
            f"The operator '{word}' has {len(items)} values and takes exactly one",
            "Write one whole number.",
            (),
        )
    else:
        for item in items:
            if isinstance(item, Scalar) and isinstance(item.value, str) and not _LABEL_VALUE.fullmatch(item.value):
                yield Place(item), f"'{item.text}' cannot be a label's value", "Write the value as nodes carry it.", ()


def _field(field: Mapping) -> Iterator[Said]:
    key, operator, values = field.at("key"), field.at("operator"), field.at("values")
    name, word = _word(key), _word(operator)
    if name is not None and key is not None and name != "metadata.name":
        yield Place(key), f"matchFields knows 'metadata.name' only, not '{name}'", "Write it as matchExpressions.", ()
    if word is not None and operator is not None and word not in ("In", "NotIn"):
        yield Place(operator), f"matchFields takes 'In' and 'NotIn', not '{word}'", "Write 'In' or 'NotIn'.", ()
    elif isinstance(values, Sequence) and len(values.items) != 1 and not any(_is_open(i) for i in values.items):
        yield (
            Place(values, on_key=True),
            f"matchFields has {len(values.items)} values and takes exactly one",
            "Write one term for each node.",
            (),
        )


def _misspelt(node: Node, word: str, known: list[str], what: str) -> Iterator[Said]:
    meant = nearest(word, known)
    shown = ", ".join(f"'{k}'" for k in known)
    assert isinstance(node, Scalar)
    if meant is not None:
        yield Place(node), f"The {what} '{word}' does not exist", f"Write '{meant}'.", (SetValue(node, meant),)
    else:
        yield Place(node), f"The {what} '{word}' does not exist", f"Write one of {shown}.", ()


def _is_label_key(name: str) -> bool:
    prefix, slash, part = name.rpartition("/")
    if slash and not (_DOMAIN.fullmatch(prefix) and len(prefix) <= 253):
        return False
    return _LABEL_PART.fullmatch(part) is not None


def _pod_affinity(pod: PodView) -> Iterator[Said]:
    for kind in ("podAffinity", "podAntiAffinity"):
        affinity = pod.spec.mapping("affinity", kind)
        if affinity is None:
            continue
        terms = affinity.mappings("requiredDuringSchedulingIgnoredDuringExecution")
        for weighted in affinity.mappings("preferredDuringSchedulingIgnoredDuringExecution"):
            inner = weighted.mapping("podAffinityTerm")
            if inner is not None:
                terms.append(inner)
        for term in terms:
            key = term.at("topologyKey")
            if key is None or (isinstance(key, Scalar) and key.value in ("", None)):
                yield (
                    Place(key if key is not None else term, on_key=key is not None),
                    f"A term of {kind} has no topologyKey",
                    "Write the node's label that says what counts as one place (kubernetes.io/hostname).",
                    (),
                )
            for expression in term.mappings("labelSelector", "matchExpressions"):
                yield from _expression(expression, pods()["pod_affinity_operators"])


def _tolerations(pod: PodView) -> Iterator[Said]:
    table = pods()
    for toleration in pod.spec.mappings("tolerations"):
        key, operator, value = toleration.at("key"), toleration.at("operator"), toleration.at("value")
        effect, seconds = toleration.at("effect"), toleration.at("tolerationSeconds")
        word, kind = _word(operator), _word(effect)
        if any(_is_open(n) for n in (key, operator, value, effect)):
            continue
        name = _word(key)
        if name is not None and key is not None and not _is_label_key(name):
            yield Place(key), f"'{name}' is no name of a taint", "Write the taint's key as nodes carry it.", ()
            continue
        if word in table["gated_toleration_operators"] and operator is not None:
            yield (
                Place(operator),
                f"The toleration operator '{word}' needs the feature gate TaintTolerationComparisonOperators, off by default",
                "Write 'Equal' or 'Exists'.",
                (),
            )
            continue
        if word is not None and operator is not None and word not in table["toleration_operators"]:
            yield from _misspelt(operator, word, table["toleration_operators"], "operator")
            continue
        if not name and word != "Exists":
            yield (
                Place(operator) if operator is not None else Place(toleration.nearest("value")),
                "A toleration without a key tolerates everything and needs the operator 'Exists'",
                "Write operator: Exists, or name the taint's key.",
                (),
            )
            continue
        if word == "Exists" and isinstance(value, Scalar) and value.value not in (None, ""):
            yield (
                Place(value),
                f"A toleration with the operator 'Exists' has the value '{value.text}'",
                "Take the value out, or write operator: Equal.",
                (),
            )
            continue
        if kind is not None and effect is not None and kind not in table["effects"]:
            yield from _misspelt(effect, kind, table["effects"], "effect")
            continue
        if isinstance(seconds, Scalar) and seconds.value is not None and kind != "NoExecute":
            yield (
                Place(effect if effect is not None else seconds),
                "tolerationSeconds belongs to the effect 'NoExecute' alone",
                "Write effect: NoExecute, or take tolerationSeconds out.",
                (),
            )


def _spread(pod: PodView) -> Iterator[Said]:
    seen: set[tuple[str, str]] = set()
    for constraint in pod.spec.mappings("topologySpreadConstraints"):
        skew, key, when = constraint.at("maxSkew"), constraint.at("topologyKey"), constraint.at("whenUnsatisfiable")
        if (
            isinstance(skew, Scalar)
            and isinstance(skew.value, int)
            and not isinstance(skew.value, bool)
            and skew.value < 1
        ):
            yield Place(skew), f"The maxSkew '{skew.text}' is below 1", "Write 1 or more.", ()
        word, name = _word(when), _word(key)
        if word is not None and when is not None and word not in pods()["unsatisfiable"]:
            yield from _misspelt(when, word, pods()["unsatisfiable"], "value of whenUnsatisfiable,")
        if name is not None and word is not None and key is not None:
            if (name, word) in seen:
                yield Place(key), f"Two constraints spread over '{name}' with '{word}'", "Keep one of them.", ()
            seen.add((name, word))


@rule("POD019", "node-name", Severity.WARNING, on=WorkerPod)
def node_name(pod: WorkerPod) -> Iterator[Finding]:
    """The pods of a group go where the scheduler sends them.

    `nodeName` passes the scheduler by: every pod of the template goes to that one node, whatever is free there, and
    the kubelet refuses those whose GPUs or devices are taken (UnexpectedAdmissionError), again and again.

    Fix: take nodeName out; a nodeSelector on kubernetes.io/hostname asks the scheduler for a node.

    Silent: single pods, DaemonSets, pods without GPUs, names that a template fills in.

    Bad: all ranks on one node (pod-jobset)
        + nodeName: gpu-7  # <-
          containers:
    Bad: the workers of an MPIJob (pod-mpijob)
        @@ mpirun
        + nodeName: gpu-7  # <-
          containers:
    Bad: the pods of a group (pod-lws)
        + nodeName: gpu-7  # <-
          containers:
    Good: a selector (pod-jobset)
        + nodeSelector:
        +   kubernetes.io/hostname: gpu-7
          containers:
    Good: the launcher, which has no GPU (pod-mpijob)
        + nodeName: head-1
          containers:
            - name: launcher
    Good: a group of one (pod-lws)
        ~ size: 2 => size: 1
        + nodeName: gpu-7
          containers:
    Source: kubernetes/kubernetes@v1.35.2 pkg/scheduler/eventhandlers.go, pkg/kubelet/lifecycle/predicate.go.
    """
    node = pod.spec.scalar("nodeName")
    if node is None or not isinstance(node.value, str) or not node.value or node.open:
        return
    if pod.multi_node is not True or pod.workload.kind == "Pod":
        return
    yield pod.finding(
        Place(node),
        f"'nodeName: {node.value}' sends every pod of this template to one node, past the scheduler; the kubelet refuses "
        "those that find no GPU free.",
        help="Take nodeName out; to ask for a node write nodeSelector with kubernetes.io/hostname.",
    )
