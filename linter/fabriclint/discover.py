"""Which files are read: those given by name, and the YAML and JSON files below the given folders."""

# os.path keeps a path as the user wrote it and follows no link.
# ruff: noqa: PTH100, PTH109, PTH110, PTH112, PTH113, PTH114, PTH118, PTH120
from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fabriclint.disk import contents, is_device

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

EXTENSIONS = (".yaml", ".yml", ".json")
#: Folders that hold no one's own manifests.
SKIPPED = frozenset(
    (
        ".git",
        ".hg",
        ".svn",
        "node_modules",
        ".venv",
        "venv",
        "__pycache__",
        ".tox",
        ".nox",
        ".terraform",
        ".mypy_cache",
        ".ruff_cache",
        ".pytest_cache",
        ".idea",
        ".vscode",
        "site-packages",
    )
)


class Found(NamedTuple):
    """A file to read, or a path that cannot be read (`error`: a sentence). `named`: given by name."""

    uri: str
    path: str
    error: str | None
    named: bool


class _Ignore(NamedTuple):
    folder: str
    spec: GitIgnoreSpec


def discover(
    paths: Iterable[str | Path],
    *,
    exclude: Iterable[str] = (),
    exclude_root: str | Path | None = None,
) -> Iterator[Found]:
    """The files to read, sorted by `uri` (a POSIX path relative to the working directory), each once.

    `exclude` are gitignore patterns relative to `exclude_root`; they and .gitignore hold for files found in
    folders, never for a file given by name.
    """
    found: dict[str, Found] = {}
    excluded = _patterns(str(exclude_root) if exclude_root is not None else os.getcwd(), list(exclude))
    for given in paths:
        path = os.fspath(given)
        if os.path.isdir(path):
            for item in _walk(path, excluded):
                found.setdefault(item.uri, item)
        elif os.path.exists(path) and not is_device(path):
            found[_uri(path)] = Found(_uri(path), path, None, True)
        else:
            uri = _uri(path)
            found[uri] = Found(uri, path, _unusable(path, uri), True)
    for uri in sorted(found):
        yield found[uri]


def _unusable(path: str, uri: str) -> str:
    if not path:
        return "An empty path names no file; is a variable unset?"
    if os.path.exists(path):
        return f"'{uri}' is a device, not a file."
    if os.path.islink(path):
        return f"'{uri}' is a link that leads nowhere; check the path."
    return f"No file or folder '{uri}'; check the path."


def _uri(path: str) -> str:
    here = os.getcwd()
    whole = os.path.abspath(path)
    if whole == here or whole.startswith(here.rstrip(os.sep) + os.sep):
        path = os.path.relpath(whole, here)
    return Path(path).as_posix()


def _patterns(folder: str, lines: list[str]) -> list[_Ignore]:
    if not lines:
        return []
    from pathspec import GitIgnoreSpec

    try:
        return [_Ignore(os.path.abspath(folder), GitIgnoreSpec.from_lines(lines))]
    except ValueError:
        # One pattern that git would not understand either must not stop the run.
        return [_Ignore(os.path.abspath(folder), GitIgnoreSpec.from_lines(list(_readable(lines))))]


def _readable(lines: list[str]) -> Iterator[str]:
    from pathspec import GitIgnoreSpec

    for line in lines:
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:
            continue
        yield line


def _ignore_file(folder: str, name: str = ".gitignore") -> list[_Ignore]:
    try:
        lines = contents(os.path.join(folder, name)).decode("utf-8", "replace")
        return _patterns(folder, lines.splitlines())
    except OSError:
        return []


def _ignored(path: str, is_folder: bool, rules: list[_Ignore]) -> bool:
    """The nearest .gitignore that says anything about the path decides."""
    for rule in reversed(rules):
        relative = os.path.relpath(path, rule.folder)
        if relative.startswith(".."):
            continue
        shown = Path(relative).as_posix() + ("/" if is_folder else "")
        decided = rule.spec.check_file(shown).include
        if decided is not None:
            return bool(decided)
    return False


def _above(folder: str) -> list[_Ignore]:
    """The .gitignore files between the git root and a folder inside it, outermost first."""
    made: list[list[_Ignore]] = []
    at = folder
    while True:
        if os.path.exists(os.path.join(at, ".git")):
            if at != folder:
                made.append(_ignore_file(at))
            made.append(_ignore_file(at, os.path.join(".git", "info", "exclude")))
            return [rule for rules in reversed(made) for rule in rules]
        parent = os.path.dirname(at)
        if parent == at:
            return []
        if at != folder:
            made.append(_ignore_file(at))
        at = parent


def _walk(top: str, excluded: list[_Ignore]) -> Iterator[Found]:
    root = os.path.abspath(top)
    real_root = os.path.realpath(top)
    stack: list[tuple[str, str, list[_Ignore]]] = [(top, root, _above(root))]
    files: list[str] = []
    links: list[str] = []
    while stack:
        shown, folder, rules = stack.pop()
        rules = rules + _ignore_file(folder)
        try:
            entries = sorted(os.scandir(folder), key=lambda e: e.name)
        except OSError as error:
            uri = _uri(shown)
            yield Found(uri, shown, f"Folder '{uri}' cannot be read: {error.strerror}.", False)
            continue
        for entry in entries:
            path = os.path.join(shown, entry.name)
            whole = os.path.join(folder, entry.name)
            if entry.is_dir(follow_symlinks=False):
                skipped = entry.name in SKIPPED or _ignored(whole, True, rules) or _ignored(whole, True, excluded)
                if not skipped:
                    stack.append((path, whole, rules))
            elif entry.name.lower().endswith(EXTENSIONS):
                if _ignored(whole, False, rules) or _ignored(whole, False, excluded):
                    continue
                if entry.is_symlink():
                    links.append(path)
                elif entry.is_file():
                    files.append(path)
    real = {os.path.realpath(path) for path in files}
    for path in links:
        target = os.path.realpath(path)
        inside = target.startswith(real_root.rstrip(os.sep) + os.sep)
        if inside and os.path.isfile(target) and target not in real:
            real.add(target)
            files.append(path)
    for path in files:
        yield Found(_uri(path), path, None, False)
