"""How NCCL reads the values of its variables, as its releases from 2.18 to 2.30 do."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fabriclint_schemas.variables import nccl

_SPACE = " \t\n\v\f\r"
_INT = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|\d+)")
#: More entries than this of an interface list are dropped.
_MOST = 16


def integer(text: str) -> int | None:
    """A number as strtoll reads it with base 0, the rest ignored: a word is 0. None: the default stays."""
    if text == "":
        return None
    found = _INT.match(text.lstrip(_SPACE))
    if found is None:
        return 0
    digits = found.group().lstrip("+-")
    if digits[:2] in ("0x", "0X"):
        number = int(digits, 16)
    elif digits.startswith("0"):
        octal = re.match(r"[0-7]*", digits)
        number = int(octal.group() or "0", 8) if octal is not None else 0
    else:
        number = int(digits)
    number = -number if found.group().startswith("-") else number
    return number if -(2**63) <= number < 2**63 else None


def exact_integer(text: str) -> bool:
    """Whether the whole text is a number, so that nobody can take it for another."""
    return _INT.fullmatch(text.strip(_SPACE)) is not None


def level(text: str, release: tuple[int, int] | None = None) -> str | None:
    """A distance (LOC, PIX ... SYS) as NCCL_P2P_LEVEL and NCCL_NET_GDR_LEVEL read it; None: the default stays."""
    words = nccl()["levels"]["words"]
    if text in words:
        newer = text in ("C2C", "P2C") and release is not None and release < (2, 27)
        return None if newer else text
    if re.match(r"\d", text):
        number = integer(text) or 0
        return ("LOC", "PIX", "PXB", "PHB")[number] if number < 4 else "SYS"
    return None


def debug_level(text: str) -> str | None:
    """The level of NCCL_DEBUG in its own spelling; None: nothing is logged."""
    word = text.strip(_SPACE).upper()
    return word if word in nccl()["debug"] else None


def chosen(name: str, text: str, *, strict: bool) -> dict[str, frozenset[str]] | None:
    """What NCCL_ALGO or NCCL_PROTO leaves enabled, by function (`all` for every one); None: init fails.

    `strict`: as from 2.24 on, with `function:list;...`; before, unknown words were skipped without a message.
    """
    known = {w.lower(): w for w in nccl()["lists"][name]}
    everything = frozenset(known.values())
    if not strict:
        return {"all": _old_list(text, known)}
    functions = {f.lower(): f for f in nccl()["functions"]}
    made: dict[str, frozenset[str]] = {"all": everything}
    if text == "":
        return made
    for number, part in enumerate(p for p in text.split(";") if p):
        head, colon, rest = part.partition(":")
        if colon:
            if head.lower() not in functions:
                return None
            where, words = functions[head.lower()], rest.partition(":")[0]
        elif number == 0:
            where, words = "all", part
        else:
            return None
        enabled = _new_list(words, known)
        if enabled is None:
            return None
        made[where] = enabled
    return made


def _old_list(text: str, known: dict[str, str]) -> frozenset[str]:
    negated = text.startswith("^")
    named = {known[w.lower()] for w in text.removeprefix("^").split(",") if w.lower() in known}
    return frozenset(known.values()) - named if negated else frozenset(named)


def _new_list(text: str, known: dict[str, str]) -> frozenset[str] | None:
    negated = text.startswith("^")
    words = [w for w in text.removeprefix("^").split(",") if w]
    if any(w.lower() not in known for w in words):
        return None
    named = frozenset(known[w.lower()] for w in words)
    if negated:
        return frozenset(known.values()) - named
    return named or frozenset()


def unknown_words(name: str, text: str) -> list[str]:
    """The words of NCCL_ALGO or NCCL_PROTO that are neither its own nor a function's."""
    known = {w.lower() for w in nccl()["lists"][name]}
    functions = {f.lower() for f in nccl()["functions"]}
    out: list[str] = []
    for number, part in enumerate(p for p in text.split(";") if p):
        head, colon, rest = part.partition(":")
        if colon and head.lower() not in functions:
            out.append(head)
        if not colon and number > 0:
            out.append(part)
            continue
        words = (rest.partition(":")[0] if colon else part).removeprefix("^")
        out.extend(w for w in words.split(",") if w and w.lower() not in known)
    return out


class InterfaceList:
    """NCCL_SOCKET_IFNAME: a sign for the whole list, then names that are prefixes, or whole names behind `=`."""

    def __init__(self, text: str) -> None:
        #: Values of fewer than two characters count as unset.
        self.unset = len(text) < 2
        self.excludes = text.startswith("^")
        rest = text.removeprefix("^")
        self.exact = rest.startswith("=")
        self.entries = [e.partition(":")[0] for e in rest.removeprefix("=").split(",") if e][:_MOST]

    def names(self, interface: str) -> bool:
        """Whether an entry names the interface; an empty list names all."""
        if not self.entries:
            return True
        return any(interface == e if self.exact else interface.startswith(e) for e in self.entries)

    def select(self, interfaces: Sequence[str]) -> list[str]:
        """The interfaces that NCCL takes, in the order of the kernel; the first carries the bootstrap."""
        return [i for i in interfaces if self.names(i) != self.excludes][:_MOST]
