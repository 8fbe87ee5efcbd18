"""Whatever a file holds, reading it ends in documents and problems."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabriclint.comments import scan
from fabriclint.finding import Place
from fabriclint.locate import locate, region_of
from fabriclint.source import manifests, parse, read_source

HEAD = "apiVersion: v1\nkind: Pod\n"
BOMB = HEAD + "a: &a [" + "x," * 9 + "]\n"
for before, name in zip("abcdefgh", "bcdefghi", strict=True):
    BOMB += f"{name}: &{name} [" + f"*{before}," * 9 + "]\n"

REFUSED = {
    "unclosed list": HEAD + "a: [1, 2\n",
    "unclosed mapping": HEAD + "a: {b: 1\nc: 2\n",
    "unclosed quote": HEAD + "a: 'x\nb: y\n",
    "control character": HEAD + "a: x\x07y\n",
    "flow nesting": HEAD + "a: " + "[" * 100_000,
    "mapping nesting": HEAD + "a: " + "{a: " * 100_000,
    "block nesting": HEAD + "\n".join(" " * i + "a:" for i in range(1000)),
    "list nesting": HEAD + "a:\n  " + "- " * 20_000 + "x",
    "json nesting": '{"apiVersion":"v1","kind":"Pod","a":' + "[" * 100_000,
    "alias bomb": BOMB,
    "nesting by aliases": HEAD + "a: &a " + "[" * 150 + "]" * 150 + "\nb: " + "[" * 100 + "*a" + "]" * 100,
    "self-reference": HEAD + "a: &a [*a]\n",
    "merge of itself": HEAD + "a: &a\n  <<: *a\n",
    "undefined alias": HEAD + "a: *x\n",
    "tab": HEAD + "a:\n\tb: 1\n",
    "null key": HEAD + "null: 1\n",
    "mapping as key": HEAD + "? {a: 1}\n: 2\n",
    "scalar merged": HEAD + "<<: 1\n",
    "JSON escape": HEAD + 'a: "\\/"\n',
    "wrong tag": HEAD + "a: !!int x\n",
}
READ = {
    "long line": HEAD + "a: " + "x" * 500_000 + "\n",
    "CRLF": HEAD.replace("\n", "\r\n") + "a: 1\r\n",
    "lone CR": HEAD.replace("\n", "\r") + "a: 1\r",
    "NEL": HEAD + "a: 1\x85b: 2\n",
    "line separator": HEAD + "a: 1\u2028b: 2\n",
    "BOM in a later document": HEAD + "---\n\ufeff" + HEAD + "a: 1\n",
    "colons in flow style": HEAD + "a: [nginx:1.0, 22:30, {b: http://x:80/?y=1}]\n",
    "tab after a key": HEAD + "a:\t1\n",
    "many comments": HEAD + "#\n" * 20_000 + "a: 1\n",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_one_syntax_error(name):
    source = read_source("x.yaml", REFUSED[name].encode())
    documents = parse(source)
    assert [p.code for p in source.problems] == ["DOC001"]
    problem = source.problems[0]
    assert 0 <= problem.start < problem.end <= len(source.text)
    assert problem.message.endswith("; kubectl refuses the document.")
    assert len(problem.message) <= 200
    assert region_of(source, problem.start, problem.end).line <= len(source.line_starts)
    assert documents[0].root is None


@pytest.mark.parametrize("name", READ)
def test_what_is_unusual_but_valid_is_read(name):
    source = read_source("x.yaml", READ[name].encode())
    documents = parse(source)
    assert source.problems == []
    assert "a" in documents[-1].root.fields


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"\0\1\2", b"\xff\xfea", bytes(range(256)), b"\xff\xfe\x00\xd8", b"\xef\xbb\xbf"]
)
def test_binary_and_empty_files_have_no_manifests(data):
    source = read_source("x.yaml", data)
    assert [m for d in parse(source) for m in manifests(d)] == []


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="ab01:-[]{},&*!|>'\"#%@` \n\t\r\\.~<\ufeff\x85é", max_size=60))
def test_any_text_below_a_manifests_head_ends_in_documents_and_problems(text):
    source = read_source("x.yaml", (HEAD + text).encode())
    documents = parse(source)
    for document in documents:
        if document.root is not None:
            for node in document.root.walk():
                region = locate(Place(node))
                assert 1 <= region.line == region.end_line <= len(source.line_starts)
                assert region.column <= region.end_column
    scan(source, documents, "#")
