"""What a controller or its webhook refuses of an object: the checks of the table `refusals.json`, by their words.

A row of the table: `how` (the check), its places, `sort` (what kind of fault), `what` (a template that says what is wrong),
`words` (the refusal in the controller's own words), `then` (what becomes of the object) and `edit` (the way out).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from fabriclint.finding import Place
from fabriclint.group import GroupView, Refusal
from fabriclint.kinds import matches, number
from fabriclint.node import UNKNOWN, Mapping, Node, Scalar, Sequence, Unknown
from fabriclint.workload import PodRole

if TYPE_CHECKING:
    from fabriclint.group.started import Started


@cache
def _table() -> dict[str, Any]:
    text = (files("fabriclint_schemas") / "tables" / "refusals.json").read_text(encoding="utf-8")
    table: dict[str, Any] = json.loads(text)
    return table


def _filled(text: str, facts: dict[str, object]) -> str:
    """A template with its facts; a text of the user's own that holds braces stays as it is."""
    try:
        return text.format_map(facts)
    except (ValueError, KeyError, IndexError):
        return text


@dataclass(slots=True)
class Checked:
    """An object with its group, as checks see it."""

    root: Mapping
    group: GroupView
    row: dict[str, Any]

    def refusal(self, place: Place | Node, **values: object) -> Refusal:
        """The row's refusal at a place, its templates filled in; a check may give `what`, `words`, `then`, `edit` itself."""
        row = {**self.row, **{k: v for k, v in values.items() if k in ("what", "words", "then", "edit")}}
        facts = {k: v for k, v in values.items() if k not in ("what", "words", "then", "edit")}
        return Refusal(
            row.get("sort", "fields"),
            place if isinstance(place, Place) else Place(place, on_key=not isinstance(place, Scalar)),
            _filled(str(row["what"]), facts),
            _filled(str(row.get("words", "")), facts),
            _table()["then"][row["then"]],
            _filled(str(row["edit"]), facts),
            warning=bool(row.get("warning")),
        )


Check = Callable[[Checked], Iterator[Refusal]]


def refusals(group: GroupView) -> list[Refusal]:
    """All that is refused of the group's object; the same fault at the same place once."""
    manifest = group.workload.manifest
    found: list[Refusal] = []
    for entry in _table()["kinds"]:
        if (entry["group"], entry["kind"]) != (manifest.group, manifest.kind):
            continue
        if entry.get("version", manifest.version) != manifest.version:
            continue
        for row in entry["checks"]:
            module, _, name = row["how"].rpartition(".")
            holder = import_module(f"fabriclint.group.{module}") if module else None
            check: Check = getattr(holder, name) if holder is not None else _CHECKS[name]
            found.extend(check(Checked(manifest.root, group, row)))
    seen: set[tuple[int, str]] = set()
    kept: list[Refusal] = []
    for one in found:
        key = (id(one.place.node), one.what)
        if key not in seen:
            seen.add(key)
            kept.append(one)
    return kept


def closed(node: Node | None) -> bool:
    """Whether a node holds a value that can be judged: it is there, not null, and no template expression."""
    if node is None:
        return False
    return not isinstance(node, Scalar) or (node.value is not None and not node.open)


def opened(node: Node | None) -> bool:
    """Whether a value is a template expression, or a scalar where a mapping or list is wanted."""
    return isinstance(node, Scalar) and node.open


def holders(root: Mapping, path: str) -> Iterator[tuple[Mapping, str]]:
    """The mappings in which the last step of a path stands or is missed."""
    parent, _, leaf = path.rpartition("/")
    for node, _stars in matches(root, parent):
        if isinstance(node, Mapping):
            yield node, leaf


def _number(c: Checked) -> Iterator[Refusal]:
    """A count that is not what is wanted: `equals`, `least`, or missing where it must be `written`."""
    for holder, leaf in holders(c.root, c.row["at"]):
        node = holder.at(leaf)
        if node is None or (isinstance(node, Scalar) and node.value is None):
            default = c.row.get("default")
            wrong = default is not None and (
                ("equals" in c.row and default != c.row["equals"]) or ("least" in c.row and default < c.row["least"])
            )
            if c.row.get("written") or wrong:
                yield c.refusal(Place(holder, on_key=True), what=c.row["absent"], value="")
            continue
        value = number(node, 0)
        if isinstance(value, Unknown):
            continue
        if ("equals" in c.row and value != c.row["equals"]) or ("least" in c.row and value < c.row["least"]):
            yield c.refusal(node, value=value)


