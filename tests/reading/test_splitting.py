"""A stream is cut into documents where kubectl cuts it, and what kubectl does with the rest is said."""

from __future__ import annotations

import pytest

from fabriclint.document import Role
from fabriclint.source import manifests, parse, read_source

HEAD = "apiVersion: v1\nkind: Pod\n"


def read(text: str, uri: str = "x.yaml", **options: bool):
    source = read_source(uri, text.encode())
    return source, parse(source, **options)


def codes(source) -> list[tuple[str, str, int]]:
    return [(p.code, p.severity, source.position(p.start)[0]) for p in source.problems]


@pytest.mark.parametrize("line", ["---", "--- # note", "---# note", "---\t# note", "---   "])
def test_blanks_and_comments_may_follow_a_separator(line):
    source, documents = read(f"{HEAD}{line}\n{HEAD}")
    assert [d.role for d in documents] == [Role.MANIFEST, Role.MANIFEST]
    assert source.problems == []


@pytest.mark.parametrize("line", ["--- {a: 1}", "---foo", "----", "--- |"])
def test_a_separator_that_goes_on_is_refused_and_the_rest_still_read(line):
    source, documents = read(f"{HEAD}{line}\n---\n{HEAD}")
    assert ("DOC010", "error", 3) in codes(source)
    assert documents[-1].role is Role.MANIFEST


@pytest.mark.parametrize("line", ["--- next", "---next", "--- the second one", "----"])
def test_what_stands_below_a_refused_separator_is_read(line):
    source, documents = read(f"{HEAD}{line}\n{HEAD}")
    assert codes(source) == [("DOC010", "error", 3)]
    assert [d.role for d in documents] == [Role.MANIFEST, Role.MANIFEST]
    assert documents[-1].root.string("kind") == "Pod"


def test_an_indented_separator_is_none():
    source, documents = read(HEAD + "a: 1\n ---\n")
    assert documents[0].root.string("a") == "1 ---"
    assert len(documents) == 1
    assert source.problems == []


def test_a_yaml_directive_is_refused():
    source, documents = read("%YAML 1.2\n---\n" + HEAD)
    assert codes(source) == [("DOC010", "error", 1)]
    assert [d.role for d in documents] == [Role.MANIFEST]


def test_text_after_three_dots_is_dropped():
    source, documents = read(HEAD + "...\n# only a comment\nb: 2\n---\n" + HEAD)
    assert codes(source) == [("DOC009", "warning", 5)]
    assert "b" not in documents[0].root.fields
    assert len(documents) == 2


def test_comments_after_the_last_value_are_no_dropped_text():
    source, _ = read(HEAD + "a: 1 # why\n# the end #\n...\n# and more\n")
    assert source.problems == []


def test_a_separator_inside_a_block_of_text_is_a_warning():
    source, _ = read(HEAD + "data:\n  x: |\n    a\n---\n    b\n")
    assert codes(source) == [("DOC010", "warning", 6)]


def test_one_broken_document_leaves_the_others():
    source, documents = read(f"{HEAD}---\n{HEAD}a: [1\n---\n{HEAD}")
    assert [d.root is None for d in documents] == [False, True, False]
    assert codes(source) == [("DOC001", "error", 6)]


def test_text_that_is_no_manifest_and_does_not_parse_is_no_problem():
    source, documents = read("a: [1\n")
    assert source.problems == []
    assert [d.role for d in documents] == [Role.OTHER]


@pytest.mark.parametrize("text", ["{{- if .x }}\na: 1\n{{ end }}\n", "{% for x in y %}\n", "a:\n  b: 1\n${EXTRA}\n"])
def test_what_only_a_template_engine_can_read_is_a_template(text):
    source, documents = read(HEAD + text)
    assert [d.role for d in documents] == [Role.TEMPLATE]
    assert source.problems == []


def test_an_unquoted_variable_in_flow_style_is_a_template():
    source, documents = read(HEAD + "claim: {name: ${CLAIM}}\n")
    assert [d.role for d in documents] == [Role.TEMPLATE]
    assert source.problems == []


