"""Questions to the disk that have an answer for every path: also where a name is too long, a link leads to itself,
or a folder may not be entered."""

# pathlib's own questions raise there.
# ruff: noqa: PTH110, PTH112, PTH113, PTH114
from __future__ import annotations

import os
from pathlib import Path


def is_file(path: Path | str) -> bool:
    """Whether a file can be seen there."""
    return os.path.isfile(path)


def is_folder(path: Path | str) -> bool:
    """Whether a folder can be seen there."""
    return os.path.isdir(path)


def is_link(path: Path | str) -> bool:
    """Whether a link stands there, wherever it leads."""
    return os.path.islink(path)


def exists(path: Path | str) -> bool:
    """Whether anything can be seen there."""
    return os.path.exists(path)


def real(path: Path | str) -> Path:
    """The path without links, as far as they lead anywhere."""
    return Path(os.path.realpath(path))
