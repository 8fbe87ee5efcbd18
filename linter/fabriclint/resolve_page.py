"""A resolved JobSet as a page: YAML, with the line that each field came from, or only what the TrainJob changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fabriclint.fix.style import is_plain, json_text
from fabriclint.node import Mapping, Node, Scalar, Sequence
from fabriclint.one_line import one_line

if TYPE_CHECKING:
    from fabriclint.trainer.outcome import Reason, ResolvedJob

#: Lists of which items are told apart by one field; the others count as a whole.
_KEYS = {
    "replicatedJobs": "name", "containers": "name", "initContainers": "name", "volumes": "name", "env": "name",
    "volumeMounts": "mountPath", "ports": "containerPort", "imagePullSecrets": "name", "volumeClaimPolicies": "name",
}  # fmt: skip
#: The order for reading: what a thing is, how many of it, what it runs; then the rest as it comes.
_FIRST = {
    k: i
    for i, k in enumerate(
        ("apiVersion", "kind", "metadata", "name", "namespace", "groupName", "replicas", "dependsOn", "parallelism",
         "completions", "image", "command", "args", "env", "envFrom")
    )
}  # fmt: skip
_LAST = {"spec": 1, "template": 2, "initContainers": 3, "containers": 4, "volumes": 5}
#: What Go's types always have, and says nothing when it is empty.
_SAYS_NOTHING = ("metadata", "resources")
#: Where the comments stand at most; longer lines have theirs right behind them.
_COLUMN = 80


@dataclass(frozen=True, slots=True)
class Line:
    """A line of YAML: how far in, its text, the node it shows, and ' ', '+' or '-'."""

    indent: int
    text: str
    node: Node | None
    sign: str = " "


def origin_of(node: Node | None, shipped: str | None) -> str:
    """Where a field came from: `file:line`, a runtime that Trainer ships, or Trainer with the line that made it write."""
    if node is None:
        return ""
    source = node.source
    if source.doc is None:
        return shipped or "Trainer"
    from fabriclint.finding import Place
    from fabriclint.locate import locate

    region = locate(Place(source, on_key=isinstance(source, Mapping | Sequence)))
    where = f"{region.uri}:{region.line}"
    return where if _copied(node, source) else f"Trainer, for {where}"


def _copied(node: Node, source: Node) -> bool:
    """Whether a node says what its source says (else Trainer wrote it because of that line)."""
    if node is source:
        return True
    same_place = node.key == source.key or isinstance(node.key, int) == isinstance(source.key, int) is True
    if isinstance(node, Scalar):
        return isinstance(source, Scalar) and node.text == source.text and same_place
    return type(node) is type(source) and same_place


def _scalar(node: Scalar) -> str:
    value = node.value
    if isinstance(value, str):
        return value if value and is_plain(value, flow=False) else json_text(value)
    return json_text(value)


def _ordered(fields: dict[str, Node]) -> Iterator[tuple[str, Node]]:
    rest = len(_FIRST)
    kept = (i for i in fields.items() if not (i[0] in _SAYS_NOTHING and isinstance(i[1], Mapping) and not i[1].fields))
    yield from sorted(kept, key=lambda i: _FIRST.get(i[0], rest + _LAST.get(i[0], 0)))


def lines_of(node: Node, indent: int = 0, sign: str = " ") -> Iterator[Line]:
    """A tree as block YAML, one line per field."""
    if isinstance(node, Mapping):
        for key, value in _ordered(node.fields):
            yield from _field(key, value, indent, sign)
    elif isinstance(node, Sequence):
        for item in node.items:
            yield from _item(item, indent, sign)
    elif isinstance(node, Scalar):
        yield Line(indent, _scalar(node), node, sign)


def _key(key: str) -> str:
    return key if is_plain(key, flow=False) else json_text(key)


def _field(key: str, value: Node, indent: int, sign: str) -> Iterator[Line]:
    name = _key(key)
    if isinstance(value, Mapping) and value.fields:
        yield Line(indent, f"{name}:", value, sign)
        yield from lines_of(value, indent + 2, sign)
    elif isinstance(value, Sequence) and value.items:
        short = _short(value)
        if short is not None:
            yield Line(indent, f"{name}: {short}", value, sign)
            return
        yield Line(indent, f"{name}:", value, sign)
        yield from lines_of(value, indent + 2, sign)
    elif isinstance(value, Scalar):
        block = _block(value)
        if block is None:
            yield Line(indent, f"{name}: {_scalar(value)}", value, sign)
        else:
            yield Line(indent, f"{name}: {block[0]}", value, sign)
            for text in block[1:]:
                yield Line(indent + 2 if text else 0, text, None, sign)
    else:
        yield Line(indent, f"{name}: {'{}' if isinstance(value, Mapping) else '[]'}", value, sign)


def _short(value: Sequence) -> str | None:
    """A short list of short words of one origin, on one line."""
    if not all(isinstance(i, Scalar) for i in value.items):
        return None
    words = [_scalar(i) for i in value.items if isinstance(i, Scalar)]
    text = ", ".join(w if is_plain(w, flow=True) or w.startswith('"') else json_text(w) for w in words)
    return f"[{text}]" if len(text) <= 60 else None


def _block(value: Scalar) -> list[str] | None:
    """A text of several lines as a literal block; None where it is written in another way."""
    text = value.value
    if not isinstance(text, str) or "\n" not in text or any(ord(c) < 32 and c != "\n" for c in text) or "\x7f" in text:
        return None
    lines = text.split("\n")
    if lines[0].startswith((" ", "\t")) or not lines[0] or any(line.rstrip() != line for line in lines):
        return None
    if text.endswith("\n\n"):
        return None
    if text.endswith("\n"):
        return ["|", *lines[:-1]]
    return ["|-", *lines]


def _item(item: Node, indent: int, sign: str) -> Iterator[Line]:
    if isinstance(item, Mapping) and item.fields:
        first = True
        for line in lines_of(item, indent + 2, sign):
            if first:
                yield Line(indent, f"- {line.text}", line.node, sign)
                first = False
            else:
                yield line
    elif isinstance(item, Scalar):
        block = _block(item)
        if block is None:
            yield Line(indent, f"- {_scalar(item)}", item, sign)
        else:
            yield Line(indent, f"- {block[0]}", item, sign)
            for text in block[1:]:
                yield Line(indent + 2 if text else 0, text, None, sign)
    elif isinstance(item, Sequence):
        yield Line(indent, f"- {json_text(item.plain())}", item, sign)
    else:
        yield Line(indent, "- {}", item, sign)


def _empty(node: Node) -> bool:
    return isinstance(node, Mapping) and not node.fields and node.key in _SAYS_NOTHING


def difference(old: Node | None, new: Node, indent: int = 0) -> list[Line]:
    """What differs, each with the keys that lead to it."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        found: list[Line] = []
        for key, value in _ordered(new.fields):
            before = old.fields.get(key)
            if before is None or _empty(before):
                found.extend(_field(key, value, indent, "+"))
            else:
                found.extend(_changed(key, before, value, indent))
        for key, value in _ordered(old.fields):
            if key not in new.fields or (_empty(new.fields[key]) and not _empty(value)):
                found.extend(_field(key, value, indent, "-"))
        return found
    return []


