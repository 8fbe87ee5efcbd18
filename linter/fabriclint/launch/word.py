"""One word of a command line: its text as far as it is known, and where it stands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from fabriclint.node import UNKNOWN, Unknown

#: Stands inside a text for a stretch that nobody can know; a noncharacter, so no manifest holds it.
HOLE: Final = "\U0010fffe"


class Place(NamedTuple):
    """A stretch of one argument: `source` is the index in command + args, the rest offsets in that string."""

    source: int
    start: int
    end: int


def text_of(raw: str) -> str | Unknown:
    """The text, or UNKNOWN when part of it is."""
    return UNKNOWN if HOLE in raw else raw


def pieces_of(raw: str) -> tuple[str | Unknown, ...]:
    """The known stretches in order, with UNKNOWN between them where something is not known."""
    pieces: list[str | Unknown] = []
    for index, piece in enumerate(raw.split(HOLE)):
        if index and (not pieces or pieces[-1] is not UNKNOWN):
            pieces.append(UNKNOWN)
        if piece:
            pieces.append(piece)
    return tuple(pieces)


@dataclass(slots=True)
class Word:
    """A word after all expansions.

    `raw` holds a `HOLE` where a stretch is unknown. `open`: it may be any number of words (an unquoted
    unknown).
    `glob`: it holds unquoted pattern characters and stays as written only when no file matches.
    `starts`, `ends`: for each character where it comes from; None where text and source run alike.
    """

    raw: str
    source: int
    start: int
    end: int
    open: bool = False
    glob: bool = False
    starts: list[int] | None = field(default=None, repr=False)
    ends: list[int] | None = field(default=None, repr=False)

    @property
    def text(self) -> str | Unknown:
        """The text, or UNKNOWN when part of it is."""
        return text_of(self.raw)

    @property
    def pieces(self) -> tuple[str | Unknown, ...]:
        """The known stretches, with UNKNOWN between."""
        return pieces_of(self.raw)

    @property
    def place(self) -> Place:
        """Where the whole word stands."""
        return Place(self.source, self.start, self.end)

    def part(self, start: int, end: int) -> Place:
        """Where the characters start..end of `raw` stand."""
        end = min(end, len(self.raw))
        if self.starts is None or self.ends is None or start >= end:
            if self.starts is None and self.end - self.start == len(self.raw) and start < end:
                return Place(self.source, self.start + start, self.start + end)
            return self.place
        return Place(self.source, self.starts[start], self.ends[end - 1])

    def tail(self, start: int) -> Word:
        """The word behind its first `start` characters, as a word of its own."""
        place = self.part(start, len(self.raw))
        return Word(
            self.raw[start:],
            place.source,
            place.start,
            place.end,
            False,
            self.glob,
            self.starts[start:] if self.starts is not None else None,
            self.ends[start:] if self.ends is not None else None,
        )


def argument(text: str | Unknown, source: int) -> Word:
    """An argument of the container as it is given."""
    if text is UNKNOWN or isinstance(text, Unknown):
        return Word(HOLE, source, 0, 0)
    return Word(text.replace(HOLE, "\ufffd"), source, 0, len(text))
