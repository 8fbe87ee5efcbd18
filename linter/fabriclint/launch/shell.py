"""A small shell: reads a script and tells which programs it would start, with which words and environment."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from fabriclint.launch import pattern
from fabriclint.launch.expand import Expander, ShellExitError
from fabriclint.launch.state import Certainty, Origin, State, Variable
from fabriclint.launch.syntax import (
    Assign,
    Body,
    Chain,
    Command,
    Compound,
    Pipeline,
    Raw,
    Redirect,
    Simple,
    Token,
    TooDeepError,
    read,
)
from fabriclint.launch.word import HOLE, Place, Word, pieces_of, text_of
from fabriclint.node import Unknown

#: Commands and characters after which reading ends; a real start text needs a few hundred.
_MOST_WORK = 100_000
_MOST_ROUNDS = 64
_DEEPEST = 24
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SHELLS = frozenset(("bash", "sh", "dash", "ash", "zsh", "ksh"))
#: Helpers that are taken to succeed.
_HELPERS = frozenset(
    [
        "mkdir",
        "chmod",
        "chown",
        "cp",
        "mv",
        "ln",
        "touch",
        "rm",
        "apt-get",
        "apt",
        "yum",
        "dnf",
        "pip",
        "pip3",
        "sleep",
        "sync",
        "date",
        "ls",
        "cat",
        "tee",
        "env",
        "printenv",
        "id",
        "whoami",
        "hostname",
        "nvidia-smi",
        "ldconfig",
        "git",
        "wget",
        "curl",
        "tar",
        "unzip",
        "sed",
        "awk",
        "sort",
        "uniq",
        "cut",
        "tr",
        "head",
        "tail",
        "wc",
        "seq",
        "sysctl",
        "mount",
        "find",
        "uname",
        "python-config",
        "nproc",
        "ibv_devinfo",
        "ibstat",
        "rdma",
        "ip",
        "dirname",
        "basename",
        "realpath",
        "readlink",
        "df",
        "du",
        "free",
        "ps",
        "apk",
        "conda",
        "service",
        "ssh-keygen",
        "update-ca-certificates",
        "huggingface-cli",
        "gsutil",
        "gcloud",
        "aws",
        "mktemp",
        "stat",
        "xargs",
        "envsubst",
    ]
)
#: Programs that are asked something: their exit status is the answer.
_QUESTIONS = frozenset(
    [
        "test",
        "[",
        "[[",
        "grep",
        "egrep",
        "fgrep",
        "which",
        "nc",
        "getent",
        "ping",
        "pgrep",
        "nslookup",
        "dig",
        "host",
        "ssh",
        "curl",
        "wget",
        "diff",
        "cmp",
        "timeout",
        "type",
        "hash",
        "command",
        "mountpoint",
        "pidof",
    ]
)
#: Programs put before another program, with how many words of their own follow the options, and which options
#: take a value.
_WRAPPERS: dict[str, tuple[int, frozenset[str]]] = {
    "nohup": (0, frozenset()),
    "time": (0, frozenset(("-o", "-f"))),
    "setsid": (0, frozenset()),
    "nice": (0, frozenset(("-n", "--adjustment"))),
    "ionice": (0, frozenset(("-c", "-n", "--class", "--classdata"))),
    "timeout": (1, frozenset(("-s", "-k", "--signal", "--kill-after"))),
    "stdbuf": (0, frozenset(("-i", "-o", "-e"))),
    "chrt": (1, frozenset()),
    "taskset": (1, frozenset()),
    "tini": (0, frozenset(("-p", "-e"))),
    "dumb-init": (0, frozenset()),
    "unbuffer": (0, frozenset()),
    "catchsegv": (0, frozenset()),
    "gosu": (1, frozenset()),
    "xvfb-run": (0, frozenset(("-n", "-s", "-e", "-f"))),
}
#: Files that are known to leave variables of the job alone: only names they own may change.
_TAME = re.compile(
    r"/etc/profile|bashrc|/bin/activate$|hpcx-init|conda\.sh$|nccl-env-profile|set_nccl_env|nvm\.sh$|/vars\.sh$"
)


@dataclass(slots=True)
class Assignment:
    """A variable that was given to child processes; `raw` None: taken away from them."""

    name: str
    raw: str | None
    place: Place | None
    order: int
    certainty: Certainty

    @property
    def value(self) -> str | Unknown | None:
        """The value, UNKNOWN when part of it is, None when the variable was removed."""
        return None if self.raw is None else text_of(self.raw)

    @property
    def pieces(self) -> tuple[str | Unknown, ...]:
        """The known stretches of the value."""
        return pieces_of(self.raw or "")


@dataclass(slots=True)
class Sourced:
    """A file that was read by `.` or `source`. `works` False: this shell has no `source`."""

    path: Word
    place: Place
    order: int
    certainty: Certainty
    under_sh: bool
    by_source: bool
    works: bool = True
    in_view: bool = False


@dataclass(slots=True)
class Invocation:
    """A program that is started. `environment`: what differs from the container's; `cleared`: it is all."""

    words: list[Word]
    environment: dict[str, Assignment]
    certainty: Certainty
    order: int
    background: bool = False
    substitution: bool = False
    under_sh: bool = False
    cleared: bool = False
    open_names: bool = False
    cwd: str | None = None

    @property
    def name(self) -> str | Unknown:
        """The program's name without its folder."""
        text = self.words[0].text
        return text if isinstance(text, Unknown) else text.rsplit("/", 1)[-1]


