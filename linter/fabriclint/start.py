"""What a container's start text exports, sources, forwards and starts: read line by line, never guessing.

Only what stands plainly in the text counts. A script or program that the files do not show makes the rest unknown.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from fabriclint.finding import Place
from fabriclint.node import UNKNOWN, Scalar, Unknown, open_value
from fabriclint.pod import StartText, Variable

if TYPE_CHECKING:
    from fabriclint.pod import ContainerView

_EXPORT = re.compile(
    r"(?:^|[;&|\n]|\bthen\b|\bdo\b)[ \t]*export[ \t]+((?:[A-Za-z_]\w*(?:=(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s;&|]*))?[ \t]*)+)",
    re.M,
)
_ASSIGN = re.compile(r"([A-Za-z_]\w*)(?:=(\"[^\"\n]*\"|'[^'\n]*'|[^\s;&|]*))?")
_SOURCE = re.compile(
    r"(?:^|[;&|(\n]|\bthen\b|\bdo\b|\belse\b|-l?c[ \t]+[\"']?)[ \t]*(source|\.)[ \t]+([^\s;&|)]+)", re.M
)
_MPIRUN = re.compile(r"\b(?:mpirun|mpiexec|prterun|horovodrun|orterun)\b")
_FORWARD = re.compile(r"(?<!\S)-x[ \t]+(?:\\\n[ \t]*)?([\"']?)([A-Za-z_]\w*)(?:=([^\s\"']*))?\1?")
_GENV = re.compile(r"(?<!\S)-g?env[ \t]+([A-Za-z_]\w*)[ \t]+([^\s]+)")
_INLINE = re.compile(
    r"(?:^|[;&|\n])[ \t]*((?:[A-Z_][A-Z0-9_]*=(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s;&|]*)[ \t]+)+)[a-z./]", re.M
)
_PROBE = re.compile(
    r"(?<![\w-])(?:fi_info|fi_pingpong|ib_\w+_(?:bw|lat)|rping|osu_\w+|iperf3?|nvbandwidth|\w+_perf(?:_mpi)?)(?![\w-])"
)
_IDLE = re.compile(
    r"^\s*(?:sleep\b|tail\s+-f|while\s+(?:true|:)|trap\b|exec\s+sleep|/?(?:usr/s?bin/)?sshd\b|wait\b)"
)
_RANKS = re.compile(
    r"(?<![\w./-])(?:torchrun|accelerate[ \t]+launch|deepspeed|mpirun|mpiexec|horovodrun|srun|vllm[ \t]+serve|ray[ \t]+start|"
    r"hyperpodrun|trtllm-llmapi-launch|trtllm-serve)(?![\w-])|torch\.distributed\.(?:run|launch)|sglang\.launch_server|"
    r"vllm\.entrypoints|python3?[ \t]+[\w./-]*(?:train|pretrain|finetune|main)\w*\.py"
)
_SCRIPT = re.compile(r"(?:^|[;&|\n]|\bbash\b|\bsh\b|\bexec\b)[ \t]*([\w./${}-]+\.sh)\b", re.M)


@cache
def _shells() -> frozenset[str]:
    return frozenset({"sh", "bash", "dash", "ash", "zsh"})


def _strip(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return text


def _blank_comments(text: str) -> str:
    """Comments replaced by blanks of the same length, so that offsets stay."""
    return re.sub(r"(?m)(?:^|(?<=[ \t;]))#[^\n]*", lambda m: " " * len(m.group()), text)


def read(container: ContainerView) -> StartText:
    """Read command and args of a container."""
    made = StartText()
    words = container.words
    if not words:
        made.unseen = True
        return made
    first = words[0].text.rsplit("/", 1)[-1]
    made.shell = first if first in _shells() else None
    idle_all = True
    argv_text = " ".join(w.text for w in words)
    for word in words:
        if not isinstance(word.value, str):
            continue
        text = _blank_comments(word.value)
        if "\n" in text or " " in text:
            _read_script(text, word, made, container)
            lines = [ln for ln in text.splitlines() if ln.strip()]
            idle_all = idle_all and all(_IDLE.match(ln) or ln.strip() in ("done", "do") for ln in lines)
        if open_value(word.value, dollar=False):
            made.unseen = True
    _read_argv(words, made)
    if not any("\n" in w.text or " " in w.text for w in words):
        idle_all = _IDLE.match(argv_text) is not None
    made.idle = idle_all
    made.starts_ranks = _RANKS.search(argv_text) is not None
    made.probe = (made.idle or _PROBE.search(argv_text) is not None) and not (
        made.starts_ranks and _PROBE.search(argv_text) is None
    )
    if _SCRIPT.search(argv_text) or (made.shell is None and not made.starts_ranks and not made.idle):
        made.unseen = True
    return made


def _value(text: str | None) -> str | Unknown:
    if text is None:
        return UNKNOWN
    value = _strip(text)
    return UNKNOWN if "$" in value or "`" in value or open_value(value, dollar=False) else value


def _read_script(text: str, word: Scalar, made: StartText, container: ContainerView) -> None:
    for match in _EXPORT.finditer(text):
        for pair in _ASSIGN.finditer(match.group(1)):
            if pair.group(2) is None:
                continue
            within = (match.start(1) + pair.start(), match.start(1) + pair.end())
            name = pair.group(1)
            made.exports.append(Variable(name, _value(pair.group(2)), Place(word, within=within), "export"))
    for match in _INLINE.finditer(text):
        for pair in _ASSIGN.finditer(match.group(1)):
            if pair.group(2) is not None:
                within = (match.start(1) + pair.start(), match.start(1) + pair.end())
                made.exports.append(
                    Variable(pair.group(1), _value(pair.group(2)), Place(word, within=within), "export")
                )
    for match in _SOURCE.finditer(text):
        path = _strip(match.group(2))
        expanded = _expand(path, container, made)
        made.sourced.append(
            (
                expanded,
                Place(word, within=(match.start(1), match.end(2))),
                match.group(1) == "source" and made.shell == "sh",
            )
        )
    if _MPIRUN.search(text):
        for match in _FORWARD.finditer(text):
            origin = "mpirun" if match.group(3) is not None else "mpirun-bare"
            place = Place(
                word, within=(match.start(2), match.end(3) if match.group(3) is not None else match.end(2))
            )
            made.forwarded.append(Variable(match.group(2), _value(match.group(3)), place, origin))
        for match in _GENV.finditer(text):
            place = Place(word, within=(match.start(1), match.end(2)))
            made.forwarded.append(Variable(match.group(1), _value(match.group(2)), place, "mpirun"))


def _read_argv(words: list[Scalar], made: StartText) -> None:
    """Arguments given one by one: `- mpirun`, `- -x`, `- NCCL_DEBUG=INFO`."""
    if not any(_MPIRUN.fullmatch(w.text.rsplit("/", 1)[-1]) for w in words):
        return
    for flag, word in zip(words, words[1:], strict=False):
        if flag.text in ("-x", "--x"):
            name, eq, value = word.text.partition("=")
            if re.fullmatch(r"[A-Za-z_]\w*", name):
                origin = "mpirun" if eq else "mpirun-bare"
                made.forwarded.append(Variable(name, _value(value) if eq else UNKNOWN, Place(word), origin))


_REFERENCE = re.compile(r"\$\{?([A-Za-z_]\w*)\}?")


def _expand(path: str, container: ContainerView, made: StartText) -> str | Unknown:
    """A path with `$NAME` replaced by what env or an earlier export says; UNKNOWN when one cannot be seen."""
    if "$" not in path:
        return path
    seen = {v.name: v.value for v in made.exports}

    def put(match: re.Match[str]) -> str:
        value = seen.get(match.group(1)) or container.env.value(match.group(1))
        return value if isinstance(value, str) else "\0"

    text = _REFERENCE.sub(put, path)
    tail = path.rsplit("/", 1)[-1]
    if "\0" in text or "$" in text:
        return tail if "$" not in tail else UNKNOWN
    return text
