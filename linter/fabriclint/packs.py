"""Rule packs: the built-in one, and third parties' that a configuration names."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from fabriclint.rule import Pack, Rule

GROUP = "fabriclint.rules"


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
            if rule.code in rules:
                raise PackError(f"The pack '{pack.name}' gives the code '{rule.code}', which another pack has.")
            rules[rule.code] = rule
    every = tuple(rules.values())
    return Pack("+".join(p.name for p in packs), lambda: every, PACK.fabric_of, frozenset(rules))


def _found(name: str) -> Pack:
    from importlib.metadata import entry_points

    points = {p.name: p for p in entry_points(group=GROUP)}
    if name not in points:
        from fabriclint.schema.suggest import hint

        meant = hint(name, points, "; install the package that brings it.")
        raise PackError(f"No installed package gives a rule pack '{name}' (entry points '{GROUP}'){meant}")
    try:
        pack = points[name].load()
    except Exception as error:  # a third party's code may raise anything
        raise PackError(f"The rule pack '{name}' cannot be loaded: {type(error).__name__}: {error}.") from None
    if not isinstance(pack, Pack):
        raise PackError(f"The rule pack '{name}' is of type {type(pack).__name__}, not a fabriclint.rule.Pack.")
    return pack


def _rules(pack: Pack) -> Iterable[Rule]:
    try:
        return list(pack.load())
    except Exception as error:  # a third party's code may raise anything
        raise PackError(
            f"The rules of the pack '{pack.name}' cannot be loaded: {type(error).__name__}: {error}."
        ) from None
