"""Command lines as Python's argparse reads them: prefixes, `=`, the words that belong to the program."""

from __future__ import annotations

from dataclasses import dataclass, field

from fabriclint.launch.word import HOLE, Place, Word


@dataclass(slots=True)
class Parsed:
    """Options that were found (the last one wins), the rest, and what is wrong."""

    values: dict[str, tuple[str, Place]] = field(default_factory=dict)
    flags: dict[str, Place] = field(default_factory=dict)
    rest: list[Word] = field(default_factory=list)
    errors: list[tuple[str, str, Place]] = field(default_factory=list)
    #: A word that nobody knows stood among the options.
    unclear: bool = False


def parse(
    words: list[Word],
    valued: dict[str, str],
    flags: dict[str, str],
    *,
    prefixes: bool = True,
    remainder: bool = True,
    strict: bool = True,
) -> Parsed:
    """Read `words` (without the program).

    `valued`, `flags`: spelling -> name. `remainder`: the first word that is no option, and all behind it,
    belong to the program; else words that are no options are collected. `strict`: an unknown option is
    an error.
    """
    out = Parsed()
    spellings = {**valued, **flags}
    i = 0
    while i < len(words):
        word = words[i]
        raw = word.raw
        if word.open or (HOLE in raw and raw[0] == HOLE):
            out.unclear = True
            if remainder:
                out.rest = words[i:]
                return out
            i += 1
            continue
        if raw == "--":
            out.rest.extend(words[i + 1 :])
            return out
        if not raw.startswith("-") or raw == "-" or _negative(raw):
            if remainder:
                rest = words[i:]
                out.rest = rest[:1] + rest[2:] if len(rest) > 1 and rest[1].raw == "--" else rest
                return out
            out.rest.append(word)
            i += 1
            continue
        name, equals, value = raw.partition("=")
        found = name if name in spellings else None
        if found is None and prefixes and name.startswith("--"):
            near = [s for s in spellings if s.startswith(name)]
            if len(near) > 1:
                out.errors.append((raw, f"the option '{name}' is ambiguous", word.place))
                return out
            found = near[0] if near else None
        if found is None and not name.startswith("--") and len(name) > 2 and name[:2] in spellings:
            found, equals, value = name[:2], "=", raw[2:]
        if found is None:
            if HOLE in name:
                out.unclear = True
            elif strict:
                out.errors.append((raw, f"the option '{name}' does not exist", word.place))
            i += 1
            continue
        if found in flags:
            if equals:
                out.errors.append((raw, f"the option '{name}' takes no value", word.place))
            out.flags[flags[found]] = word.place
            i += 1
            continue
        if equals:
            out.values[valued[found]] = (value, word.part(len(name) + 1, len(raw)) if value else word.place)
            i += 1
        elif i + 1 < len(words) and (not words[i + 1].raw.startswith("-") or _negative(words[i + 1].raw)):
            out.values[valued[found]] = (words[i + 1].raw, words[i + 1].place)
            i += 2
        else:
            out.errors.append((raw, f"the option '{name}' needs a value", word.place))
            return out
    return out


def _negative(text: str) -> bool:
    return text[:1] == "-" and text[1:].replace(".", "", 1).isdigit()


def both(*names: str) -> dict[str, str]:
    """`--a-b` and `--a_b` for each name `a_b`."""
    out: dict[str, str] = {}
    for name in names:
        out["--" + name.replace("_", "-")] = name
        out["--" + name] = name
    return out
