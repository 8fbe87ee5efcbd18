"""Make the compact schemas of the package from published custom resource definitions.

usage: compact_crds.py ORIGINS.tsv FOLDER [OUT]

ORIGINS.tsv has one line a file: path below FOLDER, release (empty for kinds of which one is carried), repository,
tag and commit, path in the repository. The output is one file per kind and release, `parts/` with what several
share, and `index.json`, which names the origin of each. Running it again on the same files changes nothing.
"""

from __future__ import annotations

import csv
import hashlib
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

#: Keys of a schema that admission looks at.
KEPT = (
    "type",
    "properties",
    "items",
    "additionalProperties",
    "required",
    "enum",
    "pattern",
    "format",
    "default",
    "nullable",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "uniqueItems",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "x-kubernetes-int-or-string",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-validations",
)
#: A subtree of at least this many characters that two kinds share becomes a file of its own.
PART = 4000
#: A smaller one that a file has twice is written once in it.
DEFINITION = 120


def compact(schema: dict[str, Any], top: bool = False) -> dict[str, Any]:
    """The schema without descriptions and status; transition rules (those that read `oldSelf`) are left out."""
    made: dict[str, Any] = {}
    for key in KEPT:
        if key not in schema:
            continue
        value = schema[key]
        if key == "properties":
            value = {name: compact(below) for name, below in sorted(value.items())}
            if top and "status" in value:
                value["status"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        elif key in ("items", "not") or (key == "additionalProperties" and isinstance(value, dict)):
            value = compact(value)
        elif key in ("anyOf", "oneOf", "allOf"):
            value = [compact(below) for below in value]
        elif key == "x-kubernetes-validations":
            value = [
                {"rule": " ".join(r["rule"].split()), "message": r.get("message", "")}
                for r in value
                if "oldSelf" not in r["rule"]
            ]
            if not value:
                continue
        made[key] = value
    return made


def text_of(value: object) -> str:
    """The shortest JSON, the same for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


class Store:
    """All schemas, with how often and where each subtree occurs."""

    def __init__(self) -> None:
        self.sizes: dict[int, str] = {}
        self.owners: dict[str, set[str]] = {}
        self.names: dict[str, str] = {}
        self.keep: list[object] = []

    def note(self, value: object, owner: str, name: str) -> None:
        """Count the subtrees of one file."""
        for key, below in _children(value):
            text = text_of(below)
            if len(text) >= PART:
                self.owners.setdefault(text, set()).add(owner)
                self.names.setdefault(text, f"{key or name}-{hashlib.sha256(text.encode()).hexdigest()[:6]}")
            self.note(below, owner, key or name)

    def part(self, text: str, owner: str) -> str | None:
        """The name of the part that a subtree is, when several kinds share it as a whole."""
        if len(text) < PART or len(self.owners.get(text, ())) < 2:
            return None
        return self.names[text]


def _children(value: object) -> list[tuple[str, Any]]:
    if not isinstance(value, dict):
        return []
    found: list[tuple[str, Any]] = []
    for name, below in value.get("properties", {}).items():
        found.append((name, below))
    for key in ("items", "additionalProperties"):
        if isinstance(value.get(key), dict):
            found.append(("", value[key]))
    return found


def write(schema: Any, store: Store, owner: str, out: Path, whole: str | None = None) -> str:
    """The file's text: definitions in the order they are needed, then the schema."""
    counts: Counter[str] = Counter()

    def count(value: Any, top: bool) -> None:
        text = text_of(value)
        if not top and store.part(text, owner) is not None:
            return
        if not top and len(text) >= DEFINITION:
            counts[text] += 1
            if counts[text] > 1:
                return
        for _, below in _children(value):
            count(below, False)

    count(schema, True)
    numbers: dict[str, int] = {}
    definitions: list[str] = []

    def shorten(value: Any, top: bool) -> Any:
        if not isinstance(value, dict):
            return value
        text = text_of(value)
        if not top:
            name = store.part(text, owner)
            if name is not None:
                return {"$part": name}
            if text in numbers:
                return {"$ref": numbers[text]}
        made = dict(value)
        if "properties" in made:
            made["properties"] = {k: shorten(v, False) for k, v in made["properties"].items()}
        for key in ("items", "additionalProperties"):
            if isinstance(made.get(key), dict):
                made[key] = shorten(made[key], False)
        if not top and counts[text] > 1:
            numbers[text] = len(definitions)
            definitions.append(text_of_ordered(made))
            return {"$ref": numbers[text]}
        return made

    body = text_of_ordered(shorten(schema, True))
    defined = ",\n".join(f'{{"$def":{n},"schema":{text}}}' for n, text in enumerate(definitions))
    return f'{{"definitions":[{defined}],\n"schema":{body}}}\n'


def text_of_ordered(value: object) -> str:
    """Compact JSON in the order of the keys (the loader relies on definitions standing before their use)."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def main() -> int:
    """Read the definitions and write the package's data."""
    from ruamel.yaml import YAML

    origins, folder = Path(sys.argv[1]), Path(sys.argv[2])
    package = Path(__file__).resolve().parent.parent / "schemas" / "fabriclint_schemas" / "crds"
    out = Path(sys.argv[3]) if len(sys.argv) > 3 else package
    yaml = YAML(typ="safe")
    store = Store()
    kinds: list[tuple[str, str, str, dict[str, Any], dict[str, str]]] = []
    with origins.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    for row in rows:
        spec = yaml.load((folder / row["file"]).read_text(encoding="utf-8"))["spec"]
        versions = {}
        for version in spec["versions"]:
            if version.get("served", True):
                versions[version["name"]] = compact(version.get("schema", {}).get("openAPIV3Schema", {}), top=True)
        kinds.append((spec["group"], spec["names"]["kind"], row["release"], versions, row))
    for group, kind, release, versions, row in kinds:
        # Releases of one kind share as much as different kinds do: each file is an owner of its own.
        for version, schema in versions.items():
            store.note({"properties": {kind: schema}}, f"{group}/{kind}/{release}/{row['file']}/{version}", kind)
    (out / "parts").mkdir(parents=True, exist_ok=True)
    for old in [*out.glob("*.json"), *(out / "parts").glob("*.json")]:
        old.unlink()
    index: dict[str, list[dict[str, Any]]] = {}
    for group, kind, release, versions, row in kinds:
        files: dict[str, str] = {}
        for version, schema in versions.items():
            name = "_".join(filter(None, (group, kind.lower(), version, release)))
            (out / f"{name}.json").write_text(write(schema, store, name, out), encoding="utf-8")
            files[version] = name
        origin = f"{row['repository']}@{row['commit']} ({row['tag']}) {row['path']}"
        entry = {"release": release, "versions": files, "origin": origin}
        index.setdefault(f"{group}/{kind}", []).append(entry)
    written: set[str] = set()
    for text, owners in sorted(store.owners.items()):
        if len(owners) > 1:
            name = store.names[text]
            written.add(name)
            (out / "parts" / f"{name}.json").write_text(write(json.loads(text), store, name, out), encoding="utf-8")
    lines_of = ",\n".join(f"{json.dumps(k)}:{text_of_ordered(v)}" for k, v in sorted(index.items()))
    (out / "index.json").write_text("{" + lines_of + "}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
