"""The part of CEL that selectors of devices are written in: what an expression says of one device.

Four answers: it holds, it does not, it ends with an error (an attribute that the device lacks), or it cannot be told
here. A function, a type or a form that is not read is never taken for an answer.

Source: kubernetes/dynamic-resource-allocation@v0.35.2 cel/compile.go; google/cel-spec doc/langdef.md (the two logical
operators take an answer from either side).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

from fabriclint.cluster.snapshot import Object, mapping
from fabriclint.quantity import parse_quantity


class Answer:
    """An answer that is no value."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


#: The expression ends here: the device is not taken.
ERROR = Answer("error")
#: It cannot be told here what comes of it.
OPEN = Answer("open")


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """A semantic version without a pre-release."""

    major: int
    minor: int
    patch: int


@dataclass(frozen=True, slots=True)
class Optional:
    """A value that may be absent (`.?name`)."""

    value: Any
    there: bool


def holds(expression: str, driver: str, device: Object) -> bool | Answer:
    """What a selector says of a device of a driver's slice: True, False, ERROR or OPEN."""
    tree = _parsed(expression)
    found = OPEN if tree is None else _value(tree, driver, device)
    if isinstance(found, bool | Answer):
        return found
    return ERROR


# Reading --------------------------------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
    r"""|(?P<number>\d+)(?![\w.])|(?P<name>[A-Za-z_]\w*)"""
    r"""|(?P<sign>&&|\|\||==|!=|<=|>=|\.\?|[!<>()\[\].,-]))"""
)
_Tree = tuple[Any, ...]


class _UnreadError(Exception):
    """The expression has a form that is not read."""


@lru_cache(maxsize=256)
def _parsed(expression: str) -> _Tree | None:
    try:
        reader = _Reader(_tokens(expression))
        tree = reader.either(0)
        return tree if reader.done else None
    except _UnreadError:
        return None


def _tokens(text: str) -> list[tuple[str, str]]:
    out: list[tuple[str, str]] = []
    at = 0
    text = text.rstrip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            raise _UnreadError
        out.append((found.lastgroup, found[found.lastgroup]))
        at = found.end()
    return out


