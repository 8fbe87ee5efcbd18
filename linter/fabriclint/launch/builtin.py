"""The commands that a shell has within itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from fabriclint.launch import condition
from fabriclint.launch.expand import Expander, ShellExitError
from fabriclint.launch.external import source
from fabriclint.launch.script_tree import Assign
from fabriclint.launch.state import Certainty, State, Variable
from fabriclint.launch.word import HOLE, Word

if TYPE_CHECKING:
    from fabriclint.launch.shell import Shell
    from fabriclint.launch.transcript import Sink


@dataclass(slots=True)
class Call:
    """A builtin as it is called: its words, the shell around it, standard input and output."""

    shell: Shell
    words: list[Word]
    state: State
    sink: Sink | None
    given: Word | None
    declared: list[Assign]
    expander: Expander


_Handler: TypeAlias = "Callable[[Call], None]"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
BUILTINS: dict[str, _Handler] = {}


def _builtin(*names: str) -> Callable[[_Handler], _Handler]:
    def keep(handler: _Handler) -> _Handler:
        for name in names:
            BUILTINS[name] = handler
        return handler

    return keep


@_builtin(
    ":",
    "true",
    "wait",
    "trap",
    "ulimit",
    "umask",
    "hash",
    "history",
    "jobs",
    "bg",
    "fg",
    "disown",
    "times",
    "shopt",
    "alias",
    "unalias",
    "enable",
    "dirs",
    "complete",
    "compgen",
    "kill",
    "caller",
)
def _nothing(call: Call) -> None:
    call.state.status = None if call.words[0].raw in ("wait", "kill", "shopt") else 0
    call.state.asked = False
    if call.words[0].raw in ("wait", "kill"):
        call.state.status = 0


@_builtin("false")
def _false(call: Call) -> None:
    call.state.status = 1


@_builtin("echo")
def _echo(call: Call) -> None:
    if call.sink is None:
        return
    texts = [w.raw for w in call.words[1:]]
    end = "\n"
    escapes = not call.state.bash
    while texts and re.fullmatch(r"-[neE]+" if call.state.bash else r"-n", texts[0]):
        option = texts.pop(0)
        end = "" if "n" in option else end
        escapes = "e" in option or escapes
    text = " ".join(texts)
    call.sink.add((_escaped(text) if escapes and "\\" in text else text) + end)


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
    return re.sub(r"\\(.)", lambda m: table.get(m.group(1), HOLE if m.group(1) in "c0xuU" else m.group(0)), text)


@_builtin("printf")
def _printf(call: Call) -> None:
    rest = call.words[1:]
    target = None
    if call.state.bash and len(rest) > 1 and rest[0].raw == "-v":
        target, rest = rest[1].raw, rest[2:]
    if rest and rest[0].raw == "--":
        rest = rest[1:]
    if not rest:
        call.state.status = 2
        return
    text = HOLE if any(w.open for w in rest) else _format(rest[0].raw, [w.raw for w in rest[1:]])
    if target is not None and _NAME.fullmatch(target):
        call.shell.store(call.state, target, text, 0, 0, call.words[0].place)
    elif call.sink is not None:
        call.sink.add(text)


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
def _declare(call: Call) -> None:
    kind = call.words[0].raw
    if kind == "local" and not call.state.local_scopes:
        call.state.status = 1
        return
    export: bool | None = True if kind == "export" else None
    remove = array = False
    items = call.words[1:]
    while items and re.fullmatch(r"[-+][A-Za-z]+", items[0].raw):
        option = items.pop(0).raw
        if kind == "export" and not call.state.bash and option != "-p":
            raise ShellExitError(2)
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
                    call.shell.store(call.state, name, HOLE, 0, 0, word.place)
            return
    local = kind == "local" or (kind in ("declare", "typeset") and bool(call.state.local_scopes))
    if items and items[0].raw == "--":
        items = items[1:]
    for assign in call.declared:
        if local:
            call.state.local_scopes[-1].setdefault(assign.name, call.state.variables.get(assign.name))
        if call.expander is not None:
            call.shell.assign(assign, call.state, call.expander)
    for word in items:
        if word.open:
            # `export $(...)`: any name may be set now.
            call.state.forget()
            continue
        name, equals, value = word.raw.partition("=")
        append = name.endswith("+") and bool(equals)
        name = name[:-1] if append else name
        if HOLE in name:
            call.state.forget()
            continue
        if not _NAME.fullmatch(name):
            call.state.status = 1
            if not call.state.bash:
                raise ShellExitError(2)
            continue
        if local:
            call.state.local_scopes[-1].setdefault(name, call.state.variables.get(name))
        if not equals:
            current = call.state.get(name)
            if remove or export:
                if current is None:
                    call.state.variables[name] = Variable(None, bool(export) and not remove)
                    if export and not remove:
                        call.state.variables[name].exported = True
                else:
                    call.shell.store(call.state, name, current, 0, 0, word.place, export=not remove)
            elif local or array:
                call.state.variables[name] = Variable(None, False, None, [] if array else None)
            continue
        if append:
            value = (call.state.get(name) or "") + value
        call.shell.store(call.state, name, value, 0, 0, word.place, export=False if remove else export)


@_builtin("unset")
def _unset(call: Call) -> None:
    for word in call.words[1:]:
        if word.open or HOLE in word.raw:
            call.state.forget()
        elif word.raw == "-f":
            for name in call.words[2:]:
                call.state.functions.pop(name.raw, None)
            return
        elif _NAME.fullmatch(word.raw):
            call.shell.store(call.state, word.raw, None, 0, 0, word.place)


@_builtin("set")
def _set(call: Call) -> None:
    i = 1
    names = {"errexit": "e", "nounset": "u", "allexport": "a", "xtrace": "x", "noglob": "f"}
    while i < len(call.words):
        word = call.words[i]
        raw = word.raw
        if word.open:
            call.state.positional_open = True
            call.state.positional = []
            return
        if raw in ("--", "-"):
            call.state.positional = call.words[i + 1 :]
            call.state.positional_open = any(w.open for w in call.state.positional)
            return
        if len(raw) < 2 or raw[0] not in "-+" or HOLE in raw:
            call.state.positional = call.words[i:]
            call.state.positional_open = any(w.open for w in call.state.positional)
            return
        letters = set(raw[1:])
        if "o" in letters and i + 1 < len(call.words):
            i += 1
            name = call.words[i].raw
            if name == "pipefail" and not call.state.bash:
                raise ShellExitError(2)
            letters.add(names.get(name, name))
        letters.discard("o")
        call.state.options = call.state.options | letters if raw[0] == "-" else call.state.options - letters
        i += 1


@_builtin("shift")
def _shift(call: Call) -> None:
    count = call.words[1].raw if len(call.words) > 1 else "1"
    if not count.isdigit() or call.state.positional_open:
        call.state.positional, call.state.positional_open = [], True
        call.state.status = None
    elif int(count[:6]) > len(call.state.positional):
        call.state.status = 1
        if not call.state.bash:
            raise ShellExitError(2)
    else:
        call.state.positional = call.state.positional[int(count[:6]) :]


@_builtin("cd", "pushd", "popd")
def _cd(call: Call) -> None:
    folder = call.words[-1].raw if len(call.words) > 1 else HOLE
    # That the folder exists is taken for granted where the text made it, and expected elsewhere.
    made = any(
        w.words[0].raw == "mkdir" and any(x.raw == folder for x in w.words) for w in call.shell.seen.invocations[-20:]
    )
    call.state.cwd = folder if folder.startswith("/") and HOLE not in folder else None
    call.state.status, call.state.asked = (
        (0 if made or folder in ("/", ".", "/tmp", "/root") else None),
        False,
    )


@_builtin("pwd")
def _pwd(call: Call) -> None:
    if call.sink is not None:
        call.sink.add((call.state.cwd or HOLE) + "\n")


@_builtin("source", ".")
def _source(call: Call) -> None:
    source(call.shell, call.words, call.state, call.sink)


@_builtin("eval")
def _eval(call: Call) -> None:
    rest = call.words[1:]
    if any(w.open for w in rest) or any(w.raw.strip(HOLE) == "" and w.raw for w in rest):
        call.shell.seen.unseen.append(rest[0])
        call.state.forget()
        call.state.status = None
        return
    if not rest:
        return
    if len(rest) == 1:
        call.shell.script(rest[0], call.state, call.sink)
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
    call.shell.script(
        Word(text, rest[0].source, rest[0].start, rest[-1].end, False, False, starts, ends),
        call.state,
        call.sink,
    )


@_builtin("exec", "command", "builtin")
def _exec(call: Call) -> None:
    kind = call.words[0].raw
    rest = call.words[1:]
    while rest and rest[0].raw.startswith("-") and not rest[0].open:
        option = rest.pop(0).raw
        if kind == "command" and ("v" in option or "V" in option):
            call.state.status, call.state.asked = None, True
            if call.sink is not None:
                call.sink.add(HOLE)
            return
        if kind == "exec" and option == "-a" and rest:
            rest.pop(0)
        if kind == "exec" and "c" in option:
            call.state.cleared, call.state.variables = True, {}
        if option == "--":
            break
    if not rest:
        return
    if kind == "exec":
        call.shell.program(rest, call.state, call.sink, call.given, builtins=False, functions=False)
        raise ShellExitError(call.state.status)
    call.shell.program(
        rest,
        call.state,
        call.sink,
        call.given,
        declared=call.declared,
        expander=call.expander,
        functions=False,
    )


@_builtin("exit", "return", "break", "continue")
def _leave(call: Call) -> None:
    from fabriclint.launch.transcript import LeaveError

    text = call.words[1].raw if len(call.words) > 1 else ""
    number = int(text[:9]) if text.isdigit() else None
    if call.words[0].raw == "exit":
        raise ShellExitError(number if text else call.state.status)
    if call.words[0].raw == "return":
        raise LeaveError("return", 1, number if text else 0)
    raise LeaveError(call.words[0].raw, number or 1)


@_builtin("test", "[")
def _test(call: Call) -> None:
    call.state.asked = True
    inner = call.words[1:]
    if call.words[0].raw == "[":
        if not inner or inner[-1].raw != "]":
            call.state.status = None if any(w.open for w in inner) else 2
            return
        inner = inner[:-1]
    answer, bad = condition.single(inner, call.state)
    call.state.status = None if answer is None else 2 if bad else int(not answer)


@_builtin("read", "mapfile", "readarray", "getopts")
def _read(call: Call) -> None:
    names = [w.raw for w in call.words[1:] if _NAME.fullmatch(w.raw)]
    for name in names or ["REPLY", "MAPFILE"]:
        call.shell.store(call.state, name, HOLE, 0, 0, call.words[0].place)
    call.state.status, call.state.asked = None, True


@_builtin("let")
def _let(call: Call) -> None:
    from fabriclint.launch.arithmetic import evaluate

    value: int | None = None
    for word in call.words[1:]:
        place = word.place
        value = (
            None
            if HOLE in word.raw
            else evaluate(
                word.raw,
                call.state.get,
                lambda name, text: call.shell.store(call.state, name, text, 0, 0, place),  # noqa: B023
            )
        )
        if value is None:
            match = re.match(r"([A-Za-z_]\w*)[-+*/%]?=", word.raw)
            if match:
                call.shell.store(call.state, match.group(1), HOLE, 0, 0, place)
    call.state.status, call.state.asked = (None if value is None else int(value == 0)), True


@_builtin("type")
def _type(call: Call) -> None:
    call.state.status, call.state.asked = None, False
    call.state.certainty = min(call.state.certainty, Certainty.CERTAIN)
    if call.sink is not None:
        call.sink.add(HOLE)
