"""Read bytes into a source, its documents and their manifests, as kubectl reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fabriclint.document import Document, Manifest, Problem, Role, Source
from fabriclint.finding import Applicability, Fix, Remove
from fabriclint.node import Mapping, Scalar, Sequence
from fabriclint.split import Chunk, split
from fabriclint.tree import Tree, TreeError, build_tree

#: Lists whose loss leaves a workload without a part that it needs.
_WHOLE = frozenset(("containers", "initContainers", "env", "envFrom", "volumes"))
#: Problems of one kind that a text is given at most; a file with more is no one's manifest.
_PROBLEM_LIMIT = 100
_API_VERSION = re.compile(r"(?:\A|(?<=[\r\n\ufeff]))[\"']?apiVersion[\"']?[ \t]*:")
_KIND = re.compile(r"(?:\A|(?<=[\r\n\ufeff]))[\"']?kind[\"']?[ \t]*:")
_JSON_KEYS = re.compile(r"\A\s*\{.*?\"(?:apiVersion|kind)\"\s*:", re.DOTALL)
_TEMPLATE = re.compile(r"\{\{|\{%|^[ \t]*\$\{[A-Za-z_][A-Za-z0-9_]*\}[ \t]*\r?$", re.MULTILINE)
_TEMPLATE_NAMES = (".j2", ".jinja", ".jinja2", ".tpl", ".tmpl", ".gotmpl", ".ytt", ".erb")
_RENDERED_FROM = re.compile(r"^# Source: (\S[^\r\n]*?)[ \t]*\r?$", re.MULTILINE)
_NOT_BLANK = re.compile(r"(?:[ \t\r\n\x85\u2028\u2029]++|#[^\r\n]*+)*+([^\r\n]+)")


def read_source(uri: str, data: bytes) -> Source:
    """Decode a file: UTF-8 with or without BOM, UTF-16 with BOM. Never raises: bad bytes are a problem."""
    encoding, bom = "utf-8", False
    if data.startswith(b"\xef\xbb\xbf"):
        data, bom = data[3:], True
    elif data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding, bom = ("utf-16-le" if data[0] == 0xFF else "utf-16-be"), True
        data = data[2:]
    try:
        return Source(uri, data.decode(encoding), bom, encoding)
    except UnicodeDecodeError as error:
        # The replacement characters keep what follows readable; one problem says where it begins.
        text = data.decode(encoding, "replace")
        at = len(data[: error.start].decode(encoding, "replace"))
        source = Source(uri, text, bom, encoding)
        if _is_manifest(text):
            shown = "UTF-16" if encoding != "utf-8" else "UTF-8"
            bad = data[error.start : error.start + 1].hex()
            message = f"Byte 0x{bad} is not valid {shown}; kubectl refuses the document."
            source.problems.append(Problem("DOC001", "error", at, at + 1, message))
        return source


def parse(source: Source, *, pure: bool = False) -> list[Document]:
    """The documents of a source, empty ones left out. What is wrong with them is added to `source.problems`.

    One broken document leaves the others readable. `pure` reads with the parser written in Python.
    """
    text = source.text
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        documents = _parse_json(source)
        if documents is not None:
            return documents
    reader = _StreamReader(source, pure)
    reader.run()
    return reader.documents


def manifests(document: Document) -> list[Manifest]:
    """The Kubernetes objects of a document; a `kind: List` (or FooList) is unpacked item by item."""
    found: list[Manifest] = []
    roots = [document.root]
    while roots:
        root = roots.pop()
        if not isinstance(root, Mapping):
            continue
        api_version, kind = root.string("apiVersion"), root.string("kind")
        if not api_version or not kind:
            continue
        items = root.at("items")
        if kind.endswith("List") and isinstance(items, Sequence):
            # kubectl fills in neither apiVersion nor kind of an item; one without is no object.
            roots.extend(reversed(items.items))
            continue
        found.append(Manifest(document, root, api_version, kind, partial=document.role is Role.PARTIAL))
    return found


def _is_manifest(text: str) -> bool:
    """Whether `apiVersion` and `kind` stand as keys at a line's start (or anywhere in JSON)."""
    if "apiVersion" not in text or "kind" not in text:
        return False
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        return bool(re.search(r"[\"']?apiVersion[\"']?\s*:", text) and re.search(r"[\"']?kind[\"']?\s*:", text))
    return _API_VERSION.search(text) is not None and _KIND.search(text) is not None