def _text(c: Checked) -> Iterator[Refusal]:
    """A text that is none of `one of`."""
    for holder, leaf in holders(c.root, c.row["at"]):
        node = holder.at(leaf)
        if not isinstance(node, Scalar) or not isinstance(node.value, str) or not node.value or node.open:
            continue
        if node.value not in c.row["one of"]:
            yield c.refusal(node, value=node.value)


def _keys(c: Checked) -> Iterator[Refusal]:
    """A key that is none of `one of`; the nearest of them is offered."""
    for node, _stars in matches(c.root, c.row["at"]):
        for key, value in (node.fields if isinstance(node, Mapping) else {}).items():
            if key in c.row["one of"] or "{" in key or "$" in key:
                continue
            near = next((k for k in c.row["one of"] if k.lower().rstrip("s") == key.lower().rstrip("s")), None)
            edit = f"Write '{near}'." if near is not None else c.row["edit"]
            yield c.refusal(Place(value, on_key=True), edit=edit, key=key)


def _required(c: Checked) -> Iterator[Refusal]:
    """Something that must be there, unless another key may stand for it or a field says that it need not."""
    if "when" in c.row and not closed(c.root.at(*c.row["when"].strip("/").split("/"))):
        return
    excuse = c.root.at(*c.row["unless"].strip("/").split("/")) if "unless" in c.row else None
    if isinstance(excuse, Scalar) and (excuse.value is True or excuse.open):
        return
    if c.row.get("unless ranks") and any(r.pod.site.runs_ranks for r in c.group.roles):
        return
    for holder, leaf in holders(c.root, c.row["at"]):
        node = holder.at(leaf)
        if "beside" in c.row and any(k not in c.row["beside"] for k in holder.fields):
            continue
        if node is None or (isinstance(node, Scalar) and node.value is None):
            yield c.refusal(Place(holder, on_key=True))


def _together(c: Checked) -> Iterator[Refusal]:
    """Fields that exclude each other, below one holder."""
    for node, _stars in matches(c.root, c.row["at"]):
        if not isinstance(node, Mapping):
            continue
        there = [node.at(*p.split("/")) for p in c.row["fields"]]
        if all(closed(n) and not (isinstance(n, Mapping) and not n.fields) for n in there) and there[0] is not None:
            yield c.refusal(Place(there[0], on_key=True))


def _one_of(c: Checked) -> Iterator[Refusal]:
    """Of some fields one must be there."""
    for node, _stars in matches(c.root, c.row["at"]):
        if not isinstance(node, Mapping):
            continue
        there = [node.at(p) for p in c.row["fields"]]
        if not any(opened(n) or closed(n) for n in there):
            yield c.refusal(Place(node, on_key=True))


def _forbidden(c: Checked) -> Iterator[Refusal]:
    """A field that must not be there."""
    for holder, leaf in holders(c.root, c.row["at"]):
        node = holder.at(leaf)
        if node is not None:
            yield c.refusal(Place(node, on_key=True))


def _when(c: Checked) -> Iterator[Refusal]:
    """A value at `at` that another field of the same holder forbids: `field` is (or is not) `equals`."""
    for holder, leaf in holders(c.root, c.row["at"]):
        path = c.row["field"]
        node, other = holder.at(leaf), (c.root if path[0] == "/" else holder).at(*path.strip("/").split("/"))
        if not closed(node) or node is None or opened(other):
            continue
        if "is" in c.row and not (isinstance(node, Scalar) and node.value == c.row["is"]):
            continue
        if "except" in c.row and holder.string(c.row["except"][0]) == c.row["except"][1]:
            continue
        if "above" in c.row and not _above(node, c.row["above"]):
            continue
        value = other.value if isinstance(other, Scalar) else (None if other is None else True)
        holds = value == c.row["equals"]
        if holds is not bool(c.row.get("not")):
            yield c.refusal(node, value=node.text if isinstance(node, Scalar) else "")


def _above(node: Node, limit: int) -> bool:
    value = number(node, 0)
    return not isinstance(value, Unknown) and value > limit


def _containers(c: Checked) -> Iterator[Refusal]:
    """A pod template without containers."""
    for holder, leaf in holders(c.root, c.row["at"]):
        node = holder.at(leaf)
        if node is None or (isinstance(node, Scalar) and node.value is None):
            yield c.refusal(Place(holder, on_key=True))
        elif isinstance(node, Sequence) and not node.items:
            yield c.refusal(Place(node, on_key=True))


def _named_container(c: Checked) -> Iterator[Refusal]:
    """A role without a container of the name that the operator needs, reported at the container to rename."""
    for pod in c.group.pods:
        containers = pod.main_containers
        if not containers or any(x.name == c.row["name"] or opened(x.node.at("name")) for x in containers):
            continue
        if not isinstance(pod.spec.at("containers"), Sequence):
            continue
        chosen = next((x for x in containers if x.has_gpus), containers[0])
        yield c.refusal(chosen.name_place, value=chosen.name, role=pod.name, name=c.row["name"])


