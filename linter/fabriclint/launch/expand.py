"""Expansion: from the words of a script to the words that a program receives."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Protocol

from fabriclint.launch import pattern
from fabriclint.launch.arithmetic import evaluate
from fabriclint.launch.script_tree import Arithmetic, Literal, Parameter, Raw, Substitution, Token
from fabriclint.launch.state import Origin, State
from fabriclint.launch.word import HOLE, Word

if TYPE_CHECKING:
    from fabriclint.launch.script_tree import Body

_RANGE = re.compile(r"(-?\d{1,6}|[A-Za-z])\.\.(-?\d{1,6}|[A-Za-z])(?:\.\.(-?\d{1,5}))?")
_MOST_BRACES = 500


class ShellExitError(Exception):
    """The shell ends here, with this status (None = unknown)."""

    def __init__(self, status: int | None) -> None:
        super().__init__(status)
        self.status = status


class Runner(Protocol):
    """What expansion needs of the shell."""

    def capture(self, body: Body, state: State) -> str:
        """The output of commands, HOLE where unknown."""

    def spend(self, amount: int) -> None:
        """Count work."""

    def store(self, state: State, name: str, value: str | None, start: int, end: int) -> None:
        """Assign a variable."""


class _Field:
    """A word in the making."""

    __slots__ = ("at", "chars", "ends", "glob", "loose", "marked", "starts", "whole")

    def __init__(self) -> None:
        self.chars: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.marked = False  # it exists even when empty
        self.glob = False
        self.loose = False  # an unquoted unknown is in it
        self.whole: Word | None = None
        self.at = (0, 0)

    def absorb(self) -> None:
        """More text joins a word that was taken over as it was."""
        if self.whole is not None:
            text, self.whole = self.whole.raw, None
            self.chars.extend(text)
            self.starts.extend([self.at[0]] * len(text))
            self.ends.extend([max(self.at)] * len(text))
            self.marked = True


class _Line:
    """The words made so far, and the one in the making."""

    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self.done: list[_Field] = []
        self.field = _Field()

    def next(self) -> None:
        """End the word, if there is one."""
        if self.field.chars or self.field.marked or self.field.loose or self.field.whole is not None:
            self.done.append(self.field)
        self.field = _Field()

    def add(self, text: str, start: int, end: int) -> None:
        """Append text that comes from a stretch of the script."""
        first, last = self.origin.start(start), self.origin.end(end)
        self.field.absorb()
        self.field.chars.extend(text)
        self.field.starts.extend([first] * len(text))
        self.field.ends.extend([max(last, first)] * len(text))


class Expander:
    """Expands the words of one command."""

    def __init__(self, runner: Runner, state: State) -> None:
        self.runner = runner
        self.state = state

    # -- whole words

    def words(self, tokens: list[Token]) -> list[Word]:
        """Expand and split."""
        out: list[Word] = []
        for token in tokens:
            raws = self._braces(token.parts) if self.state.bash else [token.parts]
            for raw in raws:
                out.extend(self._fields(raw, token, split=True))
        return out

    def one(self, parts: Raw, start: int, end: int, *, assignment: bool = False) -> Word:
        """Expand without splitting (assignments, heredocs, quoted text)."""
        fields = self._fields(parts, Token(parts, start, end), split=False, assignment=assignment)
        return fields[0] if fields else Word("", self.state.origin.source, *self.state.origin.place(start, end)[1:])

    def text(self, parts: Raw) -> str:
        """Expand without splitting; the text only."""
        start = parts[0].start if parts else 0
        return self.one(parts, start, parts[-1].end if parts else start).raw

    def characters(self, parts: Raw) -> list[tuple[str, bool]] | None:
        """A pattern's characters, each with whether it was quoted; None when unknown."""
        out: list[tuple[str, bool]] = []
        for part in parts:
            if isinstance(part, Literal):
                out.extend((c, part.quoted) for c in part.text)
            else:
                text = self.text([part])
                out.extend((c, getattr(part, "quoted", False)) for c in text)
        return None if any(c == HOLE for c, _ in out) else out

    def arithmetic(self, parts: Raw) -> int | None:
        """The value of an arithmetic expression."""
        text = self.text(parts)
        self.runner.spend(len(text) + 1)
        if HOLE in text:
            return None
        at = parts[0].start if parts else 0

        def assign(name: str, value: str) -> None:
            self.runner.store(self.state, name, value, at, at)

        return evaluate(text, self.state.get, assign)

    # -- fields

    def _fields(self, parts: Raw, token: Token, *, split: bool, assignment: bool = False) -> list[Word]:
        origin = self.state.origin
        line = _Line(origin)

        for position, part in enumerate(parts):
            if isinstance(part, Literal):
                line.field.absorb()
                if part.quoted:
                    line.field.marked = True
                text = part.text
                if not part.quoted and text and (position == 0 or assignment):
                    text = self._tilde(text, part, parts, position, assignment, line)
                offset = len(part.text) - len(text)
                if part.end - part.start == len(part.text):
                    base = part.start + offset
                    line.field.chars.extend(text)
                    line.field.starts.extend(origin.start(base + k) for k in range(len(text)))
                    line.field.ends.extend(origin.end(base + k + 1) for k in range(len(text)))
                else:
                    line.add(text, part.start, part.end)
                if not part.quoted and split and ("*" in text or "?" in text or ("[" in text and "]" in text)):
                    line.field.glob = True
                self.runner.spend(len(text))
                continue
            if isinstance(part, Parameter) and (part.name == "@" or _all_items(part)) and not part.length and split:
                self._list(part, line)
                continue
            text = self._value(part)
            self.runner.spend(len(text) + 1)
            if getattr(part, "quoted", False) or not split:
                if getattr(part, "quoted", False):
                    line.field.marked = True
                line.add(text, part.start, part.end)
                continue
            if HOLE in text and text.strip(HOLE + " ") == "":
                line.field.loose = True
            ifs = self.state.get("IFS")
            ifs = " \t\n" if ifs is None or HOLE in ifs else ifs
            if (
                isinstance(part, Parameter)
                and part.op in (":-", "-", ":+", "+")
                and part.arg
                and any(isinstance(p, Literal) and p.quoted for p in part.arg)
            ):
                # A quoted word behind the operator is not split (as a whole; mixtures are rare).
                line.field.marked = line.field.marked or text != ""
                line.add(text, part.start, part.end)
                continue
            last = 0
            for k, c in enumerate(text):
                if c in ifs:
                    if k > last:
                        line.add(text[last:k], part.start, part.end)
                    if not c.isspace() and not line.field.chars:
                        line.field.marked = True
                    line.next()
                    last = k + 1
            if last < len(text):
                line.add(text[last:], part.start, part.end)
            if "*" in text or "?" in text:
                line.field.glob = True
        line.next()
        return [self._word(f, token) for f in line.done]

    def _word(self, field: _Field, token: Token) -> Word:
        if field.whole is not None and not field.chars:
            return field.whole
        raw = "".join(field.chars)
        if field.starts and token.start >= 0:
            place = self.state.origin.place(token.start, token.end)
            start, end = place.start, place.end
        elif token.start >= 0:
            _, start, end = self.state.origin.place(token.start, token.end)
        else:
            start, end = (field.starts[0], field.ends[-1]) if field.starts else (0, 0)
        is_open = field.loose and raw.strip(HOLE) == "" and not field.marked
        glob = field.glob and "f" not in self.state.options
        return Word(raw, self.state.origin.source, start, max(start, end), is_open, glob, field.starts, field.ends)

    def _tilde(self, text: str, part: Literal, parts: Raw, position: int, assignment: bool, line: _Line) -> str:
        """Replace `~` at the start (in assignments also behind `:`); returns what is left to add."""
        home = self.state.get("HOME")
        alone = position + 1 < len(parts)
        if position == 0 and text[0] == "~" and (text[1:2] in ("/", ":") or (len(text) == 1 and not alone)):
            line.add(HOLE if home is None else home, part.start, part.start + 1)
            text = text[1:]
        if assignment and ":~" in text:
            pieces = re.split(r"(?<=:)~(?=[/:]|$)", text)
            for piece in pieces[:-1]:
                line.add(piece, part.start, part.end)
                line.add(HOLE if home is None else home, part.start, part.end)
            text = pieces[-1]
        return text

    def _list(self, part: Parameter, line: _Line) -> None:
        """`$@`, `"$@"`, `${A[@]}`, with a slice."""
        whole: list[Word] | None = None
        if part.name == "@":
            whole = self.state.positional
            texts = [w.raw for w in whole]
            unsure = self.state.positional_open
        else:
            known = self.state.variables.get(part.name)
            if known is not None and known.items is not None:
                texts, unsure, whole = known.items, False, known.written
            else:
                value = self.state.get(part.name)
                texts, unsure = ([] if value is None else [value]), value is not None and HOLE in value
        if part.op in (":-", "-", ":+", "+"):
            if bool(texts) == (part.op in (":+", "+")):
                texts, whole = [self.text(part.arg or [])], None
            elif part.op in (":+", "+"):
                texts, whole = [], None
            if texts == [""] and not part.quoted:
                texts = []
        elif part.op == ":":
            sliced = self._slice(part, [self.state.name, *texts] if part.name == "@" else texts)
            if sliced is None:
                texts, whole, unsure = [], None, True
            else:
                low, high = sliced
                if part.name == "@" and whole is not None:
                    if low == 0:
                        texts, whole = [self.state.name, *texts][low:high], None
                    else:
                        texts, whole = texts[low - 1 : high - 1], whole[low - 1 : high - 1]
                else:
                    unsure = any(w.open for w in whole or ())
                    texts = texts[low:high]
                    whole = whole[low:high] if whole is not None else None
        elif part.op or part.indirect or part.bad:
            if part.bad:
                raise ShellExitError(2)
            texts, whole, unsure = [], None, True
        if unsure:
            texts, whole = [*texts, HOLE], None
        for k, text in enumerate(texts):
            field = line.field
            if part.quoted:
                if whole is not None and not field.chars and not field.marked:
                    field.whole = whole[k]
                    field.at = (self.state.origin.start(part.start), self.state.origin.end(part.end))
                    if k < len(texts) - 1:
                        line.next()
                    continue
                if unsure and k == len(texts) - 1:
                    field.loose = True
                else:
                    field.marked = True
                field.absorb()
                field.chars.extend(text)
                first, last = self.state.origin.start(part.start), self.state.origin.end(part.end)
                field.starts.extend([first] * len(text))
                field.ends.extend([max(first, last)] * len(text))
                if k < len(texts) - 1:
                    line.next()
            else:
                if HOLE in text and text.strip(HOLE) == "":
                    field.loose = True
                for j, piece in enumerate(text.split()):
                    if j:
                        line.next()
                    line.add(piece, part.start, part.end)
                if k < len(texts) - 1:
                    line.next()
            self.runner.spend(len(text) + 1)

    # -- values

    def _value(self, part: Parameter | Substitution | Arithmetic) -> str:
        if isinstance(part, Substitution):
            if part.process:
                if part.body is not None:
                    self.runner.capture(part.body, self.state)
                return "/dev/fd/63"
            if part.body is None:
                return HOLE
            if not part.detached:
                return self.runner.capture(part.body, self.state).rstrip("\n")
            kept = self.state.origin
            source, start, end = kept.place(part.start, part.end)
            length = part.end - part.start
            self.state.origin = Origin(source, start, [start] * length, [end] * length)
            text = self.runner.capture(part.body, self.state).rstrip("\n")
            self.state.origin = kept
            return text
        if isinstance(part, Arithmetic):
            value = self.arithmetic(part.body)
            return HOLE if value is None else str(value)
        return self._parameter(part)

    def _slice(self, part: Parameter, texts: list[str] | str) -> tuple[int, int] | None:
        raw = part.arg or []
        pieces: list[Raw] = [[]]
        for p in raw:
            if isinstance(p, Literal) and ":" in p.text and len(pieces) == 1:
                before, after = p.text.split(":", 1)
                pieces[0].append(Literal(before, p.start, p.start + len(before)))
                pieces.append([Literal(after, p.end - len(after), p.end)] if after else [])
            else:
                pieces[-1].append(p)
        low = self.arithmetic(pieces[0])
        if low is None:
            return None
        if low < 0:
            low = max(len(texts) + low, 0)
        if len(pieces) == 1:
            return low, len(texts)
        length = self.arithmetic(pieces[1])
        if length is None:
            return None
        return low, (low + length if length >= 0 else max(low, len(texts) + length))

    def _basic(self, part: Parameter) -> str | None:
        """The parameter's text before its operator."""
        state, name = self.state, part.name
        if name in ("@", "*"):
            if state.positional_open:
                return HOLE
            ifs = state.get("IFS")
            joint = " " if ifs is None or HOLE in ifs or name == "@" else ifs[:1]
            return joint.join(w.raw for w in state.positional) if state.positional else None
        if name == "#":
            return HOLE if state.positional_open else str(len(state.positional))
        if name == "?":
            return HOLE if state.status is None else str(state.status)
        if name.isdigit():
            index = int(name[:6])
            if index == 0:
                return state.name
            if index <= len(state.positional):
                return state.positional[index - 1].raw
            return HOLE if state.positional_open else None
        if part.index is not None:
            known = state.variables.get(name)
            key = self.text(part.index)
            if known is None or known.items is None:
                value = state.get(name)
                return value if key in ("@", "*", "0") or value is None else HOLE
            if key in ("@", "*"):
                return " ".join(known.items) if known.items else None
            index_value = self.arithmetic(part.index)
            if index_value is None or any(w.open for w in known.written or ()):
                return HOLE
            return known.items[index_value] if -len(known.items) <= index_value < len(known.items) else None
        return state.get(name)

    def _parameter(self, part: Parameter) -> str:
        if part.bad:
            if part.name and self.state.bash:
                return HOLE
            raise ShellExitError(2 if not self.state.bash else 1)
        if part.indirect:
            inner = self.state.get(part.name)
            if inner is None or HOLE in inner or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", inner) or part.op:
                return HOLE
            return self._parameter(Parameter(inner, part.start, part.end, part.quoted))
        if part.length and (part.name in "@*" or _all_items(part)):
            if part.name in "@*":
                return HOLE if self.state.positional_open else str(len(self.state.positional))
            known = self.state.variables.get(part.name)
            if known is not None and known.items is not None:
                return HOLE if any(w.open for w in known.written or ()) else str(len(known.items))
        value = self._basic(part)
        op = part.op
        if part.length:
            if value is None and "u" in self.state.options and part.name not in "@*#":
                raise ShellExitError(1)
            return HOLE if value is not None and HOLE in value else str(len(value or ""))
        if op in (":-", "-", ":=", "=", ":?", "?", ":+", "+"):
            if value is not None and HOLE in value and value.strip(HOLE) == "":
                # Whether it is set is unknown: both ways give something unknown.
                return HOLE
            empty = value is None or (op[0] == ":" and value == "")
            if op.endswith("+"):
                return "" if empty else self.text(part.arg or [])
            if not empty:
                return value or ""
            if op.endswith("?"):
                raise ShellExitError(127 if self.state.bash else 2)
            text = self.text(part.arg or [])
            if op.endswith("="):
                self.runner.store(self.state, part.name, text, part.start, part.end)
            return text
        if value is None:
            if "u" in self.state.options and part.name not in ("@", "*"):
                raise ShellExitError(1)
            value = ""
        if not op:
            return value
        if HOLE in value:
            return HOLE
        if op == ":":
            cut = self._slice(part, value)
            return HOLE if cut is None else value[cut[0] : cut[1]]
        if op in ("^", "^^", ",", ",,") and not part.arg:
            change = str.upper if op[0] == "^" else str.lower
            return change(value) if len(op) == 2 else change(value[:1]) + value[1:]
        characters = self.characters(part.arg or [])
        if characters is None:
            return HOLE
        result: str | None = None
        if op[0] in "#%":
            result = pattern.trim(value, characters, op)
        elif op[0] == "/":
            by = self.text(part.second or [])
            result = pattern.replace(value, characters, by, op) if "&" not in by else None
        return HOLE if result is None else result

    # -- braces

    def _braces(self, parts: Raw) -> list[Raw]:
        if not any(isinstance(p, Literal) and not p.quoted and "{" in p.text for p in parts):
            return [parts]
        atoms: Raw = []
        for part in parts:
            if isinstance(part, Literal) and not part.quoted and part.end - part.start == len(part.text):
                atoms.extend(Literal(c, part.start + k, part.start + k + 1) for k, c in enumerate(part.text))
            else:
                atoms.append(part)
        self._made = 0
        results = self._expand_braces(atoms, 0)
        if len(results) == 1:
            return [parts]
        return [_merge(r) for r in results]

    def _expand_braces(self, atoms: Raw, depth: int) -> list[Raw]:
        for opening, atom in enumerate(atoms):
            if not _is(atom, "{"):
                continue
            level, commas, closing = 0, [], -1
            for k in range(opening, len(atoms)):
                if _is(atoms[k], "{"):
                    level += 1
                elif _is(atoms[k], "}"):
                    level -= 1
                    if level == 0:
                        closing = k
                        break
                elif level == 1 and _is(atoms[k], ","):
                    commas.append(k)
            if closing < 0:
                return [atoms]
            choices: list[Raw] = []
            if commas:
                edges = [opening, *commas, closing]
                for a, b in itertools.pairwise(edges):
                    choices.extend(
                        self._expand_braces(atoms[a + 1 : b], depth + 1) if depth < 8 else [atoms[a + 1 : b]]
                    )
            else:
                inner = "".join(p.text if isinstance(p, Literal) else "\0" for p in atoms[opening + 1 : closing])
                choices = [[Literal(t, atom.start, atoms[closing].end)] for t in _sequence(inner)]
            if not choices:
                continue
            rest = self._expand_braces(atoms[closing + 1 :], depth + 1) if depth < 8 else [atoms[closing + 1 :]]
            self._made += len(choices) * len(rest)
            if self._made > _MOST_BRACES:
                return [[Literal(HOLE, atom.start, atom.end)]]
            return [[*atoms[:opening], *choice, *tail] for choice in choices for tail in rest]
        return [atoms]


