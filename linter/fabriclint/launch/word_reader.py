"""The grammar of a shell's words: quotes, `$NAME`, `${...}`, `$(...)`, arithmetic and backquotes."""

from __future__ import annotations

import re

from fabriclint.launch.script_tree import (
    Arithmetic,
    Body,
    Literal,
    Parameter,
    Part,
    Raw,
    Redirect,
    Script,
    ShellError,
    Substitution,
    TooDeepError,
)

#: Nesting beyond this is not read.
_DEEPEST = 40
#: Characters that end a plain word.
META = frozenset(" \t\n|&;()<>")
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!_-]")
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


class WordReader:
    """Reads the words of `text[start:end]`; `bash` False keeps to what dash knows."""

    def __init__(self, text: str, *, bash: bool, start: int = 0, end: int | None = None, depth: int = 0) -> None:
        self.text = text
        self.i = start
        self.n = len(text) if end is None else end
        self.bash = bash
        self.depth = depth
        self.pending: list[tuple[Redirect, str, bool, bool]] = []

    def _ahead(self, text: str) -> bool:
        return self.i + len(text) <= self.n and self.text.startswith(text, self.i)

    def _enter(self) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise TooDeepError

    def _error(self, message: str = "syntax error") -> ShellError:
        return ShellError(min(self.i, self.n), message)

    def _procsub(self) -> bool:
        return self._ahead("<(") or self._ahead(">(")

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
                if c in META:
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

    def _inner(self, start: int, end: int, mode: str = "arith") -> Raw:
        """The parts of a stretch that is known to end at `end`."""
        self._enter()
        parser = type(self)(self.text, bash=self.bash, start=start, end=end, depth=self.depth)
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
        script = self._script_of("".join(inner))
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

    def _commands(self) -> Body:
        """Commands up to the `)` that closes them, which is consumed."""
        raise NotImplementedError

    def _script_of(self, text: str) -> Script:
        """A text between backquotes as a script of its own."""
        raise NotImplementedError