def _changed(key: str, old: Node, new: Node, indent: int) -> list[Line]:
    if old.plain() == new.plain():
        return []
    if isinstance(old, Mapping) and isinstance(new, Mapping) and old.fields and new.fields:
        below = difference(old, new, indent + 2)
        return [Line(indent, f"{_key(key)}:", None), *below] if below else []
    if isinstance(old, Sequence) and isinstance(new, Sequence) and key in _KEYS and old.items and new.items:
        below = _items(old, new, _KEYS[key], indent + 2)
        return [Line(indent, f"{_key(key)}:", None), *below] if below else []
    return [*_field(key, old, indent, "-"), *_field(key, new, indent, "+")]


def _items(old: Sequence, new: Sequence, key: str, indent: int) -> list[Line]:
    def text(item: Node) -> str | None:
        found = item.scalar(key)
        return found.text if found is not None else None

    before = {text(i): i for i in old.items}
    found: list[Line] = []
    for item in new.items:
        there = before.pop(text(item), None)
        if there is None:
            found.extend(_item(item, indent, "+"))
            continue
        below = difference(there, item, indent + 2)
        if below:
            found.append(Line(indent, f"- {key}: {text(item)}", None))
            found.extend(below)
    for gone in before.values():
        found.extend(_item(gone, indent, "-"))
    return found


