"""Which release of Open MPI a container has, where its image, its start text or its paths say so."""

from __future__ import annotations

import re
from collections.abc import Iterable

#: A number that is none of Open MPI's (a tag of an image that merely is called so) begins with another digit.
_OPENMPI = re.compile(
    r"(?:open-?mpi|ompi)[-_/:@]?v?([345])(?![0-9])(?:\.(\d{1,3})(?![0-9]))?(?:\.(\d{1,3})(?![0-9]))?", re.IGNORECASE
)


def openmpi_release(texts: Iterable[str]) -> tuple[int, ...] | None:
    """The release as far as it is said; None when nothing says it, or two things say different ones."""
    found = {
        tuple(int(n) for n in match.groups() if n is not None)
        for text in texts
        if "mpi" in text.lower()
        for match in _OPENMPI.finditer(text)
    }
    if len({r[0] for r in found}) != 1:
        return None
    longest = max(found, key=len)
    return longest if all(longest[: len(r)] == r for r in found) else longest[:1]


def refuses(release: tuple[int, ...] | None, by: str) -> bool | None:
    """Whether a release is among those that a refusal is `by`; None when it is not known."""
    if release is None or not by.startswith("Open MPI"):
        return None
    if by == "Open MPI 4":
        return release[0] == 4
    if release[0] < 5:
        return False
    return release >= (5, 0, 10) if len(release) == 3 else None
