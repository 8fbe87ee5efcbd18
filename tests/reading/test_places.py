"""Offsets, spans and regions lead to the user's own text, whatever the style it is written in."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabriclint.comments import scan
from fabriclint.document import Document
from fabriclint.embedded import EmbeddedError, file_offset, parse_embedded
from fabriclint.finding import Place
from fabriclint.locate import anchor_of, locate
from fabriclint.node import Scalar, copy_tree
from fabriclint.scalars import resolve_plain
from fabriclint.source import parse, read_source

HEAD = "apiVersion: v1\nkind: Pod\n"


def read(text: str, **options: bool):
    source = read_source("x.yaml", text.encode())
    return source, parse(source, **options)


def shown(source, region) -> str:
    assert region.line == region.end_line
    return source.line(region.line)[region.column - 1 : region.end_column - 1]


def test_a_scalar_is_drawn_at_its_value_and_a_block_at_its_key():
    source, (document,) = read(HEAD + "spec:\n  name: 'x y' # c\n  list:\n  - a: 1\n  - b\n")
    root = document.root
    assert shown(source, locate(Place(root.at("spec", "name")))) == "'x y'"
    assert shown(source, locate(Place(root.at("spec", "name"), on_key=True))) == "name"
    assert shown(source, locate(Place(root.at("spec")))) == "spec"
    assert shown(source, locate(Place(root.at("spec", "list")))) == "list"
    assert shown(source, locate(Place(root.at("spec", "list", 0)))) == "a"
    assert shown(source, locate(Place(root.at("spec", "list", 1)))) == "b"
    assert shown(source, locate(Place(root))) == "apiVersion"


def test_properties_are_no_part_of_a_value():
    source, (document,) = read(HEAD + "a: &x !!str 12\nb: &e\nc: !custom [1]\n")
    assert shown(source, locate(Place(document.root.at("a")))) == "12"
    assert document.root.at("a").value == "12"
    assert shown(source, locate(Place(document.root.at("b")))) == "b"
    assert shown(source, locate(Place(document.root.at("c")))) == "[1]"


def test_columns_count_code_points_and_lines_count_cr_and_lf_only():
    _, (document,) = read(HEAD.replace("\n", "\r\n") + "a: ['😀', b]\r\n# \x85\r\nc: d\r")
    assert locate(Place(document.root.at("a", 1)))[1:3] == (3, 10)
    assert locate(Place(document.root.at("c")))[1:3] == (5, 4)


def test_an_alias_is_drawn_where_it_is_used_and_names_its_anchor():
    source, (document,) = read(HEAD + "x: &base\n  env: {k: v}\nz:\n  w: *base\nm:\n  <<: *base\n")
    root = document.root
    value = root.at("z", "w", "env", "k")
    assert shown(source, locate(Place(value))) == "*base"
    assert locate(Place(value)).line == 6
    assert shown(source, locate(Place(root.at("z", "w"), on_key=True))) == "w"
    assert value.route == ("z", "w", "env", "k")
    name, region = anchor_of(value)
    assert (name, region.line, shown(source, region)) == ("base", 4, "v")
    merged = root.at("m", "env")
    assert shown(source, locate(Place(merged))) == "*base"
    assert shown(source, locate(Place(merged, on_key=True))) == "<<"
    assert anchor_of(root.at("x", "env", "k")) is None


def test_the_outermost_use_of_nested_aliases_wins():
    source, (document,) = read(HEAD + "a: &a [1]\nb: &b {k: *a}\nc: *b\n")
    assert shown(source, locate(Place(document.root.at("c", "k", 0)))) == "*b"
    assert locate(Place(document.root.at("c", "k", 0))).line == 5


def test_a_copy_is_drawn_at_its_original():
    source, (document,) = read(HEAD + "a: {b: c}\n")
    copied = copy_tree(document.root)
    assert shown(source, locate(Place(copied.at("a", "b")))) == "c"


BLOCK = 'annotations:\n  devices: |\n    - name: one\n      path: "/dev/x"\n    - two\n'


def test_a_place_in_an_embedded_document_is_drawn_in_the_file():
    source, (document,) = read(HEAD + BLOCK)
    embedded = parse_embedded(document.root.scalar("annotations", "devices"))
    assert isinstance(embedded, Document)
    assert shown(source, locate(Place(embedded.root.at(0, "path")))) == '"/dev/x"'
    assert shown(source, locate(Place(embedded.root.at(0, "path"), on_key=True))) == "path"
    assert locate(Place(embedded.root.at(1)))[1:3] == (7, 7)


def test_json_in_quotes_in_json_is_followed_through_both():
    inner = json.dumps({"list": ["é", "b"]})
    outer = json.dumps({"text": inner})
    source, (document,) = read(HEAD + "a: '" + outer + "'\n")
    first = parse_embedded(document.root.scalar("a"), json=True)
    second = parse_embedded(first.root.scalar("text"), json=True)
    scalar = second.root.at("list", 1)
    assert scalar.value == "b"
    assert shown(source, locate(Place(scalar))) == '\\"b\\"'


def test_a_broken_embedded_text_says_where():
    _, (document,) = read(HEAD + "a: '[{\"b\": 1,]'\n")
    failed = parse_embedded(document.root.scalar("a"), json=True)
    assert isinstance(failed, EmbeddedError)
    assert failed.offset == 9


def test_a_part_of_a_script_is_drawn_on_its_own_line():
    source, (document,) = read(HEAD + "a: |-\n  first\n  export X=1\n")
    scalar = document.root.scalar("a")
    at = scalar.value.index("X=1")
    assert shown(source, locate(Place(scalar, within=(at, at + 3)))) == "X=1"


@pytest.mark.parametrize(
    "written",
    [
        "one two",
        "one\n  two\n\n  three",
        "'it''s\n  one\n\n  two'",
        '"a\\tb\\u00e9 c\\\n   d\n\n  e \\"q\\" \\x41"',
        "|\n  one\n\n   two\n  three\n",
        "|+\n  one\n\n",
        "|2-\n   one\n  two\n",
        ">\n  one\n  two\n\n  three\n    more\n   still\n  end\n",
        ">-  # note\n  one\n  two\n",
        "|\r\n  one\r\n  two\r\n",
    ],
)
def test_each_character_of_a_value_leads_to_where_it_is_written(written):
    source, (document,) = read(HEAD + "a: " + written + "\nzz: 1\n")
    scalar = document.root.scalar("a")
    offsets = [file_offset(scalar, i) for i in range(len(scalar.value) + 1)]
    assert offsets == sorted(set(offsets))
    assert scalar.start <= offsets[0]
    assert offsets[-1] <= scalar.end
    for at, character in zip(offsets, scalar.value, strict=False):
        raw = source.text[at]
        assert raw in (character, "\\") or (character in " \n" and raw in "\r\n")


LINES = st.lists(st.text(alphabet="ab é'\"\\:#-", max_size=8), min_size=1, max_size=5)


@settings(max_examples=80, deadline=None)
@given(LINES, st.sampled_from(["|", "|-", "|+", ">", ">-", ">+", "|2", ">2-"]))
def test_offsets_in_block_text_lead_to_the_same_characters(lines, header):
    text = HEAD + f"a: {header}\n" + "".join(f"  {line}\n" for line in lines) + "zz: 1\n"
    source, (document,) = read(text)
    if document.root is None:
        return
    scalar = document.root.scalar("a")
    for index, character in enumerate(scalar.value):
        raw = source.text[file_offset(scalar, index)]
        assert raw == character or (character == " " and raw == "\n")


@settings(max_examples=80, deadline=None)
@given(
    st.text(
        alphabet=st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff\ufffe\uffff/"),
        max_size=20,
    )
)
def test_offsets_in_quoted_text_lead_to_the_same_characters(value):
    for written in (
        json.dumps(value),
        json.dumps(value, ensure_ascii=False),
        "'" + value.replace("'", "''") + "'",
    ):
        source, (document,) = read(HEAD + f"a: {written}\n")
        if document.root is None:
            continue
        scalar = document.root.scalar("a")
        for index, character in enumerate(scalar.value):
            raw = source.text[file_offset(scalar, index)]
            assert raw in (character, "\\") or character == " "


PLAIN = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(str),
    st.sampled_from(["y", "no", "0o17", "0x1f", "1_000", "~", "22:30", "a b", "é", "8Gi", "2024-01-01", "''", "'no'"]),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(PLAIN, max_size=6), st.booleans())
def test_the_text_at_a_scalars_span_resolves_to_its_value_in_both_parsers(values, flow):
    body = "[" + ", ".join(values) + "]\n" if flow else "\n" + "".join(f"- {v}\n" for v in values)
    text = HEAD + "a: " + body + "e:\nf: [x, {g: }]\n"
    source, (document,) = read(text)
    _, (pure,) = read(text, pure=True)
    for node in document.root.walk():
        if isinstance(node, Scalar) and node.style == "plain":
            assert resolve_plain(source.text[node.start : node.end]) == node.value
    tree, same = (
        [(type(n), n.start, n.end, n.key, n.key_start, getattr(n, "value", None)) for n in d.root.walk()]
        for d in (document, pure)
    )
    assert tree == same


def test_comments_are_found_beside_values_and_never_in_them():
    text = HEAD + (
        "# mark: one\n"
        "a: x # mark: two\n"
        "b: | # mark: three\n  # mark: no\n"
        "c: 'y # mark: no'\n"
        "d: y#mark: no\n"
        "d2: 1\n  # note # mark: four\n"
    )
    source, documents = read(text.replace("d: y#mark: no\n", ""))
    found = scan(source, documents, "mark:")
    assert [(source.position(c.start)[0], c.own_line) for c in found] == [
        (3, True),
        (4, False),
        (5, False),
        (9, True),
    ]
    assert found[1].text == "# mark: two"
