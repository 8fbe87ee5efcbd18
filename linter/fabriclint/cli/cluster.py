"""`fabriclint cluster`: how to take a snapshot, and what of it may be committed."""

from __future__ import annotations

import sys

from fabriclint.cli.said import complain


def snapshot_command(folder: str = "cluster", namespace_only: bool = False) -> int:
    """Print the loop that takes a snapshot. Returns the exit code."""
    from fabriclint.cluster.command import snapshot_command as text

    if not folder:
        complain("The folder of the snapshot has no name; leave the argument out for 'cluster'.")
        return 2
    if folder.startswith("-"):
        folder = f"./{folder}"
    sys.stdout.write(text(folder, namespace_only=namespace_only))
    return 0


def trim(path: str) -> int:
    """Print a snapshot reduced to what rules use. Returns the exit code: 2 when it cannot be read."""
    from fabriclint.cluster.snapshot import SnapshotError, load
    from fabriclint.cluster.trim import as_text

    try:
        sys.stdout.write(as_text(load(path)))
    except SnapshotError as error:
        complain(error)
        return 2
    return 0
