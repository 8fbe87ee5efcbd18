"""The commands that a shell has within itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from fabriclint.launch import condition
from fabriclint.launch.expand import Expander, ShellExit
from fabriclint.launch.state import Certainty, State, Variable
from fabriclint.launch.syntax import Assign
from fabriclint.launch.word import HOLE, Word

if TYPE_CHECKING:
    from fabriclint.launch.shell import Shell, _Sink

_Handler: TypeAlias = (
    "Callable[[Shell, list[Word], State, _Sink | None, Word | None, list[Assign], Expander | None], None]"
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
BUILTINS: dict[str, _Handler] = {}


def _builtin(*names: str) -> Callable[[_Handler], _Handler]:
    def keep(handler: _Handler) -> _Handler:
        for name in names:
            BUILTINS[name] = handler
        return handler

    return keep


@_builtin(":", "true", "wait", "trap", "ulimit", "umask", "hash", "history", "jobs", "bg", "fg", "disown", "times",
          "shopt", "alias", "unalias", "enable", "dirs", "complete", "compgen", "kill", "caller")  # fmt: skip
def _nothing(shell: Shell, words: list[Word], state: State, sink: _Sink | None, given: Word | None,
             declared: list[Assign], expander: Expander | None) -> None:  # fmt: skip
    state.status = None if words[0].raw in ("wait", "kill", "shopt") else 0
    state.asked = False
    if words[0].raw in ("wait", "kill"):
        state.status = 0


@_builtin("false")
def _false(shell: Shell, words: list[Word], state: State, sink: _Sink | None, given: Word | None,
           declared: list[Assign], expander: Expander | None) -> None:  # fmt: skip
    state.status = 1


@_builtin("echo")
def _echo(shell: Shell, words: list[Word], state: State, sink: _Sink | None, given: Word | None,
          declared: list[Assign], expander: Expander | None) -> None:  # fmt: skip
    if sink is None:
        return
    texts = [w.raw for w in words[1:]]
    end = "\n"
    escapes = not state.bash
    while texts and re.fullmatch(r"-[neE]+" if state.bash else r"-n", texts[0]):
        option = texts.pop(0)
        end = "" if "n" in option else end
        escapes = "e" in option or escapes
    text = " ".join(
        HOLE if w.glob and not w.open and False else t
        for w, t in zip(words[-len(texts) :], texts, strict=False)
    )
    sink.add((_escaped(text) if escapes and "\\" in text else text) + end)


def _escaped(text: str) -> str:
    table = {
        "n": "\n",
        "t": "\t",
        "r": "\r",
        "\\": "\\",
        "a": "\a",
        "b": "\b",
        "f": "\f",
        "v": "\v",
        "e": "\x1b",
    }
    return re.sub(
        r"\\(.)", lambda m: table.get(m.group(1), HOLE if m.group(1) in "c0xuU" else m.group(0)), text
    )


@_builtin("printf")
def _printf(shell: Shell, words: list[Word], state: State, sink: _Sink | None, given: Word | None,
            declared: list[Assign], expander: Expander | None) -> None:  # fmt: skip
    rest = words[1:]
    target = None
    if state.bash and len(rest) > 1 and rest[0].raw == "-v":
        target, rest = rest[1].raw, rest[2:]
    if rest and rest[0].raw == "--":
        rest = rest[1:]
    if not rest:
        state.status = 2
        return
    text = HOLE if any(w.open for w in rest) else _format(rest[0].raw, [w.raw for w in rest[1:]])
    if target is not None and _NAME.fullmatch(target):
        shell.store(state, target, text, 0, 0, words[0].place)
    elif sink is not None:
        sink.add(text)


_DIRECTIVE = re.compile(r"%([-+ 0#]*)(\d{0,3})(?:\.(\d{0,3}))?([a-zA-Z%])")


def _format(pattern: str, arguments: list[str]) -> str:
    if HOLE in pattern:
        return HOLE
    pattern = _escaped(pattern)
    count = sum(1 for m in _DIRECTIVE.finditer(pattern) if m.group(4) != "%")
    out: list[str] = []
    left = list(arguments)
    for _ in range(max(1, -(-len(arguments) // count)) if count else 1):

        def fill(match: re.Match[str]) -> str:
            flags, width, precision, kind = match.groups()
            if kind == "%":
                return "%"
            value = left.pop(0) if left else ""
            if HOLE in value:
                return HOLE
            spec = "%" + flags + width + ("" if precision is None else "." + precision)
            try:
                if kind == "s":
                    return str((spec + "s") % value)
                if kind in "di":
                    base = 16 if value[:2].lower() == "0x" else 8 if re.match(r"0\d", value) else 10
                    return str((spec + "d") % (int(value, base) if value else 0))
                if kind == "b":
                    return _escaped(value)
            except (ValueError, OverflowError):
                return HOLE
            return HOLE

        out.append(_DIRECTIVE.sub(fill, pattern))
        if len(out) > 500:
            return HOLE
    return "".join(out)


@_builtin("export", "declare", "typeset", "local", "readonly")
def _declare(shell: Shell, words: list[Word], state: State, sink: _Sink | None, given: Word | None,
             declared: list[Assign], expander: Expander | None) -> None:  # fmt: skip
    kind = words[0].raw
    if kind == "local" and not state.local_scopes:
        state.status = 1
        return
    export: bool | None = True if kind == "export" else None
    remove = array = False
    items = words[1:]
    while items and re.fullmatch(r"[-+][A-Za-z]+", items[0].raw):
        option = items.pop(0).raw
        if option[0] == "-" and "x" in option:
            export = True
        if (kind == "export" and "n" in option) or (option[0] == "+" and "x" in option):
            remove = True
        array = array or "a" in option or "A" in option
        if "p" in option or (kind != "export" and "f" in option):
            return
        if "A" in option or "i" in option or ("n" in option and kind != "export"):
            for word in items:
                name = word.raw.split("=", 1)[0]
                if _NAME.fullmatch(name):
                    shell.store(state, name, HOLE, 0, 0, word.place)
            return
    local = kind == "local" or (kind in ("declare", "typeset") and bool(state.local_scopes))
    if items and items[0].raw == "--":
        items = items[1:]
    for assign in declared:
        if local:
            state.local_scopes[-1].setdefault(assign.name, state.variables.get(assign.name))
        if expander is not None:
            shell.assign(assign, state, expander)
    for word in items:
        if word.open:
            # `export $(...)`: any name may be set now.
            state.forget()
            continue
        name, equals, value = word.raw.partition("=")
        append = name.endswith("+") and bool(equals)
        name = name[:-1] if append else name
        if HOLE in name:
            state.forget()
            continue
        if not _NAME.fullmatch(name):
            state.status = 1
            if not state.bash:
                raise ShellExit(2)
            continue
        if local:
            state.local_scopes[-1].setdefault(name, state.variables.get(name))
        if not equals:
            current = state.get(name)
            if remove or export:
                if current is None:
                    state.variables[name] = Variable(None, bool(export) and not remove)
                    if export and not remove:
                        state.variables[name].exported = True
                else:
                    shell.store(state, name, current, 0, 0, word.place, export=not remove)
            elif local or array:
                state.variables[name] = Variable(None, False, None, [] if array else None)
            continue
        if append:
            value = (state.get(name) or "") + value
        shell.store(state, name, value, 0, 0, word.place, export=False if remove else export)


@_builtin("unset")
def _unset(shell: Shell, words: list[Word], state: State, sink: _Sink | None, given: Word | None,
           declared: list[Assign], expander: Expander | None) -> None:  # fmt: skip
    for word in words[1:]:
        if word.open or HOLE in word.raw:
            state.forget()
        elif word.raw == "-f":
            for name in words[2:]:
                state.functions.pop(name.raw, None)
            return
        elif _NAME.fullmatch(word.raw):
            shell.store(state, word.raw, None, 0, 0, word.place)


@_builtin("set")
def _set(shell: Shell, words: list[Word], state: State, sink: _Sink | None, given: Word | None,
         declared: list[Assign], expander: Expander | None) -> None:  # fmt: skip
    i = 1
    names = {"errexit": "e", "nounset": "u", "allexport": "a", "xtrace": "x", "noglob": "f"}
    while i < len(words):
        word = words[i]
        raw = word.raw
        if word.open:
            state.positional_open = True
            state.positional = []
            return
        if raw in ("--", "-"):
            state.positional = words[i + 1 :]
            state.positional_open = any(w.open for w in state.positional)
            return
        if len(raw) < 2 or raw[0] not in "-+" or HOLE in raw:
            state.positional = words[i:]
            state.positional_open = any(w.open for w in state.positional)
            return
        letters = set(raw[1:])
        if "o" in letters and i + 1 < len(words):
            i += 1
            name = words[i].raw
            if name == "pipefail" and not state.bash:
                raise ShellExit(2)
            letters.add(names.get(name, name))
        letters.discard("o")
        state.options = state.options | letters if raw[0] == "-" else state.options - letters
        i += 1


@_builtin("shift")
def _shift(shell: Shell, words: list[Word], state: State, sink: _Sink | None, given: Word | None,
           declared: list[Assign], expander: Expander | None) -> None:  # fmt: skip
    count = words[1].raw if len(words) > 1 else "1"
    if not count.isdigit() or state.positional_open:
        state.positional, state.positional_open = [], True
        state.status = None
    elif int(count[:6]) > len(state.positional):
        state.status = 1
    else:
        state.positional = state.positional[int(count[:6]) :]


@_builtin("cd", "pushd", "popd")
def _cd(shell: Shell, words: list[Word], state: State, sink: _Sink | None, given: Word | None,
        declared: list[Assign], expander: Expander | None) -> None:  # fmt: skip
    folder = words[-1].raw if len(words) > 1 else HOLE
    # That the folder exists is taken for granted where the text made it, and expected elsewhere.
    made = any(
        w.words[0].raw == "mkdir" and any(x.raw == folder for x in w.words)
        for w in shell.seen.invocations[-20:]
    )
    state.cwd = folder if folder.startswith("/") and HOLE not in folder else None
    state.status, state.asked = (0 if made or folder in ("/", ".", "/tmp", "/root") else None), False


@_builtin("pwd")
def _pwd(shell: Shell, words: list[Word], state: State, sink: _Sink | None, given: Word | None,
         declared: list[Assign], expander: Expander | None) -> None:  # fmt: skip
    if sink is not None:
        sink.add((state.cwd or HOLE) + "\n")


@_builtin("source", ".")
def _source(shell: Shell, words: list[Word], state: State, sink: _Sink | None, given: Word | None,
            declared: list[Assign], expander: Expander | None) -> None:  # fmt: skip
    shell.source(words, state, sink)


@_builtin("eval")
def _eval(shell: Shell, words: list[Word], state: State, sink: _Sink | None, given: Word | None,
          declared: list[Assign], expander: Expander | None) -> None:  # fmt: skip
    rest = words[1:]
    if any(w.open for w in rest) or any(w.raw.strip(HOLE) == "" and w.raw for w in rest):
        shell.seen.unseen.append(rest[0])
        state.forget()
        state.status = None
        return
    if not rest:
        return
    if len(rest) == 1:
        shell.script(rest[0], state, sink)
        return
    text = " ".join(w.raw for w in rest)
    starts: list[int] = []
    ends: list[int] = []
    for k, word in enumerate(rest):
        if k:
            starts.append(word.start)
            ends.append(word.start)
        for at in range(len(word.raw)):
            place = word.part(at, at + 1)
            starts.append(place.start)
            ends.append(place.end)
    shell.script(
        Word(text, rest[0].source, rest[0].start, rest[-1].end, False, False, starts, ends), state, sink
    )


@_builtin("exec", "command", "builtin")
def _exec(shell: Shell, words: list[Word], state: State, sink: _Sink | None, given: Word | None,
          declared: list[Assign], expander: Expander | None) -> None:  # fmt: skip
    kind = words[0].raw
    rest = words[1:]
    while rest and rest[0].raw.startswith("-") and not rest[0].open:
        option = rest.pop(0).raw
        if kind == "command" and ("v" in option or "V" in option):
            state.status, state.asked = None, True
            if sink is not None:
                sink.add(HOLE)
            return
        if kind == "exec" and option == "-a" and rest:
            rest.pop(0)
        if kind == "exec" and "c" in option:
            state.cleared, state.variables = True, {}
        if option == "--":
            break
    if not rest:
        return
    if kind == "exec":
        shell.program(rest, state, sink, given, builtins=False, functions=False)
        raise ShellExit(state.status)
    shell.program(rest, state, sink, given, declared=declared, expander=expander, functions=False)


@_builtin("exit", "return", "break", "continue")
def _leave(shell: Shell, words: list[Word], state: State, sink: _Sink | None, given: Word | None,
           declared: list[Assign], expander: Expander | None) -> None:  # fmt: skip
    from fabriclint.launch.shell import _Leave

    text = words[1].raw if len(words) > 1 else ""
    number = int(text[:9]) if text.isdigit() else None
    if words[0].raw == "exit":
        raise ShellExit(number if text else state.status)
    if words[0].raw == "return":
        raise _Leave("return", 1, number if text else 0)
    raise _Leave(words[0].raw, number or 1)


@_builtin("test", "[")
def _test(shell: Shell, words: list[Word], state: State, sink: _Sink | None, given: Word | None,
          declared: list[Assign], expander: Expander | None) -> None:  # fmt: skip
    state.asked = True
    inner = words[1:]
    if words[0].raw == "[":
        if not inner or inner[-1].raw != "]":
            state.status = None if any(w.open for w in inner) else 2
            return
        inner = inner[:-1]
    answer, bad = condition.single(inner, state)
    state.status = None if answer is None else 2 if bad else int(not answer)


@_builtin("read", "mapfile", "readarray", "getopts")
def _read(shell: Shell, words: list[Word], state: State, sink: _Sink | None, given: Word | None,
          declared: list[Assign], expander: Expander | None) -> None:  # fmt: skip
    names = [w.raw for w in words[1:] if _NAME.fullmatch(w.raw)]
    for name in names or ["REPLY", "MAPFILE"]:
        shell.store(state, name, HOLE, 0, 0, words[0].place)
    state.status, state.asked = None, True


@_builtin("let")
def _let(shell: Shell, words: list[Word], state: State, sink: _Sink | None, given: Word | None,
         declared: list[Assign], expander: Expander | None) -> None:  # fmt: skip
    from fabriclint.launch.arithmetic import evaluate

    value: int | None = None
    for word in words[1:]:
        place = word.place
        value = (
            None
            if HOLE in word.raw
            else evaluate(
                word.raw,
                state.get,
                lambda name, text: shell.store(state, name, text, 0, 0, place),  # noqa: B023
            )
        )
        if value is None:
            match = re.match(r"([A-Za-z_]\w*)[-+*/%]?=", word.raw)
            if match:
                shell.store(state, match.group(1), HOLE, 0, 0, place)
    state.status, state.asked = (None if value is None else int(value == 0)), True


@_builtin("type")
def _type(shell: Shell, words: list[Word], state: State, sink: _Sink | None, given: Word | None,
          declared: list[Assign], expander: Expander | None) -> None:  # fmt: skip
    state.status, state.asked = None, False
    state.certainty = min(state.certainty, Certainty.CERTAIN)
    if sink is not None:
        sink.add(HOLE)
