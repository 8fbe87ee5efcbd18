"""Shell patterns (`*`, `?`, `[...]`) as regular expressions."""

from __future__ import annotations

import re

#: Longer texts and patterns with more stars are not matched: the answer is unknown.
_LONGEST = 2000
_MOST_STARS = 6


def compile_pattern(characters: list[tuple[str, bool]], *, greedy: bool = True) -> re.Pattern[str] | None:
    """A pattern from its characters, each with whether it was quoted; None when it is too much to match."""
    out: list[str] = []
    stars = 0
    i = 0
    while i < len(characters):
        c, quoted = characters[i]
        if quoted:
            out.append(re.escape(c))
        elif c == "*":
            if not out or out[-1] not in (".*", ".*?"):
                stars += 1
                out.append(".*" if greedy else ".*?")
        elif c == "?":
            out.append(".")
        elif c == "[":
            end = i + 1
            if end < len(characters) and characters[end][0] in "!^":
                end += 1
            if end < len(characters) and characters[end][0] == "]":
                end += 1
            while end < len(characters) and characters[end][0] != "]":
                end += 1
            if end < len(characters):
                inner = "".join(x for x, _ in characters[i + 1 : end])
                negated = inner[:1] in ("!", "^")
                inner = inner[1:] if negated else inner
                inner = re.sub(r"\[:(\w+):\]", _named, inner.replace("\\", "\\\\"))
                inner = inner.replace("[", "\\[").replace("]", "\\]").replace("^", "\\^").replace("&&", "&\\&")
                inner = inner.replace("||", "|\\|").replace("~~", "~\\~").replace("--", "-\\-")
                out.append(f"[{'^' if negated else ''}{inner}]")
                i = end
            else:
                out.append("\\[")
        else:
            out.append(re.escape(c))
        i += 1
    if stars > _MOST_STARS or len(out) > _LONGEST:
        return None
    try:
        return re.compile("".join(out), re.DOTALL)
    except re.error:
        return None


def _named(match: re.Match[str]) -> str:
    classes = {
        "digit": "0-9",
        "alpha": "A-Za-z",
        "alnum": "A-Za-z0-9",
        "space": r"\s",
        "upper": "A-Z",
        "lower": "a-z",
    }
    return classes.get(match.group(1), "")


def matches(text: str, characters: list[tuple[str, bool]]) -> bool | None:
    """Whether a pattern matches the whole text; None when not known."""
    pattern = compile_pattern(characters)
    if pattern is None or len(text) > _LONGEST:
        return None
    return pattern.fullmatch(text) is not None


def trim(text: str, characters: list[tuple[str, bool]], op: str) -> str | None:
    """`${NAME#p}`, `##`, `%`, `%%`; None when not known."""
    pattern = compile_pattern(characters)
    if pattern is None or len(text) > _LONGEST:
        return None
    lengths = range(len(text) + 1) if len(op) == 1 else range(len(text), -1, -1)
    for length in lengths:
        if op[0] == "#" and pattern.fullmatch(text, 0, length):
            return text[length:]
        if op[0] == "%" and pattern.fullmatch(text, len(text) - length):
            return text[: len(text) - length]
    return text


def replace(text: str, characters: list[tuple[str, bool]], by: str, op: str) -> str | None:
    """`${NAME/p/by}`, `//`, `/#`, `/%`; None when not known."""
    pattern = compile_pattern(characters)
    if pattern is None or len(text) > _LONGEST:
        return None
    if not characters:
        return text
    if op in ("/", "//"):
        return pattern.sub(lambda _: by, text, count=0 if op == "//" else 1)
    if op == "/#":
        match = pattern.match(text)
        return by + text[match.end() :] if match else text
    for start in range(len(text) + 1):
        if pattern.fullmatch(text, start):
            return text[:start] + by
    return text
