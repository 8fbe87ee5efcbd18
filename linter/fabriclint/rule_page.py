"""A rule's docstring as a page: for `rule CODE`, for SARIF's help and for the documentation."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabriclint.rule import Rule

_HEADING = re.compile(r"^(Fix|Silent|(?:Bad|Good)(?: [A-Z]+)?|Source|Why it matters):[ \t]*", re.M)
#: What marks the line of a finding in an example; the page leaves it out.
MARK = " # <-"
#: The base an example's lines change, at the end of its heading: for the tests, not for the reader.
_BASE = re.compile(r"\s*\([\w.-]+(;[^();]*)*\)$")


#: How the examples are read; they do not show the whole manifest.
_READING = "Examples change a manifest that is right: '-' goes, '+' comes, '@@' says below which line."


@dataclass(frozen=True, slots=True)
class Page:
    """The parts of a rule's documentation.

    Codes that share one function have their own examples under `Bad TCPX:` and `Good TCPX:`, where the family is named;
    a code without any takes the plain ones.

    `examples`: (Bad or Good, title, lines) for readers; `examples_as_written` still have the base's name and the marks
    that the tests read.
    """

    title: str
    description: str
    fix: str
    silent: str
    examples: tuple[tuple[str, str, str], ...]
    examples_as_written: tuple[tuple[str, str, str], ...]
    source: str
    plain: str
    markdown: str


@lru_cache(maxsize=512)
def page(rule: Rule) -> Page:
    """Read the docstring of a rule."""
    text = rule.doc
    parts = _HEADING.split(text)
    head = parts[0].strip().split("\n\n", 1)
    title = " ".join(head[0].split())
    body = head[1].strip() if len(head) > 1 else ""
    fix = silent = source = ""
    examples: list[tuple[str, str, str]] = []
    for name, content in zip(parts[1::2], parts[2::2], strict=False):
        if name == "Fix":
            fix = " ".join(content.split())
            fix = fix[:1].upper() + fix[1:]
        elif name == "Silent":
            silent = " ".join(content.split())
        elif name == "Source":
            source = " ".join(content.split())
        elif name == "Why it matters":
            body = f"{body}\n\n{content.strip()}".strip()
        else:
            first, _, rest = content.partition("\n")
            lines = rest.rstrip().split("\n")
            margin = min((len(x) - len(x.lstrip()) for x in lines if x.strip()), default=0)
            examples.append((name, first.strip(), "\n".join(x[margin:] for x in lines).strip("\n")))
    own = [(n.split(" ")[0], t, b) for n, t, b in examples if n.endswith(" " + rule.family)]
    examples = own or [e for e in examples if " " not in e[0]]
    shown = tuple((n, _BASE.sub("", t), "\n".join(_shown(x) for x in b.split("\n"))) for n, t, b in examples)
    description = " ".join((body or title).split("\n\n")[0].split())[:1000]
    paragraphs = [" ".join(p.split()) for p in body.split("\n\n") if p.strip()]
    plain = "\n\n".join(
        [x for x in (f"Fix: {fix}" if fix else "", *paragraphs, f"Silent: {silent}" if silent else "") if x]
    )
    md = [f"**Fix:** {fix}"] if fix else []
    for name, first, yaml in shown:
        md.append(f"**{name}:** {first}\n\n```{_language(yaml)}\n{yaml}\n```")
    md += paragraphs
    if silent:
        md.append(f"**Silent:** {silent}")
    if source:
        md.append(f"**Source:** {source}")
    return Page(
        title, description, fix, silent, shown, tuple(examples), source, plain or title, "\n\n".join(md) or title
    )


def _shown(line: str) -> str:
    """A line of an example as readers see it: without its mark; a part that is replaced as two lines of a diff."""
    line = line.rstrip().removesuffix(MARK.strip()).rstrip()
    if line.startswith("~ "):
        old, _, new = line[2:].partition(" => ")
        return f"- {old.strip()}\n+ {new.strip()}" if new.strip() else f"- {old.strip()}"
    return line


def _language(block: str) -> str:
    return "diff" if any(x.startswith(("@@ ", "+ ", "~ ")) for x in block.split("\n")) else "yaml"


def text_page(rule: Rule) -> str:
    """The page as plain text for a terminal."""
    p = page(rule)
    words = "/".join(s.value for s in rule.severities) or rule.severity.value
    out = [f"{rule.code} {rule.name} ({words})", "", p.title, ""]
    body = p.plain.split("\n\n") if p.plain != p.title else []
    for paragraph in body:
        out += [*_wrapped(paragraph), ""]
    if any(_language(yaml) == "diff" for _, _, yaml in p.examples):
        out += [*_wrapped(_READING), ""]
    for name, first, yaml in p.examples:
        out += [f"{name}: {first}", *("    " + line for line in yaml.split("\n")), ""]
    if p.source:
        out += [*_wrapped(f"Source: {p.source}"), ""]
    return "\n".join(out).rstrip() + "\n"


def _wrapped(text: str) -> list[str]:
    import textwrap

    return textwrap.wrap(text, 88, break_long_words=False, break_on_hyphens=False)
