"""Rule packs: the built-in one, and third parties' that a configuration names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from fabriclint.rule import Pack, Rule, Severity

GROUP = "fabriclint.rules"
_CODE = re.compile(r"[A-Z]+[0-9]+")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class PackError(Exception):
    """A pack that cannot be used; the text is a sentence."""


@lru_cache(maxsize=8)
def pack_of(names: tuple[str, ...] = ()) -> Pack:
    """The built-in pack with those of the entry points named; a look-up costs start-up, so only named ones are.

    Raises PackError for a name that no installed package gives, and for a code that two packs give.
    """
    from fabriclint_rules.pack import PACK

    if not names:
        return PACK
    packs = list(dict.fromkeys([PACK, *(_found(name) for name in names)]))
    rules: dict[str, Rule] = {}
    for pack in packs:
        for rule in _rules(pack):
            fault = None if pack is PACK else _fault(rule)
            if fault is not None:
                raise PackError(f"The pack '{pack.name}' has a rule that cannot be used: {fault}.")
            if rule.code in rules:
                raise PackError(f"The pack '{pack.name}' gives the code '{rule.code}', which another pack has.")
            rules[rule.code] = rule
    every = tuple(rules.values())
    return Pack("+".join(str(p.name) for p in packs), lambda: every, PACK.fabric_of, frozenset(rules))


def _found(name: str) -> Pack:
    from importlib.metadata import entry_points

    points = {p.name: p for p in entry_points(group=GROUP)}
    if name not in points:
        from fabriclint.schema.suggest import hint

        meant = hint(name, points, "; install the package that brings it.")
        raise PackError(f"No installed package gives a rule pack '{name}' (entry points '{GROUP}'){meant}")
    try:
        pack = points[name].load()
    except (Exception, SystemExit) as error:  # a third party's code may raise anything
        raise PackError(f"The rule pack '{name}' cannot be loaded: {type(error).__name__}: {error}.") from None
    if not isinstance(pack, Pack):
        raise PackError(f"The rule pack '{name}' is of type {type(pack).__name__}, not a fabriclint.rule.Pack.")
    return pack


def _fault(rule: object) -> str | None:
    """What is wrong with a third party's rule, in words; None for a good one."""
    if not isinstance(rule, Rule):
        return f"it is of type {type(rule).__name__}, not a fabriclint.rule.Rule"
    # Types are promises that Python does not keep.
    code, name, severity, on, check = (getattr(rule, k) for k in ("code", "name", "severity", "on", "check"))
    if not isinstance(code, str) or not _CODE.fullmatch(code):
        return f"its code is {code!r}, and a code is capital letters and digits, as ACME001"
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return f"the name of {code} is {name!r}, and a name is small letters, digits and dashes, as no-owner"
    if not isinstance(severity, Severity):
        return f"the severity of {code} is {severity!r}, not a fabriclint.rule.Severity"
    if not isinstance(on, type):
        return f"{code} is on {on!r}, which is no class of views"
    if not hasattr(check, "__code__"):
        return f"the check of {code} is no function"
    return None


def _rules(pack: Pack) -> Iterable[Rule]:
    try:
        return list(pack.load())
    except (Exception, SystemExit) as error:  # a third party's code may raise anything
        raise PackError(
            f"The rules of the pack '{pack.name}' cannot be loaded: {type(error).__name__}: {error}."
        ) from None
