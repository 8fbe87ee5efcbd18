"""The first look at the command line: a plainly spelled `check` runs at once, everything else is typer's.

typer costs as much time as all rules on a small file, and hooks call nothing but `check`. What is read here is only
what typer would read in the same way; for any other word, typer runs and has the last word.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabriclint.cli.check import Options

_SHORT = {"-o": "--output-format", "-q": "--quiet", "-v": "--verbose"}
_CODES = ("select", "ignore", "extend_select")


def run(arguments: list[str]) -> int:
    """Run a command line; usage errors are 2."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")
    options = plain_check(arguments)
    if options is not None:
        from fabriclint.cli.check import run_check

        code = run_check(options)
        sys.stdout.flush()  # so that a closed pipe is met while it can still be caught
        return code
    from fabriclint.cli.app import run as run_all

    return run_all(arguments)


def plain_check(arguments: list[str]) -> Options | None:
    """The options of a `check` whose words can be read in one way only, else None."""
    if arguments[:1] != ["check"]:
        return None
    from fabriclint.cli.check import Options, codes_of

    defaults = Options()
    given: dict[str, bool | str | int | tuple[str, ...]] = {}
    paths: list[str] = []
    words = iter(arguments[1:])
    for word in words:
        if word == "-" or not word.startswith("-"):
            paths.append(word)
            continue
        option, equals, value = _SHORT.get(word, word).partition("=")
        name = option[2:].replace("-", "_")
        if not option.startswith("--") or "_" in option or name == "paths" or name not in Options.__slots__:
            return None
        default = getattr(defaults, name)
        if isinstance(default, bool):
            if equals:
                return None
            given[name] = True
            continue
        if not equals:
            value = next(words, "-")
            if value.startswith("-"):
                return None
        if isinstance(default, tuple):
            before = given.get(name, ())
            assert isinstance(before, tuple)
            given[name] = (*before, value)
        elif isinstance(default, int):
            if not (value.isascii() and value.isdecimal()):
                return None
            given[name] = int(value)
        else:
            given[name] = value
    for name in _CODES:
        if name in given:
            given[name] = codes_of(given[name])  # type: ignore[arg-type]
    return Options(paths=tuple(paths), **given)  # type: ignore[arg-type]