def _first_container(c: Checked) -> Iterator[Refusal]:
    """Ranks (or, with `launchers`, what starts them) in another container than the one that the operator wires."""
    for role in c.group.roles:
        pod, wired = role.pod, role.main
        listed = pod.spec.at("containers")
        if wired is None or wired.has_gpus or wired.claims or wired.resources_open or not isinstance(listed, Sequence):
            continue
        if any(not isinstance(item, Mapping) or opened(item.at("name")) for item in listed.items):
            continue
        chosen = next((x for x in pod.main_containers if x.has_gpus), None)
        if chosen is None and c.row.get("launchers") and pod.role is PodRole.LAUNCHER:
            chosen = next(
                (s.container for s in role.started if s.launch.main is not None and not _lists_hosts(s)), None
            )
        if chosen is None or chosen.node is wired.node or any(w in chosen.start_text for w in c.row["own start"]):
            continue
        what = "has the GPUs" if chosen.has_gpus else "starts the ranks"
        yield c.refusal(chosen.name_place, value=chosen.name, role=pod.name, first=wired.name, does=what)


def _lists_hosts(start: Started) -> bool:
    launcher = start.launch.launcher
    return launcher is None or bool(launcher.hosts) or launcher.hostfile.value is not None


def _names_once(c: Checked) -> Iterator[Refusal]:
    """A name that stands in its list a second time."""
    seen: set[str] = set()
    for name, _ in matches(c.root, c.row["at"]):
        if not isinstance(name, Scalar) or not isinstance(name.value, str) or name.open:
            continue
        if name.value in seen:
            yield c.refusal(name, value=name.value)
        seen.add(name.value)


def _images(c: Checked) -> Iterator[Refusal]:
    """A container without an image."""
    for pod in c.group.pods:
        for container in pod.main_containers:
            node = container.node.at("image")
            if node is None or (isinstance(node, Scalar) and node.value in (None, "")):
                yield c.refusal(container.name_place, value=container.name, role=pod.name)


def _volumes(c: Checked) -> Iterator[Refusal]:
    """A volume of a name that the operator adds itself."""
    for pod in c.group.pods:
        if "roles" in c.row and pod.name not in c.row["roles"]:
            continue
        for name, volume in pod.volumes.items():
            if name in c.row["names"]:
                yield c.refusal(volume.at("name") or volume, value=name)


def _templates_restart(c: Checked) -> Iterator[Refusal]:
    """A restartPolicy in a pod template that the controller's own objects may not have."""
    for pod in c.group.pods:
        node = pod.spec.at("restartPolicy")
        if isinstance(node, Scalar) and closed(node) and node.text not in c.row["one of"]:
            yield c.refusal(node, value=node.text)


def _env_of_first(c: Checked) -> Iterator[Refusal]:
    """A variable that the first container at a place may not have (with `values`: not as one of these)."""
    excuse = c.root.at(*c.row["unless"].strip("/").split("/")) if "unless" in c.row else None
    if closed(excuse) and not (isinstance(excuse, Scalar) and excuse.value is False):
        return
    for node, _stars in matches(c.root, c.row["at"]):
        first = node.items[0] if isinstance(node, Sequence) and node.items else None
        for entry in first.mappings("env") if first is not None else []:
            if entry.string("name") != c.row["name"]:
                continue
            if "values" not in c.row or entry.string("value") in c.row["values"]:
                yield c.refusal(entry.at("value") or entry, value=entry.string("value") or "")


def _most_one(c: Checked) -> Iterator[Refusal]:
    """At most one of some keys."""
    for node, _stars in matches(c.root, c.row["at"]):
        there = [k for k in c.row["keys"] if isinstance(node, Mapping) and k in node.fields]
        if len(there) > 1 and isinstance(node, Mapping):
            yield c.refusal(Place(node.fields[there[1]], on_key=True))


_CHECKS: dict[str, Check] = {
    "number": _number,
    "text": _text,
    "keys": _keys,
    "required": _required,
    "together": _together,
    "one of": _one_of,
    "forbidden": _forbidden,
    "when": _when,
    "containers": _containers,
    "named container": _named_container,
    "first container": _first_container,
    "images": _images,
    "names once": _names_once,
    "volumes": _volumes,
    "restart of templates": _templates_restart,
    "at most one": _most_one,
    "env of the first": _env_of_first,
}

__all__ = ["UNKNOWN", "Checked", "closed", "holders", "opened", "refusals"]
