"""Any change anywhere in a manifest of any style: done exactly, or refused; never anything else."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from restyle import STYLES, other_values, values

from fabriclint.finding import AddField, Change, Fix, Remove, RenameKey, ReplaceText, SetValue
from fabriclint.fix.model import RefusedError
from fabriclint.fix.plan import Planner, combine
from fabriclint.node import Mapping, Node, Scalar, Sequence
from fabriclint.source import parse, read_source

ROOT = Path(__file__).parents[2]
TEXTS = [
    p.read_text()
    for p in sorted([*(ROOT / "tests/bases").glob("*.yaml"), *(ROOT / "examples").glob("*/correct/*.yaml")])
]
NODES = 4000
WORDS = st.one_of(
    st.sampled_from(
        ["x", "no", "1e3", "0x1F", "~", "a: b", "a #b", "- a", "it's", '"', "é 😀", "", " x ", "x\ny", "null", "12:30"]
    ),
    st.text(max_size=12),
)
KEYS = st.sampled_from(["k", "a.b/c", "yes", "1", "x y", "metadata", "spec", "é"])
DATA = st.recursive(
    st.one_of(WORDS, st.booleans(), st.integers(-9, 99)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=5,
)


def change_of(node: Node, draw: Any) -> Change:
    """A change that makes sense at a node, or nearly."""
    kinds = ["remove", "add", "rename"] + (["set", "replace"] if isinstance(node, Scalar) else [])
    kind = draw(st.sampled_from(kinds))
    if kind == "set":
        assert isinstance(node, Scalar)
        return SetValue(node, draw(WORDS), quoted=draw(st.booleans()))
    if kind == "replace":
        assert isinstance(node, Scalar)
        length = len(node.value) if isinstance(node.value, str) else 3
        start = draw(st.integers(0, length))
        return ReplaceText(node, (start, draw(st.integers(start, length))), draw(WORDS))
    if kind == "add":
        steps = draw(st.lists(KEYS, min_size=1 - isinstance(node, Sequence), max_size=3))
        return AddField(node, tuple(steps), draw(DATA), append=draw(st.booleans()))
    if kind == "rename":
        return RenameKey(node, draw(KEYS))
    return Remove(node)


def after(value: Any, change: Change) -> Any:
    """The value after a change, made by its route in plain data: another way than the one that is tested."""
    made = copy.deepcopy(value)
    if isinstance(change, AddField):
        at, path = made, [*change.parent.route, *change.path]
        for depth, step in enumerate(path):
            last = depth == len(path) - 1
            value_here = (
                (change.value if isinstance(change.value, list) else [change.value]) if change.append else change.value
            )
            there = (step in at) if isinstance(at, dict) else True
            if last and there and change.append and isinstance(at[step], list):
                at[step] += value_here
            elif last and (not there or at[step] in (None, [], {})):
                at[step] = value_here
            else:
                if not there or at[step] is None:
                    at[step] = {}
                at = at[step]
        return made
    assert not hasattr(change, "start")
    node: Node = change.node  # type: ignore[union-attr]
    *way, last_step = node.route
    at = made
    for step in way:
        at = at[step]
    if isinstance(change, Remove):
        del at[last_step]
    elif isinstance(change, RenameKey):
        at[change.key] = at.pop(last_step)
    elif isinstance(change, SetValue):
        at[last_step] = change.value
    elif isinstance(change, ReplaceText):
        start, end = change.within
        at[last_step] = at[last_step][:start] + change.text + at[last_step][end:]
    return made


def same(one: Any, two: Any) -> bool:
    """Equal, and of equal types all the way down."""
    return bool(one == two) and repr(_sorted(one)) == repr(_sorted(two))


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return sorted(((k, _sorted(v)) for k, v in value.items()), key=lambda p: p[0])
    return [_sorted(v) for v in value] if isinstance(value, list) else value


#: Shrinking whole manifests takes minutes and shows nothing more.
_PHASES = (Phase.explicit, Phase.reuse, Phase.generate)


@settings(max_examples=100, deadline=None, phases=_PHASES)
@given(st.data())
def test_a_change_is_done_exactly_or_refused(data: st.DataObject) -> None:
    for _ in range(6):
        text = STYLES[data.draw(st.sampled_from(sorted(STYLES)))](data.draw(st.sampled_from(TEXTS)))
        documents = parse(read_source("job.yaml", text.encode()))
        number = data.draw(st.integers(0, len(documents) - 1))
        root = documents[number].root
        assert isinstance(root, Mapping)
        nodes = list(root.walk())
        change = change_of(nodes[data.draw(st.integers(1, NODES)) % (len(nodes) - 1) + 1], data.draw)
        planner = Planner()
        try:
            plan = planner.plan(Fix("mend it", (change,)))
        except RefusedError:
            continue
        texts, _ = combine([plan], planner)
        found = texts["job.yaml"]
        wanted = values(text)
        wanted[number] = after(wanted[number], change)
        assert same(values(found), wanted)
        assert len(other_values(found)) == len(other_values(text))
        if "\r\n" in text:
            assert not re.search(r"(?<!\r)\n", found)
