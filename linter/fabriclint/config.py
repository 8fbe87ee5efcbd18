"""Settings: what a run was asked to do, from options and from `.fabriclint.yaml` or `pyproject.toml`."""

from __future__ import annotations

import fnmatch
import os
import re
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from fabriclint.config_file import ConfigError, ConfigFile, read_config_file
from fabriclint.disk import contents, exists, is_file, is_folder, is_link, real

__all__ = [
    "DEFAULT_TRAINER",
    "TRAINER_VERSIONS",
    "BaselineError",
    "ConfigError",
    "PathSettings",
    "Settings",
    "find_config",
    "load_config",
    "unknown_code",
]

DEFAULT_TRAINER = "2.2"
TRAINER_VERSIONS = ("2.0", "2.1", "2.2", "2.3")
_LISTS = ("select", "ignore", "extend-select", "exclude", "reference-paths", "packs")
_KEYS = (
    *_LISTS,
    "extend", "severity", "per-file-ignores", "fabric", "contract", "trainer-version", "kubernetes-version",
    "profiles", "cluster", "baseline", "output",
)  # fmt: skip


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
    #: `file:line` that each setting comes from, by its name here; what is not in it has its default.
    origins: dict[str, str] = field(default_factory=dict)

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
                path = real(uri).relative_to(real(self.root)).as_posix()
            except ValueError:
                return False
        bare = pattern.removeprefix("./").rstrip("/")
        tries = [bare, bare.removeprefix("**/")]
        return any(fnmatch.fnmatchcase(path, p) or fnmatch.fnmatchcase(path, p + "/*") for p in tries)

    def reference_folders(self, uris: list[str]) -> list[Path]:
        """Where names that the given files leave open are looked up."""
        if self.reference_paths:
            base = self.root or Path()
            return [base / p for p in self.reference_paths if exists(base / p)]
        if self.root is not None:
            return [self.root]
        out: list[Path] = []
        for uri in uris:
            folder = Path(uri).parent
            top = next((p for p in [real(folder), *real(folder).parents] if exists(p / ".git")), None)
            chosen = Path(relative(top)) if top is not None else folder
            if chosen not in out and is_folder(chosen):
                out.append(chosen)
        return out


def relative(path: Path) -> str:
    """A path as messages name it: from the working directory where it lies below, in POSIX form."""
    try:
        return path.relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()


def find_config(start: Path) -> Path | None:
    """The nearest `.fabriclint.yaml` (or pyproject.toml with our table) from a folder upwards, to the git root."""
    for folder in [start, *start.parents]:
        for name in (".fabriclint.yaml", ".fabriclint.yml"):
            config = folder / name
            # A link that leads nowhere is a configuration that cannot be read, not none.
            if is_file(config) or (is_link(config) and not exists(config)):
                return config
        project = folder / "pyproject.toml"
        if is_file(project) and _has_table(project):
            return project
        if exists(folder / ".git"):
            return None
    return None


def _has_table(project: Path) -> bool:
    """Whether a pyproject.toml has our table; one that cannot be read may have it."""
    try:
        text = contents(project).decode("utf-8", "replace")
    except OSError:
        return True
    if "fabriclint" not in text:
        return False
    import tomllib

    try:
        tool = tomllib.loads(text).get("tool")
    except tomllib.TOMLDecodeError:
        return "[tool.fabriclint" in text
    return isinstance(tool, dict) and "fabriclint" in tool


def load_config(path: Path, seen: tuple[Path, ...] = ()) -> Settings:
    """Read a configuration file, and those that it extends. Raises ConfigError with a sentence that names file and line."""
    shown = relative(real(path))
    file = read_config_file(path, shown)
    base = Settings()
    for name, where in _extended(file):
        other = path.parent / name
        if not is_file(other):
            raise ConfigError(f"{where}: 'extend' names '{name}', which does not exist.")
        if real(other) in (*seen, real(path)):
            raise ConfigError(f"{where}: 'extend' leads back to '{relative(real(other))}'; remove one of the two.")
        base = _over(base, load_config(other, (*seen, real(path))), path.parent)
    made = _apply(base, file)
    if not seen and "fabric" in file.values:
        _named(made, file)
    return replace(made, root=path.parent, file=shown)


