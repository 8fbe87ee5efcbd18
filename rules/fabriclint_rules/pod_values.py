"""POD021: fields of a pod that take one of a few words."""

from __future__ import annotations

from collections.abc import Iterator

from fabriclint.node import Mapping, Node, Scalar, Sequence
from fabriclint.pod import PodView
from fabriclint.rule import Applicability, Finding, Fix, Place, SetValue, Severity, rule
from fabriclint.schema.suggest import nearest
from fabriclint_schemas.pods import pods


@rule(
    "POD021",
    "no-such-value",
    Severity.ERROR,
    on=PodView,
    yields_on_line=("DOC003", "DOC005", "DOC008", "RUN012", "RUN016", "TCPXO012", "TCPX012"),
)
def no_such_value(pod: PodView) -> Iterator[Finding]:
    """A field that takes one of a few words has one of them.

    The schema calls these fields texts, so nothing shows at `kubectl apply` of a JobSet, a TrainJob or another object
    around the pod. The API server compares the words when the pod or its Job is created, case by case; then no pod
    appears, and only an event says why.

    Fix: write the word that was meant.

    Silent: values that a template fills in; an empty text, which counts as absent; fields whose own rules speak.

    Bad: a slip in the pull policy (tcpxo-job)
        @@ containers:
        @@ image: registry
        + imagePullPolicy: IfNotPresnt # <-
    Bad: a DNS policy in another spelling (pod-jobset)
        + dnsPolicy: ClusterFirstWithHostnet # <-
          containers:
    Bad: a protocol in small letters (pod-mpijob)
        @@ - name: worker
        @@ image: registry
        + ports:
        +   - containerPort: 2222
        +     protocol: tcp # <-
    Good: the words as they are (tcpxo-job)
        @@ containers:
        @@ image: registry
        + imagePullPolicy: IfNotPresent
    Good: filled in by a template (pod-jobset)
        + dnsPolicy: "{{ .Values.dnsPolicy }}"
          containers:
    Good: the fields that stand empty (pod-mpijob)
        @@ - name: worker
        @@ image: registry
        + imagePullPolicy: ""
    Source: kubernetes/kubernetes@v1.35.2 pkg/apis/core/validation/validation.go (validatePullPolicy, validateDNSPolicy,
        validateContainerPorts, validateHostPathType, validateMountPropagation, validateSeccompProfileField).
    """
    table = pods()["closed values"]
    for path, words in table["pod"].items():
        yield from _judged(pod, pod.spec, path.split("/"), words)
    for container in pod.containers:
        for path, words in table["container"].items():
            yield from _judged(pod, container.node, path.split("/"), words)


def _judged(pod: PodView, start: Mapping, path: list[str], words: list[str]) -> Iterator[Finding]:
    for node in _at(start, path):
        value = node.value
        if node.open or not isinstance(value, str) or value in ("", *words):
            continue
        same = next((w for w in words if w.lower() == value.lower()), None)
        meant = same or nearest(value, words)
        yield pod.finding(
            Place(node),
            f"'{value}' is no value of '{path[-1] if path[-1] != 'type' else '.'.join(path[-2:])}', which takes "
            f"{', '.join(words[:-1])} or {words[-1]}; the API server refuses the pod.",
            help=f"Write {meant}." if meant else "Write one of these words, as they are.",
            fix=Fix(f"write {meant}", (SetValue(node, meant),), Applicability.SAFE if same else Applicability.UNSAFE)
            if meant
            else None,
            silences=("POD009",) if path == ["dnsPolicy"] else (),
        )


def _at(node: Node | None, path: list[str]) -> Iterator[Scalar]:
    """The scalars at a path; `*` is each item of a list."""
    if not path:
        if isinstance(node, Scalar):
            yield node
    elif path[0] == "*":
        for item in node.items if isinstance(node, Sequence) else ():
            yield from _at(item, path[1:])
    elif isinstance(node, Mapping):
        yield from _at(node.at(path[0]), path[1:])