@dataclass(slots=True)
class Transcript:
    """All that was seen."""

    invocations: list[Invocation] = field(default_factory=list)
    assignments: list[Assignment] = field(default_factory=list)
    sourced: list[Sourced] = field(default_factory=list)
    #: Scripts and commands that are out of view.
    unseen: list[Word] = field(default_factory=list)
    refused: list[tuple[Place, str]] = field(default_factory=list)
    #: The reader gave up somewhere: more may happen than is listed.
    open: bool = False
    files: dict[str, Word] = field(default_factory=dict)


class GiveUpError(Exception):
    """Too much work, or too deep."""


class LeaveError(Exception):
    """`return`, `break`, `continue`."""

    def __init__(self, kind: str, count: int = 1, status: int | None = 0) -> None:
        super().__init__(kind)
        self.kind = kind
        self.count = count
        self.status = status


class Sink:
    """Collects output."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def add(self, text: str) -> None:
        self.parts.append(text)


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
        self.depth += 1
        if self.depth > _DEEPEST:
            raise GiveUpError
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

    def capture(self, body: Body, state: State) -> str:
        """Output of a command substitution."""
        sink = Sink()
        child = state.copy()
        self.spend(len(child.variables) + 5)
        self.substituting += 1
        try:
            self.body(body, child, sink)
        except ShellExitError as leave:
            child.status = leave.status
        except LeaveError:
            pass
        finally:
            self.substituting -= 1
        state.status, state.asked = child.status, True
        return "".join(sink.parts)

    # -- lists

    def body(self, body: Body, state: State, sink: Sink | None) -> None:
        """Run a list."""
        for chain in body:
            if chain.background:
                child = state.copy()
                self.spend(len(child.variables) + 5)
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
        self._guarded(lambda: self.pipeline(chain.first, state, sink))
        for position, (op, pipe) in enumerate(chain.rest):
            last = position == len(chain.rest) - 1

            def run(target: State, pipe: Pipeline = pipe, last: bool = last) -> None:
                if last:
                    self.pipeline(pipe, target, sink)
                else:
                    self._guarded(lambda: self.pipeline(pipe, target, sink))

            if state.status is None:
                if op == "&&" and not state.asked:
                    state.certainty = min(state.certainty, Certainty.EXPECTED)
                    run(state)
                else:
                    asked = state.asked
                    self.fork(state, [run, lambda _: None])
                    state.status = None
                    state.asked = asked
            elif (state.status == 0) == (op == "&&"):
                run(state)
        state.certainty = before if state.certainty > Certainty.MAYBE or before is Certainty.MAYBE else state.certainty
        if state.certainty is not before and "e" in state.options and not self.guarded:
            state.certainty = min(before, Certainty.EXPECTED)

    def _guarded(self, run: Callable[[], None]) -> None:
        """Run where `set -e` does not look."""
        self.guarded += 1
        try:
            run()
        finally:
            self.guarded -= 1

    def fork(self, state: State, branches: list[Callable[[State], None]]) -> None:
        """One of the branches runs, and nobody knows which."""
        before = state.certainty
        outcomes: list[State] = []
        lost = before
        leave: Exception | None = None
        for branch in branches:
            copy = state.copy()
            self.spend(len(copy.variables) + len(copy.files) + 10)
            copy.certainty = Certainty.MAYBE
            try:
                branch(copy)
                outcomes.append(copy)
            except ShellExitError as end:
                leave = end
                lost = min(lost, Certainty.EXPECTED if end.status not in (0, None) else Certainty.MAYBE)
            except LeaveError as end:
                leave = end
                lost = min(lost, Certainty.EXPECTED if end.kind != "return" else Certainty.MAYBE)
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
            self._guarded(lambda: self._pipe(pipe, state, sink))
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
            child = state.copy()
            self.spend(len(child.variables) + 5)
            out = sink if last else Sink()
            try:
                self.command(command, child, out, given)
            except ShellExitError as end:
                child.status = end.status
            except LeaveError:
                pass
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
        getattr(self, "_" + command.kind)(command, state, sink, given)
        if file is not None and sink is not None:
            self._write(file, "".join(sink.parts), state, command.start, command.end)

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
                given = state.files.get(target.raw) or Word(HOLE, target.source, target.start, target.end)
            elif one.op in (">", ">>", ">|", "&>", "&>>") and one.fd in (None, 1):
                file = (target.raw, one.op in (">>", "&>>"))
        return True, given, file

    def _write(
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

    def _group(self, command: Compound, state: State, sink: Sink | None, given: Word | None) -> None:
        self.body(command.body, state, sink)

    def _subshell(self, command: Compound, state: State, sink: Sink | None, given: Word | None) -> None:
        child = state.copy()
        self.spend(len(child.variables) + 5)
        try:
            self.body(command.body, child, sink)
        except ShellExitError as end:
            child.status = end.status
        except LeaveError:
            pass
        state.status, state.asked = child.status, child.asked
        state.files = child.files

    def _coproc(self, command: Compound, state: State, sink: Sink | None, given: Word | None) -> None:
        self.background += 1
        try:
            self._subshell(command, state, None, given)
        finally:
            self.background -= 1
        state.status = 0

    def _if(self, command: Compound, state: State, sink: Sink | None, given: Word | None) -> None:
        self._clauses(command, 0, state, sink)

    def _clauses(self, command: Compound, at: int, state: State, sink: Sink | None) -> None:
        if at == len(command.clauses):
            if command.other is not None:
                self.body(command.other, state, sink)
            else:
                state.status = 0
            return
        condition, body = command.clauses[at]
        self._guarded(lambda: self.body(condition, state, sink))
        if state.status is None:
            self.fork(state, [lambda s: self.body(body, s, sink), lambda s: self._clauses(command, at + 1, s, sink)])
        elif state.status == 0:
            self.body(body, state, sink)
        else:
            self._clauses(command, at + 1, state, sink)

    def _round(self, body: Body, state: State, sink: Sink | None) -> bool:
        """One round of a loop; False = the loop ends."""
        try:
            self.body(body, state, sink)
        except LeaveError as leave:
            if leave.kind == "return":
                raise
            if leave.count > 1:
                raise LeaveError(leave.kind, leave.count - 1) from None
            return leave.kind == "continue"
        return True

    def _while(self, command: Compound, state: State, sink: Sink | None, given: Word | None) -> None:
        condition, body = command.clauses[0]
        for count in range(_MOST_ROUNDS):
            known = dict(state.variables)
            self.spend(len(known))
            self._guarded(lambda: self.body(condition, state, sink))
            if state.status is None or (given is not None and HOLE in given.raw) or (given is not None and count):
                self.fork(state, [lambda s: self._once(body, s, sink), lambda _: None])
                state.status = 0
                return
            if (state.status == 0) == (command.kind == "until"):
                state.status = 0
                return
            sure = state.certainty
            if not self._round(body, state, sink):
                state.status = 0
                return
            if state.certainty < sure:
                # Left in one branch: the rest runs after some round.
                return
            if {k: v.value for k, v in known.items()} == {k: v.value for k, v in state.variables.items()}:
                # Nothing changes from round to round: it goes on for ever.
                raise ShellExitError(0)
        self.seen.open = True
        raise GiveUpError

    _until = _while

    def _once(self, body: Body, state: State, sink: Sink | None) -> None:
        self._round(body, state, sink)

    def _for(self, command: Compound, state: State, sink: Sink | None, given: Word | None) -> None:
        words = Expander(self, state).words(command.words) if command.words is not None else list(state.positional)
        if (
            any(w.open or w.glob for w in words)
            or len(words) > _MOST_ROUNDS
            or (command.words is None and state.positional_open)
        ):

            def one(branch: State) -> None:
                self.store(branch, command.name, HOLE, command.start, command.start)
                self._once(command.body, branch, sink)

            self.fork(state, [one, lambda _: None])
            return
        state.status = 0
        for word in words:
            self.store(state, command.name, word.raw, command.start, command.start, word.place)
            if not self._round(command.body, state, sink):
                return

    def _select(self, command: Compound, state: State, sink: Sink | None, given: Word | None) -> None:
        def one(branch: State) -> None:
            self.store(branch, command.name, HOLE, command.start, command.start)
            self._once(command.body, branch, sink)

        self.fork(state, [one, lambda _: None])

    def _cfor(self, command: Compound, state: State, sink: Sink | None, given: Word | None) -> None:
        expander = Expander(self, state)
        parts: list[Raw] = [*command.arith, [], [], []][:3]
        expander.arithmetic(parts[0])
        for _ in range(_MOST_ROUNDS):
            value = expander.arithmetic(parts[1]) if parts[1] else 1
            if value is None:
                self.fork(state, [lambda s: self._once(command.body, s, sink), lambda _: None])
                return
            if value == 0:
                state.status = 0
                return
            if not self._round(command.body, state, sink):
                return
            expander.arithmetic(parts[2])
        raise GiveUpError

    def _case(self, command: Compound, state: State, sink: Sink | None, given: Word | None) -> None:
        assert command.subject is not None
        expander = Expander(self, state)
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
                unknown.append(lambda s, body=body: self.body(body, s, sink))  # type: ignore[misc]
            elif hit:
                if unknown:
                    unknown.append(lambda s, body=body: self.body(body, s, sink))  # type: ignore[misc]
                    self.fork(state, unknown)
                    return
                self.body(body, state, sink)
                if end == ";;":
                    return
                fall = end == ";&"
        if unknown:
            self.fork(state, [*unknown, lambda _: None])

    def _function(self, command: Compound, state: State, sink: Sink | None, given: Word | None) -> None:
        state.functions[command.name] = (command.body, state.origin)
        state.status = 0

    def _arith(self, command: Compound, state: State, sink: Sink | None, given: Word | None) -> None:
        value = Expander(self, state).arithmetic(command.arith[0])
        state.status, state.asked = (None if value is None else int(value == 0)), True

    def _cond(self, command: Compound, state: State, sink: Sink | None, given: Word | None) -> None:
        from fabriclint.launch.condition import double

        answer = double(command.words or [], Expander(self, state), state)
        state.status, state.asked = (None if answer is None else int(not answer)), True

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
    ) -> None:
        """Assign, remove (`value` None) or export a variable."""
        exported = state.exported(name) if export is None else export
        if "a" in state.options and value is not None:
            exported = True
        order = self.tick()
        place = place or state.origin.place(start, end)
        was = state.exported(name)
        state.variables[name] = Variable(value, exported and value is not None, place, items, order, state.certainty)
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
            if any(w.open or w.glob for w in words) or any(re.match(r"\[[^\]]*\]=", i) for i in items):
                self.store(state, assign.name, HOLE, assign.start, assign.end, export=False)
                return
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
        if command.assigns and not state.bash and words[0].raw in _SPECIAL:
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
            self._write(file, text, state, command.start, command.end, whole)

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
                self._record(words, state)
            state.forget() if first.open else None
            state.status, state.asked = None, True
            return
        raw = first.raw
        if functions and raw in state.functions:
            self._call(raw, words, state, sink)
            return
        handler = BUILTINS.get(raw) if builtins and expander is not None else None
        if handler is not None and expander is not None and (state.bash or raw not in _BASH_ONLY):
            state.asked = raw in _QUESTIONS
            state.status = 0
            handler(Call(self, words, state, sink, given, declared or [], expander))
            return
        if not state.bash and raw in _BASH_ONLY and raw != "source" and expander is not None:
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
                self._record(words, state)
            return
        self.external(words, state, sink, given)

    def _call(self, name: str, words: list[Word], state: State, sink: Sink | None) -> None:
        body, origin = state.functions[name]
        self.depth += 1
        if self.depth > _DEEPEST:
            raise GiveUpError
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

    def external(self, words: list[Word], state: State, sink: Sink | None, given: Word | None) -> None:
        """A program outside the shell; shells and wrappers are looked into."""
        raw = words[0].raw
        name = raw.rsplit("/", 1)[-1]
        if name == "env":
            self._env(words, state, sink, given)
            return
        if name in _WRAPPERS:
            inner = _unwrap(words, *_WRAPPERS[name])
            if inner:
                self.depth += 1
                if self.depth > _DEEPEST:
                    raise GiveUpError
                self.program(inner, state, sink, given, builtins=False, functions=False)
                self.depth -= 1
                if name == "timeout":
                    state.status, state.asked = None, True
                return
        if name in _SHELLS:
            self._shell(words, name, state, sink, given)
            return
        if raw in state.files:
            self._file(words[0], words, state, sink)
            return
        self._record(words, state)
        state.status, state.asked = None, name in _QUESTIONS
        if name in _HELPERS:
            state.status = 0
        if name == "cat" and len(words) == 1 and given is not None:
            if sink is not None:
                sink.add(given.raw)
        elif name == "cat" and len(words) > 1 and all(w.raw in state.files for w in words[1:]):
            if sink is not None:
                for w in words[1:]:
                    sink.add(state.files[w.raw].raw)
        elif name == "seq" and sink is not None:
            sink.add(_seq(words))
        elif name == "tee":
            for w in words[1:]:
                if not w.raw.startswith("-"):
                    self._write((w.raw, any(x.raw == "-a" for x in words)), given.raw if given else HOLE, state, 0, 0)
            if sink is not None:
                sink.add(given.raw if given else HOLE)
        elif name == "xargs":
            self.seen.unseen.append(words[0])
        elif sink is not None:
            sink.add(HOLE)
        if raw.endswith(".sh") or (name not in _HELPERS and len(words) == 1 and "/" in raw and name not in ("sshd",)):
            self.seen.unseen.append(words[0])

    def _record(self, words: list[Word], state: State) -> None:
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

    def _env(self, words: list[Word], state: State, sink: Sink | None, given: Word | None) -> None:
        child = state.copy()
        self.spend(len(child.variables) + 5)
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
                    self.seen.open = True
                i += 2
            elif raw in ("-i", "-", "--ignore-environment"):
                child.cleared = True
                child.variables = {}
                i += 1
            elif raw.startswith("-"):
                i += 1
            elif "=" in raw:
                name, value = raw.split("=", 1)
                child.variables[name] = Variable(value, True, words[i].place, None, self.tick(), state.certainty)
                i += 1
            else:
                break
        if i < len(words):
            self.depth += 1
            if self.depth > _DEEPEST:
                raise GiveUpError
            self.program(words[i:], child, sink, given, builtins=False, functions=False)
            self.depth -= 1
            state.status, state.asked = child.status, child.asked
        else:
            state.status = 0
            if sink is not None:
                sink.add(HOLE)

    def child(self, state: State, *, bash: bool, under_sh: bool) -> State:
        """The state of a new shell started from this one."""
        self.spend(len(state.variables) + 5)
        child = state.copy()
        child.bash, child.under_sh = bash, under_sh
        child.variables = {n: v for n, v in state.variables.items() if v.exported or state.inherited(n) is not None}
        child.functions = {}
        child.options = set()
        child.local_scopes = []
        child.positional, child.positional_open, child.status = [], False, 0
        return child

    def _shell(self, words: list[Word], name: str, state: State, sink: Sink | None, given: Word | None) -> None:
        under_sh = name not in ("bash", "zsh", "ksh")
        bash = not under_sh or (name == "sh" and self.sh_is != "dash") or (name == "ash")
        child = self.child(state, bash=bash, under_sh=under_sh)
        i, command, read_stdin = 1, False, False
        while i < len(words):
            word = words[i]
            if word.open:
                self.seen.unseen.append(word)
                self.seen.open = True
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
            self._file(rest[0], rest, state, sink, child)
            return
        elif given is not None:
            text, child.positional = given, rest
        if any(w.open for w in rest):
            child.positional_open = True
        if text is None:
            self._record(words, state)
            state.status = None
            return
        if text.raw.strip(HOLE + " \n") == "" and HOLE in text.raw:
            self.seen.unseen.append(text)
            state.status = None
            return
        try:
            self.script(text, child, sink)
        except ShellExitError as end:
            child.status = end.status
        except LeaveError:
            pass
        state.files = child.files
        state.status, state.asked = child.status, child.asked

    def _file(self, path: Word, words: list[Word], state: State, sink: Sink | None, child: State | None = None) -> None:
        """A script in a file: read when this text wrote it."""
        text = state.files.get(path.raw)
        if text is None or text.raw == HOLE:
            self.seen.unseen.append(path)
            state.status, state.asked = None, False
            if sink is not None:
                sink.add(HOLE)
            return
        child = child or self.child(state, bash=not re.match(r"#!.*\bsh\b", text.raw), under_sh=False)
        child.name, child.positional = path.raw, words[1:]
        child.positional_open = any(w.open for w in words)
        try:
            self.script(text, child, sink)
        except ShellExitError as end:
            child.status = end.status
        except LeaveError:
            pass
        state.status, state.asked = child.status, child.asked

    def source(self, words: list[Word], state: State, sink: Sink | None) -> None:
        """`. file`, `source file`."""
        if len(words) < 2:
            state.status = 2
            return
        path = words[1]
        text = state.files.get(path.raw)
        seen = text is not None and text.raw != HOLE
        self.seen.sourced.append(
            Sourced(
                path,
                words[0].place,
                self.tick(),
                state.certainty,
                state.under_sh,
                words[0].raw == "source",
                True,
                seen,
            )
        )
        if seen and text is not None:
            self.script(text, state, sink)
            return
        if _TAME.search(path.raw):
            state.open_names = True
        else:
            state.forget()
        state.status, state.asked = None, False
        if not state.bash:
            # In dash a missing file ends the shell.
            state.certainty = min(state.certainty, Certainty.EXPECTED)


def _everything(characters: list[tuple[str, bool]]) -> bool:
    return characters == [("*", False)]


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


_BASH_ONLY = frozenset(
    [
        "[[",
        "source",
        "declare",
        "typeset",
        "mapfile",
        "readarray",
        "let",
        "pushd",
        "popd",
        "dirs",
        "shopt",
        "builtin",
        "enable",
        "disown",
        "compgen",
        "complete",
        "help",
    ]
)
_SPECIAL = frozenset((":", ".", "eval", "exec", "export", "readonly", "set", "shift", "trap", "unset", "times"))
