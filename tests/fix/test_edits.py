"""What a fix does to a text, change by change: what a careful person would write, or nothing and the reason."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

import pytest

from fabriclint.embedded import parse_embedded
from fabriclint.finding import AddField, Change, EditText, Fix, Remove, RenameKey, ReplaceText, SetValue
from fabriclint.fix.model import RefusedError
from fabriclint.fix.plan import Planner, combine
from fabriclint.node import Node, Scalar
from fabriclint.source import parse, read_source

POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: train   # the name
  labels:
  annotations: {}
spec:
  # about the containers
  containers:
  - name: main
    image: 'a:1'   # pinned
    env:
    - name: A
      value: 1
    - {name: B, value: yes}
    resources: {limits: {nvidia.com/gpu: 8}}
    args:
    - |
      echo hi
      exit

    # end of main
  - name: side
    command: ["a", b]
---
a: 1
"""


def root_of(text: str) -> Node:
    root = parse(read_source("job.yaml", text.encode()))[0].root
    assert root is not None
    return root


def mended(text: str, make: Callable[[Node], Any]) -> str:
    """The text after the change (or changes); RefusedError when it is refused."""
    changes = make(root_of(text))
    planner = Planner()
    plan = planner.plan(Fix("mend it", tuple(changes) if isinstance(changes, list) else (changes,)))
    texts, made = combine([plan], planner)
    assert made == [plan]
    return texts["job.yaml"]


def shown(before: str, after: str) -> str:
    """The lines that went and came."""
    lines = difflib.ndiff(before.splitlines(), after.splitlines())
    return "\n".join(line.rstrip() for line in lines if line[0] in "+-")


def container(root: Node, *path: str | int) -> Any:
    return root.at("spec", "containers", *path)