def _parse_json(source: Source) -> list[Document] | None:
    """The objects of a stream of JSON objects, or None when the text is not such a stream."""
    from fabriclint.json_tree import build_json

    text = source.text
    documents: list[Document] = []
    trees: list[Tree] = []
    at = len(text) - len(text.lstrip("\ufeff \t\r\n"))
    try:
        while at < len(text):
            document = Document(source, len(documents), at, len(text))
            tree = build_json(document, text, at)
            document.root, document.end = tree.root, tree.end
            documents.append(document)
            trees.append(tree)
            at = len(text) - len(text[tree.end :].lstrip(" \t\r\n"))
    except TreeError:
        return None
    judged = any(_has_kind(d) for d in documents)
    for document, tree in zip(documents, trees, strict=True):
        _set_role(document, judged)
        if judged:
            _report_duplicates(source, tree)
    return documents


def _has_kind(document: Document) -> bool:
    root = document.root
    return isinstance(root, Mapping) and "apiVersion" in root.fields and "kind" in root.fields


def _set_role(document: Document, judged: bool) -> None:
    if not isinstance(document.root, Mapping) or not (judged or _has_kind(document)):
        return
    partial = "$patch" in document.source.text[document.start : document.end] and any(
        isinstance(node, Mapping) and "$patch" in node.fields for node in document.root.walk()
    )
    document.role = Role.PARTIAL if partial else Role.MANIFEST


class _StreamReader:
    """One pass over the chunks of a YAML stream."""

    def __init__(self, source: Source, pure: bool) -> None:
        self.source = source
        self.pure = pure
        self.documents: list[Document] = []
        self.problems = source.problems
        text = source.text
        self.chunks = split(text)
        self.judged = _is_manifest(text) and any(_is_manifest(text[c.start : c.end]) for c in self.chunks)
        self.templated = source.uri.endswith(_TEMPLATE_NAMES) or _TEMPLATE.search(text) is not None

    def run(self) -> None:
        for number, chunk in enumerate(self.chunks):
            self.read(number, chunk)

    def problem(
        self, code: str, severity: str, start: int, end: int, message: str, *related: tuple[int, int, str]
    ) -> None:
        if self.judged and len(self.problems) < _PROBLEM_LIMIT:
            self.problems.append(Problem(code, severity, start, end, message, related))

    def read(self, number: int, chunk: Chunk) -> None:
        source = self.source
        text = source.text[chunk.start : chunk.end]
        first = _NOT_BLANK.match(text)
        document = Document(source, len(self.documents), chunk.start, chunk.end)
        rendered = _RENDERED_FROM.search(text) if "# Source: " in text else None
        if rendered is not None:
            document.rendered_from = rendered[1]
        if chunk.refused is not None and not self.templated:
            self.refused(chunk)
        if first is None:
            return
        broken: TreeError | None = None
        tree: Tree | None = None
        try:
            tree = build_tree(document, text, chunk.start, pure=self.pure)
        except TreeError as error:
            broken = error
            line = chunk.refused.end if chunk.refused is not None else chunk.start
            if chunk.start < line <= chunk.end:  # `--- words`: what stands below the refused line is a document
                try:
                    tree = build_tree(document, source.text[line : chunk.end], line, pure=self.pure)
                except TreeError as below:
                    broken = below
        if tree is not None:
            if tree.root is None or (isinstance(tree.root, Scalar) and tree.root.value is None):
                return
            document.root = tree.root
            self.documents.append(document)
            _set_role(document, self.judged)
            if self.judged:
                _report_duplicates(source, tree)
                _report_merges(source, tree)
                self.dropped(document, tree, chunk)
                self.cut_scalar(number, chunk, first)
            return
        assert broken is not None
        self.documents.append(document)
        if self.templated or "${" in source.line(source.position(broken.start)[0]):
            # `{claimName: ${CLAIM}}` is fine once a shell's envsubst has run.
            document.role = Role.TEMPLATE
            return
        if not self.judged:
            return
        document.role = Role.MANIFEST
        related = list(broken.related)
        if "never closed" in broken.reason and number + 1 < len(self.chunks):
            cut = self.chunks[number + 1].separator
            if cut is not None:
                related.append((*cut, "kubectl splits the file at this line, even inside quotes"))
        reason = broken.reason[:1].upper() + broken.reason[1:]
        self.problem("DOC001", "error", broken.start, broken.end, f"{reason}; kubectl refuses the document.", *related)

    def refused(self, chunk: Chunk) -> None:
        refused = chunk.refused
        assert refused is not None
        shown = self.source.text[refused.start : refused.end]
        shown = shown if len(shown) <= 40 else shown[:37] + "..."
        if refused.directive:
            message = f"Directive '{shown}' is not accepted; kubectl takes it for a document of its own and refuses it."
        else:
            message = (
                f"Separator line '{shown}' goes on after '---'; kubectl stops reading the file here with an error."
            )
        self.problem("DOC010", "error", refused.start, refused.end, message)

    def dropped(self, document: Document, tree: Tree, chunk: Chunk) -> None:
        """Text that kubectl never looks at, because the document ended before it."""
        text = self.source.text
        rest = _NOT_BLANK.match(text, tree.end, chunk.end)
        if rest is None:
            return
        start = rest.start(1)
        end = min(start + len(rest[1].rstrip()), chunk.end)
        if end <= start:
            return
        message = "Text after the end of the document; kubectl drops everything up to the next '---' without a word."
        related: tuple[int, int, str] | None = None
        if tree.explicit_end:
            line = self.source.line_starts[self.source.position(max(tree.end - 1, 0))[0] - 1]
            if text.startswith("...", line):
                number = self.source.position(line)[0]
                message = (
                    f"Text after the '...' of line {number}; "
                    "kubectl drops everything up to the next '---' without a word."
                )
                related = (line, line + 3, "the document ends here")
        self.problem("DOC009", "warning", start, end, message, *([related] if related else []))

    def cut_scalar(self, number: int, chunk: Chunk, first: re.Match[str]) -> None:
        """A `---` at the start of a line that was meant as part of a block scalar: more text follows."""
        if number == 0 or chunk.separator is None or not self.documents:
            return
        text = self.source.text
        at = chunk.start + first.start(1)
        if at == 0 or text[at - 1] not in " \t" or _is_manifest(text[chunk.start : chunk.end]):
            return
        before = self.documents[-2] if len(self.documents) > 1 else None
        last = before.root if before is not None else None
        while isinstance(last, Mapping | Sequence):
            below = list(last.fields.values()) if isinstance(last, Mapping) else last.items
            last = below[-1] if below else None
        if isinstance(last, Scalar) and last.style in ("literal", "folded"):
            message = "A '---' at the start of a line cuts the block of text above it; kubectl reads two documents."
            self.problem(
                "DOC010",
                "warning",
                *chunk.separator,
                message,
                (last.start, last.start + 1, "the text begins here"),
            )


