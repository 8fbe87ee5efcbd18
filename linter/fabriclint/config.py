"""Settings: what a run was asked to do, from options and from `.fabriclint.yaml` or `pyproject.toml`."""

from __future__ import annotations

import difflib
import fnmatch
import os
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

DEFAULT_TRAINER = "2.2"
TRAINER_VERSIONS = ("2.0", "2.1", "2.2", "2.3")
_LISTS = ("select", "ignore", "extend-select", "exclude", "reference-paths", "packs")
_KEYS = (
    *_LISTS,
    "extend", "severity", "per-file-ignores", "fabric", "contract", "trainer-version", "kubernetes-version",
    "profiles", "cluster", "baseline", "output",
)  # fmt: skip


class ConfigError(Exception):
    """A configuration that cannot be used; the text is a sentence with file and line."""


class BaselineError(ConfigError):
    """A baseline that cannot be used; the text is a sentence that names the file."""


@dataclass(frozen=True, slots=True)
class PathSettings:
    """Settings that may differ by path."""

    fabric: str | None = None
    contract: str = "auto"
    trainer_version: str = DEFAULT_TRAINER
    trainer_version_set: bool = False
    cluster: str | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a run. Values by path are lists of (glob, value), the first match wins."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    severity: dict[str, str] = field(default_factory=dict)
    per_file_ignores: dict[str, tuple[str, ...]] = field(default_factory=dict)
    exclude: tuple[str, ...] = ()
    reference_paths: tuple[str, ...] = ()
    packs: tuple[str, ...] = ()
    fabric: tuple[tuple[str, str], ...] = ()
    contract: tuple[tuple[str, str], ...] = ()
    trainer_version: tuple[tuple[str, str], ...] = ()
    cluster: tuple[tuple[str, str], ...] = ()
    kubernetes_version: str | None = None
    profiles: dict[str, Any] = field(default_factory=dict)
    baseline: str | None = None
    output: str | None = None
    isolated: bool = False
    root: Path | None = None
    file: str | None = None

    def for_path(self, uri: str) -> PathSettings:
        """What holds for one file."""

        def of(pairs: tuple[tuple[str, str], ...]) -> str | None:
            return next((v for g, v in pairs if self.matches(g, uri)), None)

        version = of(self.trainer_version)
        return PathSettings(
            of(self.fabric),
            of(self.contract) or "auto",
            version or DEFAULT_TRAINER,
            version is not None,
            of(self.cluster),
        )

    def matches(self, pattern: str, uri: str) -> bool:
        """Whether a path pattern of the configuration, relative to its folder, speaks of a file or its folder.

        `*` also crosses slashes; `**/` may stand for no folder at all.
        """
        if pattern == "*":
            return True
        path = uri
        if self.root is not None:
            try:
                path = (Path.cwd() / uri).resolve().relative_to(self.root.resolve()).as_posix()
            except ValueError:
                return False
        bare = pattern.removeprefix("./").rstrip("/")
        tries = [bare, bare.removeprefix("**/")]
        return any(fnmatch.fnmatchcase(path, p) or fnmatch.fnmatchcase(path, p + "/*") for p in tries)

    def reference_folders(self, uris: list[str]) -> list[Path]:
        """Where names that the given files leave open are looked up."""
        if self.reference_paths:
            base = self.root or Path()
            return [base / p for p in self.reference_paths if (base / p).exists()]
        if self.root is not None:
            return [self.root]
        out: list[Path] = []
        for uri in uris:
            folder = Path(uri).parent
            top = next((p for p in [folder.resolve(), *folder.resolve().parents] if (p / ".git").exists()), None)
            chosen = Path(_relative(top)) if top is not None else folder
            if chosen not in out and chosen.is_dir():
                out.append(chosen)
        return out


def _relative(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd())) or "."
    except ValueError:
        return str(path)