CASES: dict[str, tuple[Callable[[Node], Any], str]] = {
    "a number in quotes": (
        lambda r: SetValue(container(r, 0, "env", 0, "value"), "1", quoted=True),
        '-       value: 1\n+       value: "1"',
    ),
    "an amount stays a number": (
        lambda r: SetValue(container(r, 0, "env", 0, "value"), "2", amount=True),
        "-       value: 1\n+       value: 2",
    ),
    "an amount that is a string stays one": (
        lambda r: SetValue(container(r, 0, "image"), "2", amount=True),
        "-     image: 'a:1'   # pinned\n+     image: '2'   # pinned",
    ),
    "a word in a flow mapping": (
        lambda r: SetValue(container(r, 0, "env", 1, "value"), "yes", quoted=True),
        '-     - {name: B, value: yes}\n+     - {name: B, value: "yes"}',
    ),
    "quotes stay as they are": (
        lambda r: SetValue(container(r, 0, "image"), "it's"),
        "-     image: 'a:1'   # pinned\n+     image: 'it''s'   # pinned",
    ),
    "a plain word that has to be quoted": (
        lambda r: SetValue(container(r, 0, "name"), "no"),
        '-   - name: main\n+   - name: "no"',
    ),
    "a key with another name": (
        lambda r: RenameKey(container(r, 0, "image"), "imagePullPolicy"),
        "-     image: 'a:1'   # pinned\n+     imagePullPolicy: 'a:1'   # pinned",
    ),
    "a field for a key without a value": (
        lambda r: AddField(r, ("metadata", "labels", "a.b/c"), "on"),
        '+     a.b/c: "on"',
    ),
    "a field for an empty flow mapping": (
        lambda r: AddField(r, ("metadata", "annotations", "a.b/c"), "x"),
        "-   annotations: {}\n+   annotations: {a.b/c: x}",
    ),
    "several fields for an empty flow mapping": (
        lambda r: AddField(r, ("metadata", "annotations"), {"a": "1", "b": "one\ntwo\n"}),
        '-   annotations: {}\n+   annotations:\n+     a: "1"\n+     b: |\n+       one\n+       two',
    ),
    "mappings and a list that were not there, in the file's own manner": (
        lambda r: AddField(r, ("spec", "containers", 0, "securityContext", "capabilities", "add"), ["X"], append=True),
        "+     securityContext:\n+       capabilities:\n+         add:\n+         - X",
    ),
    "an item for a block list": (
        lambda r: AddField(r, ("spec", "containers", 0, "env"), {"name": "Z", "value": "5"}, append=True),
        '+     - name: Z\n+       value: "5"',
    ),
    "an item for a flow list": (
        lambda r: AddField(r, ("spec", "containers", 1, "command"), "c", append=True),
        '-     command: ["a", b]\n+     command: ["a", b, c]',
    ),
    "a field for a flow mapping": (
        lambda r: AddField(r, ("spec", "containers", 0, "resources", "limits", "x.y/z"), 4),
        "-     resources: {limits: {nvidia.com/gpu: 8}}\n+     resources: {limits: {nvidia.com/gpu: 8, x.y/z: 4}}",
    ),
    "a list at the end of a document that is not the last": (
        lambda r: AddField(r, ("spec", "volumes"), {"name": "v", "emptyDir": {"medium": "Memory"}}, append=True),
        "+   volumes:\n+   - name: v\n+     emptyDir:\n+       medium: Memory",
    ),
    "an item behind a block of text": (
        lambda r: AddField(r, ("spec", "containers", 0, "args"), "x", append=True),
        "+     - x",
    ),
    "two fields of one mapping": (
        lambda r: [AddField(container(r, 1), ("x",), "1"), AddField(container(r, 1), ("z",), True)],
        '+     x: "1"\n+     z: true',
    ),
    "a field": (
        lambda r: Remove(container(r, 0, "resources")),
        "-     resources: {limits: {nvidia.com/gpu: 8}}",
    ),
    "the field behind a dash": (
        lambda r: Remove(container(r, 0, "name")),
        "-   - name: main\n-     image: 'a:1'   # pinned\n+   - image: 'a:1'   # pinned",
    ),
    "a list's last item": (
        lambda r: Remove(container(r, 1)),
        '-   - name: side\n-     command: ["a", b]',
    ),
    "a list's only item": (
        lambda r: Remove(container(r, 0, "args", 0)),
        "-     args:\n+     args: []\n-     - |\n-       echo hi\n-       exit",
    ),
    "an entry of a flow mapping": (
        lambda r: Remove(container(r, 0, "env", 1, "name")),
        "-     - {name: B, value: yes}\n+     - {value: yes}",
    ),
    "the only entry of a flow mapping": (
        lambda r: Remove(container(r, 0, "resources", "limits", "nvidia.com/gpu")),
        "-     resources: {limits: {nvidia.com/gpu: 8}}\n+     resources: {limits: {}}",
    ),
    "lines of a block of text": (
        lambda r: ReplaceText(container(r, 0, "args", 0), (0, 4), "cat <<EOF\nx\nEOF\necho"),
        "+       cat <<EOF\n+       x\n+       EOF",
    ),
    "a line out of a block of text": (
        lambda r: ReplaceText(container(r, 0, "args", 0), (0, 8), ""),
        "-       echo hi",
    ),
    "a word in a quoted text": (
        lambda r: ReplaceText(container(r, 0, "image"), (2, 3), "it's"),
        "-     image: 'a:1'   # pinned\n+     image: 'a:it''s'   # pinned",
    ),
    "a block of text": (
        lambda r: SetValue(container(r, 0, "args", 0), "new\ntext\n"),
        "-       echo hi\n+       new\n-       exit\n+       text",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_change_is_the_edit_a_careful_person_makes(name: str) -> None:
    make, expected = CASES[name]
    assert shown(POD, mended(POD, make)) == expected


@pytest.mark.parametrize("name", CASES)
def test_windows_line_breaks_stay(name: str) -> None:
    make, _ = CASES[name]
    windows = POD.replace("\n", "\r\n")
    assert mended(windows, make) == mended(POD, make).replace("\n", "\r\n")


def test_metadata_comes_before_the_spec_and_its_comment() -> None:
    text = "kind: Job\nspec:\n  template:\n    # the pods\n    spec:\n      a: b\n"
    after = mended(text, lambda r: AddField(r, ("spec", "template", "metadata", "labels", "a"), "b"))
    assert after == text.replace("    # the pods", "    metadata:\n      labels:\n        a: b\n    # the pods")


def test_metadata_comes_before_a_spec_behind_a_dash() -> None:
    text = "items:\n  - spec:\n      a: b\n  - c\n"
    after = mended(text, lambda r: AddField(r, ("items", 0, "metadata"), {"name": "x"}))
    assert after == "items:\n  - metadata:\n      name: x\n    spec:\n      a: b\n  - c\n"


@pytest.mark.parametrize(
    ("text", "path", "value", "after"),
    [
        ("a:\n    b:\n        c: 1\n", ("a", "x", "z"), 1, "a:\n    b:\n        c: 1\n    x:\n        z: 1\n"),
        ("a:\n  - b\n", ("c",), ["d"], "a:\n  - b\nc:\n  - d\n"),
        ("a:\n- b\n", ("c",), ["d"], "a:\n- b\nc:\n- d\n"),
        ("a:\n  -   b: 1\n      c: 2\n", ("d",), [{"e": 1, "f": 2}],
         "a:\n  -   b: 1\n      c: 2\nd:\n  -   e: 1\n      f: 2\n"),
        ("a: 'x'\nb: 'y'\n", ("c",), "1", "a: 'x'\nb: 'y'\nc: '1'\n"),
        ("a: 1", ("b",), 2, "a: 1\nb: 2"),
        ("a: |+\n  x\n\n\nb:\n  c: |+\n    y\n\n", ("b", "d"), 2, "a: |+\n  x\n\n\nb:\n  c: |+\n    y\n\n  d: 2\n"),
        ("a: ~ # none\n", ("a", "b"), 2, "a: # none\n  b: 2\n"),
        ("a: # none\n", ("a", "b"), 2, "a: # none\n  b: 2\n"),
        ("a: null\n", ("a", "b"), 2, "a:\n  b: 2\n"),
        ("{a: 1}\n", ("b",), {"c": [1, "x y"]}, "{a: 1, b: {c: [1, x y]}}\n"),
        ("a: { b: 1 }\n", ("a", "c"), 2, "a: { b: 1, c: 2 }\n"),
        ("a: {b: 1,}\n", ("a", "c"), 2, "a: {b: 1, c: 2,}\n"),
        ("a: {}\n", ("a", "c", "d"), 2, "a:\n  c:\n    d: 2\n"),
        ("a: {b: {}}\n", ("a", "b", "d"), 2, "a: {b: {d: 2}}\n"),
        ("a: {b: }\n", ("a", "b", "d"), 2, "a: {b: {d: 2} }\n"),
        ("a: é 😀\nb:\n  c: 日本\n", ("b", "d"), "日", 'a: é 😀\nb:\n  c: 日本\n  d: "日"\n'),
    ],
)  # fmt: skip
def test_a_field_is_added_in_the_files_own_manner(text: str, path: tuple[str, ...], value: Any, after: str) -> None:
    assert mended(text, lambda r: AddField(r, path, value)) == after


JSON = '{\n  "a": {"b": 1},\n  "c": [\n    1,\n    2\n  ],\n  "d": {}\n}\n'


@pytest.mark.parametrize(
    ("text", "make", "expected"),
    [
        (JSON, lambda r: AddField(r, ("a", "x"), {"y": 1}), '-   "a": {"b": 1},\n+   "a": {"b": 1, "x": {"y": 1}},'),
        (JSON, lambda r: AddField(r, ("c",), 3, append=True), "-     2\n+     2,\n+     3"),
        (JSON, lambda r: AddField(r, ("e",), {"f": [1]}),
         '-   "d": {}\n+   "d": {},\n+   "e": {\n+     "f": [\n+       1\n+     ]\n+   }'),
        (JSON, lambda r: Remove(r.at("c", 0)), "-     1,"),
        (JSON, lambda r: Remove(r.at("a")), '-   "a": {"b": 1},'),
        (JSON, lambda r: SetValue(r.at("a", "b"), 'é"', quoted=True),
         '-   "a": {"b": 1},\n+   "a": {"b": "é\\""},'),
        (JSON, lambda r: RenameKey(r.at("d"), "z"), '-   "d": {}\n+   "z": {}'),
        ('{"a":{"b":1,"c":2}}', lambda r: AddField(r, ("a", "x"), True),
         '- {"a":{"b":1,"c":2}}\n+ {"a":{"b":1,"c":2,"x":true}}'),
        ('{"a": {\n  "b": 1\n}}', lambda r: Remove(r.at("a", "b")), '- {"a": {\n+ {"a": {}}\n-   "b": 1\n- }}'),
        ('{"a":{"b":1}}', lambda r: AddField(r, ("a", "x"), "y"), '- {"a":{"b":1}}\n+ {"a":{"b":1,"x":"y"}}'),
    ],
)  # fmt: skip
def test_json_stays_json(text: str, make: Callable[[Node], Change], expected: str) -> None:
    import json

    after = mended(text, make)
    json.loads(after)
    assert shown(text, after) == expected


ALIASES = "a: &x\n  k: v\nb: *x\nc:\n  <<: *x\n  z: 1\nd: &y 5\ne: 1\n"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda r: SetValue(r.at("b", "k"), "w"), "alias '*x'"),
        (lambda r: SetValue(r.at("c", "k"), "w"), "alias '*x'"),
        (lambda r: SetValue(r.at("a", "k"), "w"), "an alias uses the place too"),
        (lambda r: AddField(r, ("a", "y"), "w"), "an alias uses the place too"),
        (lambda r: Remove(r.at("b")), "alias '*x'"),
        (lambda r: RenameKey(r.at("c", "k"), "j"), "alias '*x'"),
        (lambda r: RenameKey(r.at("e"), "d"), "a key 'd' already"),
        (lambda r: AddField(r, ("e",), 2), "'e' is there already"),
        (lambda r: AddField(r, ("e", "f"), 2), "no mapping that can hold 'f'"),
        (lambda r: AddField(r, ("c", 0), 2), "no mapping that can hold '0'"),
        (Remove, "the whole document"),
        (lambda r: RenameKey(r, "x"), "no key to rename"),
        (lambda r: SetValue(r.at("a"), "x"), "no single word"),
        (lambda r: SetValue(Scalar(None, 0, 0, "x"), "y"), "made by a controller"),
        (lambda r: ReplaceText(r.at("e"), (0, 1), "2"), "no string"),
        (lambda r: [SetValue(r.at("e"), "1"), SetValue(r.at("e"), "2")], "overlap"),
    ],
)
def test_what_is_not_certain_is_refused_with_the_reason(make: Callable[[Node], Any], words: str) -> None:
    with pytest.raises(RefusedError, match=words.replace("*", r"\*")):
        mended(ALIASES, make)