def _all_items(part: Parameter) -> bool:
    return (
        part.index is not None
        and len(part.index) == 1
        and isinstance(part.index[0], Literal)
        and part.index[0].text == "@"
    )


def _is(part: object, c: str) -> bool:
    return isinstance(part, Literal) and not part.quoted and part.text == c


def _merge(parts: Raw) -> Raw:
    """Neighbouring characters as one literal again."""
    out: Raw = []
    for part in parts:
        last = out[-1] if out else None
        if (
            isinstance(part, Literal)
            and isinstance(last, Literal)
            and not part.quoted
            and not last.quoted
            and last.end == part.start
            and last.end - last.start == len(last.text)
            and part.end - part.start == len(part.text)
        ):
            out[-1] = Literal(last.text + part.text, last.start, part.end)
        else:
            out.append(part)
    return out


def _sequence(inner: str) -> list[str]:
    """`1..3`, `a..e..2`; empty when it is no sequence."""
    match = _RANGE.fullmatch(inner)
    if match is None:
        return []
    low, high, step_text = match.groups()
    letters = low.isalpha() and high.isalpha()
    if not letters and (low.isalpha() or high.isalpha()):
        return []
    a, b = (ord(low), ord(high)) if letters else (int(low), int(high))
    step = abs(int(step_text or 1)) or 1
    if abs(b - a) // step > _MOST_BRACES:
        return [HOLE]
    width = max(len(low), len(high)) if not letters and any(re.match(r"-?0\d", t) for t in (low, high)) else 0
    numbers = range(a, b + 1, step) if a <= b else range(a, b - 1, -step)
    return [chr(x) for x in numbers] if letters else [str(x).zfill(width) for x in numbers]
