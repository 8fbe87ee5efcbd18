"""A small shell: reads a script and tells which programs it would start, with which words and environment."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from fabriclint.launch.commands import BASH_ONLY, QUESTIONS, SPECIAL
from fabriclint.launch.compound import COMPOUND
from fabriclint.launch.expand import Expander, ShellExitError
from fabriclint.launch.external import external
from fabriclint.launch.script_tree import Assign, Body, Chain, Command, Pipeline, Redirect, Simple, Token, TooDeepError
from fabriclint.launch.state import Certainty, Origin, State, Variable
from fabriclint.launch.syntax import read
from fabriclint.launch.transcript import Assignment, GiveUpError, Invocation, LeaveError, Sink, Sourced, Transcript
from fabriclint.launch.word import HOLE, Place, Word

#: Commands and characters after which reading ends; a real start text needs a few hundred.
_MOST_WORK = 100_000
_DEEPEST = 24


class Shell:
    """Runs scripts without running anything."""

    def __init__(self, sh_is: str = "unknown") -> None:
        self.seen = Transcript()
        self.sh_is = sh_is
        self.work = 0
        self.order = 0
        self.depth = 0
        self.background = 0
        self.substituting = 0
        self.guarded = 0

    # -- accounting

    def spend(self, amount: int) -> None:
        """Count work; ends the reading when it is too much."""
        self.work += amount
        if self.work > _MOST_WORK:
            raise GiveUpError

    def enter(self) -> None:
        """One level deeper (the caller takes it back); ends the reading when it is too deep."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise GiveUpError

    def tick(self) -> int:
        """The next order number."""
        self.order += 1
        return self.order

    # -- entering

    def start(self, words: list[Word], state: State) -> None:
        """What a container starts: its argv."""
        try:
            self.program(words, state, None, None)
        except (GiveUpError, TooDeepError, RecursionError):
            self.seen.open = True
        except (ShellExitError, LeaveError):
            pass

    def script(self, text: Word, state: State, sink: Sink | None) -> None:
        """Run a text in a state (which is changed)."""
        self.spend(len(text.raw) // 8 + 20)
        self.enter()
        kept = state.origin
        state.origin = Origin.of(text)
        try:
            script = read(text.raw, bash=state.bash)
            for line in script.lines:
                self.body(line, state, sink)
            if script.error is not None:
                if HOLE in text.raw:
                    self.seen.open = True
                else:
                    at = script.error.at
                    if state.certainty is Certainty.CERTAIN:
                        self.seen.refused.append(
                            (state.origin.place(at, min(at + 1, len(text.raw))), script.error.message)
                        )
                    raise ShellExitError(2)
        finally:
            state.origin = kept
            self.depth -= 1

    def copied(self, state: State) -> State:
        """A copy of a state, for a shell of its own; what it costs is counted."""
        child = state.copy()
        self.spend(len(child.variables) + 5)
        return child

    def run_in(self, child: State, run: Callable[[], None]) -> None:
        """Run in a shell of its own: what leaves the script ends this shell alone, `exit` with its status."""
        try:
            run()
        except ShellExitError as end:
            child.status = end.status
        except LeaveError:
            pass

    def capture(self, body: Body, state: State) -> str:
        """Output of a command substitution."""
        sink = Sink()
        child = self.copied(state)
        self.substituting += 1
        try:
            self.run_in(child, lambda: self.body(body, child, sink))
        finally:
            self.substituting -= 1
        state.status, state.asked = child.status, True
        return "".join(sink.parts)

    # -- lists

    def body(self, body: Body, state: State, sink: Sink | None) -> None:
        """Run a list."""
        for chain in body:
            if chain.background:
                child = self.copied(state)
                self.background += 1
                try:
                    self.chain(chain, child, sink)
                except (ShellExitError, LeaveError):
                    pass
                finally:
                    self.background -= 1
                state.status = 0
            else:
                self.chain(chain, state, sink)

    def chain(self, chain: Chain, state: State, sink: Sink | None) -> None:
        """`a && b || c`."""
        if not chain.rest:
            self.pipeline(chain.first, state, sink)
            return
        before = state.certainty
        self.guarded_run(lambda: self.pipeline(chain.first, state, sink))
        for position, (op, pipe) in enumerate(chain.rest):
            last = position == len(chain.rest) - 1

            def run(target: State, pipe: Pipeline = pipe, last: bool = last) -> None:
                if last:
                    self.pipeline(pipe, target, sink)
                else:
                    self.guarded_run(lambda: self.pipeline(pipe, target, sink))

            if state.status is None:
                if op == "&&" and not state.asked:
                    state.certainty = min(state.certainty, Certainty.EXPECTED)
                    run(state)
                else:
                    asked = state.asked
                    self.fork(state, [run, lambda _: None], sink)
                    state.status = None
                    state.asked = asked
            elif (state.status == 0) == (op == "&&"):
                run(state)
        state.certainty = before if state.certainty > Certainty.MAYBE or before is Certainty.MAYBE else state.certainty
        if state.certainty is not before and "e" in state.options and not self.guarded:
            state.certainty = min(before, Certainty.EXPECTED)

    def guarded_run(self, run: Callable[[], None]) -> None:
        """Run where `set -e` does not look."""
        self.guarded += 1
        try:
            run()
        finally:
            self.guarded -= 1

    def fork(self, state: State, branches: list[Callable[[State], None]], sink: Sink | None = None) -> None:
        """One of the branches runs, and nobody knows which: what they print is known where they agree."""
        before = state.certainty
        outcomes: list[State] = []
        printed: set[str] = set()
        lost = before
        leave: Exception | None = None
        for branch in branches:
            copy = state.copy()
            self.spend(len(copy.variables) + len(copy.files) + 10)
            copy.certainty = Certainty.MAYBE
            at = len(sink.parts) if sink is not None else 0
            try:
                branch(copy)
                outcomes.append(copy)
            except ShellExitError as end:
                leave = end
                lost = min(lost, Certainty.EXPECTED if end.status not in (0, None) else Certainty.MAYBE)
            except LeaveError as end:
                leave = end
                lost = min(lost, Certainty.EXPECTED if end.kind != "return" else Certainty.MAYBE)
            finally:
                if sink is not None:
                    printed.add("".join(sink.parts[at:]))
                    del sink.parts[at:]
        if sink is not None:
            sink.add(printed.pop() if len(printed) == 1 else HOLE)
        if not outcomes:
            assert leave is not None
            raise leave
        first, *rest = outcomes
        first.join(rest)
        state.become(first)
        state.certainty = lost
        state.status = first.status if all(o.status == first.status for o in rest) else None
        state.asked = True

    def pipeline(self, pipe: Pipeline, state: State, sink: Sink | None) -> None:
        """`a | b | c`."""
        if pipe.negated:
            self.guarded_run(lambda: self._pipe(pipe, state, sink))
            if state.status is not None:
                state.status = int(not state.status)
            return
        self._pipe(pipe, state, sink)
        if not self.guarded and "e" in state.options:
            if state.status is None:
                state.certainty = min(state.certainty, Certainty.EXPECTED)
            elif state.status:
                raise ShellExitError(state.status)

    def _pipe(self, pipe: Pipeline, state: State, sink: Sink | None) -> None:
        if len(pipe.commands) == 1:
            self.command(pipe.commands[0], state, sink, None)
            return
        given: Word | None = None
        unsure = False
        for position, command in enumerate(pipe.commands):
            last = position == len(pipe.commands) - 1
            child = self.copied(state)
            out = sink if last else Sink()
            self.run_in(child, partial(self.command, command, child, out, given))
            if not last:
                unsure = unsure or child.status != 0
                assert out is not None
                text = "".join(out.parts)
                place = child.origin.place(command.start, command.end)
                given = Word(text, *place, starts=[place.start] * len(text), ends=[place.end] * len(text))
            else:
                state.status, state.asked = child.status, child.asked
                if "pipefail" in state.options and unsure and state.status == 0:
                    state.status = None

    # -- commands

    def command(self, command: Command, state: State, sink: Sink | None, given: Word | None) -> None:
        """Run one command; `given` is its standard input when that is known."""
        self.spend(5)
        if isinstance(command, Simple):
            self.simple(command, state, sink, given)
            return
        _, given, file = self.redirects(command.redirects, state, given)
        if file is not None:
            sink = Sink()
        COMPOUND[command.kind](self, command, state, sink, given)
        if file is not None and sink is not None:
            self.write(file, "".join(sink.parts), state, command.start, command.end)

    def redirects(
        self, redirects: list[Redirect], state: State, given: Word | None
    ) -> tuple[bool, Word | None, tuple[str, bool] | None]:
        """(whether all is known, standard input, (path, append) of standard output)."""
        file: tuple[str, bool] | None = None
        expander = Expander(self, state)
        for one in redirects:
            if one.body is not None:
                if one.fd in (None, 0):
                    given = expander.one(one.body, one.start, one.end)
                continue
            target = expander.one(one.target.parts, one.target.start, one.target.end) if one.target else None
            if target is None:
                continue
            if one.op == "<<<":
                given = target
                given.raw += "\n"
                if given.starts is not None and given.ends is not None:
                    given.starts.append(given.start)
                    given.ends.append(given.end)
            elif one.op == "<" and one.fd in (None, 0):
                given = state.file(target.raw) or Word(HOLE, target.source, target.start, target.end)
            elif one.op in (">", ">>", ">|", "&>", "&>>") and one.fd in (None, 1):
                file = (target.raw, one.op in (">>", "&>>"))
        return True, given, file

    def write(
        self, file: tuple[str, bool], text: str, state: State, start: int, end: int, word: Word | None = None
    ) -> None:
        path, append = file
        if path == "/dev/null" or HOLE in path:
            return
        before = state.files.get(path)
        if append and before is not None:
            text = before.raw + text
            word = None
        elif append:
            text, word = HOLE + text, None
        if word is None:
            place = state.origin.place(start, end)
            word = Word(text, *place, starts=[place.start] * len(text), ends=[place.end] * len(text))
        state.files[path] = word
        self.seen.files[path] = word

    # -- simple commands

    def store(
        self,
        state: State,
        name: str,
        value: str | None,
        start: int,
        end: int,
        place: Place | None = None,
        *,
        export: bool | None = None,
        items: list[str] | None = None,
        written: list[Word] | None = None,
    ) -> None:
        """Assign, remove (`value` None) or export a variable."""
        exported = state.exported(name) if export is None else export
        if "a" in state.options and value is not None:
            exported = True
        order = self.tick()
        place = place or state.origin.place(start, end)
        was = state.exported(name)
        state.variables[name] = Variable(
            value, exported and value is not None, place, items, order, state.certainty, written
        )
        if (exported or was) and items is None:
            raw = value if exported else None
            self.seen.assignments.append(Assignment(name, raw, place, order, state.certainty))

    def assign(self, assign: Assign, state: State, expander: Expander, *, export: bool | None = None) -> None:
        """`NAME=value` in all its forms."""
        before = state.get(assign.name)
        if isinstance(assign.value, list):
            words = expander.words(assign.value)
            items = [w.raw for w in words]
            known = state.variables.get(assign.name)
            if any(w.glob for w in words) or any(re.match(r"\[[^\]]*\]=", i) for i in items):
                self.store(state, assign.name, HOLE, assign.start, assign.end, export=False)
                return
            written: list[Word] | None = words
            if assign.append and (known is not None or before):
                earlier = known.written if known is not None else None
                written = [*earlier, *words] if earlier is not None else None
            if assign.append:
                items = [*(known.items if known and known.items else ([before] if before else [])), *items]
            self.store(
                state,
                assign.name,
                items[0] if items else None,
                assign.start,
                assign.end,
                export=False,
                items=items,
                written=written,
            )
            return
        value = expander.one(assign.value.parts, assign.value.start, assign.value.end, assignment=True).raw
        if assign.append:
            value = (before or "") + value
        if assign.index is not None:
            known = state.variables.get(assign.name)
            items = list(known.items) if known and known.items else []
            if assign.index.isdigit() and int(assign.index[:4]) == len(items):
                self.store(
                    state,
                    assign.name,
                    items[0] if items else value,
                    assign.start,
                    assign.end,
                    export=False,
                    items=[*items, value],
                )
            else:
                self.store(state, assign.name, HOLE, assign.start, assign.end, export=False)
            return
        self.store(state, assign.name, value, assign.start, assign.end, export=export)

    def simple(self, command: Simple, state: State, sink: Sink | None, given: Word | None) -> None:
        """Assignments, a builtin, a function or a program."""
        expander = Expander(self, state)
        declared = [w for w in command.words if isinstance(w, Assign)]
        tokens = [w for w in command.words if isinstance(w, Token)]
        words = self._declaration(tokens, expander, state) or expander.words(tokens)
        stdin = given
        _, given, file = self.redirects(command.redirects, state, given)
        heredoc = given if given is not stdin else None
        if not words:
            state.status, state.asked = 0, False
            for assign in command.assigns:
                self.assign(assign, state, expander)
            for assign in declared:
                self.assign(assign, state, expander)
            return
        saved: dict[str, Variable | None] = {}
        if command.assigns and not state.bash and words[0].raw in SPECIAL:
            # Before a special builtin assignments stay, and are not exported.
            for assign in command.assigns:
                self.assign(assign, state, expander)
            command = Simple([], command.words, command.redirects, command.start, command.end)
        for assign in command.assigns:
            saved[assign.name] = state.variables.get(assign.name)
            mark = len(self.seen.assignments)
            self.assign(assign, state, expander, export=True)
            del self.seen.assignments[mark:]
        try:
            out = Sink() if file is not None else sink
            self.program(words, state, out, given, declared=declared, expander=expander)
        finally:
            for name, old in saved.items():
                if old is None:
                    state.variables.pop(name, None)
                else:
                    state.variables[name] = old
        if file is not None and out is not None:
            text = "".join(out.parts)
            whole = (
                heredoc
                if words[0].raw == "cat" and len(words) == 1 and heredoc is not None and heredoc.raw == text
                else None
            )
            self.write(file, text, state, command.start, command.end, whole)

    def _declaration(self, tokens: list[Token], expander: Expander, state: State) -> list[Word] | None:
        """Words of export and its kin: what looks like an assignment is not split."""
        at = 0
        while at < len(tokens) and tokens[at].plain in ("command", "builtin"):
            at += 1
        if at >= len(tokens) or tokens[at].plain not in ("export", "declare", "typeset", "local", "readonly"):
            return None
        words = expander.words(tokens[: at + 1])
        for token in tokens[at + 1 :]:
            first = token.parts[0] if token.parts else None
            text = getattr(first, "text", None)
            if text is not None and not getattr(first, "quoted", True) and re.match(r"[A-Za-z_]\w*\+?=", text):
                cut = text.index("=") + 1
                head = type(first)(text[:cut], token.start, token.start + cut)  # type: ignore[call-arg,misc]
                rest = [type(first)(text[cut:], token.start + cut, first.end)] if text[cut:] else []  # type: ignore[call-arg,misc,union-attr]
                value = expander.one([*rest, *token.parts[1:]], token.start + cut, token.end, assignment=True)
                whole = expander.one([head], token.start, token.start + cut)
                place = state.origin.place(token.start, token.end)
                starts = [*(whole.starts or []), *(value.starts or [])]
                ends = [*(whole.ends or []), *(value.ends or [])]
                words.append(Word(whole.raw + value.raw, *place, starts=starts, ends=ends))
            else:
                words.extend(expander.words([token]))
        return words

    def program(
        self,
        words: list[Word],
        state: State,
        sink: Sink | None,
        given: Word | None,
        *,
        declared: list[Assign] | None = None,
        expander: Expander | None = None,
        builtins: bool = True,
        functions: bool = True,
    ) -> None:
        """Start what the words say."""
        from fabriclint.launch.builtin import BUILTINS, Call

        self.spend(10)
        if not words:
            return
        first = words[0]
        if first.open or HOLE in first.raw:
            # Nobody knows what this is: it may well be a builtin that changes the shell.
            self.seen.unseen.append(first)
            if any(not w.open for w in words[1:]) or not first.open:
                self.record(words, state)
            state.forget() if first.open else None
            state.status, state.asked = None, True
            return
        raw = first.raw
        if functions and raw in state.functions:
            self._call(raw, words, state, sink)
            return
        handler = BUILTINS.get(raw) if builtins and expander is not None else None
        if handler is not None and expander is not None and (state.bash or raw not in BASH_ONLY):
            state.asked = raw in QUESTIONS
            state.status = 0
            handler(Call(self, words, state, sink, given, declared or [], expander))
            return
        if not state.bash and raw in BASH_ONLY and raw != "source" and expander is not None:
            state.status, state.asked = 127, False
            return
        if raw == "source" and expander is not None:
            place = first.place
            path = words[1] if len(words) > 1 else first
            self.seen.sourced.append(Sourced(path, place, self.tick(), state.certainty, state.under_sh, True, False))
            state.status, state.asked = 127, False
            return
        if not raw or " " in raw or "\n" in raw or ("=" in raw and "/" not in raw):
            state.status, state.asked = 127, False
            if expander is None:
                self.record(words, state)
            return
        external(self, words, state, sink, given)

    def _call(self, name: str, words: list[Word], state: State, sink: Sink | None) -> None:
        body, origin = state.functions[name]
        self.enter()
        kept = state.positional, state.positional_open, state.origin
        state.positional = words[1:]
        state.positional_open = any(w.open for w in words)
        state.origin = origin
        scope: dict[str, Variable | None] = {}
        state.local_scopes.append(scope)
        try:
            self.body(body, state, sink)
        except LeaveError as leave:
            if leave.kind != "return":
                raise
            state.status = leave.status
        finally:
            state.positional, state.positional_open, state.origin = kept
            if state.local_scopes:
                state.local_scopes.pop()
            for variable, old in scope.items():
                if old is None:
                    state.variables.pop(variable, None)
                else:
                    state.variables[variable] = old
            self.depth -= 1

    def record(self, words: list[Word], state: State) -> None:
        environment = {
            name: Assignment(name, v.value if v.exported else None, v.place, v.order, v.certainty)
            for name, v in state.variables.items()
            if (v.exported and v.value is not None)
            or (not v.exported and not state.cleared and state.environment(name) is not None)
        }
        # What reads a started program asks for much more than a builtin costs.
        self.spend(len(state.variables) + len(words) + 50)
        self.seen.invocations.append(
            Invocation(
                words,
                environment,
                state.certainty,
                self.tick(),
                self.background > 0,
                self.substituting > 0,
                state.under_sh,
                state.cleared,
                state.open_names,
                state.cwd,
            )
        )