def _report_duplicates(source: Source, tree: Tree) -> None:
    for first, second in tree.duplicates[:_PROBLEM_LIMIT]:
        lost = first.value
        whole = second.key in _WHOLE and isinstance(lost, Sequence) and bool(lost.items)
        one, two = source.position(first.key_start)[0], source.position(second.key_start)[0]
        where = f"on lines {one} and {two}" if one != two else f"on line {one}"
        shown = second.key if len(second.key) <= 60 else second.key[:57] + "..."
        message = f"Key '{shown}' is given twice, {where}; kubectl keeps the second and silently drops the first."
        related = ((first.key_start, first.key_end, "this one is dropped"),)
        severity = "error" if whole else "warning"
        if lost.plain() == second.value.plain():
            severity = "note"
            message = f"Key '{shown}' is given twice, {where}, with the same value."
        fix = Fix(f"remove the first '{shown}'", (Remove(lost),), Applicability.UNSAFE)
        source.problems.append(Problem("DOC002", severity, second.key_start, second.key_end, message, related, fix))


def _report_merges(source: Source, tree: Tree) -> None:
    for before, after, merge, anchor in tree.overwritten[:_PROBLEM_LIMIT]:
        if before.value.plain() == after.plain():
            continue
        shown = f"'<<: *{anchor}'" if anchor is not None else "'<<'"
        line = source.position(merge[0])[0]
        message = (
            f"Key '{before.key}' stands before {shown} of line {line}; "
            "kubectl takes the merged value, other YAML readers this one."
        )
        related = ((merge[0], merge[1], "this merge replaces it in kubectl"),)
        source.problems.append(Problem("DOC011", "warning", before.key_start, before.key_end, message, related))


def iter_manifests(documents: list[Document]) -> Iterator[Manifest]:
    """The manifests of several documents, in order."""
    for document in documents:
        yield from manifests(document)
