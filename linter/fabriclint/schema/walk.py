"""The structural walker: a tree of nodes against a schema, as strictly as kubectl's default validation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from fabriclint.node import Mapping, Node, Scalar, Sequence
from fabriclint.quantity import parse_quantity
from fabriclint.schema.cel import RULES, passes
from fabriclint.schema.fault import FaultKind, SchemaFault
from fabriclint.schema.suggest import nearest
from fabriclint_schemas.load import Schema

#: How the pattern of a resource quantity begins in every published definition.
_QUANTITY = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
#: Steps that only wrap: a field one of them away counts as one level off.
_WRAPPERS = ("template", "spec", "metadata", "jobTemplate")
_TYPE_WORDS = {
    "string": "a string",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "object": "a mapping",
    "array": "a list",
}
#: Lists that core kinds merely warn about when an entry stands twice (kubernetes/kubernetes pkg/api/pod/warnings.go).
_ONLY_WARNED = ("env", "ports", "tolerations", "imagePullSecrets", "hostAliases", "topologySpreadConstraints")
#: A time as Kubernetes reads it (RFC 3339).
_TIME = re.compile(
    r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[Tt]([01][0-9]|2[0-3])(:[0-5][0-9]){2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
#: Kinds whose names are spoken with a vowel first: an InferenceService, an MPIJob (its letters), but a NIMService.
_VOWEL = re.compile(r"[AEIO]|[FHLMNRSX][B-DF-HJ-NP-TV-Z]")
_REFUSES = "the API server refuses the object"


@cache
def _compiled(pattern: str) -> re.Pattern[str] | None:
    try:
        return re.compile(pattern)
    except re.error:  # Go's syntax that Python has not got: not judged
        return None


def field_at(schema: Schema | None, path: list[str]) -> bool:
    """Whether a schema names the field at a path of keys and indices."""
    if schema is None:
        return False
    here: Any = schema
    for step in path:
        if not isinstance(here, dict):
            return False
        properties = here.get("properties", {})
        if step in properties:
            here = properties[step]
        elif isinstance(here.get("additionalProperties"), dict):
            here = here["additionalProperties"]
        elif "items" in here and step.isdigit():
            here = here["items"]
        else:
            return False
    return True


def dotted(path: tuple[str | int, ...]) -> str:
    """A path as kubectl writes it, `spec.replicatedJobs[0].name`; of a long one the end."""
    texts: list[str] = []
    for step in path:
        if isinstance(step, int) and texts:
            texts[-1] += f"[{step}]"
        else:
            texts.append(str(step))
    text = ".".join(texts)
    while len(text) > 56 and len(texts) > 2:
        texts = texts[1:]
        text = "..." + ".".join(texts)
    return text


def _short(value: object) -> str:
    text = str(value).replace("\n", " ")
    return text if len(text) <= 40 else text[:37] + "..."


def _present(node: Node | None) -> bool:
    return node is not None and not (isinstance(node, Scalar) and node.value is None)


def _plain(node: Node) -> Any:
    """Plain data without nulls, which count as absent."""
    if isinstance(node, Mapping):
        return {k: _plain(v) for k, v in node.fields.items() if _present(v)}
    if isinstance(node, Sequence):
        return [_plain(i) for i in node.items]
    return node.plain()


def _has_open(node: Node) -> bool:
    return any(isinstance(n, Scalar) and n.open for n in node.walk())


class Walk:
    """One object against one schema. `core`: lists of core kinds whose doubles are only warned about pass."""

    def __init__(self, schema: Schema, kind: str, *, core: bool = False) -> None:
        self.schema = schema
        self.kind = kind
        self.a_kind = f"{'an' if _VOWEL.match(kind) else 'a'} {kind}"
        self.core = core
        self.faults: list[SchemaFault] = []
        #: schemas from the root to the place in hand, with the key that led to each
        self.trail: list[tuple[str | int | None, Schema]] = []

    def run(self, root: Mapping) -> list[SchemaFault]:
        """All faults, in document order."""
        self._visit(root, self._rooted(self.schema), ())
        return self.faults

    @staticmethod
    def _rooted(schema: Schema) -> Schema:
        """The schema with the fields of every object: CRDs leave metadata to the API server."""
        from fabriclint.schema.core import OBJECT_META

        text = {"type": "string"}
        given = schema.get("properties", {})
        fields = {"apiVersion": text, "kind": text, **given, "metadata": OBJECT_META}
        return {**schema, "properties": fields}

    def _say(self, kind: FaultKind, node: Node, path: tuple[str | int, ...], message: str, **more: Any) -> None:
        self.faults.append(SchemaFault(kind, node, path, message, **more))

    def _visit(self, node: Node, schema: Schema, path: tuple[str | int, ...]) -> None:
        if isinstance(node, Scalar):
            if node.value is not None and not node.open:
                self._scalar(node, schema, path)
        elif isinstance(node, Mapping):
            self._mapping(node, schema, path)
        elif isinstance(node, Sequence):
            self._sequence(node, schema, path)

    # -- scalars

    def _scalar(self, node: Scalar, schema: Schema, path: tuple[str | int, ...]) -> None:
        value = node.value
        where = dotted(path)
        if schema.get("x-kubernetes-int-or-string"):
            self._int_or_string(node, schema, path)
            return
        wanted = schema.get("type")
        if wanted is not None and not _of_type(value, wanted):
            got = (
                "true or false" if isinstance(value, bool) else "a number" if not isinstance(value, str) else "a string"
            )
            self._say(
                "type",
                node,
                path,
                f"'{where}' is {got} ('{_short(node.text)}') where {self.a_kind} takes {_TYPE_WORDS[wanted]}; {_REFUSES}.",
                value=value,
            )
            return
        choices = schema.get("enum")
        if choices is not None and value not in choices:
            shown = ", ".join(f"'{c}'" for c in choices[:6] if c != "")
            self._say(
                "enum",
                node,
                path,
                f"'{_short(node.text)}' is no value of '{where}', which takes {shown}; {_REFUSES}.",
                suggestion=nearest(value, [c for c in choices if isinstance(c, str)])
                if isinstance(value, str)
                else None,
                value=value,
            )
            return
        if isinstance(value, str):
            self._text(node, value, schema, path)
        elif not isinstance(value, bool) and value is not None:
            self._bounds(node, value, schema, path)
        self._rules(node, schema, path)

    def _int_or_string(self, node: Scalar, schema: Schema, path: tuple[str | int, ...]) -> None:
        value = node.value
        pattern = schema.get("pattern", "")
        amount = pattern.startswith(_QUANTITY)
        where = dotted(path)
        if isinstance(value, bool) or (
            isinstance(value, float) and not value.is_integer() and not (self.core and amount)
        ):
            wanted = "a quantity, as a whole number or a string" if amount else "a whole number or a string"
            self._say(
                "type", node, path, f"'{where}' is '{_short(node.text)}' and takes {wanted}; {_REFUSES}.", value=value
            )
        elif amount and isinstance(value, str):
            compiled = _compiled(pattern)
            refused = not self.core and compiled is not None and compiled.search(value) is None
            if refused or parse_quantity(value) is None:
                self._say(
                    "quantity", node, path, f"'{_short(value)}' in '{where}' is no quantity; {_REFUSES}.", value=value
                )
        elif isinstance(value, str):
            self._text(node, value, schema, path)
            self._rules(node, schema, path)
        else:
            self._rules(node, schema, path)

    def _text(self, node: Scalar, value: str, schema: Schema, path: tuple[str | int, ...]) -> None:
        pattern = schema.get("pattern")
        where = dotted(path)
        if pattern is not None:
            compiled = _compiled(pattern)
            if compiled is not None and compiled.search(value) is None:
                self._say(
                    "pattern",
                    node,
                    path,
                    f"'{_short(value)}' in '{where}' has not the form that {self.a_kind} takes there; {_REFUSES}.",
                    value=value,
                )
                return
        if schema.get("format") == "date-time" and _TIME.fullmatch(value) is None:
            text = f"'{_short(value)}' in '{where}' is no time as 2026-01-31T12:00:00Z; {_REFUSES}."
            self._say("pattern", node, path, text, value=value)
            return
        low, high = schema.get("minLength"), schema.get("maxLength")
        if low is not None and len(value) < low:
            text = f"'{where}' is empty or shorter than {low} characters; {_REFUSES}."
            self._say("range", node, path, text, value=value)
        elif high is not None and len(value) > high:
            text = f"'{where}' has {len(value)} characters where {high} are allowed; {_REFUSES}."
            self._say("range", node, path, text, value=value)

    def _bounds(self, node: Scalar, value: float, schema: Schema, path: tuple[str | int, ...]) -> None:
        low, high = schema.get("minimum"), schema.get("maximum")
        where = dotted(path)
        if low is None and high is None and schema.get("format") == "int32":
            low, high = -(2**31), 2**31 - 1
        if low is not None and value < low:
            self._say("range", node, path, f"'{where}' is {node.text}, below {low}; {_REFUSES}.", value=value)
        elif high is not None and value > high:
            self._say("range", node, path, f"'{where}' is {node.text}, above {high}; {_REFUSES}.", value=value)

    # -- mappings

    def _mapping(self, node: Mapping, schema: Schema, path: tuple[str | int, ...]) -> None:
        wanted = schema.get("type")
        if schema.get("x-kubernetes-int-or-string") or wanted not in (None, "object"):
            if not _has_template(node):
                word = _TYPE_WORDS.get(str(wanted), "a number or a string")
                text = f"'{dotted(path)}' is a mapping where {self.a_kind} takes {word}; {_REFUSES}."
                self._say("type", node, path, text)
            return
        properties: dict[str, Schema] = schema.get("properties", {})
        extra = schema.get("additionalProperties")
        loose = bool(schema.get("x-kubernetes-preserve-unknown-fields")) or extra is True
        if schema.get("x-kubernetes-embedded-resource"):
            text_schema: Schema = {"type": "string"}
            meta: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
            properties = {"apiVersion": text_schema, "kind": text_schema, "metadata": meta, **properties}
        self.trail.append((path[-1] if path else None, schema))
        for key, below in node.fields.items():
            known = properties.get(key)
            if known is not None:
                self._visit(below, known, (*path, key))
            elif isinstance(extra, dict):
                self._visit(below, extra, (*path, key))
            elif not loose and _present(below) and "{{" not in key and "$" not in key:
                self._unknown(node, key, below, properties, path)
        self.trail.pop()
        for name in schema.get("required", ()):
            if not _present(node.fields.get(name)) and not _has_template(node):
                default = properties.get(name, {}).get("default")
                if default is None and not _filled_in(self.kind, path, name):
                    text = f"'{dotted((*path, name))}' is missing, and {self.a_kind} requires it; {_REFUSES}."
                    self._say("required", node, (*path, name), text)
        count = len(node.fields)
        low, high = schema.get("minProperties"), schema.get("maxProperties")
        if (low is not None and count < low) or (high is not None and count > high):
            self._say(
                "range", node, path, f"'{dotted(path)}' has {count} fields, which is outside its bounds; {_REFUSES}."
            )
        self._rules(node, schema, path)

    def _unknown(
        self, parent: Mapping, key: str, below: Node, properties: dict[str, Schema], path: tuple[str | int, ...]
    ) -> None:
        target = self._elsewhere(parent, key, properties, path)
        near = nearest(key, properties)
        if near is not None and near in parent.fields:
            near = None
        holder = f"'{dotted(path)}'" if path else self.a_kind
        if target is not None and (near is None or key == target[-1]):
            text = f"'{key}' is no field of {holder}: it belongs at '{dotted(target)}'; {_REFUSES}."
        elif near is not None:
            text = f"'{key}' is no field of {holder}: '{near}' is; {_REFUSES}."
        else:
            text = f"'{key}' is no field of {holder}{f' in {self.a_kind}' if path else ''}; {_REFUSES}."
        self._say("unknown-field", below, (*path, key), text, suggestion=near, moves_to=target)

    def _elsewhere(
        self, parent: Mapping, key: str, properties: dict[str, Schema], path: tuple[str | int, ...]
    ) -> tuple[str | int, ...] | None:
        """Where a field of this name stands: below one wrapper or list, beside, or above."""
        if key in ("name", "type", "kind", "key", "value", "path", "data", "items"):
            return None  # names that stand everywhere say nothing
        for name in sorted(properties, key=lambda n: (n not in parent.fields, n not in _WRAPPERS, n)):
            if name not in parent.fields and name not in _WRAPPERS:
                continue
            for steps, fields in _levels(properties[name]):
                if key in fields:
                    here: tuple[str | int, ...] = (*path, name, *steps)
                    return (*here, key)
        below = [n for n, s in properties.items() if key in s.get("properties", {})]
        if len(below) == 1:
            return (*path, below[0], key)
        steps_up = list(path)
        for _, schema in reversed(self.trail[:-1]):
            steps_up.pop()
            while steps_up and isinstance(steps_up[-1], int) and "items" in schema:
                steps_up.pop()
            fields = schema.get("properties", {})
            if key in fields and "items" not in schema:
                return (*steps_up, key)
            if len(path) - len(steps_up) > 3:
                break
        if path and path[-1] == "securityContext" and "containers" in (self.trail[-2][1].get("properties", {})):
            item = self.trail[-2][1]["properties"]["containers"]["items"]["properties"]["securityContext"]
            if key in item.get("properties", {}):
                return (*path[:-1], "containers", 0, "securityContext", key)
        return None

    # -- lists

    def _sequence(self, node: Sequence, schema: Schema, path: tuple[str | int, ...]) -> None:
        wanted = schema.get("type")
        if schema.get("x-kubernetes-int-or-string") or wanted not in (None, "array"):
            word = _TYPE_WORDS.get(str(wanted), "a number or a string")
            self._say("type", node, path, f"'{dotted(path)}' is a list where {self.a_kind} takes {word}; {_REFUSES}.")
            return
        items: Schema = schema.get("items", {})
        self.trail.append((path[-1] if path else None, schema))
        for index, item in enumerate(node.items):
            self._visit(item, items, (*path, index))
        self.trail.pop()
        count = len(node.items)
        low, high = schema.get("minItems"), schema.get("maxItems")
        where = dotted(path)
        if low is not None and count < low:
            self._say(
                "range", node, path, f"'{where}' has {count} entries where at least {low} are needed; {_REFUSES}."
            )
        if high is not None and count > high:
            self._say("range", node, path, f"'{where}' has {count} entries where {high} are allowed; {_REFUSES}.")
        self._doubles(node, schema, path)
        self._rules(node, schema, path)

    def _doubles(self, node: Sequence, schema: Schema, path: tuple[str | int, ...]) -> None:
        kind = schema.get("x-kubernetes-list-type")
        if kind not in ("map", "set") or (self.core and path and path[-1] in _ONLY_WARNED):
            return
        keys: list[str] = schema.get("x-kubernetes-list-map-keys", [])
        fields = schema.get("items", {}).get("properties", {})
        seen: set[str] = set()
        for index, item in enumerate(node.items):
            if kind == "set":
                identity = [_plain(item)]
                if _has_open(item):
                    continue
            elif isinstance(item, Mapping):
                parts = [(item.at(k), fields.get(k, {}).get("default")) for k in keys]
                if any(isinstance(p, Scalar) and p.open for p, _ in parts):
                    continue
                identity = [p.plain() if p is not None and _present(p) else default for p, default in parts]
                if all(i is None for i in identity):
                    continue
            else:
                continue
            text = repr(identity)
            if text in seen:
                shown = ", ".join(f"'{_short(i)}'" for i in identity if i is not None)
                message = f"{shown} stands twice in '{dotted(path)}', which is keyed by {', '.join(keys) or 'value'}; {_REFUSES}."
                self._say("duplicate", item, (*path, index), message, value=identity[0])
            seen.add(text)

    # -- rules

    def _rules(self, node: Node, schema: Schema, path: tuple[str | int, ...]) -> None:
        for rule in schema.get("x-kubernetes-validations", ()):
            if rule["rule"] not in RULES or passes(rule["rule"], _plain(node)) or _has_open_here(node):
                continue
            where = f"'{dotted(path)}'" if path else f"This {self.kind}"
            at = node.at("metadata", "name") if "metadata.name" in rule["rule"] else None
            words = rule["message"].rstrip(".") or rule["rule"]
            self._say(
                "rule",
                at or node,
                path,
                f"{where} breaks a rule of the schema: {words}; {_REFUSES}.",
                value=_short(words),
            )


def _levels(schema: Schema) -> Iterator[tuple[tuple[str | int, ...], dict[str, Schema]]]:
    """The fields of a schema, through one list, and through wrappers below it."""
    steps: tuple[str | int, ...] = ()
    if "items" in schema:
        schema, steps = schema["items"], (0,)
    fields = schema.get("properties", {})
    yield steps, fields
    for wrapper in _WRAPPERS:
        if wrapper in fields and wrapper != "metadata":
            inner = fields[wrapper].get("properties", {})
            yield (*steps, wrapper), inner


def _of_type(value: object, wanted: str) -> bool:
    if isinstance(value, bool):
        return wanted == "boolean"
    if isinstance(value, str):
        return wanted == "string"
    if isinstance(value, int):
        return wanted in ("integer", "number")
    if isinstance(value, float):
        return wanted == "number" or (wanted == "integer" and value.is_integer())
    return True


def _has_template(node: Mapping) -> bool:
    """Whether a mapping is what a template expression looks like to a YAML reader, or is filled by one."""
    return any("{{" in k or "{" in k or "<<" in k or "$patch" in k for k in node.fields)


def _filled_in(kind: str, path: tuple[str | int, ...], name: str) -> bool:
    """Whether a webhook writes a required field before the schema is looked at.

    Source: kubernetes-sigs/jobset@f22e565 pkg/webhooks/jobset_webhook.go (names of failure policy rules).
    """
    return kind == "JobSet" and name == "name" and path[-3:-1] == ("failurePolicy", "rules")


def _has_open_here(node: Node) -> bool:
    if isinstance(node, Scalar):
        return node.open
    name = node.at("metadata", "name")
    return isinstance(name, Scalar) and name.open
