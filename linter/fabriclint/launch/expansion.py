"""`$(NAME)` in command, args and env values as the kubelet expands it.

Source: kubernetes v1.35.2 third_party/forked/golang/expansion, pkg/kubelet/kubelet_pods.go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from fabriclint.launch.word import HOLE, Word, argument
from fabriclint.node import UNKNOWN, Unknown


@dataclass(slots=True)
class Reference:
    """One `$(NAME)`: where it stands in the text, and whether the name was known."""

    name: str
    start: int
    end: int
    known: bool | Unknown


@dataclass(slots=True)
class Expanded:
    """A text after expansion. `raw` holds HOLE for unknown values; `starts`, `ends` lead back to the text."""

    raw: str
    references: list[Reference] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    @property
    def value(self) -> str | Unknown:
        """The text, UNKNOWN when part of it is."""
        return UNKNOWN if HOLE in self.raw else self.raw

    def word(self, source: int) -> Word:
        """The text as an argument of the container."""
        end = self.ends[-1] if self.ends else 0
        return Word(self.raw, source, 0, end, False, False, self.starts, self.ends)


def expand(text: str, lookup: Callable[[str], str | Unknown | None]) -> Expanded:
    """Expand in one pass; a name that `lookup` does not know (None) stays as written, `$$` becomes `$`."""
    out = Expanded("")
    pieces: list[str] = []

    def add(piece: str, start: int, end: int) -> None:
        pieces.append(piece)
        if end - start == len(piece):
            out.starts.extend(range(start, end))
            out.ends.extend(range(start + 1, end + 1))
        else:
            out.starts.extend([start] * len(piece))
            out.ends.extend([end] * len(piece))

    at = 0
    # Where no `)` follows any more: keeps many `$(` from being searched to the end each.
    last_close = text.rfind(")")
    while at < len(text):
        dollar = text.find("$", at)
        if dollar < 0 or dollar + 1 >= len(text):
            add(text[at:], at, len(text))
            break
        add(text[at:dollar], at, dollar)
        follow = text[dollar + 1]
        if follow == "$":
            add("$", dollar, dollar + 2)
            at = dollar + 2
        elif follow == "(" and last_close > dollar:
            close = text.index(")", dollar)
            name = text[dollar + 2 : close]
            value = lookup(name)
            known: bool | Unknown = UNKNOWN if isinstance(value, Unknown) else value is not None
            out.references.append(Reference(name, dollar, close + 1, known))
            if isinstance(value, Unknown):
                add(HOLE, dollar, close + 1)
            elif value is None:
                add(text[dollar : close + 1], dollar, close + 1)
            else:
                add(value, dollar, close + 1)
            at = close + 1
        else:
            add(text[dollar : dollar + 2], dollar, dollar + 2)
            at = dollar + 2
    out.raw = "".join(pieces)
    return out


#: Names that variables have by custom: `$(hostname)` in a script is a command, whatever an unseen ConfigMap may hold.
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
#: What the kubelet adds for each Service of the namespace.
_OF_SERVICES = re.compile(
    r"[A-Z][A-Z0-9_]*_(?:SERVICE_(?:HOST|PORT(?:_[A-Z0-9_]+)?)|PORT(?:_[0-9]+_(?:TCP|UDP|SCTP)(?:_[A-Z]+)?)?)"
)


def arguments(texts: Sequence[str], lookup: Callable[[str], str | Unknown | None]) -> list[Word]:
    """Command and args as the container receives them; `lookup`: its env, UNKNOWN for what may be set, None for no."""

    def known(name: str) -> str | Unknown | None:
        value = lookup(name)
        if value is None:
            return UNKNOWN if _OF_SERVICES.fullmatch(name) else None
        return None if isinstance(value, Unknown) and not _VARIABLE.fullmatch(name) else value

    words = []
    for index, text in enumerate(texts):
        expanded = expand(text, known) if "$" in text else None
        plain = expanded is None or expanded.raw == text
        words.append(argument(text, index) if plain or expanded is None else expanded.word(index))
    return words


def build(
    inherited: Iterable[tuple[str, str | Unknown]],
    env: Iterable[tuple[str, str | Unknown | None]],
    services: dict[str, str] | None = None,
) -> dict[str, str | Unknown]:
    """A container's environment in the kubelet's order.

    `inherited`: what envFrom gives, in order; `env`: (name, value) in list order, where the value of a
    valueFrom is UNKNOWN when not in view, None when an optional key is missing. Values of `env` see
    envFrom, the Service variables and what stands before them. Double the `$` of values that stay as is.
    """
    result: dict[str, str | Unknown] = dict(inherited)
    service = services or {}
    for name, value in env:
        if value is None:
            continue
        if isinstance(value, Unknown):
            result[name] = UNKNOWN
            continue
        result[name] = expand(value, lambda n: result.get(n, service.get(n))).value
    return {**service, **result}