def test_empty_documents_are_left_out():
    _, documents = read(f"---\n# nothing\n---\nnull\n---\n{HEAD}---\n")
    assert len(documents) == 1


def test_a_list_is_unpacked_item_by_item():
    text = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n- apiVersion: v1\n  kind: Service\n- 3\n"
    _, documents = read(text)
    assert [m.kind for m in manifests(documents[0])] == ["Pod", "Service"]


def test_concatenated_json_objects_are_two_documents():
    source, documents = read('{"apiVersion":"v1","kind":"Pod","a":1,"a":2}\n{"apiVersion":"v1","kind":"Service"}')
    assert [m.kind for d in documents for m in manifests(d)] == ["Pod", "Service"]
    assert codes(source) == [("DOC002", "warning", 1)]


def test_flow_yaml_is_not_mistaken_for_json():
    _, documents = read("{apiVersion: v1, kind: Pod}\n")
    assert [m.kind for m in manifests(documents[0])] == ["Pod"]


def test_the_template_of_a_rendered_document_is_kept():
    _, documents = read("---\n# Source: chart/templates/pod.yaml\n" + HEAD)
    assert documents[0].rendered_from == "chart/templates/pod.yaml"


def test_a_lost_list_is_an_error_and_a_lost_scalar_a_warning():
    source, documents = read(HEAD + "spec:\n  env: [a]\n  env: [b]\n  q: 1\n  q: 2\n")
    assert codes(source) == [("DOC002", "error", 5), ("DOC002", "warning", 7)]
    assert documents[0].root.at("spec").plain() == {"env": ["b"], "q": 2}
    assert len(documents[0].root.at("spec").entries) == 4
    assert "lines 4 and 5" in source.problems[0].message


def test_a_key_given_twice_with_the_same_value_loses_nothing():
    source, _ = read(HEAD + "spec:\n  env: [a]\n  env: [a]\n  q: {r: 1}\n  q: {r: 1}\n")
    assert codes(source) == [("DOC002", "note", 5), ("DOC002", "note", 7)]


def test_a_merge_replaces_what_stands_before_it():
    source, documents = read(HEAD + "x: &x {k: 1, m: 1}\nw:\n  k: 2\n  <<: *x\n  m: 2\n")
    assert documents[0].root.at("w").plain() == {"k": 1, "m": 2}
    assert codes(source) == [("DOC011", "warning", 5)]


def test_in_a_list_of_merges_the_first_wins():
    _, documents = read(HEAD + "x: &x {k: 1}\nz: &z {k: 2, p: 3}\nw:\n  <<: [*x, *z]\n")
    assert documents[0].root.at("w").plain() == {"k": 1, "p": 3}


def test_a_quoted_merge_key_is_an_ordinary_key():
    _, documents = read(HEAD + "w:\n  '<<': {a: 1}\n")
    assert documents[0].root.at("w").plain() == {"<<": {"a": 1}}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks_are_accepted(encoding):
    source = read_source("x.yaml", (HEAD + "a: é\n").encode(encoding))
    documents = parse(source)
    assert documents[0].root.string("a") == "é"
    assert source.bom
    assert source.text.startswith("apiVersion")


def test_invalid_bytes_are_a_problem_in_a_manifest_only():
    source = read_source("x.yaml", HEAD.encode() + b"a: \xff\n")
    assert codes(source) == [("DOC001", "error", 3)]
    assert read_source("x.yaml", b"a: \xff\n").problems == []


def test_only_a_patch_directive_as_a_key_makes_a_document_partial():
    _, (patch,) = read(HEAD + "spec:\n  containers:\n  - name: a\n    $patch: delete\n")
    _, (script,) = read(HEAD + "a: echo $patch\n")
    assert (patch.role, script.role) == (Role.PARTIAL, Role.MANIFEST)


def test_what_json_escapes_and_yaml_does_not_is_read_in_json_files():
    source, (document,) = read('{"apiVersion": "v1", "kind": "X", "a": "\\/\\ud83d\\ude00"}')
    assert document.root.string("a") == "/\U0001f600"
    assert source.problems == []