def _named(settings: Settings, file: ConfigFile) -> None:
    """Whether the fabrics that a file names are ones; asked when all that it extends is known."""
    value = file.values["fabric"]
    for route in [("fabric", pattern) for pattern in value] if isinstance(value, dict) else [("fabric",)]:
        sentence = unknown_fabric(str(file.word(*route)), settings)
        if sentence is not None:
            raise ConfigError(f"{file.where(*route)}: {sentence}")


def _extended(file: ConfigFile) -> list[tuple[str, str]]:
    """The files that a file extends, with the place that names each."""
    value = file.values.pop("extend", None)
    if value is None:
        return []
    if isinstance(value, str):
        return [(value, file.where("extend"))]
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        raise ConfigError(f"{file.where('extend')}: 'extend' is a file's path, or a list of them.")
    return [(v, file.where("extend", n)) for n, v in enumerate(value)]


def _over(base: Settings, upper: Settings, folder: Path) -> Settings:
    """`upper` over `base`, its own paths made relative to the folder of the file that extends it."""
    changes = {name: getattr(upper, name) for name in upper.origins}
    if upper.root is not None and real(upper.root) != real(folder):
        way = os.path.relpath(real(upper.root), real(folder)).replace(os.sep, "/")
        if changes.get("baseline"):
            changes["baseline"] = f"{way}/{changes['baseline']}"
        if "reference_paths" in changes:
            changes["reference_paths"] = tuple(f"{way}/{p}" for p in changes["reference_paths"])
    return replace(base, **changes, origins={**base.origins, **upper.origins})


def _apply(base: Settings, file: ConfigFile) -> Settings:
    changes: dict[str, Any] = {}
    origins = dict(base.origins)
    packs = base.packs
    # Packs first: their codes may stand in the other keys.
    for key in sorted(file.values, key=lambda k: k != "packs"):
        value = file.values[key]
        where = file.where(key)
        if key not in _KEYS:
            from fabriclint.schema.suggest import hint

            meant = hint(str(key), _KEYS, f"; it has {', '.join(sorted(_KEYS))}.")
            raise ConfigError(f"{where}: The configuration has no key '{key}'{meant}")
        name = key.replace("-", "_")
        origins[name] = where
        if key in _LISTS:
            if isinstance(value, str):
                value = [value]
            if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
                raise ConfigError(f"{where}: '{key}' is a list of strings.")
            changes[name] = tuple(value)
            if key == "packs":
                packs = _packs(file, changes[name])
            elif key in ("select", "ignore", "extend-select"):
                _known([(v, file.where(key, n)) for n, v in enumerate(value)], packs)
        elif key in ("fabric", "contract", "trainer-version", "cluster"):
            changes[name] = _by_path(file, key)
        elif key == "severity":
            changes[name] = _severities(file, packs)
        elif key == "per-file-ignores":
            changes[name] = _ignores(file, packs)
        elif key == "profiles":
            if not isinstance(value, dict):
                raise ConfigError(f"{where}: 'profiles' maps a profile's name to what differs in your cluster.")
            _usable(value, where)
            changes[name] = value
        else:
            changes[name] = _word(file, key)
    return replace(base, **changes, origins=origins)


def _word(file: ConfigFile, key: str) -> str:
    word = file.word(key)
    where = file.where(key)
    if word is None:
        raise ConfigError(f"{where}: '{key}' is a word.")
    if key == "output":
        from fabriclint.report import FORMATS

        if word not in FORMATS:
            from fabriclint.schema.suggest import hint

            raise ConfigError(f"{where}: 'output' is one of {', '.join(FORMATS)}, not '{word}'{hint(word, FORMATS)}")
    if key == "kubernetes-version" and not re.fullmatch(r"v?1\.\d+(\.\d+)?", word):
        raise ConfigError(f"{where}: 'kubernetes-version' is a release such as 1.34, not '{word}'.")
    return word


def _packs(file: ConfigFile, names: tuple[str, ...]) -> tuple[str, ...]:
    from fabriclint.packs import PackError, pack_of

    for number in range(len(names)):
        try:
            pack_of(names[: number + 1])
        except PackError as error:
            raise ConfigError(f"{file.where('packs', number)}: {error}") from None
    return names