def find_config(start: Path) -> Path | None:
    """The nearest `.fabriclint.yaml` (or pyproject.toml with our table) from a folder upwards, to the git root."""
    for folder in [start, *start.parents]:
        for name in (".fabriclint.yaml", ".fabriclint.yml"):
            if (folder / name).is_file():
                return folder / name
        project = folder / "pyproject.toml"
        if project.is_file() and "[tool.fabriclint" in project.read_text(encoding="utf-8", errors="replace"):
            return project
        if (folder / ".git").exists():
            return None
    return None


def load_config(path: Path, seen: tuple[Path, ...] = ()) -> Settings:
    """Read a configuration file. Raises ConfigError with a sentence that names file and line."""
    shown = _relative(path.resolve())
    if path.resolve() in seen:
        raise ConfigError(f"{shown}:1: 'extend' leads back to this file; remove one of the two.")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{shown}: The configuration cannot be read: {error.strerror or error}.") from None
    values, lines = _read(path, data, shown)
    base = Settings()
    extend = values.pop("extend", None)
    if extend is not None:
        for name in extend if isinstance(extend, list) else [extend]:
            other = path.parent / str(name)
            if not other.is_file():
                raise ConfigError(f"{shown}:{lines.get('extend', 1)}: 'extend' names '{name}', which does not exist.")
            base = _over(base, load_config(other, (*seen, path.resolve())), path.parent)
    return replace(_apply(base, values, lines, shown), root=path.parent, file=shown)


def _over(base: Settings, upper: Settings, folder: Path) -> Settings:
    """`upper` over `base`, its own paths made relative to the folder of the file that extends it."""
    plain = Settings()
    changes = {
        f.name: getattr(upper, f.name)
        for f in fields(Settings)
        if f.name not in ("isolated", "root", "file") and getattr(upper, f.name) != getattr(plain, f.name)
    }
    if upper.root is not None and upper.root.resolve() != folder.resolve():
        way = os.path.relpath(upper.root.resolve(), folder.resolve()).replace(os.sep, "/")
        if "baseline" in changes:
            changes["baseline"] = f"{way}/{changes['baseline']}"
        if "reference_paths" in changes:
            changes["reference_paths"] = tuple(f"{way}/{p}" for p in changes["reference_paths"])
    return replace(base, **changes)


def _read(path: Path, data: bytes, shown: str) -> tuple[dict[str, Any], dict[str, int]]:
    if path.suffix == ".toml":
        import tomllib

        try:
            table = tomllib.loads(data.decode("utf-8")).get("tool", {}).get("fabriclint", {})
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"{shown}: The file is no TOML: {error}.") from None
        text = data.decode("utf-8").split("\n")
        lines = {
            k: next((n for n, line in enumerate(text, 1) if line.strip().strip('"').startswith(k)), 1) for k in table
        }
        return dict(table), lines
    from fabriclint.node import Mapping
    from fabriclint.source import parse, read_source

    # The reader only looks closely at text that may be a manifest.
    source = read_source(shown, data)
    documents = parse(source)
    root = next((d.root for d in documents if d.root is not None), None)
    if root is None:
        from ruamel.yaml import YAML
        from ruamel.yaml.error import YAMLError

        from fabriclint.node import build

        try:
            plain = YAML(typ="safe").load(data)
        except YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            line = mark.line + 1 if mark is not None else 1
            raise ConfigError(f"{shown}:{line}: The configuration is no YAML.") from None
        if plain is None:
            return {}, {}
        if not isinstance(plain, dict):
            raise ConfigError(f"{shown}:1: The configuration is a list of keys with values, and this is none.")
        text = data.decode("utf-8", "replace").split("\n")
        lines = {k: next((n for n, ln in enumerate(text, 1) if ln.startswith(str(k))), 1) for k in plain}
        node = build(plain)
        assert isinstance(node, Mapping)
        return dict(plain), lines
    if not isinstance(root, Mapping):
        raise ConfigError(f"{shown}:1: The configuration is a list of keys with values, and this is none.")
    found = {k: v.plain() for k, v in root.fields.items()}
    return found, {k: source.position(v.key_start)[0] for k, v in root.fields.items()}


