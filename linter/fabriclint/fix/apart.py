"""Stretches of text that do not touch: edits that can be made together."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any, TypeAlias

#: Where a stretch begins and where it ends: offsets, or anything else that is in order (file, line and column).
Stretch: TypeAlias = tuple[Any, Any]


class Apart:
    """Stretches, in order, that share no character and no place of insertion."""

    def __init__(self) -> None:
        self._held: list[Stretch] = []

    def touches(self, stretch: Stretch) -> bool:
        """Whether a stretch touches one of these."""
        start, end = stretch
        at = bisect_left(self._held, start, key=_start)
        if at < len(self._held) and (self._held[at][0] < end or self._held[at][0] == start):
            return True
        return at > 0 and bool(start < self._held[at - 1][1])

    def take(self, stretches: Iterable[Stretch]) -> bool:
        """Take stretches in; False, and none is taken, when one touches another, of these or of themselves."""
        taken: list[Stretch] = []
        for stretch in stretches:
            if self.touches(stretch):
                for one in taken:
                    self._held.remove(one)
                return False
            self._held.insert(bisect_left(self._held, stretch[0], key=_start), stretch)
            taken.append(stretch)
        return True


def _start(stretch: Stretch) -> Any:
    return stretch[0]
