"""Shell arithmetic: the value of `$((...))`, or None when it depends on something unknown or is an error."""

from __future__ import annotations

import re
from collections.abc import Callable

_TOKEN = re.compile(
    r"\s*(?:(0[xX][0-9A-Fa-f]+|[0-9]+#[0-9A-Za-z@_]+|[0-9]+)|([A-Za-z_][A-Za-z0-9_]*)"
    r"|(<<=|>>=|\*\*|\+\+|--|<=|>=|==|!=|&&|\|\||<<|>>|[-+*/%&|^]=|[-+*/%&|^~!<>=?:(),]))"
)
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", ">", "<=", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)


class _UnclearError(Exception):
    """The expression has no value that could be known."""


class _Expression:
    def __init__(
        self, text: str, lookup: Callable[[str], str | None], assign: Callable[[str, str], None], depth: int
    ) -> None:
        self.tokens: list[tuple[str, str]] = []
        self.lookup = lookup
        self.assign = assign
        self.depth = depth
        self.nesting = 0
        at = 0
        text = text.strip()
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise _UnclearError
            at = match.end()
            number, name, op = match.groups()
            self.tokens.append(("number", number) if number else ("name", name) if name else ("op", op))
        self.i = 0

    def op(self, *ops: str) -> str | None:
        if self.i < len(self.tokens) and self.tokens[self.i][0] == "op" and self.tokens[self.i][1] in ops:
            self.i += 1
            return self.tokens[self.i - 1][1]
        return None

    def all(self) -> int:
        if not self.tokens:
            return 0
        value = self.comma()
        if self.i < len(self.tokens):
            raise _UnclearError
        return value

    def comma(self) -> int:
        value = self.assignment()
        while self.op(","):
            value = self.assignment()
        return value

    def assignment(self) -> int:
        self.nesting += 1
        if self.nesting > 60:
            raise _UnclearError
        if self.i + 1 < len(self.tokens) and self.tokens[self.i][0] == "name":
            kind, op = self.tokens[self.i + 1]
            if kind == "op" and op.endswith("=") and op not in ("==", "!=", "<=", ">="):
                name = self.tokens[self.i][1]
                self.i += 2
                value = self.assignment()
                if op != "=":
                    value = self.apply(op[:-1], self.variable(name), value)
                self.assign(name, str(value))
                self.nesting -= 1
                return value
        value = self.ternary()
        self.nesting -= 1
        return value

    def ternary(self) -> int:
        condition = self.binary(0)
        if self.op("?"):
            one = self.assignment()
            if not self.op(":"):
                raise _UnclearError
            other = self.assignment()
            return one if condition else other
        return condition

    def binary(self, level: int) -> int:
        if level == len(_LEVELS):
            return self.power()
        left = self.binary(level + 1)
        while op := self.op(*_LEVELS[level]):
            left = self.apply(op, left, self.binary(level + 1))
        return left

    def power(self) -> int:
        base = self.unary()
        if self.op("**"):
            exponent = self.power()
            if not 0 <= exponent < 64:
                raise _UnclearError
            return _wrap(base**exponent)
        return base

    def unary(self) -> int:
        self.nesting += 1
        if self.nesting > 60:
            raise _UnclearError
        try:
            op = self.op("++", "--", "+", "-", "!", "~")
            if op in ("++", "--"):
                if self.i >= len(self.tokens) or self.tokens[self.i][0] != "name":
                    return self.unary()
                name = self.tokens[self.i][1]
                self.i += 1
                value = self.variable(name) + (1 if op == "++" else -1)
                self.assign(name, str(value))
                return value
            if op:
                value = self.unary()
                return {"+": value, "-": -value, "!": int(not value), "~": ~value}[op]
            return self.primary()
        finally:
            self.nesting -= 1

    def primary(self) -> int:
        if self.op("("):
            value = self.comma()
            if not self.op(")"):
                raise _UnclearError
            return value
        if self.i >= len(self.tokens):
            raise _UnclearError
        kind, text = self.tokens[self.i]
        self.i += 1
        if kind == "number":
            return _number(text)
        if kind == "name":
            value = self.variable(text)
            if op := self.op("++", "--"):
                self.assign(text, str(value + (1 if op == "++" else -1)))
            return value
        raise _UnclearError

    def variable(self, name: str) -> int:
        text = self.lookup(name)
        if text is None or not text.strip():
            return 0
        return _evaluate(text, self.lookup, self.assign, self.depth + 1)

    def apply(self, op: str, a: int, b: int) -> int:
        if op in ("/", "%"):
            if b == 0:
                raise _UnclearError
            quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
            return quotient if op == "/" else a - quotient * b
        if op in ("<<", ">>") and not 0 <= b < 64:
            raise _UnclearError
        return _wrap(int(_OPS[op](a, b)))


_OPS: dict[str, Callable[[int, int], int]] = {
    "||": lambda a, b: int(bool(a or b)),
    "&&": lambda a, b: int(bool(a and b)),
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "&": lambda a, b: a & b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}


def _wrap(value: int) -> int:
    """64-bit two's complement, as the shells compute."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def _number(text: str) -> int:
    try:
        if "#" in text:
            base, digits = text.split("#", 1)
            if not 2 <= int(base) <= 36:
                raise _UnclearError
            return _wrap(int(digits, int(base)))
        if len(text) > 30:
            raise _UnclearError
        if text[:2] in ("0x", "0X"):
            return _wrap(int(text, 16))
        return _wrap(int(text, 8) if len(text) > 1 and text[0] == "0" else int(text))
    except ValueError:
        raise _UnclearError from None


def _evaluate(text: str, lookup: Callable[[str], str | None], assign: Callable[[str, str], None], depth: int) -> int:
    if depth > 8 or len(text) > 1000:
        raise _UnclearError
    return _Expression(text, lookup, assign, depth).all()


def evaluate(text: str, lookup: Callable[[str], str | None], assign: Callable[[str, str], None]) -> int | None:
    """The value of an expression whose `$` are expanded; None when unknown or an error.

    `lookup` gives a variable's text (no expression: the result is unknown), `assign` stores one.
    """
    try:
        return _evaluate(text, lookup, assign, 0)
    except _UnclearError:
        return None
