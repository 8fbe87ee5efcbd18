"""The grammar of POSIX shell and bash: a script's text as a tree of commands, every part with its offsets."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TypeAlias

#: Nesting beyond this is not read.
_DEEPEST = 40
_META = frozenset(" \t\n|&;()<>")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!_-]")
_ASSIGN = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?=)")
_ELEMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\[([^\]\s]*)\](\+?=)")
_RESERVED = re.compile(
    r"(?:if|then|elif|else|fi|for|while|until|do|done|case|esac|function|select|coproc|time|in|\[\[|\]\]|[{}!])(?=[\s;&|()<>]|$)"
)
_DIGITS = re.compile(r"[0-9]+(?=[<>])")
_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "e": "\x1b",
    "E": "\x1b",
}


class ShellError(Exception):
    """The shell refuses the text here: nothing of this line runs."""

    def __init__(self, at: int, message: str) -> None:
        super().__init__(message)
        self.at = at
        self.message = message


class TooDeepError(Exception):
    """The text nests deeper than this reader goes; nothing can be said about it."""


@dataclass(slots=True)
class Literal:
    """Characters that stand for themselves."""

    text: str
    start: int
    end: int
    quoted: bool = False


@dataclass(slots=True)
class Parameter:
    """`$NAME`, `${NAME...}`: operator and its words."""

    name: str
    start: int
    end: int
    quoted: bool
    op: str = ""
    arg: Raw | None = None
    second: Raw | None = None
    index: Raw | None = None
    length: bool = False
    indirect: bool = False
    bad: bool = False


@dataclass(slots=True)
class Substitution:
    """`$(...)`, backquotes, `<(...)`: the commands, None when they could not be read."""

    body: Body | None
    start: int
    end: int
    quoted: bool
    process: bool = False
    detached: bool = False


@dataclass(slots=True)
class Arithmetic:
    """`$((...))`, `$[...]`."""

    body: Raw
    start: int
    end: int
    quoted: bool


Part: TypeAlias = "Literal | Parameter | Substitution | Arithmetic"
Raw: TypeAlias = "list[Part]"


@dataclass(slots=True)
class Token:
    """A word as written."""

    parts: Raw
    start: int
    end: int

    @property
    def plain(self) -> str | None:
        """Its text when it is one unquoted stretch."""
        if all(isinstance(p, Literal) and not p.quoted for p in self.parts):
            return "".join(p.text for p in self.parts if isinstance(p, Literal))
        return None


@dataclass(slots=True)
class Assign:
    """`NAME=word`, `NAME+=word`, `NAME[i]=word`, `NAME=(words)`."""

    name: str
    append: bool
    value: Token | list[Token]
    start: int
    end: int
    index: str | None = None


@dataclass(slots=True)
class Redirect:
    """A redirection; for heredocs `body` is the text."""

    op: str
    fd: int | None
    target: Token | None
    body: Raw | None = None
    start: int = 0
    end: int = 0


@dataclass(slots=True)
class Simple:
    """Assignments, words, redirections."""

    assigns: list[Assign]
    words: list[Token | Assign]
    redirects: list[Redirect]
    start: int
    end: int


@dataclass(slots=True)
class Pipeline:
    """Commands joined by `|`."""

    commands: list[Command]
    negated: bool
    start: int
    end: int


@dataclass(slots=True)
class Chain:
    """Pipelines joined by `&&` and `||`."""

    first: Pipeline
    rest: list[tuple[str, Pipeline]]
    background: bool = False


Body: TypeAlias = "list[Chain]"


@dataclass(slots=True)
class Compound:
    """Everything that holds other commands; `kind` says which fields are used.

    group, subshell, if (`clauses`, `other`), while, until (`clauses`), for (`name`, `words`, `body`), cfor
    (`arith`), case (`subject`, `cases`), cond (`words`), arith, function (`name`, `body`), coproc.
    """

    kind: str
    start: int
    end: int
    body: Body = field(default_factory=list)
    clauses: list[tuple[Body, Body]] = field(default_factory=list)
    other: Body | None = None
    name: str = ""
    words: list[Token] | None = None
    arith: list[Raw] = field(default_factory=list)
    subject: Token | None = None
    cases: list[tuple[list[Token], Body, str]] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)


Command: TypeAlias = "Simple | Compound"


@dataclass(slots=True)
class Script:
    """The lines that were read, and the first that the shell refuses."""

    lines: list[Body]
    error: ShellError | None = None


class Parser:
    """Reads `text[start:end]`; `bash` False keeps to what dash knows."""

    def __init__(self, text: str, *, bash: bool, start: int = 0, end: int | None = None, depth: int = 0) -> None:
        self.text = text
        self.i = start
        self.n = len(text) if end is None else end
        self.bash = bash
        self.depth = depth
        self.pending: list[tuple[Redirect, str, bool, bool]] = []

    # -- lines and lists

    def script(self) -> Script:
        """All lines up to the end or the first error."""
        lines: list[Body] = []
        try:
            while True:
                self._newlines()
                if self.i >= self.n:
                    break
                line = self._line()
                self._blanks()
                if self.i < self.n and self.text[self.i] != "\n":
                    raise self._error()
                if self.i < self.n:
                    self._newline()
                lines.append(line)
        except ShellError as error:
            return Script(lines, error)
        return Script(lines)

    def _line(self) -> Body:
        """Chains up to the end of the line."""
        body: Body = []
        while True:
            self._blanks()
            if self.i >= self.n or self.text[self.i] in "\n)":
                return body
            if self._ahead(";;"):
                return body
            body.append(self._chain())
            self._blanks()
            if self.i >= self.n:
                return body
            c = self.text[self.i]
            if c == ";" and not self._ahead(";;"):
                self.i += 1
            elif c == "&":
                self.i += 1
                body[-1].background = True
            else:
                return body

    def _body(self, *stops: str) -> Body:
        """A compound list up to one of the reserved words (not consumed) or `)`."""
        self._enter()
        body: Body = []
        while True:
            self._newlines()
            if self.i >= self.n:
                raise self._error("unexpected end of file")
            if self.text[self.i] == ")" or self._ahead(";;") or self._ahead(";&"):
                break
            word = self._reserved()
            if word in stops:
                break
            body.append(self._chain())
            self._blanks()
            if self.i < self.n:
                c = self.text[self.i]
                if c == "\n":
                    self._newline()
                elif c == ";" and not self._ahead(";;") and not self._ahead(";&"):
                    self.i += 1
                elif c == "&":
                    self.i += 1
                    body[-1].background = True
                elif c != ")" and self._reserved() not in stops and not self._ahead(";;") and not self._ahead(";&"):
                    raise self._error()
        self.depth -= 1
        return body

    def _enter(self) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise TooDeepError

    def _chain(self) -> Chain:
        chain = Chain(self._pipeline(), [])
        while True:
            self._blanks()
            for op in ("&&", "||"):
                if self._ahead(op):
                    self.i += 2
                    self._newlines()
                    chain.rest.append((op, self._pipeline()))
                    break
            else:
                return chain

    def _pipeline(self) -> Pipeline:
        self._blanks()
        start = self.i
        negated = False
        while (word := self._reserved()) in ("!", "time"):
            if word == "time" and not self.bash:
                break
            self.i += len(word or "")
            negated ^= word == "!"
            self._blanks()
            if word == "time":
                while self._ahead("-p") and self.text[self.i + 2 : self.i + 3] in (" ", "\t"):
                    self.i += 2
                    self._blanks()
        commands = [self._command()]
        while True:
            self._blanks()
            if self._ahead("|") and not self._ahead("||"):
                self.i += 1
                if self.bash and self._ahead("&"):
                    self.i += 1
                self._newlines()
                commands.append(self._command())
            else:
                return Pipeline(commands, negated, start, self.i)

    # -- commands

    def _command(self) -> Command:
        self._blanks()
        start = self.i
        if self.i >= self.n:
            raise self._error("unexpected end of file")
        made: Compound | None = None
        if self.text[self.i] == "(":
            made = self._arithmetic_command() if self.bash and self._ahead("((") else None
            if made is None:
                self.i = start + 1
                body = self._body()
                self._expect(")")
                if not body:
                    raise self._error()
                made = Compound("subshell", start, self.i, body=body)
        else:
            word = self._reserved()
            if word == "{":
                self.i += 1
                made = Compound("group", start, 0, body=self._filled("}"))
                self._keyword("}")
            elif word == "if":
                made = self._if(start)
            elif word in ("while", "until"):
                self.i += len(word)
                condition = self._filled("do")
                self._keyword("do")
                made = Compound(word, start, 0, clauses=[(condition, self._filled("done"))])
                self._keyword("done")
            elif word == "for" or (word == "select" and self.bash):
                made = self._for(start, len(word))
            elif word == "case":
                made = self._case(start)
            elif word == "function" and self.bash:
                self.i += len(word)
                self._blanks()
                name = self._token().plain or ""
                self._blanks()
                if self._ahead("("):
                    self.i += 1
                    self._expect(")")
                made = self._function(name, start)
            elif word == "[[" and self.bash:
                made = self._cond(start)
            elif word == "coproc" and self.bash:
                self.i += len(word)
                made = Compound("coproc", start, 0, body=[Chain(self._pipeline(), [])])
            elif word in ("then", "elif", "else", "fi", "do", "done", "esac", "}"):
                raise self._error()
        if made is None:
            return self._simple()
        made.end = self.i
        while True:
            self._blanks()
            redirect = self._redirect()
            if redirect is None:
                return made
            made.redirects.append(redirect)

    def _filled(self, *stops: str) -> Body:
        """A list that may not be empty."""
        body = self._body(*stops)
        if not body or (self.i < self.n and self.text[self.i] == ")"):
            raise self._error()
        return body

    def _if(self, start: int) -> Compound:
        made = Compound("if", start, 0)
        self.i += 2
        while True:
            condition = self._filled("then")
            self._keyword("then")
            made.clauses.append((condition, self._filled("elif", "else", "fi")))
            word = self._reserved()
            self.i += len(word or "")
            if word == "else":
                made.other = self._filled("fi")
                self._keyword("fi")
                return made
            if word == "fi":
                return made
            if word != "elif":
                raise self._error()

    def _for(self, start: int, length: int) -> Compound:
        self.i += length
        self._blanks()
        if self._ahead("((") and self.bash:
            end = self._closing(self.i + 2)
            if end < 0:
                raise self._error()
            inner = self.text[self.i + 2 : end]
            made = Compound("cfor", start, 0)
            at = self.i + 2
            for piece in inner.split(";"):
                made.arith.append(self._inner(at, at + len(piece)))
                at += len(piece) + 1
            self.i = end + 2
        else:
            name = self._token().plain or ""
            if not _NAME.fullmatch(name):
                raise self._error()
            made = Compound("for" if length == 3 else "select", start, 0, name=name)
            self._newlines()
            if self._reserved() == "in":
                self.i += 2
                made.words = []
                self._blanks()
                while self.i < self.n and self.text[self.i] not in ";\n":
                    if self.text[self.i] in "&|()":
                        raise self._error()
                    made.words.append(self._token())
                    self._blanks()
        self._blanks()
        if self._ahead(";"):
            self.i += 1
        self._newlines()
        if self._reserved() == "{":
            self.i += 1
            made.body = self._filled("}")
            self._keyword("}")
            return made
        self._keyword("do")
        made.body = self._filled("done")
        self._keyword("done")
        return made

    def _case(self, start: int) -> Compound:
        self.i += 4
        self._blanks()
        made = Compound("case", start, 0, subject=self._token())
        self._newlines()
        self._keyword("in")
        while True:
            self._newlines()
            if self._reserved() == "esac":
                self.i += 4
                return made
            if self._ahead("("):
                self.i += 1
            patterns: list[Token] = []
            while True:
                self._blanks()
                patterns.append(self._token())
                self._blanks()
                if not self._ahead("|"):
                    break
                self.i += 1
            self._expect(")")
            body = self._body("esac")
            end = ";;"
            for op in (";;&", ";;", ";&") if self.bash else (";;",):
                if self._ahead(op):
                    self.i += len(op)
                    end = op
                    break
            else:
                if self._reserved() != "esac":
                    raise self._error()
            made.cases.append((patterns, body, end))

    def _function(self, name: str, start: int) -> Compound:
        self._newlines()
        body = self._command()
        if isinstance(body, Simple):
            raise self._error()
        return Compound("function", start, self.i, name=name, body=[Chain(Pipeline([body], False, start, self.i), [])])

    def _cond(self, start: int) -> Compound:
        self.i += 2
        words: list[Token] = []
        while True:
            self._newlines()
            if self.i >= self.n:
                raise self._error("unexpected end of file")
            if self._ahead("]]") and (self.i + 2 >= self.n or self.text[self.i + 2] in _META):
                self.i += 2
                return Compound("cond", start, self.i, words=words)
            at = self.i
            for op in ("&&", "||", "(", ")", "<", ">"):
                if self._ahead(op):
                    self.i += len(op)
                    words.append(Token([Literal(op, at, self.i)], at, self.i))
                    break
            else:
                pattern = bool(words) and words[-1].plain == "=~"
                words.append(self._token(regex=pattern))

    def _arithmetic_command(self) -> Compound | None:
        start = self.i
        end = self._closing(start + 2)
        if end < 0:
            return None
        self.i = end + 2
        return Compound("arith", start, self.i, arith=[self._inner(start + 2, end)])

    def _simple(self) -> Command:
        start = self.i
        made = Simple([], [], [], start, start)
        while True:
            self._blanks()
            if self.i >= self.n:
                break
            redirect = self._redirect()
            if redirect is not None:
                made.redirects.append(redirect)
                made.end = self.i
                continue
            c = self.text[self.i]
            if c in "\n;&|)":
                break
            if c == "(":
                name = made.words[0] if len(made.words) == 1 and not made.assigns else None
                if isinstance(name, Token) and name.plain and self.text[name.end : self.i].strip(" \t") == "":
                    at = self.i
                    self.i += 1
                    self._blanks()
                    if self._ahead(")"):
                        self.i += 1
                        return self._function(name.plain, start)
                    self.i = at
                raise self._error()
            assign = self._assign(bool(made.words))
            if assign is not None:
                if made.words:
                    made.words.append(assign)
                else:
                    made.assigns.append(assign)
            else:
                made.words.append(self._token())
            made.end = self.i
        if not made.words and not made.assigns and not made.redirects:
            raise self._error()
        return made

    def _assign(self, among_words: bool) -> Assign | None:
        start = self.i
        match = _ASSIGN.match(self.text, self.i, self.n)
        index = None
        if match is None and self.bash:
            element = _ELEMENT.match(self.text, self.i, self.n)
            if element is None:
                return None
            name, index, op = element.groups()
            at = element.end()
        elif match is not None:
            name, op = match.groups()
            at = match.end()
        else:
            return None
        if op == "+=" and not self.bash:
            return None
        array = at < self.n and self.text[at] == "(" and self.bash
        if among_words and not array:
            return None
        self.i = at
        if not array:
            value = self._token(empty=True)
            return Assign(name, op == "+=", value, start, self.i, index)
        self.i += 1
        items: list[Token] = []
        while True:
            self._newlines()
            if self._ahead(")"):
                self.i += 1
                return Assign(name, op == "+=", items, start, self.i, index)
            if self.i >= self.n or self.text[self.i] in "&|;(<>":
                raise self._error()
            items.append(self._token())

    def _redirect(self) -> Redirect | None:
        start = self.i
        fd: int | None = None
        match = _DIGITS.match(self.text, self.i, self.n)
        at = match.end() if match else self.i
        two = self.text[at : at + 2]
        if not two or two[0] not in "<>&":
            return None
        if two[0] == "&" and (two != "&>" or not self.bash or match):
            return None
        if two in ("<(", ">(") and self.bash and not match:
            return None
        if match:
            fd = int(match.group()[:6])
        for op in ("<<<", "<<-", "&>>", "<<", "<&", "<>", ">>", ">&", ">|", "&>", "<", ">"):
            if self.text.startswith(op, at):
                if op == "<<<" and not self.bash:
                    op = "<<"
                break
        self.i = at + len(op)
        self._blanks()
        if self.i >= self.n or (self.text[self.i] in "\n;&|()<>" and not (self.bash and self._procsub())):
            raise self._error()
        target = self._token()
        made = Redirect(op, fd, target, None, start, self.i)
        if op in ("<<", "<<-"):
            quoted = any(not isinstance(p, Literal) or p.quoted for p in target.parts)
            end = "".join(p.text for p in target.parts if isinstance(p, Literal))
            self.pending.append((made, end, quoted, op == "<<-"))
            made.body = []
        return made

    def _procsub(self) -> bool:
        return self._ahead("<(") or self._ahead(">(")

    # -- blanks and newlines

    def _ahead(self, text: str) -> bool:
        return self.i + len(text) <= self.n and self.text.startswith(text, self.i)

    def _blanks(self) -> None:
        text, n = self.text, self.n
        while self.i < n:
            c = text[self.i]
            if c in " \t":
                self.i += 1
            elif c == "\\" and self.i + 1 < n and text[self.i + 1] == "\n":
                self.i += 2
            elif c == "#":
                end = text.find("\n", self.i, n)
                self.i = n if end < 0 else end
            else:
                return

    def _newlines(self) -> None:
        while True:
            self._blanks()
            if self.i < self.n and self.text[self.i] == "\n":
                self._newline()
            else:
                return

    def _newline(self) -> None:
        """Step over a line end; bodies of heredocs begin behind it."""
        self.i += 1
        pending, self.pending = self.pending, []
        for redirect, end, quoted, tabs in pending:
            redirect.body = self._heredoc(end, quoted, tabs)

    def _heredoc(self, end: str, quoted: bool, tabs: bool) -> Raw:
        start = self.i
        lines: list[tuple[int, int]] = []
        while self.i < self.n:
            stop = self.text.find("\n", self.i, self.n)
            after = self.n if stop < 0 else stop + 1
            line_end = self.n if stop < 0 else stop
            at = self.i
            if tabs:
                while at < line_end and self.text[at] == "\t":
                    at += 1
            self.i = after
            if self.text[at:line_end] == end:
                break
            lines.append((at, after))
        else:
            if not lines:
                return []
        if not lines:
            return []
        if quoted:
            return [Literal(self.text[a:b], a, b, True) for a, b in lines]
        if not tabs:
            return self._inner(start, lines[-1][1], mode="here")
        body: Raw = []
        for a, b in lines:
            body.extend(self._inner(a, b, mode="here"))
        return body

    def _inner(self, start: int, end: int, mode: str = "arith") -> Raw:
        """The parts of a stretch that is known to end at `end`."""
        self._enter()
        parser = Parser(self.text, bash=self.bash, start=start, end=end, depth=self.depth)
        parts = parser.parts(mode)
        self.depth -= 1
        return parts

    def _closing(self, start: int) -> int:
        """Offset of the `))` that closes an arithmetic expression begun before `start`, or -1."""
        depth = 0
        i = start
        # An expression is short; a limit keeps the search from being repeated over a whole text.
        limit = min(self.n, start + 2000)
        while i < limit:
            c = self.text[i]
            if c == "(":
                depth += 1
            elif c == ")":
                if depth == 0:
                    return i if self.text.startswith("))", i) and i + 2 <= self.n else -1
                depth -= 1
            elif c == "\\":
                i += 1
            i += 1
        return -1

    # -- words

    def _reserved(self) -> str | None:
        match = _RESERVED.match(self.text, self.i, self.n)
        return match.group() if match else None

    def _keyword(self, word: str) -> None:
        self._newlines()
        if self._reserved() != word:
            raise self._error()
        self.i += len(word)

    def _expect(self, text: str) -> None:
        self._newlines()
        if not self._ahead(text):
            raise self._error()
        self.i += len(text)

    def _error(self, message: str = "syntax error") -> ShellError:
        return ShellError(min(self.i, self.n), message)

    def _token(self, *, empty: bool = False, regex: bool = False) -> Token:
        start = self.i
        parts = self.parts("regex" if regex else "word")
        if self.i == start and not empty:
            raise self._error()
        return Token(parts, start, self.i)

    def parts(self, mode: str) -> Raw:
        """The parts of a word.

        Modes: word, regex (behind `=~`), dq (up to `"`), brace and bracedq (up to `}`), slash (up to `/`
        or `}`), here, arith (to the end).
        """
        out: Raw = []
        text = self.text
        quoted = mode in ("dq", "here", "bracedq", "arith")
        run = self.i

        def flush() -> None:
            if run < self.i:
                out.append(Literal(text[run : self.i], run, self.i, quoted))

        parens = 0
        while self.i < self.n:
            c = text[self.i]
            if mode == "word":
                if c in _META:
                    if self.bash and self._procsub() and run == self.i and not out:
                        start = self.i
                        self.i += 2
                        out.append(Substitution(self._commands(), start, self.i, True, True))
                        run = self.i
                        continue
                    break
            elif mode == "regex":
                if c == "(":
                    parens += 1
                elif c == ")" and parens:
                    parens -= 1
                elif c in " \t\n" or (c in "&|" and not parens and text.startswith(c * 2, self.i)):
                    break
            elif (
                (mode == "dq" and c == '"')
                or (mode in ("brace", "bracedq", "slash") and c == "}")
                or (mode == "slash" and c == "/")
            ):
                break
            if c == "\\":
                follow = text[self.i + 1 : self.i + 2] if self.i + 1 < self.n else ""
                if follow == "\n":
                    flush()
                    self.i += 2
                    run = self.i
                elif not follow:
                    self.i += 1
                elif quoted and follow not in (
                    '$`\\"}' if mode == "bracedq" else '$`\\"' if mode != "here" else "$`\\"
                ):
                    self.i += 1 if follow not in "$`" else 2
                else:
                    flush()
                    out.append(Literal(follow, self.i, self.i + 2, True))
                    self.i += 2
                    run = self.i
            elif c == "'" and mode in ("word", "brace", "slash", "regex"):
                flush()
                end = text.find("'", self.i + 1, self.n)
                if end < 0:
                    raise self._error("unexpected end of file while looking for matching `''")
                out.append(Literal(text[self.i + 1 : end], self.i + 1 if end > self.i + 1 else self.i, end, True))
                self.i = run = end + 1
            elif c == '"' and mode not in {"here", "dq"}:
                flush()
                start = self.i
                self.i += 1
                inner = self._nested("dq")
                if self.i >= self.n:
                    raise self._error("unexpected end of file while looking for matching `\"'")
                self.i += 1
                out.extend(inner or [Literal("", start, self.i, True)])
                run = self.i
            elif c == "$" and self.i + 1 < self.n:
                flush()
                part = self._dollar(quoted, mode)
                if part is None:
                    run = self.i
                    self.i += 1
                else:
                    out.extend(part)
                    run = self.i
            elif c == "`":
                flush()
                out.append(self._backquote(quoted))
                run = self.i
            else:
                self.i += 1
        flush()
        return out

    def _nested(self, mode: str) -> Raw:
        self._enter()
        parts = self.parts(mode)
        self.depth -= 1
        return parts

    def _commands(self) -> Body:
        """Commands up to the `)` that closes them, which is consumed."""
        kept, self.pending = self.pending, []
        body = self._body()
        if not self._ahead(")"):
            raise self._error()
        self.i += 1
        self.pending = kept
        return body

    def _dollar(self, quoted: bool, mode: str) -> Raw | None:
        """What `$` begins; None when it is a plain character."""
        start = self.i
        text = self.text
        c = text[start + 1]
        if c == "(":
            if text.startswith("((", start + 1):
                end = self._closing(start + 3)
                if end >= 0 and end + 2 <= self.n:
                    body = self._inner(start + 3, end)
                    self.i = end + 2
                    return [Arithmetic(body, start, self.i, quoted)]
            self.i = start + 2
            return [Substitution(self._commands(), start, self.i, quoted)]
        if c == "[" and self.bash:
            end = text.find("]", start, min(self.n, start + 2000))
            if end > 0:
                body = self._inner(start + 2, end)
                self.i = end + 1
                return [Arithmetic(body, start, self.i, quoted)]
        if c == "{":
            return [self._braced(quoted)]
        if c in "'\"" and self.bash and not quoted:
            if c == '"':
                self.i = start + 1
                return []
            return self._ansi(start)
        match = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]|[@*#?$!-]").match(text, start + 1, self.n)
        if match is None:
            return None
        self.i = match.end()
        return [Parameter(match.group(), start, self.i, quoted)]

    def _ansi(self, start: int) -> Raw:
        """`$'...'`."""
        out: list[str] = []
        i = start + 2
        while i < self.n and self.text[i] != "'":
            if self.text[i] == "\\" and i + 1 < self.n:
                c = self.text[i + 1]
                match = re.compile(r"x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|[0-7]{1,3}").match(self.text, i + 1, self.n)
                if match:
                    digits = match.group()
                    out.append(chr(int(digits[1:], 16) if digits[0] in "xu" else int(digits, 8) & 255))
                    i = match.end()
                    continue
                out.append(_ESCAPES.get(c, c if c in "\\'\"?" else "\\" + c))
                i += 2
            else:
                out.append(self.text[i])
                i += 1
        if i >= self.n:
            raise self._error("unexpected end of file while looking for matching `''")
        self.i = i + 1
        return [Literal("".join(out), start, self.i, True)]

    def _backquote(self, quoted: bool) -> Part:
        start = self.i
        i = start + 1
        inner: list[str] = []
        while i < self.n and self.text[i] != "`":
            if self.text[i] == "\\" and i + 1 < self.n and self.text[i + 1] in ('$`\\"' if quoted else "$`\\"):
                i += 1
            inner.append(self.text[i])
            i += 1
        if i >= self.n:
            raise self._error("unexpected end of file while looking for matching ``'")
        self.i = i + 1
        self._enter()
        script = Parser("".join(inner), bash=self.bash, depth=self.depth).script()
        self.depth -= 1
        # Offsets of the inner text are not those of the script: its words stand where the backquotes do.
        body = None if script.error else [chain for line in script.lines for chain in line]
        return Substitution(body, start, self.i, quoted, detached=True)

    def _braced(self, quoted: bool) -> Part:
        """`${...}`."""
        start = self.i
        text = self.text
        self.i += 2
        made = Parameter("", start, start, quoted)
        if self._ahead("#") and not self._ahead("#}") and not re.match(r"#[-:+?=%#]", text[self.i : self.i + 2]):
            made.length = True
            self.i += 1
        elif self._ahead("!") and not self._ahead("!}"):
            made.indirect = True
            made.bad = not self.bash
            self.i += 1
        match = _PARAMETER.match(text, self.i, self.n)
        if match is None:
            made.bad = True
        else:
            made.name = match.group()
            self.i = match.end()
        if self._ahead("["):
            end = text.find("]", self.i, min(self.n, self.i + 500))
            if end < 0 or not self.bash:
                made.bad = True
            if end >= 0:
                made.index = self._inner(self.i + 1, end)
                self.i = end + 1
        inner = "bracedq" if quoted else "brace"
        if not self._ahead("}"):
            ops = (
                ":-",
                ":=",
                ":?",
                ":+",
                "##",
                "%%",
                "//",
                "/#",
                "/%",
                "^^",
                ",,",
                "-",
                "=",
                "?",
                "+",
                "#",
                "%",
                "/",
                "^",
                ",",
                ":",
                "@",
            )
            for op in ops:
                if self._ahead(op):
                    made.op = op
                    self.i += len(op)
                    break
            else:
                made.bad = True
            if (made.op and made.op[0] in "/^,@") or made.op == ":":
                made.bad = made.bad or not self.bash
            if made.op and made.op[0] == "/":
                made.arg = self._nested("slash")
                if self._ahead("/"):
                    self.i += 1
                    made.second = self._nested(inner)
            elif made.op in ("#", "##", "%", "%%"):
                made.arg = self._nested("brace")
            else:
                made.arg = self._nested(inner)
        if not self._ahead("}"):
            raise self._error("unexpected end of file while looking for matching `}'")
        self.i += 1
        made.end = self.i
        return made


def read(text: str, *, bash: bool) -> Script:
    """Read a script.

    Raises TooDeepError for nesting that this reader does not follow.
    """
    return Parser(text, bash=bash).script()