def _written(lines: list[Line], *, origins: bool, signs: bool, shipped: str | None) -> str:
    made = [(f"{line.sign} " if signs else "") + " " * line.indent + line.text for line in lines]
    if not origins:
        return "".join(f"{text.rstrip()}\n" for text in made)
    column = max((len(t) for t in made if len(t) <= _COLUMN), default=0) + 2
    out = []
    for text, line in zip(made, lines, strict=True):
        where = origin_of(line.node, shipped)
        out.append(f"{text.ljust(column - 2)}  # {one_line(where)}" if where else text.rstrip())
    return "".join(f"{text}\n" for text in out)


def _where(reason: Reason) -> str:
    if reason.node.source.doc is None:
        return ""
    from fabriclint.finding import Place
    from fabriclint.locate import locate

    region = locate(Place(reason.node, on_key=isinstance(reason.node, Mapping | Sequence)))
    return f"{region.uri}:{region.line}: "


def head(job: ResolvedJob, version: str) -> str:
    """The comment above a page: what it is of, the verdict, and each reason with its line."""
    trainjob = job.trainjob
    name = "?" if trainjob is None else trainjob.name or (trainjob.root.string("metadata", "generateName") or "") + "?"
    text = [
        f"# TrainJob '{name}' on {job.runtime_ref.replace('/', ' ') or 'no runtime'}, Trainer {version}: {job.verdict}."
    ]
    if job.runtime is None and job.verdict != "rejected":
        state = (
            "several of that name are among the files"
            if job.runtime_state == "ambiguous"
            else "it is not among the files"
        )
        text.append(f"# The pods cannot be told without the runtime: {state}. Name its file too.")
    elif job.runtime_state == "shipped":
        text.append("# The runtime is the one that this release of Trainer ships; a cluster may have changed it.")
    for reason in (*job.reasons, *job.doubts):
        text.append(f"# {_where(reason)}{reason.message}")
    if job.jobset is None and job.intended is not None:
        text.append("# What it would become without that:")
    return "".join(f"{one_line(line)}\n" for line in text)


def page(
    job: ResolvedJob, version: str, *, origins: bool = False, base: Mapping | None = None, diff: bool = False
) -> str:
    """A TrainJob's page. `base`: the JobSet of its runtime alone, which `diff` is told against."""
    jobset = job.jobset if job.jobset is not None else job.intended
    text = head(job, version)
    if jobset is None:
        return text
    shipped = None
    if job.runtime_state == "shipped" and job.runtime is not None:
        shipped = job.runtime.document.source.uri
    if diff:
        lines = difference(base, jobset) if base is not None else list(lines_of(jobset, 0, "+"))
        if not lines:
            return text + "# The TrainJob changes nothing in its runtime.\n"
        return text + _written(lines, origins=origins, signs=True, shipped=shipped)
    return text + _written(list(lines_of(jobset)), origins=origins, signs=False, shipped=shipped)


def origins_of(jobset: Mapping, shipped: str | None) -> dict[str, str]:
    """Where each scalar of a JobSet came from, by JSON pointer."""
    found: dict[str, str] = {}
    stack: list[tuple[str, Node]] = [("", jobset)]
    while stack:
        pointer, node = stack.pop()
        if isinstance(node, Mapping):
            for key, value in reversed(node.fields.items()):
                stack.append((f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}", value))
        elif isinstance(node, Sequence):
            stack.extend((f"{pointer}/{i}", v) for i, v in reversed(list(enumerate(node.items))))
        else:
            found[pointer] = origin_of(node, shipped)
    return found
