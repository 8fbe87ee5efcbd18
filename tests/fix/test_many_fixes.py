"""Many fixes of one text cost little more than one: counted in texts that are read again, never in time."""

from __future__ import annotations

import pytest

from fabriclint.finding import EditText, Fix, Remove, RenameKey, SetValue
from fabriclint.fix import plan as planning
from fabriclint.fix.model import RefusedError
from fabriclint.fix.plan import Plan, Planner, combine
from fabriclint.source import parse, read_source

COUNT = 600


@pytest.fixture
def read_again(monkeypatch):
    """The characters of every text that a planner reads."""
    read: list[int] = []
    original = planning._values

    def values(uri: str, text: str) -> list[str]:
        read.append(len(text))
        return original(uri, text)

    monkeypatch.setattr(planning, "_values", values)
    return read


def keys(count: int = COUNT, line: str = "k{n}: v\n"):
    """A document with many keys: its source and root."""
    source = read_source("x.yaml", "".join(line.format(n=n) for n in range(count)).encode())
    (document,) = parse(source)
    assert document.root is not None
    return source, document.root


def test_fixes_that_all_hold_are_checked_with_one_reading(read_again):
    _, root = keys()
    plans = Planner().plans([Fix("mend it", (SetValue(root.at(f"k{n}"), "w"),)) for n in range(COUNT)])
    assert all(isinstance(p, Plan) for p in plans)
    assert len(read_again) == 1


def test_a_few_fixes_are_checked_one_by_one(read_again):
    _, root = keys(20)
    planner = Planner()
    assert len(planner.plans([Fix("mend it", (SetValue(root.at(f"k{n}"), "w"),)) for n in range(20)])) == 20
    assert len(read_again) == 20


def test_of_many_fixes_those_that_do_not_hold_are_found_by_halves(read_again):
    source, root = keys()
    fixes = [Fix("mend it", (SetValue(root.at(f"k{n}"), "w"),)) for n in range(COUNT)]
    for n in (7, 300):
        at = source.text.index(f"k{n}:") + len(f"k{n}: ")
        fixes[n] = Fix("break it", (EditText(source, at, at + 1, "[w"),))
    plans = Planner().plans(fixes)
    assert [n for n, p in enumerate(plans) if isinstance(p, RefusedError)] == [7, 300]
    assert len(read_again) < 60


def test_many_fixes_that_do_not_hold_are_given_up(read_again, monkeypatch):
    monkeypatch.setattr(planning, "_CHARACTERS", 0)
    source, _ = keys()
    fixes = [Fix("break it", (EditText(source, s + 4, s + 5, "[w"),)) for s in source.line_starts[1:COUNT]]
    plans = Planner().plans(fixes)
    assert all(isinstance(p, RefusedError) for p in plans)
    assert len({str(p) for p in plans}) == 2
    assert len(read_again) < 300


def test_fixes_that_touch_are_planned_all_the_same():
    source, root = keys(60)
    fixes = [Fix("set it", (SetValue(root.at(f"k{n}"), "w"),)) for n in range(60)]
    fixes += [Fix("remove it", (Remove(root.at(f"k{n}")),)) for n in range(60)]  # type: ignore[arg-type]
    plans = Planner().plans(fixes)
    assert all(isinstance(p, Plan) for p in plans)
    texts, made = combine([p for p in plans if isinstance(p, Plan)], Planner())
    assert texts == {"x.yaml": source.text.replace(": v", ": w")}
    assert len(made) == 60


def test_of_fixes_that_cannot_be_made_together_the_first_are_made(read_again):
    _, root = keys()
    fixes = [Fix("rename it", (RenameKey(root.at(f"k{n}"), "new"),)) for n in (0, 1)]  # type: ignore[arg-type]
    fixes += [Fix("mend it", (SetValue(root.at(f"k{n}"), "w"),)) for n in range(2, COUNT)]
    plans = [p for p in Planner().plans(fixes) if isinstance(p, Plan)]
    assert len(plans) == COUNT
    read_again.clear()
    texts, made = combine(plans, Planner())
    assert texts["x.yaml"].startswith("new: v\nk1: v\nk2: w\n")
    assert len(made) == COUNT - 1
    assert len(read_again) < 40


def test_each_document_of_a_stream_is_read_for_its_own_fixes(read_again):
    source = read_source("x.yaml", b"---\n".join(b"a: v\nb: v\n" for _ in range(200)))
    fixes = [Fix("mend it", (SetValue(d.root.at("a"), "w"),)) for d in parse(source)]  # type: ignore[union-attr,arg-type]
    assert all(isinstance(p, Plan) for p in Planner().plans(fixes))
    assert sum(read_again) < 2 * len(source.text)