def _severities(file: ConfigFile, packs: tuple[str, ...]) -> dict[str, str]:
    value = file.values["severity"]
    if not isinstance(value, dict):
        raise ConfigError(f"{file.where('severity')}: 'severity' maps codes to error, warning, note or off.")
    for code, word in value.items():
        if word not in ("error", "warning", "note", "off") and word is not False:
            where = file.where("severity", code)
            raise ConfigError(f"{where}: The severity of '{code}' is error, warning, note or off, not '{word}'.")
    _known([(code, file.where("severity", code)) for code in value], packs)
    return {k: "off" if v is False else str(v) for k, v in value.items()}


def _ignores(file: ConfigFile, packs: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    value = file.values["per-file-ignores"]
    if not isinstance(value, dict):
        where = file.where("per-file-ignores")
        raise ConfigError(f"{where}: 'per-file-ignores' maps a path pattern to a list of codes.")
    made: dict[str, tuple[str, ...]] = {}
    for pattern, codes in value.items():
        listed = codes if isinstance(codes, list) else [codes]
        if not all(isinstance(c, str) for c in listed):
            where = file.where("per-file-ignores", pattern)
            raise ConfigError(f"{where}: 'per-file-ignores' maps a path pattern to a list of codes.")
        _known([(c, file.where("per-file-ignores", pattern, n)) for n, c in enumerate(listed)], packs)
        made[pattern] = tuple(listed)
    return made


def _usable(changed: dict[str, Any], where: str) -> None:
    from fabriclint_schemas.profiles import ProfileError, overridden

    try:
        overridden(changed)
    except ProfileError as error:
        raise ConfigError(f"{where}: {error}") from None


def _by_path(file: ConfigFile, key: str) -> tuple[tuple[str, str], ...]:
    value = file.values[key]
    routes = [(key, pattern) for pattern in value] if isinstance(value, dict) else [(key,)]
    pairs = []
    for route in routes:
        word, where = file.word(*route), file.where(*route)
        if word is None:
            raise ConfigError(f"{where}: '{key}' is a word, or maps path patterns to words.")
        if key == "contract" and word not in ("auto", "aicr", "generic"):
            raise ConfigError(f"{where}: 'contract' is auto, aicr or generic, not '{word}'.")
        if key == "trainer-version" and word not in TRAINER_VERSIONS:
            raise ConfigError(f"{where}: 'trainer-version' is one of {', '.join(TRAINER_VERSIONS)}, not '{word}'.")
        pairs.append((route[1] if len(route) > 1 else "*", word))
    return tuple(pairs)


def unknown_fabric(word: str, settings: Settings) -> str | None:
    """A sentence about a fabric's name that no profile has; None for a known one, or where a pack has its own."""
    from fabriclint_schemas.profiles import profiles

    known = {**profiles(), **settings.profiles}
    if settings.packs or word in known:
        return None
    from fabriclint.schema.suggest import hint

    every = ", ".join(sorted(known))
    return f"There is no fabric '{word}'{hint(word, known, f'; there is {every}.')}"


def _known(codes: list[tuple[str, str]], packs: tuple[str, ...]) -> None:
    for code, where in codes:
        unknown = unknown_code([code], packs)
        if unknown is not None:
            raise ConfigError(f"{where}: {unknown}")


def unknown_code(codes: list[str], packs: tuple[str, ...] = ()) -> str | None:
    """A sentence about the first code, prefix or name that no rule has; None when all are known."""
    known = _names(packs)
    for code in codes:
        if code not in known and not any(k.startswith(code) and code.isalnum() and code.isupper() for k in known):
            from fabriclint.schema.suggest import hint

            return f"There is no rule '{code}'{hint(code.upper() if code.isalnum() else code, known)}"
    return None


@lru_cache(maxsize=4)
def _names(packs: tuple[str, ...]) -> frozenset[str]:
    from fabriclint.packs import pack_of

    rules = list(pack_of(packs).load())
    return frozenset(("ALL", *(name for r in rules for name in (r.code, r.name, r.family))))
