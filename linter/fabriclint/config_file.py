"""A configuration file as it is written: values, and the line of each."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fabriclint.disk import contents

#: A line behind the first document that holds anything but a comment, or a separator.
_TEXT = re.compile(r"^(?!\.\.\.[ \t]*\r?$)[ \t]*([^\s#].*)", re.MULTILINE)


class ConfigError(Exception):
    """A configuration that cannot be used; the text is a sentence with file and line."""


@dataclass(slots=True)
class ConfigFile:
    """The keys of a file with their values. `shown`: its path as messages name it."""

    shown: str
    values: dict[str, Any] = field(default_factory=dict)
    lines: dict[tuple[str | int, ...], int] = field(default_factory=dict)
    #: Numbers as they are written: a release 1.30 is not 1.3.
    words: dict[tuple[str | int, ...], str] = field(default_factory=dict)

    def where(self, *route: str | int) -> str:
        """`file:line` of a value, or of the nearest one around it."""
        while route and route not in self.lines:
            route = route[:-1]
        return f"{self.shown}:{self.lines.get(route, 1)}"

    def word(self, *route: str | int) -> str | None:
        """The value at a route when it is a word or a number, as written."""
        value: Any = self.values
        for step in route:
            value = value[step]
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return None
        return self.words.get(route, str(value))


def read_config_file(path: Path, shown: str) -> ConfigFile:
    """Read `.fabriclint.yaml`, or the table of a pyproject.toml. Raises ConfigError."""
    try:
        data = contents(path)
    except OSError as error:
        raise ConfigError(f"{shown}: The configuration cannot be read: {error.strerror or error}.") from None
    return _toml(data, shown) if path.suffix == ".toml" else _yaml(data, shown)


def _toml(data: bytes, shown: str) -> ConfigFile:
    import tomllib

    try:
        text = data.decode("utf-8")
        tool = tomllib.loads(text).get("tool", {})
        table = tool.get("fabriclint", {}) if isinstance(tool, dict) else {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        at = re.search(r"\(at (?:line (\d+), column \d+|end of document)\)", str(error))
        reason = str(error)[: at.start()].strip() if at is not None else str(error)
        line = (at[1] or len(data.splitlines())) if at is not None else 1
        raise ConfigError(f"{shown}:{line}: The file is no TOML: {reason}.") from None
    if not isinstance(table, dict):
        raise ConfigError(f"{shown}:1: 'tool.fabriclint' is a table of keys with values, and this is none.")
    made = ConfigFile(shown, dict(table))
    lines = text.split("\n")
    begin = next((n for n, line in enumerate(lines) if "tool.fabriclint" in line), 0)

    def find(value: Any, route: tuple[str | int, ...], after: int) -> None:
        for key, below in value.items() if isinstance(value, dict) else ():
            sign = re.compile(rf"(?:^|[\[.{{,\s])[\"']?{re.escape(str(key))}[\"']?\s*(?:=|\.|\])")
            at = next((n for n in range(after, len(lines)) if sign.search(lines[n])), after)
            made.lines[(*route, key)] = at + 1
            find(below, (*route, key), at)

    find(table, (), begin)
    _readable(made, table, ())
    return made


def _yaml(data: bytes, shown: str) -> ConfigFile:
    from fabriclint.document import Document
    from fabriclint.node import Mapping, Scalar
    from fabriclint.source import read_source
    from fabriclint.tree import TreeError, build_tree

    source = read_source(shown, data)
    document = Document(source, 0, 0, len(source.text))
    try:
        tree = build_tree(document, source.text)
    except TreeError as error:
        line = source.position(min(error.start, len(source.text)))[0]
        raise ConfigError(f"{shown}:{line}: The configuration is no YAML: {error.reason}.") from None
    root = tree.root
    made = ConfigFile(shown)
    if root is None or (isinstance(root, Scalar) and root.value is None):
        return made
    if not isinstance(root, Mapping):
        line = source.position(root.start)[0]
        raise ConfigError(f"{shown}:{line}: The configuration is a list of keys with values, and this is none.")
    if tree.duplicates:
        second = tree.duplicates[0][1]
        line = source.position(second.key_start)[0]
        raise ConfigError(f"{shown}:{line}: The configuration has the key '{second.key}' twice; remove one.")
    for node in root.walk():
        route = node.route
        made.lines[route] = source.position(node.key_start if node.key_start >= 0 else node.start)[0]
        if isinstance(node, Scalar) and node.style == "plain" and not isinstance(node.value, str | bool | None):
            made.words[route] = source.text[node.start : node.end]
    rest = _TEXT.search(source.text, tree.end)
    if rest is not None:
        line = source.position(rest.start(1))[0]
        raise ConfigError(f"{shown}:{line}: The configuration ends before this line; it is one document.")
    made.values = {key: node.plain() for key, node in root.fields.items()}
    _readable(made, made.values, ())
    return made


def _readable(file: ConfigFile, value: Any, route: tuple[str | int, ...]) -> None:
    """Raises ConfigError for a text with U+0000, which is in no path and no name."""
    if isinstance(value, str) and "\0" in value:
        raise ConfigError(f"{file.where(*route)}: The value holds the character U+0000; remove it.")
    for key, below in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        _readable(file, below, (*route, key))
