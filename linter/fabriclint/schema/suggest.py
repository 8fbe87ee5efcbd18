"""Near names: which known field a misspelt one probably was."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The one known name at a small distance, or None when there is none or two are equally near."""
    from difflib import SequenceMatcher

    lowered = name.lower().replace("-", "").replace("_", "")
    best: list[str] = []
    top = 0.0
    for candidate in sorted(known):
        other = candidate.lower()
        if lowered == other:
            return candidate
        ratio = SequenceMatcher(None, lowered, other).ratio()
        if ratio > top:
            best, top = [candidate], ratio
        elif ratio == top:
            best.append(candidate)
    return best[0] if top >= 0.8 and len(best) == 1 else None
