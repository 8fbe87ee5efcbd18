"""The order of a list that a strategic merge patch merged by key."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

K = TypeVar("K", bound=Hashable)


def merged_order(old: Sequence[K], patch: Sequence[K]) -> list[K]:
    """Keys of the merged list, given the keys of the old list and of the patch (each without duplicates).

    Patch items keep the patch's order. An old-only item goes before the next patch item that stood after it
    in the old list; an item new in the patch has no old position and goes as early as possible.
    Source: kubernetes/apimachinery pkg/util/strategicpatch (trainer fact B1).
    """
    position = {key: index for index, key in enumerate(old)}
    patched = set(patch)
    kept = [key for key in old if key not in patched]
    merged: list[K] = []
    taken = 0
    for key in patch:
        while taken < len(kept) and position[kept[taken]] < position.get(key, -1):
            merged.append(kept[taken])
            taken += 1
        merged.append(key)
    return merged + kept[taken:]
