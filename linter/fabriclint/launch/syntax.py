"""The grammar of POSIX shell and bash: lines, lists and commands of a script, as a tree."""

from __future__ import annotations

import re

from fabriclint.launch.script_tree import (
    Assign,
    Body,
    Chain,
    Command,
    Compound,
    Literal,
    Pipeline,
    Raw,
    Redirect,
    Script,
    ShellError,
    Simple,
    Token,
)
from fabriclint.launch.word_reader import META, WordReader

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGN = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?=)")
_ELEMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\[([^\]\s]*)\](\+?=)")
_RESERVED = re.compile(
    r"(?:if|then|elif|else|fi|for|while|until|do|done|case|esac|function|select|coproc|time|in|\[\[|\]\]|[{}!])(?=[\s;&|()<>]|$)"
)
_DIGITS = re.compile(r"[0-9]+(?=[<>])")


class Parser(WordReader):
    """Reads `text[start:end]`; `bash` False keeps to what dash knows."""

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
            if self._ahead("]]") and (self.i + 2 >= self.n or self.text[self.i + 2] in META):
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

    # -- blanks and newlines

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

    def _token(self, *, empty: bool = False, regex: bool = False) -> Token:
        start = self.i
        parts = self.parts("regex" if regex else "word")
        if self.i == start and not empty:
            raise self._error()
        return Token(parts, start, self.i)

    def _commands(self) -> Body:
        """Commands up to the `)` that closes them, which is consumed."""
        kept, self.pending = self.pending, []
        body = self._body()
        if not self._ahead(")"):
            raise self._error()
        self.i += 1
        self.pending = kept
        return body

    def _script_of(self, text: str) -> Script:
        """A text between backquotes as a script of its own."""
        return Parser(text, bash=self.bash, depth=self.depth).script()


def read(text: str, *, bash: bool) -> Script:
    """Read a script.

    Raises TooDeepError for nesting that this reader does not follow.
    """
    return Parser(text, bash=bash).script()