def _apply(base: Settings, values: dict[str, Any], lines: dict[str, int], shown: str) -> Settings:
    changes: dict[str, Any] = {}
    for key, value in values.items():
        where = f"{shown}:{lines.get(key, 1)}"
        if key not in _KEYS:
            near = difflib.get_close_matches(key, _KEYS, 1)
            hint = f"; did you mean '{near[0]}'?" if near else "."
            raise ConfigError(f"{where}: The configuration has no key '{key}'{hint}")
        name = key.replace("-", "_")
        if key in _LISTS:
            if isinstance(value, str):
                value = [value]
            if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
                raise ConfigError(f"{where}: '{key}' is a list of strings.")
            changes[name] = tuple(value)
            if key in ("select", "ignore", "extend-select"):
                _known(value, where)
        elif key in ("fabric", "contract", "trainer-version", "cluster"):
            changes[name] = _by_path(key, value, where)
        elif key == "severity":
            if not isinstance(value, dict) or any(
                v not in ("error", "warning", "note", "off", False) for v in value.values()
            ):
                raise ConfigError(f"{where}: 'severity' maps codes to error, warning, note or off.")
            _known(list(value), where)
            changes[name] = {k: "off" if v is False else str(v) for k, v in value.items()}
        elif key == "per-file-ignores":
            if not isinstance(value, dict):
                raise ConfigError(f"{where}: 'per-file-ignores' maps a path pattern to a list of codes.")
            changes[name] = {
                str(k): tuple(str(c) for c in (v if isinstance(v, list) else [v])) for k, v in value.items()
            }
            _known([code for codes in changes[name].values() for code in codes], where)
        elif key == "profiles":
            if not isinstance(value, dict):
                raise ConfigError(f"{where}: 'profiles' maps a profile's name to what differs in your cluster.")
            _usable(value, where)
            changes[name] = value
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            changes[name] = str(value)
        else:
            raise ConfigError(f"{where}: '{key}' is a word.")
    return replace(base, **changes)


def _usable(changed: dict[str, Any], where: str) -> None:
    from fabriclint_schemas.profiles import ProfileError, overridden

    try:
        overridden(changed)
    except ProfileError as error:
        raise ConfigError(f"{where}: {error}") from None


def _by_path(key: str, value: Any, where: str) -> tuple[tuple[str, str], ...]:
    if isinstance(value, dict):
        pairs = tuple((str(k), str(v)) for k, v in value.items())
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        pairs = (("*", str(value)),)
    else:
        raise ConfigError(f"{where}: '{key}' is a word, or maps path patterns to words.")
    for _, word in pairs:
        if key == "contract" and word not in ("auto", "aicr", "generic"):
            raise ConfigError(f"{where}: 'contract' is auto, aicr or generic, not '{word}'.")
        if key == "trainer-version" and word not in TRAINER_VERSIONS:
            raise ConfigError(f"{where}: 'trainer-version' is one of {', '.join(TRAINER_VERSIONS)}, not '{word}'.")
    return pairs


def _known(codes: list[str], where: str) -> None:
    unknown = unknown_code(codes)
    if unknown is not None:
        raise ConfigError(f"{where}: {unknown}")


def unknown_code(codes: list[str]) -> str | None:
    """A sentence about the first code, prefix or name that no rule has; None when all are known."""
    from fabriclint_rules.pack import PACK

    rules = list(PACK.load())
    known = {r.code for r in rules} | {r.name for r in rules} | {r.family for r in rules} | {"ALL"}
    for code in codes:
        if code not in known and not any(k.startswith(code) and code.isalnum() and code.isupper() for k in known):
            near = difflib.get_close_matches(code.upper() if code.isalnum() else code, sorted(known), 1)
            return f"There is no rule '{code}'" + (f"; did you mean '{near[0]}'?" if near else ".")
    return None
