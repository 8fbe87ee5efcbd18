"""Compound commands of the shell: groups, conditions, loops, choices and functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from fabriclint.launch import pattern
from fabriclint.launch.expand import Expander, ShellExitError
from fabriclint.launch.script_tree import Body, Compound, Raw
from fabriclint.launch.state import State
from fabriclint.launch.transcript import GiveUpError, LeaveError, Sink
from fabriclint.launch.word import HOLE, Word

if TYPE_CHECKING:
    from fabriclint.launch.shell import Shell

_Run: TypeAlias = "Callable[[Shell, Compound, State, Sink | None, Word | None], None]"
_MOST_ROUNDS = 64


def _group(shell: Shell, command: Compound, state: State, sink: Sink | None, given: Word | None) -> None:
    shell.body(command.body, state, sink)


def _subshell(shell: Shell, command: Compound, state: State, sink: Sink | None, given: Word | None) -> None:
    child = shell.copied(state)
    shell.run_in(child, lambda: shell.body(command.body, child, sink))
    state.status, state.asked = child.status, child.asked
    state.files = child.files


def _coproc(shell: Shell, command: Compound, state: State, sink: Sink | None, given: Word | None) -> None:
    shell.background += 1
    try:
        _subshell(shell, command, state, None, given)
    finally:
        shell.background -= 1
    state.status = 0


def _if(shell: Shell, command: Compound, state: State, sink: Sink | None, given: Word | None) -> None:
    _clauses(shell, command, 0, state, sink)


def _clauses(shell: Shell, command: Compound, at: int, state: State, sink: Sink | None) -> None:
    if at == len(command.clauses):
        if command.other is not None:
            shell.body(command.other, state, sink)
        else:
            state.status = 0
        return
    condition, body = command.clauses[at]
    shell.guarded_run(lambda: shell.body(condition, state, sink))
    if state.status is None:
        shell.fork(
            state, [lambda s: shell.body(body, s, sink), lambda s: _clauses(shell, command, at + 1, s, sink)], sink
        )
    elif state.status == 0:
        shell.body(body, state, sink)
    else:
        _clauses(shell, command, at + 1, state, sink)


def _round(shell: Shell, body: Body, state: State, sink: Sink | None) -> bool:
    """One round of a loop; False = the loop ends."""
    try:
        shell.body(body, state, sink)
    except LeaveError as leave:
        if leave.kind == "return":
            raise
        if leave.count > 1:
            raise LeaveError(leave.kind, leave.count - 1) from None
        return leave.kind == "continue"
    return True


def _while(shell: Shell, command: Compound, state: State, sink: Sink | None, given: Word | None) -> None:
    condition, body = command.clauses[0]
    for count in range(_MOST_ROUNDS):
        known = dict(state.variables)
        shell.spend(len(known))
        shell.guarded_run(lambda: shell.body(condition, state, sink))
        if state.status is None or (given is not None and HOLE in given.raw) or (given is not None and count):
            shell.fork(state, [lambda s: _once(shell, body, s, sink), lambda _: None], sink)
            state.status = 0
            return
        if (state.status == 0) == (command.kind == "until"):
            state.status = 0
            return
        sure = state.certainty
        if not _round(shell, body, state, sink):
            state.status = 0
            return
        if state.certainty < sure:
            # Left in one branch: the rest runs after some round.
            return
        if {k: v.value for k, v in known.items()} == {k: v.value for k, v in state.variables.items()}:
            # Nothing changes from round to round: it goes on for ever.
            raise ShellExitError(0)
    shell.seen.open = True
    raise GiveUpError


def _once(shell: Shell, body: Body, state: State, sink: Sink | None) -> None:
    _round(shell, body, state, sink)


def _for(shell: Shell, command: Compound, state: State, sink: Sink | None, given: Word | None) -> None:
    words = Expander(shell, state).words(command.words) if command.words is not None else list(state.positional)
    if (
        any(w.open or w.glob for w in words)
        or len(words) > _MOST_ROUNDS
        or (command.words is None and state.positional_open)
    ):

        def one(branch: State) -> None:
            shell.store(branch, command.name, HOLE, command.start, command.start)
            _once(shell, command.body, branch, sink)

        shell.fork(state, [one, lambda _: None], sink)
        return
    state.status = 0
    for word in words:
        shell.store(state, command.name, word.raw, command.start, command.start, word.place)
        if not _round(shell, command.body, state, sink):
            return


def _select(shell: Shell, command: Compound, state: State, sink: Sink | None, given: Word | None) -> None:
    def one(branch: State) -> None:
        shell.store(branch, command.name, HOLE, command.start, command.start)
        _once(shell, command.body, branch, sink)

    shell.fork(state, [one, lambda _: None], sink)


def _cfor(shell: Shell, command: Compound, state: State, sink: Sink | None, given: Word | None) -> None:
    expander = Expander(shell, state)
    parts: list[Raw] = [*command.arith, [], [], []][:3]
    expander.arithmetic(parts[0])
    for _ in range(_MOST_ROUNDS):
        value = expander.arithmetic(parts[1]) if parts[1] else 1
        if value is None:
            shell.fork(state, [lambda s: _once(shell, command.body, s, sink), lambda _: None], sink)
            return
        if value == 0:
            state.status = 0
            return
        if not _round(shell, command.body, state, sink):
            return
        expander.arithmetic(parts[2])
    raise GiveUpError


def _case(shell: Shell, command: Compound, state: State, sink: Sink | None, given: Word | None) -> None:
    assert command.subject is not None
    expander = Expander(shell, state)
    subject = expander.text(command.subject.parts)
    state.status = 0
    unknown: list[Callable[[State], None]] = []
    fall = False
    for patterns, body, end in command.cases:
        hit: bool | None = fall
        for token in patterns:
            if hit:
                break
            characters = expander.characters(token.parts)
            one = (
                None
                if characters is None or (HOLE in subject and not _everything(characters))
                else (True if _everything(characters) else pattern.matches(subject, characters))
            )
            hit = one if one or hit is False else hit
        fall = False
        if hit is None:
            unknown.append(lambda s, body=body: shell.body(body, s, sink))  # type: ignore[misc]
        elif hit:
            if unknown:
                unknown.append(lambda s, body=body: shell.body(body, s, sink))  # type: ignore[misc]
                shell.fork(state, unknown, sink)
                return
            shell.body(body, state, sink)
            if end == ";;":
                return
            fall = end == ";&"
    if unknown:
        shell.fork(state, [*unknown, lambda _: None], sink)


def _function(shell: Shell, command: Compound, state: State, sink: Sink | None, given: Word | None) -> None:
    state.functions[command.name] = (command.body, state.origin)
    state.status = 0


def _arith(shell: Shell, command: Compound, state: State, sink: Sink | None, given: Word | None) -> None:
    value = Expander(shell, state).arithmetic(command.arith[0])
    state.status, state.asked = (None if value is None else int(value == 0)), True


def _cond(shell: Shell, command: Compound, state: State, sink: Sink | None, given: Word | None) -> None:
    from fabriclint.launch.condition import double

    answer = double(command.words or [], Expander(shell, state), state)
    state.status, state.asked = (None if answer is None else int(not answer)), True


def _everything(characters: list[tuple[str, bool]]) -> bool:
    return characters == [("*", False)]


#: What runs each kind of compound command.
COMPOUND: dict[str, _Run] = {
    "group": _group,
    "subshell": _subshell,
    "coproc": _coproc,
    "if": _if,
    "while": _while,
    "until": _while,
    "for": _for,
    "select": _select,
    "cfor": _cfor,
    "case": _case,
    "function": _function,
    "arith": _arith,
    "cond": _cond,
}
