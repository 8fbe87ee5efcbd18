"""Text of others in a line of ours: names of files and objects may hold line ends and control characters."""

from __future__ import annotations


def one_line(text: str) -> str:
    """The text with a replacement character for each character that is none to read."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
