"""`fabriclint config show|check|schema`: what holds and where it comes from, whether it is right, and its schema."""

from __future__ import annotations

import json
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

from fabriclint.cli.said import complain
from fabriclint.config import TRAINER_VERSIONS, ConfigError, Settings, find_config, load_config
from fabriclint.disk import exists, is_file, is_folder, real

_WORD_BY_PATH = ("fabric", "contract", "trainer-version", "cluster")


def _chosen(path: str | None) -> Path | None:
    if path is not None and is_file(path) and Path(path).name.endswith((".fabriclint.yaml", ".toml", ".yml")):
        return Path(path)
    start = real(path or ".")
    return find_config(start if is_folder(start) else start.parent)


def run_show(path: str | None, output_format: str) -> int:
    """Print every setting that holds for a path, with the file and line it comes from."""
    try:
        if output_format not in ("text", "json"):
            raise ConfigError(f"--output-format is text or json, not '{output_format}'.")
        if path is not None and not exists(path):
            raise ConfigError(f"{path}: There is no such file or folder.")
        found = _chosen(path)
        settings = load_config(found) if found is not None else Settings()
    except ConfigError as error:
        complain(error)
        return 2
    rows: list[tuple[str, Any, str]] = []
    for f in fields(Settings):
        if f.name in ("isolated", "root", "file", "origins"):
            continue
        value = getattr(settings, f.name)
        origin = settings.origins.get(f.name, "default")
        key = f.name.replace("_", "-")
        rows.append((key, _said(key, value), origin))
    if output_format == "json":
        told = {key: {"value": value, "from": origin} for key, value, origin in rows}
        sys.stdout.write(json.dumps({"file": settings.file, "settings": told}, indent=2, ensure_ascii=False) + "\n")
        return 0
    sys.stdout.write(f"# {settings.file or 'no configuration file'}\n")
    for key, value, origin in rows:
        sys.stdout.write(f"{key}: {json.dumps(value, ensure_ascii=False)}  # {origin}\n")
    return 0


def _said(key: str, value: Any) -> Any:
    """A setting as one would write it."""
    if key in _WORD_BY_PATH:
        pairs = dict(value)
        if not pairs and key == "trainer-version":
            return "2.2"
        if not pairs and key == "contract":
            return "auto"
        return pairs.get("*") if set(pairs) <= {"*"} else pairs
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, dict):
        return {k: list(v) if isinstance(v, tuple) else v for k, v in value.items()}
    return value


def run_check(path: str | None) -> int:
    """0 when the configuration can be used, 2 with a sentence when not."""
    try:
        if path is not None and not exists(path):
            raise ConfigError(f"{path}: There is no such file.")
        found = Path(path) if path is not None and not is_folder(path) else _chosen(path)
        if found is None:
            sys.stdout.write("There is no configuration here; the defaults hold.\n")
            return 0
        settings = load_config(found)
    except ConfigError as error:
        complain(error)
        return 2
    sys.stdout.write(f"{settings.file}: The configuration is right.\n")
    return 0


def schema() -> dict[str, Any]:
    """The JSON Schema of `.fabriclint.yaml`, for editors."""
    texts = {"type": "array", "items": {"type": "string"}}
    codes = {**texts, "description": "Codes (TCPXO003), prefixes (TCPXO) or names."}
    one_or_many = {"anyOf": [{"type": "string"}, texts]}

    def by_path(word: dict[str, Any], said: str) -> dict[str, Any]:
        held = {"type": "object", "additionalProperties": word}
        return {
            "anyOf": [word, held],
            "description": f"{said} A word, or a mapping from path patterns to words.",
        }

    properties: dict[str, Any] = {
        "extend": {**one_or_many, "description": "Configuration files that this one starts from."},
        "select": {**codes, "description": "Only these rules."},
        "ignore": {**codes, "description": "Not these rules."},
        "extend-select": {**codes, "description": "These rules too."},
        "severity": {
            "type": "object",
            "additionalProperties": {"enum": ["error", "warning", "note", "off"]},
            "description": "Severity by code.",
        },
        "per-file-ignores": {
            "type": "object",
            "additionalProperties": one_or_many,
            "description": "Path patterns, relative to this file, and the rules that do not speak there.",
        },
        "exclude": {**texts, "description": "Paths that are not read, relative to this file."},
        "reference-paths": {**texts, "description": "Where names that the files leave open are looked up."},
        "packs": {**texts, "description": "Rule packs beside the built-in one."},
        "fabric": by_path({"type": "string"}, "The fabric, instead of inferring it."),
        "contract": by_path({"enum": ["auto", "aicr", "generic"]}, "Whose requirements hold."),
        "trainer-version": by_path({"enum": list(TRAINER_VERSIONS)}, "Kubeflow Trainer's release."),
        "kubernetes-version": {"type": "string", "description": "The cluster's Kubernetes release."},
        "profiles": {"type": "object", "description": "What differs in your cluster, by profile."},
        "cluster": by_path({"type": "string"}, "A cluster snapshot."),
        "baseline": {"type": "string", "description": "The file of accepted findings."},
        "output": {"type": "string", "description": "The output format when none is asked for."},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "fabriclint configuration",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }


def run_schema() -> int:
    """Print the schema."""
    sys.stdout.write(json.dumps(schema(), indent=2) + "\n")
    return 0