def test_beside_aliases_what_is_certain_is_done() -> None:
    assert mended(ALIASES, lambda r: AddField(r, ("c", "w"), "1")) == ALIASES.replace("  z: 1\n", '  z: 1\n  w: "1"\n')
    assert mended(ALIASES, lambda r: Remove(r.at("c", "z"))) == ALIASES.replace("  z: 1\n", "")


EMBEDDED = {
    "in a block of text": "note: |\n  [{\"n\": \"net/a\"},\n   {\"n\": \"net/b\"}]\nend: 1\n",
    "in single quotes": "note: '[{\"n\": \"net/a\"}, {\"n\": \"net/b\"}]'\n",
    "in double quotes": 'note: "[{\\"n\\": \\"net/a\\"}, {\\"n\\": \\"net/b\\"}]"\n',
    "in json": '{"note": "[{\\"n\\": \\"net/a\\"}, {\\"n\\": \\"net/b\\"}]"}\n',
}  # fmt: skip


@pytest.mark.parametrize("name", EMBEDDED)
def test_a_text_inside_a_string_is_edited_through_its_quotes(name: str) -> None:
    text = EMBEDDED[name]

    def make(root: Node) -> list[Change]:
        host = root.at("note")
        assert isinstance(host, Scalar)
        inner = parse_embedded(host, json=True)
        value = inner.root.at(1, "n")  # type: ignore[union-attr]
        assert isinstance(value, Scalar)
        return [ReplaceText(value, (0, 4), ""), AddField(inner.root, (0, "x"), "é")]  # type: ignore[union-attr,arg-type]

    after = mended(text, make)
    assert "net/a" in after
    assert "net/b" not in after
    note = root_of(after).at("note")
    assert isinstance(note, Scalar)
    inner = parse_embedded(note, json=True)
    assert inner.root.plain() == [{"n": "net/a", "x": "é"}, {"n": "b"}]  # type: ignore[union-attr]


