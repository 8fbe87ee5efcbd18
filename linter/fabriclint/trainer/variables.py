"""An environment variable of a TrainJob as Trainer carries it into the JobSet."""

from __future__ import annotations

from fabriclint.node import Mapping, Node, Scalar, build, copy_tree
from fabriclint.quantity import canonical
from fabriclint.trainer.edit import is_absent

_KEY_SOURCES = ("configMapKeyRef", "secretKeyRef")


def from_trainjob(entry: Mapping) -> Mapping:
    """A copy with what is carried over: a value, empty when there is none, or four kinds of sources.

    With a source the value is lost. Source: kubeflow/trainer@dc7656a pkg/apply/apply.go.
    """
    made = copy_tree(entry)
    assert isinstance(made, Mapping)
    source = made.mapping("valueFrom")
    for key in list(made.fields):
        if key not in ("name", "value", "valueFrom"):
            made.drop(key)
    if source is None:
        made.drop("valueFrom")
        if is_absent(made.fields.get("value")):
            made.put("value", build("", entry))
        return made
    made.drop("value")
    for key, ref in list(source.fields.items()):
        if not isinstance(ref, Mapping) or key not in ("fieldRef", "resourceFieldRef", *_KEY_SOURCES):
            source.drop(key)
        elif key == "fieldRef":
            _keep(ref, {"fieldPath": ""})
        elif key == "resourceFieldRef":
            _keep(ref, {"containerName": "", "resource": "", "divisor": "0"})
            divisor = ref.fields["divisor"]
            if isinstance(divisor, Scalar) and not divisor.open and not isinstance(divisor.value, bool):
                divisor.value = canonical(divisor.value or "0") or divisor.value
        else:
            _keep(ref, {"key": "", "name": ""}, optional="optional")
    return made


def _keep(ref: Mapping, fields: dict[str, str], optional: str | None = None) -> None:
    """Leave only some fields, each there, empty when it was not given."""
    for key in list(ref.fields):
        if key not in fields and (key != optional or is_absent(ref.fields[key])):
            ref.drop(key)
    for key, value in fields.items():
        there: Node | None = ref.fields.get(key)
        if is_absent(there):
            ref.put(key, build(value, ref))
