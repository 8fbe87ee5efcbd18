"""Renders the variables that a controller sets from their templates in the data file.

A row of the data is `{"name", "value", "when", "each", "field"}`: `value` is a format text over the mechanism's facts (absent:
the value comes from elsewhere and is UNKNOWN here); `when` names facts that hold; `each` names a fact that is a list, one
variable for each item (`{item}` in name and value); `field` is a field of the pod that holds the same value.
"""

from __future__ import annotations

import json
import string
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, TypeAlias

from fabriclint.group import Value
from fabriclint.node import UNKNOWN, Unknown

#: What a mechanism knows of one pod: texts and numbers, truths, lists; UNKNOWN where the file does not tell.
Facts: TypeAlias = "Mapping[str, Any]"


@cache
def table() -> dict[str, Any]:
    """The data of all mechanisms."""
    text = (files("fabriclint_schemas") / "tables" / "groups.json").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return data


@cache
def given_names() -> tuple[str, ...]:
    """The variables that some controller sets, of all mechanisms."""
    rows = (row for data in table()["mechanisms"].values() for row in data.get("variables", ()))
    return tuple(sorted({row["name"] for row in rows if "each" not in row}))


@cache
def fields() -> frozenset[tuple[str, str]]:
    """Variables that a controller sets, each with a field of the pod that holds the same value."""
    rows = (row for data in table()["mechanisms"].values() for row in data.get("variables", ()))
    return frozenset((row["name"], row["field"]) for row in rows if "field" in row)


def variables(
    rows: list[dict[str, Any]], facts: Callable[[int | Unknown], Facts], pods: int | Unknown
) -> dict[str, Value]:
    """The variables of a role's pods: rendered for the first and the last one, None where these differ.

    A role without pods has those that its first pod would get.
    """
    first = dict(_render(rows, facts(0)))
    last = dict(_render(rows, facts(UNKNOWN if isinstance(pods, Unknown) else max(pods - 1, 0))))
    made: dict[str, Value] = {}
    for name in [*first, *(n for n in last if n not in first)]:
        a, b = first.get(name, UNKNOWN), last.get(name, UNKNOWN)
        if isinstance(pods, Unknown) and isinstance(b, Unknown) and not isinstance(a, Unknown):
            made[name] = None  # hangs on the pod's index
        elif isinstance(a, Unknown) or isinstance(b, Unknown):
            made[name] = UNKNOWN
        else:
            made[name] = a if a == b else None
    return made


def _render(rows: list[dict[str, Any]], facts: Facts) -> Iterator[tuple[str, Value]]:
    for row in rows:
        holds: bool | Unknown = True
        for name in row.get("when", ()):
            wanted = not name.startswith("!")
            fact = facts.get(name.removeprefix("!"))
            if isinstance(fact, Unknown):
                holds = UNKNOWN if holds is not False else False
            elif bool(fact) is not wanted:
                holds = False
        if holds is False:
            continue
        items = facts.get(row["each"]) if "each" in row else [None]
        if isinstance(items, Unknown) or items is None:
            continue
        for item in items:
            local = {**facts, "item": item}
            name_ = text(row["name"], local)
            if isinstance(name_, Unknown) or name_ is None:
                continue
            value = text(row["value"], local) if "value" in row else UNKNOWN
            yield name_, UNKNOWN if isinstance(holds, Unknown) else value


def text(template: str, facts: Facts) -> Value:
    """A format text filled in; UNKNOWN when a fact it needs is."""
    for _, name, _, _ in string.Formatter().parse(template):
        if name and isinstance(facts.get(name, UNKNOWN), Unknown):
            return UNKNOWN
    return template.format_map(facts)
