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


def misspelt(name: str, known: Iterable[str], most: int = 2) -> str | None:
    """The one known name that `most` changes of a letter (or swaps of two) lead to; None without one or with several."""
    best: list[str] = []
    least = most + 1
    for candidate in known:
        if abs(len(candidate) - len(name)) > min(most, least):
            continue
        changes = _changes(name, candidate)
        if changes < least:
            best, least = [candidate], changes
        elif changes == least and least <= most:
            best.append(candidate)
    return best[0] if len(best) == 1 and 0 < least <= most else None


def _changes(a: str, b: str) -> int:
    """Insertions, removals, replacements and swaps of neighbours between two names."""
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        above, row = row, [i]
        for j, other in enumerate(b, 1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == other:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before = above
    return row[-1]


def meant(word: str, known: Iterable[str]) -> str | None:
    """The known word that is most like another; None without one, or where two are equally near."""
    from difflib import SequenceMatcher, get_close_matches

    near = get_close_matches(word, sorted(set(known)), 2)
    alike = {SequenceMatcher(None, candidate, word).ratio() for candidate in near}
    return near[0] if near and len(alike) == len(near) else None


def hint(word: str, known: Iterable[str], otherwise: str = ".") -> str:
    """The end of a sentence about a word that is none of the known: `; did you mean 'X'?`, or `otherwise`."""
    near = meant(word, known)
    return f"; did you mean '{near}'?" if near is not None else otherwise
