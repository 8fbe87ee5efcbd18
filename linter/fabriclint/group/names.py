"""Names that a controller makes of an object's name, held against what Kubernetes allows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fabriclint.group import Hosts, Refusal, RoleGroup
from fabriclint.node import Mapping, Node, Scalar, Unknown, open_value

if TYPE_CHECKING:
    from fabriclint.group.refusals import Checked

_LABEL_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_LABEL_1123 = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_FORMS = {
    "dns1035": (_LABEL_1035, "a DNS-1035 label must consist of lower case alphanumeric characters or '-'"),
    "dns1123": (_LABEL_1123, "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-'"),
    "subdomain": (_SUBDOMAIN, "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters"),
    "any": (re.compile(r"(?s).*"), ""),
}
#: What generateName appends.
_GENERATED = "x" * 5


def _name(root: Mapping) -> tuple[Node, str] | None:
    """The object's name with its node; of generateName, one such name."""
    for key in ("name", "generateName"):
        node = root.at("metadata", key)
        if isinstance(node, Scalar) and isinstance(node.value, str) and node.value:
            if open_value(node.value):
                return None
            return node, node.value + (_GENERATED if key == "generateName" else "")
    return None


def _wrong(text: str) -> str:
    """What is wrong with a label, in words."""
    if re.search("[A-Z]", text):
        return "holds upper-case letters"
    if "." in text:
        return "holds a dot"
    if "_" in text:
        return "holds an underscore"
    if text[:1].isdigit():
        return "begins with a digit"
    return "holds characters that a DNS label may not have, or begins or ends with one"


def object_name(c: Checked) -> Iterator[Refusal]:
    """The object's own name: its form, and its length where `most` is given."""
    found = _name(c.root)
    if found is None:
        return
    node, name = found
    pattern, words = _FORMS[c.row.get("form", "dns1035")]
    if pattern.fullmatch(name) is None:
        edit = "Rename it with lower-case letters, digits and '-' only, a letter first."
        yield c.refusal(node, what=f"The name '{name}' {_wrong(name)}", words=words, edit=edit)
    elif len(name) > c.row.get("most", 63):
        most = c.row.get("most", 63)
        yield c.refusal(
            node,
            what=f"The name '{name}' has {len(name)} characters, more than {most}",
            words=c.row.get("words") or f"must be no more than {most} characters",
            edit=f"Shorten it to at most {most} characters.",
        )


def made_names(c: Checked) -> Iterator[Refusal]:
    """The longest name that the controller makes of the object's name for each role (`text` with {name}, {role}, {last})."""
    found = _name(c.root)
    if found is None:
        return
    node, name = found
    pattern, words = _FORMS[c.row.get("form", "dns1035")]
    for role in c.group.roles:
        if "roles" in c.row and role.role not in c.row["roles"]:
            continue
        if open_value(role.name) or role.all_pods == 0 or (c.row.get("indexed") and role.hosts is None):
            continue
        text = _made(c.row["text"], name, role)
        most = c.row.get("most", 63)
        if len(text) > most:
            over = len(text) - most
            yield c.refusal(
                node,
                what=f"The name '{name}' makes the {c.row['called']} '{text}' of {len(text)} characters",
                words=c.row.get("words") or f"must be no more than {most} characters",
                edit=f"Shorten the names it is made of by {over} character{'' if over == 1 else 's'}.",
            )
            return
        if pattern.fullmatch(text) is None and pattern.fullmatch(name) is None and _SUBDOMAIN.fullmatch(name):
            yield c.refusal(
                node,
                what=f"The name '{name}' {_wrong(name)} and makes the {c.row['called']} '{text}'",
                words=words,
                edit="Rename it with lower-case letters, digits and '-' only, a letter first.",
            )
            return


def _made(template: str, name: str, role: RoleGroup) -> str:
    """A made name with the highest indexes; 0 where a count is not known."""
    hosts = role.hosts
    lasts = _lasts(hosts) if hosts is not None else []
    facts = {"name": name, "role": role.name, "lower": role.name.lower()}
    facts["last"] = lasts[-1] if lasts else "0"
    facts["outer"] = lasts[0] if lasts else "0"
    return template.format_map(facts)


def _lasts(hosts: Hosts) -> list[str]:
    made = []
    for start, count in zip(hosts.starts, hosts.counts, strict=True):
        made.append(str(start if isinstance(count, Unknown) else max(start + count - 1, start)))
    return made
