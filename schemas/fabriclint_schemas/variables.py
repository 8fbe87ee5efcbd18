"""What is known of environment variables: NCCL's, libfabric's, the OFI plugin's; and EFA's own names. Read when asked for."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def nccl() -> dict[str, Any]:
    """NCCL's variables by type, what was removed or renamed, the words of closed sets, and images' NCCL releases."""
    return _table("nccl")


@cache
def libfabric() -> dict[str, Any]:
    """libfabric's variables and those of rdma-core that go with them: names, types, which abort, which are dead."""
    return _table("libfabric")


@cache
def efa() -> dict[str, Any]:
    """EFA's resource and its misspellings, the plugin's names and folders, and images with and without it."""
    return _table("efa")


@cache
def nccl_names() -> frozenset[str]:
    """All known names that begin with `NCCL_`, those of builds and scripts included."""
    table = nccl()
    return frozenset(table["integers"]) | frozenset(table["others"]) | frozenset(table["build names"])


@cache
def nccl_release(image: str) -> tuple[int, int] | None:
    """The NCCL release in an image, when its tag says it or its repository is one whose releases are known."""
    repository, _, tag = image.partition("@")[0].rpartition(":")
    if not repository or "/" in tag:
        return None
    known = nccl()["images"]
    for row in known["tags"]:
        found = re.search(row["tag"], tag)
        if found is not None:
            return _pair(found.group(1))
    for row in known["by release"]:
        if re.search(row["repository"], repository) is None:
            continue
        found = re.search(row["tag"], tag)
        if found is None:
            return None
        mine = (int(found.group(1)), int(found.group(2)))
        older = [version for release, version in row["releases"] if _pair(release) <= mine]
        return _pair(older[-1]) if older else None
    return None


def _pair(text: str) -> tuple[int, int]:
    major, _, minor = text.partition(".")
    return int(major), int(minor)


def _table(name: str) -> dict[str, Any]:
    text = (files("fabriclint_schemas") / "tables" / f"{name}.json").read_text(encoding="utf-8")
    table: dict[str, Any] = json.loads(text)
    return table