class _Reader:
    """Reads tokens into a tree, by the precedence of the language."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self.tokens = tokens
        self.at = 0

    @property
    def done(self) -> bool:
        return self.at == len(self.tokens)

    def peek(self) -> str:
        return self.tokens[self.at][1] if not self.done else ""

    def take(self, kind: str | None = None) -> str:
        if self.done or (kind is not None and self.tokens[self.at][0] != kind):
            raise _UnreadError
        self.at += 1
        return self.tokens[self.at - 1][1]

    def skip(self, sign: str) -> bool:
        if self.done or self.tokens[self.at] != ("sign", sign):
            return False
        self.at += 1
        return True

    def need(self, sign: str) -> None:
        if not self.skip(sign):
            raise _UnreadError

    def either(self, depth: int) -> _Tree:
        if depth > 40:
            raise _UnreadError
        left = self.both(depth)
        while self.skip("||"):
            left = ("or", left, self.both(depth))
        return left

    def both(self, depth: int) -> _Tree:
        left = self.compared(depth)
        while self.skip("&&"):
            left = ("and", left, self.compared(depth))
        return left

    def compared(self, depth: int) -> _Tree:
        left = self.unary(depth)
        while True:
            sign = self.peek()
            if not self.done and (
                (self.tokens[self.at][0] == "sign" and sign in ("==", "!=", "<", "<=", ">", ">=")) or sign == "in"
            ):
                self.at += 1
                left = ("compare", sign, left, self.unary(depth))
            else:
                return left

    def unary(self, depth: int) -> _Tree:
        if self.skip("!"):
            return ("not", self.unary(depth + 1) if depth < 40 else self.take("never"))
        if self.skip("-"):
            return ("literal", -int(self.take("number")))
        return self.member(depth)

    def member(self, depth: int) -> _Tree:
        tree = self.primary(depth)
        while True:
            if self.skip(".?"):
                tree = ("maybe", tree, self.take("name"))
            elif self.skip("."):
                name = self.take("name")
                tree = ("call", tree, name, self.arguments(depth)) if self.skip("(") else ("field", tree, name)
            elif self.skip("["):
                tree = ("index", tree, self.either(depth + 1))
                self.need("]")
            else:
                return tree

    def primary(self, depth: int) -> _Tree:
        if self.skip("("):
            tree = self.either(depth + 1)
            self.need(")")
            return tree
        if self.skip("["):
            return ("list", self.arguments(depth, "]"))
        if self.done:
            raise _UnreadError
        kind, text = self.tokens[self.at]
        self.at += 1
        if kind == "string":
            if "\\" in text:
                # In strings of both kinds a backslash begins an escape; those of patterns are not worth a guess.
                raise _UnreadError
            return ("literal", text[1:-1])
        if kind == "number":
            return ("literal", int(text))
        if kind != "name":
            raise _UnreadError
        if text in ("true", "false"):
            return ("literal", text == "true")
        if self.skip("("):
            return ("function", text, self.arguments(depth))
        return ("name", text)

    def arguments(self, depth: int, end: str = ")") -> list[_Tree]:
        out: list[_Tree] = []
        while not self.skip(end):
            if out:
                self.need(",")
            out.append(self.either(depth + 1))
        return out


# Answering ------------------------------------------------------------------------------------------------------------


class _Named:
    """`device`, and what of it is a map by domain, or by name."""

    def __init__(self, what: str, domain: str | None = None) -> None:
        self.what, self.domain = what, domain


def _value(tree: _Tree, driver: str, device: Object) -> Any:
    kind = tree[0]
    if kind == "literal":
        return tree[1]
    if kind in ("and", "or"):
        return _logic(kind, _value(tree[1], driver, device), _value(tree[2], driver, device))
    if kind == "not":
        found = _value(tree[1], driver, device)
        return found if isinstance(found, Answer) else (not found if isinstance(found, bool) else ERROR)
    if kind == "name":
        return _Named("device") if tree[1] == "device" else OPEN
    if kind == "list":
        items = [_value(t, driver, device) for t in tree[1]]
        return next((i for i in items if isinstance(i, Answer)), items)
    if kind == "function":
        return _function(tree[1], tree[2], driver, device)
    if kind in ("field", "maybe", "index"):
        return _member(tree, driver, device)
    if kind == "call":
        return _call(tree, driver, device)
    left, right = (_value(t, driver, device) for t in tree[2:])
    return _compared(tree[1], left, right, driver, device)


def _logic(kind: str, left: Any, right: Any) -> bool | Answer:
    decides = kind == "or"
    sides = [s if isinstance(s, bool | Answer) else ERROR for s in (left, right)]
    if decides in sides:
        return decides
    # What is open may still decide; an error that it does not decide stays one.
    if kind == "and" and ERROR in sides:
        return ERROR
    if OPEN in sides:
        return OPEN
    return ERROR if ERROR in sides else not decides


def _member(tree: _Tree, driver: str, device: Object) -> Any:
    holder = _value(tree[1], driver, device)
    name = tree[2] if tree[0] != "index" else _value(tree[2], driver, device)
    if isinstance(holder, Answer):
        return holder
    if isinstance(name, Answer):
        return name
    if not isinstance(holder, _Named) or not isinstance(name, str):
        return OPEN
    if holder.what == "device" and tree[0] == "field":
        return driver if name == "driver" else _Named(name) if name in ("attributes", "capacity") else OPEN
    if holder.what in ("attributes", "capacity") and holder.domain is None:
        # An unknown domain is an empty map, and every name is a domain.
        return _Named(holder.what, name) if tree[0] == "index" else OPEN
    if holder.domain is None:
        return OPEN
    found = _stored(holder, name, driver, device)
    if tree[0] == "maybe":
        return found if found is OPEN else Optional(found, found is not ERROR)
    return found


def _stored(holder: _Named, name: str, driver: str, device: Object) -> Any:
    """An attribute or a capacity by its name in a domain; ERROR when the device has none."""
    stored = mapping(device, holder.what) or mapping(device, "basic", holder.what)
    given = stored.get(f"{holder.domain}/{name}", stored.get(name) if holder.domain == driver else None)
    if given is None:
        return ERROR
    if holder.what == "capacity":
        amount = given.get("value") if isinstance(given, dict) else given
        parsed = parse_quantity(amount) if isinstance(amount, str | int) and not isinstance(amount, bool) else None
        return OPEN if parsed is None else parsed
    if not isinstance(given, dict):
        return OPEN
    for kind, of in (("bool", bool), ("int", int), ("string", str)):
        value = given.get(kind)
        if isinstance(value, of) and (kind == "bool" or not isinstance(value, bool)):
            return value
    return _version(given.get("version"))


def _version(text: object) -> Version | Answer:
    found = re.fullmatch(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})", text) if isinstance(text, str) else None
    return Version(*(int(n) for n in found.groups())) if found is not None else OPEN


def _function(name: str, given: list[_Tree], driver: str, device: Object) -> Any:
    if name == "has" and len(given) == 1 and given[0][0] == "field":
        found = _member(given[0], driver, device)
        return found if found is OPEN else found is not ERROR
    values = [_value(t, driver, device) for t in given]
    if len(values) != 1 or not isinstance(values[0], str):
        return OPEN
    if name == "semver":
        return _version(values[0])
    if name == "quantity":
        parsed = parse_quantity(values[0])
        return OPEN if parsed is None else parsed
    return OPEN


def _call(tree: _Tree, driver: str, device: Object) -> Any:
    holder = _value(tree[1], driver, device)
    name, values = tree[2], [_value(t, driver, device) for t in tree[3]]
    if isinstance(holder, Answer):
        return holder
    unsettled = next((v for v in values if isinstance(v, Answer)), None)
    if unsettled is not None:
        return unsettled
    if isinstance(holder, Optional):
        if name == "orValue" and len(values) == 1:
            return holder.value if holder.there else values[0]
        return holder.there if name == "hasValue" and not values else OPEN
    if isinstance(holder, str):
        return _text_call(holder, name, values)
    if isinstance(holder, Decimal | Version) and len(values) == 1 and type(values[0]) is type(holder):
        other = values[0]
        order = (holder > other) - (holder < other)  # type: ignore[operator]
        made = {"compareTo": order, "isGreaterThan": order > 0, "isLessThan": order < 0}
        return made.get(name, OPEN)
    return OPEN


def _text_call(text: str, name: str, values: list[Any]) -> Any:
    if not values:
        made: dict[str, Any] = {"lowerAscii": _ascii(text, lower=True), "upperAscii": _ascii(text, lower=False)}
        return made.get(name, len(text) if name == "size" else OPEN)
    if len(values) != 1 or not isinstance(values[0], str):
        return OPEN
    if name == "matches":
        return _matches(text, values[0])
    asked = {"startsWith": text.startswith, "endsWith": text.endswith, "contains": text.__contains__}.get(name)
    return OPEN if asked is None else asked(values[0])


def _ascii(text: str, *, lower: bool) -> str:
    return "".join((c.lower() if lower else c.upper()) if c.isascii() else c for c in text)


@lru_cache(maxsize=4096)
def _matches(text: str, pattern: str) -> bool | Answer:
    """Whether a pattern is found in a text; open where Python's may differ from RE2's, or take long."""
    plain = re.fullmatch(r"""[\w\s.,:;/#@%&=~"'!<>^$*+?|()\[\]-]*""", pattern)
    if plain is None or "(?" in pattern or re.search(r"\)[*+?]|\[\[|[*+?]{2}", pattern) or len(text) > 64:
        return OPEN
    if len(re.findall(r"[*+]", pattern)) > 3:
        return OPEN
    try:
        return re.search(pattern.replace("$", r"\Z"), text) is not None
    except re.error:
        return OPEN


def _compared(sign: str, left: Any, right: Any, driver: str, device: Object) -> bool | Answer:
    if sign == "in":
        return _within(left, right, driver, device)
    for side in (left, right):
        if isinstance(side, Answer):
            return side
    if not all(isinstance(s, bool | int | str | Decimal | Version) for s in (left, right)):
        return OPEN
    if isinstance(left, Version) is not isinstance(right, Version):
        return OPEN
    same = type(left) is type(right)
    if sign in ("==", "!="):
        return (same and left == right) is (sign == "==")
    if not same or isinstance(left, Decimal | Version):
        return ERROR if not same else OPEN
    order: int = (left > right) - (left < right)
    return {"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[sign]


def _within(item: Any, holder: Any, driver: str, device: Object) -> bool | Answer:
    for side in (item, holder):
        if isinstance(side, Answer):
            return side
    if isinstance(holder, list):
        return any(type(item) is type(other) and item == other for other in holder)
    if isinstance(holder, _Named) and holder.domain is not None and isinstance(item, str):
        found = _stored(holder, item, driver, device)
        return found is not ERROR
    return OPEN
