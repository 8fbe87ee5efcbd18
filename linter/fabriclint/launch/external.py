"""Programs outside of the shell: other shells, wrappers, env and script files are looked into."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabriclint.launch.commands import HELPERS, QUESTIONS, SHELLS, TAME, WRAPPERS
from fabriclint.launch.state import Certainty, State, Variable
from fabriclint.launch.transcript import Sink, Sourced
from fabriclint.launch.word import HOLE, Word

if TYPE_CHECKING:
    from fabriclint.launch.shell import Shell

#: The first line of a script that no shell reads.
_FOREIGN = re.compile(r"#!(?!.*\b(ba|da|z|k|a)?sh\b)")


def external(shell: Shell, words: list[Word], state: State, sink: Sink | None, given: Word | None) -> None:
    """A program outside the shell; shells and wrappers are looked into."""
    raw = words[0].raw
    name = raw.rsplit("/", 1)[-1]
    if name == "env":
        _env(shell, words, state, sink, given)
        return
    if name in WRAPPERS:
        inner = _unwrap(words, *WRAPPERS[name])
        if inner:
            shell.enter()
            shell.program(inner, state, sink, given, builtins=False, functions=False)
            shell.depth -= 1
            if name == "timeout":
                state.status, state.asked = None, True
            return
    if name in SHELLS:
        _shell(shell, words, name, state, sink, given)
        return
    script = state.file(raw) if "/" in raw else None
    if script is not None and not _FOREIGN.match(script.raw):
        run_file(shell, words[0], words, state, sink)
        return
    shell.record(words, state)
    state.status, state.asked = None, name in QUESTIONS
    if name in HELPERS:
        state.status = 0
    if name == "cat" and len(words) == 1 and given is not None:
        if sink is not None:
            sink.add(given.raw)
    elif name == "cat" and len(words) > 1 and all(state.file(w.raw) is not None for w in words[1:]):
        if sink is not None:
            for w in words[1:]:
                text = state.file(w.raw)
                sink.add(text.raw if text is not None else HOLE)
    elif name == "seq" and sink is not None:
        sink.add(_seq(words))
    elif name == "tee":
        for w in words[1:]:
            if not w.raw.startswith("-"):
                shell.write((w.raw, any(x.raw == "-a" for x in words)), given.raw if given else HOLE, state, 0, 0)
        if sink is not None:
            sink.add(given.raw if given else HOLE)
    elif name == "cp" and len(operands := [w for w in words[1:] if not w.raw.startswith("-")]) == 2:
        copied = state.file(operands[0].raw)
        if copied is not None:
            base = operands[0].raw.rsplit("/", 1)[-1]
            for path in {operands[1].raw, f"{operands[1].raw.rstrip('/')}/{base}"}:
                state.files[path] = shell.seen.files[path] = copied
    elif name == "xargs":
        shell.seen.unseen.append(words[0])
    elif sink is not None:
        sink.add(HOLE)
    if raw.endswith(".sh") or (name not in HELPERS and len(words) == 1 and "/" in raw and name not in ("sshd",)):
        shell.seen.unseen.append(words[0])


def _env(shell: Shell, words: list[Word], state: State, sink: Sink | None, given: Word | None) -> None:
    child = shell.copied(state)
    i = 1
    while i < len(words):
        raw = words[i].raw
        if words[i].open:
            child.forget()
            i += 1
            break
        if raw in ("-u", "--unset", "-C", "--chdir", "-S", "--split-string") and i + 1 < len(words):
            if raw in ("-u", "--unset"):
                child.variables[words[i + 1].raw] = Variable(None)
            elif raw in ("-S", "--split-string"):
                shell.seen.open = True
            i += 2
        elif raw in ("-i", "-", "--ignore-environment"):
            child.cleared = True
            child.variables = {}
            i += 1
        elif raw.startswith("-"):
            i += 1
        elif "=" in raw:
            name, value = raw.split("=", 1)
            child.variables[name] = Variable(value, True, words[i].place, None, shell.tick(), state.certainty)
            i += 1
        else:
            break
    if i < len(words):
        shell.enter()
        shell.program(words[i:], child, sink, given, builtins=False, functions=False)
        shell.depth -= 1
        state.status, state.asked = child.status, child.asked
    else:
        state.status = 0
        if sink is not None:
            sink.add(HOLE)


def child_of(shell: Shell, state: State, *, bash: bool, under_sh: bool) -> State:
    """The state of a new shell started from this one."""
    shell.spend(len(state.variables) + 5)
    child = state.copy()
    child.bash, child.under_sh = bash, under_sh
    child.variables = {n: v for n, v in state.variables.items() if v.exported or state.inherited(n) is not None}
    child.functions = {}
    child.options = set()
    child.local_scopes = []
    child.positional, child.positional_open, child.status = [], False, 0
    return child


def _shell(shell: Shell, words: list[Word], name: str, state: State, sink: Sink | None, given: Word | None) -> None:
    under_sh = name not in ("bash", "zsh", "ksh")
    bash = not under_sh or (name == "sh" and shell.sh_is != "dash") or (name == "ash")
    child = child_of(shell, state, bash=bash, under_sh=under_sh)
    i, command, read_stdin = 1, False, False
    while i < len(words):
        word = words[i]
        if word.open:
            shell.seen.unseen.append(word)
            shell.seen.open = True
            return
        raw = word.raw
        if raw in ("--", "-"):
            i += 1
            break
        if raw.startswith("--"):
            if raw == "--login":
                child.open_names = True
            i += 2 if raw in ("--rcfile", "--init-file") else 1
            continue
        if len(raw) < 2 or raw[0] not in "-+":
            break
        if raw[0] == "-":
            command |= "c" in raw
            read_stdin |= "s" in raw
            child.options |= set(raw[1:]) & set("euxaf")
            if "l" in raw or "i" in raw:
                child.open_names = True
        i += 1
        for letter in ("o", "O"):
            if letter in raw and i < len(words):
                if letter == "o" and raw[0] == "-":
                    child.options.add(
                        {"errexit": "e", "nounset": "u", "allexport": "a"}.get(words[i].raw, words[i].raw)
                    )
                i += 1
    rest = words[i:]
    text: Word | None = None
    if command:
        if not rest:
            state.status = 2
            return
        text = rest[0]
        child.name = rest[1].raw if len(rest) > 1 else words[0].raw
        child.positional = rest[2:]
    elif rest and not read_stdin:
        run_file(shell, rest[0], rest, state, sink, child)
        return
    elif given is not None:
        text, child.positional = given, rest
    if any(w.open for w in rest):
        child.positional_open = True
    if text is None:
        shell.record(words, state)
        state.status = None
        return
    if text.raw.strip(HOLE + " \n") == "" and HOLE in text.raw:
        shell.seen.unseen.append(text)
        state.status = None
        return
    _script(shell, text, child, sink)
    state.files = child.files
    state.status, state.asked = child.status, child.asked


def run_file(
    shell: Shell, path: Word, words: list[Word], state: State, sink: Sink | None, child: State | None = None
) -> None:
    """A script in a file: read when this text wrote it."""
    text = state.file(path.raw)
    if text is None or text.raw == HOLE:
        shell.seen.unseen.append(path)
        state.status, state.asked = None, False
        if sink is not None:
            sink.add(HOLE)
        return
    child = child or child_of(shell, state, bash=not re.match(r"#!.*\bsh\b", text.raw), under_sh=False)
    child.name, child.positional = path.raw, words[1:]
    child.positional_open = any(w.open for w in words)
    _script(shell, text, child, sink)
    state.status, state.asked = child.status, child.asked


def _script(shell: Shell, text: Word, child: State, sink: Sink | None) -> None:
    shell.run_in(child, lambda: shell.script(text, child, sink))


def source(shell: Shell, words: list[Word], state: State, sink: Sink | None) -> None:
    """`. file`, `source file`."""
    if len(words) < 2:
        state.status = 2
        return
    path = words[1]
    text = state.file(path.raw)
    seen = text is not None and text.raw != HOLE
    shell.seen.sourced.append(
        Sourced(
            path,
            words[0].place,
            shell.tick(),
            state.certainty,
            state.under_sh,
            words[0].raw == "source",
            True,
            seen,
        )
    )
    if seen and text is not None:
        shell.script(text, state, sink)
        return
    if TAME.search(path.raw):
        state.open_names = True
    else:
        state.forget()
    state.status, state.asked = None, False
    if not state.bash:
        # In dash a missing file ends the shell.
        state.certainty = min(state.certainty, Certainty.EXPECTED)


def _unwrap(words: list[Word], own: int, valued: frozenset[str]) -> list[Word]:
    """The words behind a wrapper's options and own words."""
    i = 1
    while i < len(words) and words[i].raw.startswith("-") and not words[i].open:
        if words[i].raw == "--":
            i += 1
            break
        i += 2 if words[i].raw in valued else 1
    return words[i + own :]


def _seq(words: list[Word]) -> str:
    try:
        numbers = [int(w.raw) for w in words[1:]]
    except ValueError:
        return HOLE
    if not 1 <= len(numbers) <= 3:
        return HOLE
    first, step, last = (
        (1, 1, numbers[0]) if len(numbers) == 1 else (numbers[0], 1, numbers[1]) if len(numbers) == 2 else numbers
    )
    if step == 0 or abs(last - first) // abs(step) > 500:
        return HOLE
    return "".join(f"{n}\n" for n in range(first, last + (1 if step > 0 else -1), step))