def test_yaml_inside_a_block_of_text_gets_lines_of_its_own() -> None:
    text = "data:\n  job.yaml: |\n    a:\n      b: 1\n  other: 2\n"

    def make(root: Node) -> Change:
        host = root.at("data", "job.yaml")
        assert isinstance(host, Scalar)
        inner = parse_embedded(host)
        return AddField(inner.root, ("a", "c"), ["d"])  # type: ignore[union-attr,arg-type]

    assert mended(text, make) == text.replace("      b: 1\n", "      b: 1\n      c:\n        - d\n")


def test_a_comment_is_edited_by_its_place() -> None:
    text = "a: 1  # x\nb: 2\n"
    source = read_source("job.yaml", text.encode())
    planner = Planner()
    plan = planner.plan(Fix("mend it", (EditText(source, 4, 9, ""),)))
    assert combine([plan], planner)[0] == {"job.yaml": "a: 1\nb: 2\n"}


def test_an_edit_of_text_that_would_change_a_value_is_refused() -> None:
    source = read_source("job.yaml", b"a: 1  # x\n")
    with pytest.raises(RefusedError, match="not read as meant"):
        Planner().plan(Fix("mend it", (EditText(source, 3, 9, ""),)))


def test_fixes_that_touch_wait_for_the_next_pass() -> None:
    root = root_of("a:\n  b: 1\n")
    planner = Planner()
    one = planner.plan(Fix("mend it", (AddField(root, ("a", "c"), 2),)))
    two = planner.plan(Fix("mend it", (AddField(root, ("a", "d"), 3),)))
    texts, made = combine([one, two], planner)
    assert made == [one]
    assert texts == {"job.yaml": "a:\n  b: 1\n  c: 2\n"}


def test_fixes_that_only_hold_alone_are_made_one_at_a_time() -> None:
    root = root_of("a:\n  - b\n  - c\nd: 1\n")
    planner = Planner()
    plans = [planner.plan(Fix("mend it", (Remove(root.at("a", n)),))) for n in (0, 1)]  # type: ignore[arg-type]
    texts, made = combine(plans, planner)
    assert made == plans[:1]
    assert texts == {"job.yaml": "a:\n  - c\nd: 1\n"}


def test_what_is_no_text_is_left_alone() -> None:
    root = parse(read_source("job.yaml", b"a: 1\nb: \xff\n"))[0].root
    with pytest.raises(RefusedError, match="bytes that are no text"):
        Planner().plan(Fix("mend it", (SetValue(root.at("a"), "x"),)))  # type: ignore[arg-type,union-attr]
