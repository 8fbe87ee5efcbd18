"""`test`, `[` and `[[`: true, false, or None when it depends on something unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabriclint.launch import pattern
from fabriclint.launch.word import HOLE, Word

if TYPE_CHECKING:
    from fabriclint.launch.expand import Expander
    from fabriclint.launch.script_tree import Token
    from fabriclint.launch.state import State

_FILES = frozenset(
    [
        "-e",
        "-f",
        "-d",
        "-r",
        "-w",
        "-x",
        "-s",
        "-L",
        "-h",
        "-S",
        "-p",
        "-b",
        "-c",
        "-g",
        "-k",
        "-u",
        "-O",
        "-G",
        "-N",
        "-a",
        "-t",
    ]
)
_NUMBERS = frozenset(("-eq", "-ne", "-lt", "-le", "-gt", "-ge"))


def single(words: list[Word], state: State) -> tuple[bool | None, bool]:
    """(answer of `test words`, whether the words are an error)."""
    texts = [w.raw for w in words]
    if any(w.open for w in words):
        return None, False
    return _single(texts, state, 0)


def _single(texts: list[str], state: State, depth: int) -> tuple[bool | None, bool]:
    if depth > 20:
        return None, False
    if not texts:
        return False, False
    if len(texts) == 1:
        return (None if HOLE in texts[0] else bool(texts[0])), False
    if len(texts) == 2:
        if texts[0] == "!":
            answer, bad = _single(texts[1:], state, depth + 1)
            return (None if answer is None else not answer), bad
        return _unary(texts[0], texts[1], state)
    if len(texts) == 3 and texts[1] not in ("-a", "-o"):
        known = _binary(texts[0], texts[1], texts[2], state)
        if known is not False or texts[0] not in ("!", "("):
            return (None, False) if known is None else known if isinstance(known, tuple) else (known, False)
    if texts[0] == "!" and "-a" not in texts and "-o" not in texts:
        answer, bad = _single(texts[1:], state, depth + 1)
        return (None if answer is None else not answer), bad
    for op in ("-o", "-a"):
        if op in texts[1:-1]:
            at = texts.index(op, 1)
            one, bad = _single(texts[:at], state, depth + 1)
            two, worse = _single(texts[at + 1 :], state, depth + 1)
            if op == "-o":
                return (True if one or two else None if one is None or two is None else False), bad or worse
            return (
                False if one is False or two is False else None if one is None or two is None else True
            ), bad or worse
    return (None, False) if any(HOLE in t for t in texts) else (False, True)


def _unary(op: str, text: str, state: State) -> tuple[bool | None, bool]:
    if op in ("-n", "-z"):
        if HOLE in text:
            # A text with known characters is not empty, whatever the rest.
            return (None if text.strip(HOLE) == "" else op == "-n"), False
        return bool(text) == (op == "-n"), False
    if op == "-v":
        value = state.get(text)
        return (None if value is not None and HOLE in value else value is not None), False
    if op in _FILES:
        return (True if state.file(text) is not None and op in ("-e", "-f", "-r", "-s") else None), False
    return (None, False) if HOLE in op + text else (False, True)


def _binary(a: str, op: str, b: str, state: State) -> bool | tuple[bool | None, bool] | None:
    if op in ("=", "==", "!=", "<", ">"):
        if op == "==" and not state.bash:
            return False, True
        if HOLE in a or HOLE in b:
            return None
        if op in ("<", ">"):
            return a < b if op == "<" else a > b
        return (a == b) == (op != "!=")
    if op in _NUMBERS:
        if HOLE in a or HOLE in b:
            return None
        try:
            return _compare(int(a), op, int(b))
        except ValueError:
            return False, True
    if op in ("-nt", "-ot", "-ef"):
        return None
    return (None, False) if HOLE in a + op + b else (False, True)


def _compare(a: int, op: str, b: int) -> bool:
    return {"-eq": a == b, "-ne": a != b, "-lt": a < b, "-le": a <= b, "-gt": a > b, "-ge": a >= b}[op]


class _Double:
    """The words between `[[` and `]]`."""

    def __init__(self, tokens: list[Token], expander: Expander, state: State) -> None:
        self.tokens = tokens
        self.expander = expander
        self.state = state
        self.i = 0
        self.depth = 0

    def plain(self) -> str | None:
        return self.tokens[self.i].plain if self.i < len(self.tokens) else None

    def either(self) -> bool | None:
        value = self.both()
        while self.plain() == "||":
            self.i += 1
            other = self.both()
            value = True if value or other else None if value is None or other is None else False
        return value

    def both(self) -> bool | None:
        value = self.term()
        while self.plain() == "&&":
            self.i += 1
            other = self.term()
            value = False if value is False or other is False else None if value is None or other is None else True
        return value

    def term(self) -> bool | None:
        self.depth += 1
        if self.i >= len(self.tokens) or self.depth > 200:
            return None
        if self.plain() == "!":
            self.i += 1
            value = self.term()
            return None if value is None else not value
        if self.plain() == "(":
            self.i += 1
            value = self.either()
            self.i += 1
            return value
        token = self.tokens[self.i]
        follow = self.tokens[self.i + 1] if self.i + 1 < len(self.tokens) else None
        op = token.plain
        if (
            op is not None
            and len(op) == 2
            and op[0] == "-"
            and follow is not None
            and follow.plain not in ("&&", "||", ")", "==", "=", "!=")
        ):
            self.i += 2
            return _unary(op, self.expander.text(follow.parts), self.state)[0]
        left = self.expander.text(token.parts)
        self.i += 1
        op = self.plain()
        if op is None or op in ("&&", "||", ")"):
            return None if left.strip(HOLE) == "" and left else bool(left)
        if self.i + 1 >= len(self.tokens):
            return None
        right = self.tokens[self.i + 1]
        self.i += 2
        if op in ("=", "==", "!="):
            characters = self.expander.characters(right.parts)
            if characters is None or HOLE in left:
                return None
            answer = pattern.matches(left, characters)
            return None if answer is None else answer == (op != "!=")
        if op == "=~":
            return None
        if op in _NUMBERS:
            values: list[int] = []
            for text in (left, self.expander.text(right.parts)):
                from fabriclint.launch.arithmetic import evaluate

                number = None if HOLE in text else evaluate(text, self.state.get, lambda _n, _v: None)
                if number is None:
                    return None
                values.append(number)
            return _compare(values[0], op, values[1])
        known = _binary(left, op, self.expander.text(right.parts), self.state)
        return known[0] if isinstance(known, tuple) else known


def double(tokens: list[Token], expander: Expander, state: State) -> bool | None:
    """The answer of `[[ tokens ]]`."""
    reader = _Double(tokens, expander, state)
    value = reader.either()
    return value if reader.i >= len(tokens) else None
